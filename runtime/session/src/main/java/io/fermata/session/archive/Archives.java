package io.fermata.session.archive;

import io.fermata.agent.engine.ThreadProgram;
import io.fermata.persistence.directory.DirectoryEntry;
import io.fermata.persistence.spi.JournalPresentException;
import io.fermata.persistence.spi.NewEntry;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.StoredEntry;
import io.fermata.session.admin.ArchiveException;
import io.fermata.session.admin.ExportSignature;
import io.fermata.session.admin.Imported;
import io.fermata.session.admin.SessionScope;
import io.fermata.session.host.Eraser;
import io.fermata.session.journal.Encryption;
import io.fermata.session.journal.EntryEncryption;
import io.fermata.session.journal.JournalPages;
import io.fermata.session.key.RootCauses;
import io.fermata.session.runs.SessionDirectory;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.OutputStreamWriter;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Exports and imports journals.
 *
 * @param wakeUp wakes what was imported
 * @param threads may block on the output
 */
public record Archives(
    OpenStore store,
    Eraser eraser,
    Encryption encryption,
    Consumer<List<String>> wakeUp,
    SessionDirectory directory,
    ThreadProgram program,
    Executor threads) {
  /**
   * Exports a journal. Completes with the number of entries, and fails if some are deleted
   * meanwhile, by a sweep or an erasure.
   *
   * @param decrypt whether to decrypt the entries
   */
  public CompletionStage<Long> write(Archive.Header header, boolean decrypt, OutputStream to) {
    Lines lines = new Lines(to);
    return JournalPages.foldAsync(
            store,
            header.journal(),
            0,
            0L,
            (last, stored) -> {
              if (last == 0) {
                lines.put(header.line(stored, encryption));
              } else if (stored.seq() != last + 1) {
                throw deleted(header);
              }
              lines.entry(
                  Archive.line(
                      decrypt ? Archive.decrypted(stored, header.journal(), encryption) : stored));
              return stored.seq();
            },
            threads)
        .thenCompose(
            last ->
                store
                    .readBack(header.journal(), Long.MAX_VALUE, 1)
                    .thenApplyAsync(
                        newest -> {
                          requireThere(header, last, newest);
                          return lines.end(encryption);
                        },
                        threads));
  }

  private static void requireThere(Archive.Header header, long last, List<StoredEntry> newest) {
    if (last == 0) {
      throw new IllegalArgumentException(
          "The store has no journal of %s; ended runs are kept for the host's retention"
              .formatted(header.id()));
    } else if (newest.isEmpty() || newest.get(0).seq() < last) {
      throw deleted(header);
    }
  }

  private static ArchiveException deleted(Archive.Header header) {
    return new ArchiveException(
        "Entries of the %s were deleted while it was exported; export it again for what is left"
            .formatted(header.title()));
  }

  /** The output, and the chain of what was written to it. */
  private static final class Lines {
    private final ExportChain chain = new ExportChain();
    private final Writer to;
    private long records;

    Lines(OutputStream to) {
      this.to = new BufferedWriter(new OutputStreamWriter(to, StandardCharsets.UTF_8));
    }

    void put(String line) {
      chain.add(line);
      write(line);
    }

    void entry(String line) {
      put(line);
      records++;
    }

    /** Returns the number of entries. */
    long end(Encryption encryption) {
      write(chain.end(records, encryption));
      try {
        to.flush();
        return records;
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    private void write(String line) {
      try {
        to.write(line);
        to.write('\n');
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  /**
   * Reads and validates an archive, then imports it in one transaction. Encrypted entries are
   * decrypted for that and encrypted again, as this host would write them.
   *
   * @param known whether the host has a flow
   */
  public CompletionStage<Imported> read(InputStream from, Predicate<String> known, long now) {
    return CompletableFuture.supplyAsync(EntrySpool::open, threads)
        .thenCompose(
            spool ->
                CompletableFuture.supplyAsync(() -> checked(from, known, now, spool), threads)
                    .thenComposeAsync(archive -> adopt(archive, spool), threads)
                    .whenComplete((imported, thrown) -> spool.close()));
  }

  /**
   * An archive that was read to its end.
   *
   * @param listed what lists show of a thread; null for a run
   */
  private record Checked(
      Archive.Header header, ExportSignature signature, @Nullable DirectoryEntry listed) {}

  private Checked checked(InputStream from, Predicate<String> known, long now, EntrySpool entries) {
    try {
      ArchiveReader archive = new ArchiveReader(from, encryption);
      Archive.Header header = archive.header();
      if (header.isRun() && !known.test(header.name())) {
        throw Archive.wrong(1, "the host has no flow " + header.name() + "; register it first");
      }
      EntryEncryption own = encryption.of(header.journal());
      ExportChain.Signed signed =
          archive.entries(
              (stored, entry) -> {
                if (!header.isRun() && Encryption.isEncrypted(stored)) {
                  own.encryptWhole();
                }
                StoredEntry written = Archive.written(stored.seq(), own.stored(entry));
                entries.add(new NewEntry(written, now, entry.tags()));
              });
      archive.requireOwner();
      return new Checked(header, signed.signature(), archive.listed(program));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Translates the error for users, who know runs and threads, not journals. */
  private static Throwable named(Archive.Header header, Throwable thrown) {
    return RootCauses.find(thrown, JournalPresentException.class) == null
        ? thrown
        : new ArchiveException(
            "The store already has the %s; erase it first, or choose another store"
                .formatted(header.title()),
            thrown);
  }

  /** The session must not be awake during the import. */
  private CompletionStage<Imported> adopt(Checked archive, EntrySpool entries) {
    Archive.Header header = archive.header();
    SessionScope scope = new SessionScope(Set.of(header.journal()), Set.of());
    return eraser
        .alone(scope, () -> store.importJournal(header.journal(), entries, archive.listed()))
        .exceptionallyCompose(thrown -> CompletableFuture.failedFuture(named(header, thrown)))
        .thenApplyAsync(
            written -> {
              if (header.isRun()) {
                directory.lookAgain();
              }
              wakeUp.accept(List.of(header.journal()));
              return new Imported(
                  header.kind(), header.name(), header.id(), written, archive.signature());
            },
            threads);
  }
}
