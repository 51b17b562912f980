package io.fermata.persistence;

import io.fermata.persistence.contract.Host;
import io.fermata.persistence.contract.JournalProcess;
import io.fermata.persistence.spi.JournalTags;
import io.fermata.persistence.spi.NewEntry;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.StoredEntry;
import java.nio.charset.StandardCharsets;
import java.util.Set;
import java.util.stream.LongStream;

/** A process of its own that imports a journal: {@code <store> <entries>}. */
final class ImportProcess {

  private ImportProcess() {}

  static NewEntry entry(long seq) {
    byte[] payload = ("line " + seq).getBytes(StandardCharsets.UTF_8);
    return new NewEntry(
        new StoredEntry(seq, 1, "line", payload), seq, Set.of(JournalTags.UNFINISHED));
  }

  /** Says which entries it passes to the store. */
  public static void main(String[] arguments) {
    long entries = Long.parseLong(arguments[1]);
    try (OpenStore store = Store.parse(arguments[0]).open()) {
      Host.await(
          store.importJournal(
              "a",
              () ->
                  LongStream.rangeClosed(1, entries)
                      .peek(seq -> System.out.println(JournalProcess.ACKNOWLEDGED + seq))
                      .mapToObj(ImportProcess::entry)
                      .iterator()));
    }
  }
}
