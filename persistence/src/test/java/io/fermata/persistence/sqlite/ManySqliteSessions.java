package io.fermata.persistence.sqlite;

import io.fermata.persistence.SqliteProbe;
import io.fermata.persistence.Store;
import io.fermata.persistence.spi.JournalTags;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.sql.LargeStore;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Fills the tables of a store with many sessions, as a host would in months. */
final class ManySqliteSessions {

  private ManySqliteSessions() {}

  /**
   * The listed runs of a {@link LargeStore}, each with a snapshot and a journal of two entries.
   * Among the tags of the last ones a few are of entries that were left behind.
   */
  static void fill(Path file, int sessions) {
    Store.sqlite(file).open().close();
    String numbers = LargeStore.numbers(sessions);
    List<String> statements =
        new ArrayList<>(List.of("PRAGMA synchronous = OFF", "PRAGMA cache_size = -500000"));
    statements.add("BEGIN");
    statements.addAll(LargeStore.directory(sessions));
    statements.addAll(
        List.of(
            """
            INSERT INTO event_journal (ordering, persistence_id, sequence_number, writer,
              write_timestamp, event_payload, event_ser_id, event_ser_manifest,
              checksum, previous)
            %s
            SELECT 2 * i + seq - 2, 'run|' || i, seq, 'w', 1, X'00', 1, 'm', 1, 1
            FROM numbers CROSS JOIN (SELECT 1 AS seq UNION ALL SELECT 2)
            """
                .formatted(numbers),
            """
            INSERT INTO event_tag (event_id, tag)
            %s
            SELECT 2 * i + seq - 2,
              CASE i %% 4 WHEN 0 THEN '%s' WHEN 1 THEN '%s' WHEN 2 THEN '%s' ELSE '%s' END
            FROM numbers CROSS JOIN (SELECT 1 AS seq UNION ALL SELECT 2)
            WHERE seq = 2 OR i / 4 %% 10 = 0
            """
                .formatted(
                    numbers,
                    JournalTags.UNFINISHED,
                    JournalTags.due(LargeStore.FUTURE),
                    JournalTags.sweep(LargeStore.FUTURE),
                    JournalTags.forget(LargeStore.FUTURE)),
            """
            INSERT INTO event_journal (ordering, persistence_id, sequence_number, writer,
              write_timestamp, event_payload, event_ser_id, event_ser_manifest,
              checksum, previous)
            VALUES (%1$d + 1, 'run|kept', 1, 'w', 1, X'00', 1, 'm', 1, 1),
              (%1$d + 2, 'run|kept', 2, 'w', 1, X'00', 1, 'm', 1, 1)
            """
                .formatted(2 * sessions),
            "INSERT INTO event_tag (event_id, tag) VALUES (%d, '%s')"
                .formatted(2 * sessions + 1, JournalTags.sweep(0)),
            """
            INSERT INTO snapshot (persistence_id, sequence_number, created, snapshot_ser_id,
              snapshot_ser_manifest, snapshot_payload, last, checksum)
            %s
            SELECT 'run|' || i, 1, 1, 1, 'm', X'00', 1, 1 FROM numbers
            """
                .formatted(numbers),
            "COMMIT"));
    SqliteProbe.execute(file, statements.toArray(String[]::new));
    indexTexts(file);
  }

  /** The triggers have noted all texts; the store indexes them with its next change. */
  private static void indexTexts(Path file) {
    try (OpenStore store = Store.sqlite(file).open()) {
      store.directory().put(LargeStore.entry(2, "t7")).toCompletableFuture().join();
    }
  }
}
