package io.fermata.session;

import io.fermata.agent.replay.ThreadJournal;
import io.fermata.flow.replay.RunJournal;
import io.fermata.session.archive.Archive;
import io.fermata.session.journal.Encryption;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;

/** The journal of an export, whichever it is. */
public sealed interface ExportedJournal {
  record OfRun(RunJournal journal) implements ExportedJournal {}

  record OfThread(ThreadJournal journal) implements ExportedJournal {}

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
   * @throws io.fermata.session.admin.ArchiveException if it is incomplete or inconsistent
   */
  static ExportedJournal read(Path export) throws IOException {
    try (InputStream from = Files.newInputStream(export)) {
      return read(from);
    }
  }

  /** As {@link #read(Path)}, from a stream, which is read to its end. */
  static ExportedJournal read(InputStream export) throws IOException {
    byte[] whole = export.readAllBytes();
    Encryption keys = Encryption.ofEnvironment();
    return Archive.isThread(new ByteArrayInputStream(whole))
        ? new OfThread(Archive.threadJournal(new ByteArrayInputStream(whole), keys))
        : new OfRun(Archive.journal(new ByteArrayInputStream(whole), keys));
  }
}
