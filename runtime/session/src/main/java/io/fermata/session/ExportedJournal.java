package io.fermata.session;

import io.fermata.agent.Agent;
import io.fermata.agent.replay.ThreadJournal;
import io.fermata.flow.Flow;
import io.fermata.flow.replay.RunJournal;
import io.fermata.session.admin.ExportSignature;
import io.fermata.session.admin.KeyProvider;
import io.fermata.session.archive.Archive;
import io.fermata.session.archive.Exported;
import io.fermata.session.archive.RecordedRequests;
import io.fermata.session.journal.Encryption;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The journal of an export, whichever it is. Nothing is missing at its end and nobody altered it by
 * accident; that nobody did so by intent is known if its {@linkplain #signature signature} is
 * verified.
 */
public sealed interface ExportedJournal {
  /** Of a run. */
  record OfRun(RunJournal journal, ExportSignature signature, @Nullable String signedBy)
      implements ExportedJournal {
    /** A journal that nobody signed. */
    public OfRun(RunJournal journal) {
      this(journal, ExportSignature.UNSIGNED, null);
    }
  }

  /** Of a thread. */
  record OfThread(ThreadJournal journal, ExportSignature signature, @Nullable String signedBy)
      implements ExportedJournal {
    /** A journal that nobody signed. */
    public OfThread(ThreadJournal journal) {
      this(journal, ExportSignature.UNSIGNED, null);
    }
  }

  /** Whether it is from a host with a key that is here, too. */
  ExportSignature signature();

  /** The id of the key that it says to be signed with; null if it is not signed. */
  @Nullable String signedBy();

  /**
   * The journal of a run; {@linkplain RunJournal#redacted redacted} if a key is missing.
   *
   * @throws io.fermata.session.admin.ArchiveException if it is that of a thread
   */
  default RunJournal run() {
    if (this instanceof OfThread thread) {
      throw Exported.otherwise("thread " + thread.journal().threadId(), "run", "thread");
    }
    return ((OfRun) this).journal();
  }

  /**
   * The journal of a thread; {@linkplain ThreadJournal#redacted redacted} if a key is missing.
   *
   * @throws io.fermata.session.admin.ArchiveException if it is that of a run
   */
  default ThreadJournal thread() {
    if (this instanceof OfRun run) {
      RunJournal journal = run.journal();
      throw Exported.otherwise(
          "run %s/%s".formatted(journal.flow(), journal.runId()), "thread", "run");
    }
    return ((OfThread) this).journal();
  }

  /**
   * Checks that it can be decided again.
   *
   * @throws IllegalStateException if parts of it are redacted, as their key was missing
   */
  default void requireWhole() {
    if (this instanceof OfRun run) {
      run.journal().whole();
    } else if (this instanceof OfThread thread) {
      thread.journal().whole();
    }
  }

  /**
   * Reads an export. Encrypted data is read with the keys from the environment; what is encrypted
   * with another key is redacted.
   *
   * @throws io.fermata.session.admin.ArchiveException if it is incomplete, altered or inconsistent
   */
  static ExportedJournal read(Path export) throws IOException {
    return read(Files.readAllBytes(export), Encryption.ofEnvironment());
  }

  /** As {@link #read(Path)}, with the given keys. */
  static ExportedJournal read(Path export, KeyProvider keys) throws IOException {
    return read(Files.readAllBytes(export), Encryption.reading(keys));
  }

  /** As {@link #read(Path)}, from a stream, which is read to its end. */
  static ExportedJournal read(InputStream export) throws IOException {
    return read(export.readAllBytes(), Encryption.ofEnvironment());
  }

  /**
   * Accepts an export that was edited by hand, such as one with invented answers in place of a
   * person's: writes the checksum of what it is now, without which it would be refused. It is not
   * signed any more.
   *
   * @throws io.fermata.session.admin.ArchiveException if it is no export, or is incomplete
   */
  static void acceptEdits(Path export) throws IOException {
    Files.write(export, Archive.accepted(Files.readAllLines(export)));
  }

  /**
   * As {@link #acceptEdits(Path)} for a thread, and accepts what its models are asked by the
   * present code, instead of what they were asked.
   *
   * @param agents the present code of the thread's agents, and of those that they refer to
   * @throws io.fermata.session.admin.ArchiveException if it is no export of a thread, or is
   *     incomplete
   * @throws IllegalStateException if it is encrypted
   */
  static void acceptEdits(Path export, Collection<Agent> agents, Flow<?>... flows)
      throws IOException {
    List<String> edited = Archive.accepted(Files.readAllLines(export));
    Files.write(export, RecordedRequests.in(edited, agents, List.of(flows)));
  }

  private static ExportedJournal read(byte[] export, Encryption keys) {
    Exported read = Exported.read(export, keys);
    ExportSignature signature = read.signed().signature();
    String signedBy = read.signed().by();
    return read.isRun()
        ? new OfRun(read.run(), signature, signedBy)
        : new OfThread(read.thread(), signature, signedBy);
  }
}
