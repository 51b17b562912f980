package io.fermata.persistence.postgres;

import io.fermata.persistence.PostgresProbe;
import io.fermata.persistence.spi.JournalTags;
import io.fermata.persistence.sql.LargeStore;
import io.fermata.persistence.sql.Trigrams;

/** Fills the tables of a store with many sessions, as hosts would in months. */
final class ManySessions {

  private static final String INDEXES =
      " FROM pg_indexes WHERE schemaname = 'public' AND indexdef NOT LIKE 'CREATE UNIQUE%'";

  private ManySessions() {}

  /**
   * The listed runs of a {@link LargeStore}, each with a journal of two entries of which one is
   * tagged.
   */
  static void fill(PostgresProbe database, int sessions) {
    // An index is built in a fraction of the time that it takes to grow.
    String indexes = database.text("SELECT string_agg(indexdef, ';')" + INDEXES);
    database.execute(
        database.text("SELECT 'DROP INDEX ' || string_agg(indexname, ', ')" + INDEXES));
    rows(database, sessions);
    database.execute(indexes, "VACUUM ANALYZE");
  }

  private static void rows(PostgresProbe database, int sessions) {
    LargeStore.directory(sessions).forEach(database::execute);
    database.execute(
        """
        INSERT INTO directory_text (persistence_id, trigrams)
        SELECT persistence_id, ARRAY(
          SELECT DISTINCT CAST((ascii(substr(searchable, i, 1)) * CAST(%d AS bigint)
            + ascii(substr(searchable, i + 1, 1)) * CAST(%d AS bigint)
            + ascii(substr(searchable, i + 2, 1)) * CAST(%d AS bigint)) %% %d AS integer)
          FROM generate_series(1, length(searchable) - 2) AS i)
        FROM directory
        """
            .formatted(Trigrams.FIRST, Trigrams.SECOND, Trigrams.THIRD, Trigrams.PRIME),
        """
        INSERT INTO event_journal (ordering, slice, persistence_id, sequence_number, writer,
          write_timestamp, event_payload, event_ser_id, event_ser_manifest,
          checksum, previous)
        SELECT 2 * i + seq - 2, i %% 1024, 'run|' || i, seq, 'w', 1, '\\x00'::bytea, 1, 'm', 1, 1
        FROM generate_series(1, %d) AS i, generate_series(1, 2) AS seq
        """
            .formatted(sessions),
        """
        INSERT INTO event_journal (ordering, slice, persistence_id, sequence_number, writer,
          write_timestamp, event_payload, event_ser_id, event_ser_manifest,
          checksum, previous)
        VALUES (%1$d + 1, 0, 'run|kept', 1, 'w', 1, '\\x00'::bytea, 1, 'm', 1, 1),
          (%1$d + 2, 0, 'run|kept', 2, 'w', 1, '\\x00'::bytea, 1, 'm', 1, 1)
        """
            .formatted(2 * sessions),
        "INSERT INTO event_tag (event_id, slice, tag) VALUES (%d, 0, '%s')"
            .formatted(2 * sessions + 1, JournalTags.sweep(0)),
        "SELECT setval(pg_get_serial_sequence('event_journal', 'ordering'), "
            + (2L * sessions + 3)
            + ")",
        """
        INSERT INTO event_tag (event_id, slice, tag)
        SELECT 2 * i, i %% 1024, (ARRAY['%s', left('%s', -6) || lpad((i %% 999983)::text, 6, '0'),
          left('%s', -6) || lpad((i %% 999983)::text, 6, '0'),
          left('%s', -6) || lpad((i %% 999983)::text, 6, '0')])[i %% 4 + 1]
        FROM generate_series(1, %d) AS i
        """
            .formatted(
                JournalTags.UNFINISHED,
                JournalTags.due(LargeStore.FUTURE),
                JournalTags.sweep(LargeStore.FUTURE),
                JournalTags.forget(LargeStore.FUTURE),
                sessions),
        """
        INSERT INTO snapshot (persistence_id, sequence_number, created, snapshot_ser_id,
          snapshot_ser_manifest, snapshot_payload, last, checksum)
        SELECT 'run|' || i, 1, 1, 1, 'm', '\\x00'::bytea, 1, 1 FROM generate_series(1, %d) AS i
        """
            .formatted(sessions),
        // Hosts of a day, and one whose last heartbeat was before.
        """
        INSERT INTO cluster_host (id, address, description, registered_at, heartbeat_at)
        SELECT 'h' || i, 'a', '{}', now() - INTERVAL '1 hour', now() - i * INTERVAL '1 minute'
        FROM generate_series(1, 1441) AS i
        """,
        """
        INSERT INTO cluster_lease (name, owner, expires_at)
        SELECT 'lease' || i, 'h1', now() + (i - 2) * INTERVAL '1 hour'
        FROM generate_series(1, 10000) AS i
        """);
  }
}
