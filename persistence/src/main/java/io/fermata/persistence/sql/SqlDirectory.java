package io.fermata.persistence.sql;

import io.fermata.persistence.directory.DirectoryCursor;
import io.fermata.persistence.directory.DirectoryEntry;
import io.fermata.persistence.directory.DirectoryLabels;
import io.fermata.persistence.directory.DirectoryPage;
import io.fermata.persistence.directory.DirectoryQuery;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Stream;

/** The tables of the directory. */
public final class SqlDirectory {

  /**
   * Indexes of the table, without the names that follow in the order of a list: they would be most
   * of an index, and the few entries of the same millisecond are sorted as they are read.
   */
  public static final List<String> INDEXES =
      List.of(
          "CREATE INDEX directory_active ON directory (kind, active_at)",
          "CREATE INDEX directory_created ON directory (kind, created_at)",
          "CREATE INDEX directory_active_principal ON directory (kind, principal, active_at)",
          "CREATE INDEX directory_created_principal ON directory (kind, principal, created_at)",
          "CREATE INDEX directory_created_name ON directory (kind, name, created_at)",
          "CREATE INDEX directory_session ON directory (kind, session)",
          "CREATE INDEX directory_created_status ON directory (kind, status, created_at)",
          "CREATE INDEX directory_since_status ON directory (kind, status, since)");

  public static final String TAG_INDEX =
      """
      CREATE INDEX directory_tag_created
      ON directory_tag (kind, tag, created_at, persistence_id)
      """;

  /** The common case of a put; indexes of unchanged columns are not touched. */
  public static final String TOUCH =
      """
      UPDATE directory SET seq = ?, active_at = ?, status = ?, since = ?
      WHERE persistence_id = ? AND seq <= ?
        AND kind = ? AND principal = ? AND name = ? AND session = ? AND created_at = ?
        AND labels = ?
      """;

  /** The second most common case: the labels of the same journal changed. */
  static final String RELABEL =
      """
      UPDATE directory
      SET seq = ?, active_at = ?, status = ?, since = ?, labels = ?, searchable = ?
      WHERE persistence_id = ? AND seq <= ?
        AND kind = ? AND principal = ? AND name = ? AND session = ? AND created_at = ?
      """;

  private static final String PUT =
      """
      INSERT INTO directory (
        persistence_id, kind, principal, name, session, seq, created_at, active_at, status, since,
        labels, searchable)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (persistence_id) DO UPDATE SET
        kind = excluded.kind,
        principal = excluded.principal,
        name = excluded.name,
        session = excluded.session,
        seq = excluded.seq,
        created_at = excluded.created_at,
        active_at = excluded.active_at,
        status = excluded.status,
        since = excluded.since,
        labels = excluded.labels,
        searchable = excluded.searchable
      WHERE excluded.seq >= directory.seq
      """;

  private static final String PUT_TAG =
      """
      INSERT INTO directory_tag (persistence_id, tag, kind, created_at)
      VALUES (?, ?, ?, ?)
      """;

  public static final String DELETE_TAGS = "DELETE FROM directory_tag WHERE persistence_id = ?";
  public static final String DELETE = "DELETE FROM directory WHERE persistence_id = ?";

  /** The parts of a journal sort as its records do: all before the first that is kept. */
  public static final String DELETE_PARTS =
      """
      DELETE FROM directory
      WHERE persistence_id > ? AND persistence_id < coalesce((
        SELECT kept.persistence_id FROM directory AS kept
        WHERE kept.persistence_id > ? AND kept.persistence_id < ? AND kept.seq > ?
        ORDER BY kept.persistence_id LIMIT 1), ?)
      """;

  public static final String GET = "SELECT * FROM directory WHERE persistence_id = ?";

  /** How many entries that the index of texts has found are examined. */
  private static final int CANDIDATES = 4_000;

  private SqlDirectory() {}

  /** Puts entries of different journals. Returns those whose texts are new or may have changed. */
  static List<DirectoryEntry> put(Connection connection, List<DirectoryEntry> entries)
      throws SQLException {
    Made touched = update(connection, TOUCH, entries, SqlDirectory::touch);
    Made relabelled = update(connection, RELABEL, touched.missed(), SqlDirectory::relabel);
    Made entered = update(connection, PUT, relabelled.missed(), SqlDirectory::columns);
    List<DirectoryEntry> changed =
        Stream.concat(relabelled.rows().stream(), entered.rows().stream()).toList();
    putTags(connection, changed);
    return changed;
  }

  private static List<Object> touch(DirectoryEntry entry) {
    return List.of(
        entry.seq(),
        entry.activeAt(),
        entry.statusName(),
        entry.since(),
        entry.persistenceId(),
        entry.seq(),
        entry.kind(),
        entry.principal(),
        entry.name(),
        entry.session(),
        entry.createdAt(),
        entry.labels().write());
  }

  private static List<Object> relabel(DirectoryEntry entry) {
    return List.of(
        entry.seq(),
        entry.activeAt(),
        entry.statusName(),
        entry.since(),
        entry.labels().write(),
        entry.searchable(),
        entry.persistenceId(),
        entry.seq(),
        entry.kind(),
        entry.principal(),
        entry.name(),
        entry.session(),
        entry.createdAt());
  }

  private static List<Object> columns(DirectoryEntry entry) {
    return List.of(
        entry.persistenceId(),
        entry.kind(),
        entry.principal(),
        entry.name(),
        entry.session(),
        entry.seq(),
        entry.createdAt(),
        entry.activeAt(),
        entry.statusName(),
        entry.since(),
        entry.labels().write(),
        entry.searchable());
  }

  private static void putTags(Connection connection, List<DirectoryEntry> entries)
      throws SQLException {
    Sql.updateAll(connection, DELETE_TAGS, entries, entry -> List.of(entry.persistenceId()));
    List<List<?>> tags = new ArrayList<>();
    for (DirectoryEntry entry : entries) {
      for (String tag : entry.tags()) {
        tags.add(List.of(entry.persistenceId(), tag, entry.kind(), entry.createdAt()));
      }
    }
    Sql.updateAll(connection, PUT_TAG, tags, tag -> tag);
  }

  /** The entries that a statement changed, and those that it did not find. */
  private record Made(List<DirectoryEntry> rows, List<DirectoryEntry> missed) {}

  private static Made update(
      Connection connection,
      String sql,
      List<DirectoryEntry> entries,
      Function<DirectoryEntry, List<?>> parameters)
      throws SQLException {
    int[] counts = Sql.updateAll(connection, sql, entries, parameters);
    Made made = new Made(new ArrayList<>(), new ArrayList<>());
    for (int i = 0; i < counts.length; i++) {
      (counts[i] == 0 ? made.missed() : made.rows()).add(entries.get(i));
    }
    return made;
  }

  /** The tags go with their entry. */
  static void remove(Connection connection, List<String> persistenceIds) throws SQLException {
    Sql.updateAll(connection, DELETE, persistenceIds, id -> List.of(id));
  }

  /**
   * Deletes the entries of the parts of journals up to a record; their names begin with that of the
   * journal. Returns how many there were of each.
   */
  static int[] forgetParts(Connection connection, List<SqlEntries.UpTo> journals)
      throws SQLException {
    return Sql.updateAll(
        connection,
        DELETE_PARTS,
        journals,
        upTo -> {
          String id = upTo.persistenceId();
          return List.of(id + ".", id + ".", id + "/", upTo.seq(), id + "/");
        });
  }

  static Optional<DirectoryEntry> get(Connection connection, String persistenceId)
      throws SQLException {
    return Sql.first(connection, GET, SqlDirectory::entry, persistenceId);
  }

  /**
   * A frequent text is found soon in the order of the list. The index of texts is asked for one
   * that is not.
   */
  static DirectoryPage list(
      Connection connection, Dialect dialect, SqlTexts texts, DirectoryQuery query)
      throws SQLException {
    DirectoryPage scanned = scan(connection, dialect, query);
    if (scanned.next() == null || scanned.entries().size() == query.limit()) {
      return scanned;
    }
    Optional<Object> candidates = candidates(connection, texts, query);
    return candidates.isEmpty()
        ? scanned
        : query.page(
            select(
                connection,
                SqlListing.among(candidates.get(), dialect, query),
                SqlDirectory::entry),
            null);
  }

  private static Optional<Object> candidates(
      Connection connection, SqlTexts texts, DirectoryQuery query) throws SQLException {
    String text = query.text();
    int[] trigrams = text == null ? new int[0] : Trigrams.of(DirectoryEntry.folded(text));
    return trigrams.length == 0
        ? Optional.empty()
        : texts.candidates(connection, trigrams, CANDIDATES);
  }

  private static DirectoryPage scan(Connection connection, Dialect dialect, DirectoryQuery query)
      throws SQLException {
    List<DirectoryEntry> found = new ArrayList<>();
    List<DirectoryCursor> ends = new ArrayList<>();
    for (SqlListing scan : SqlListing.of(dialect, query)) {
      List<DirectoryEntry> some = select(connection, scan.matches(), SqlDirectory::entry);
      found.addAll(some);
      SqlListing.Statement end = scan.end();
      if (end != null && some.size() <= query.limit()) {
        ends.addAll(
            select(
                connection,
                end,
                row ->
                    new DirectoryCursor(
                        query.order(), row.getLong("at"), row.getString("persistence_id"))));
      }
    }
    return query.page(found, ends.stream().min(DirectoryCursor.in(query.order())).orElse(null));
  }

  static int count(
      Connection connection, Dialect dialect, SqlTexts texts, DirectoryQuery query, int most)
      throws SQLException {
    int scanned = number(connection, SqlListing.count(dialect, query, most));
    if (scanned >= most) {
      return scanned;
    }
    Optional<Object> candidates = candidates(connection, texts, query);
    return candidates.isEmpty()
        ? scanned
        : number(connection, SqlListing.countAmong(candidates.get(), dialect, query, most));
  }

  private static int number(Connection connection, SqlListing.Statement count) throws SQLException {
    return select(connection, count, row -> row.getInt(1)).get(0);
  }

  private static <T> List<T> select(
      Connection connection, SqlListing.Statement statement, Sql.Row<T> row) throws SQLException {
    return Sql.list(connection, statement.sql(), row, statement.parameters().toArray());
  }

  private static DirectoryEntry entry(ResultSet row) throws SQLException {
    return new DirectoryEntry(
        row.getString("persistence_id"),
        row.getString("kind"),
        row.getString("principal"),
        row.getString("name"),
        row.getLong("seq"),
        row.getLong("created_at"),
        row.getLong("active_at"),
        DirectoryLabels.read(row.getString("labels")),
        row.getString("session"),
        new DirectoryEntry.Status(row.getString("status"), row.getLong("since")));
  }
}
