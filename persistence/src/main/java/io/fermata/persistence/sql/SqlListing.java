package io.fermata.persistence.sql;

import io.fermata.persistence.directory.DirectoryCursor;
import io.fermata.persistence.directory.DirectoryEntry;
import io.fermata.persistence.directory.DirectoryQuery;
import io.fermata.persistence.directory.Span;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One scan of an index in the order of a list. It examines a bounded number of entries and yields
 * those that meet the criteria that the index does not know, so no search occupies a connection for
 * long, however large the directory is.
 *
 * @param matches selects the matching entries, up to one more than a page
 * @param end selects the position of the last entry that is examined, if the scan is cut there;
 *     null if the index knows all criteria, as a page that is not full is then the last
 */
public record SqlListing(Statement matches, @Nullable Statement end) {

  /** How many entries a scan examines. */
  public static final int EXAMINED = 10_000;

  /** An SQL text and its parameters. */
  public record Statement(String sql, List<Object> parameters) {}

  /** The index that is scanned. */
  private enum Walk {
    PRINCIPAL,
    /** The entries of a principal that have one of the statuses. */
    STATUS_OF_PRINCIPAL,
    /** The entries of a session, which are few. */
    SESSION,
    TAG,
    /** The entries that the index of texts has found. */
    TEXT,
    STATUS,
    NAME,
    KIND;

    /** By activity only what one principal has is listed, or all. */
    static Walk of(DirectoryQuery query) {
      if (query.session() != null) {
        return SESSION;
      } else if (query.principal() != null) {
        return query.order() == DirectoryQuery.Order.STATUS ? STATUS_OF_PRINCIPAL : PRINCIPAL;
      } else if (query.order() == DirectoryQuery.Order.STATUS) {
        return STATUS;
      } else if (query.order() == DirectoryQuery.Order.ACTIVITY) {
        return KIND;
      }
      return ofCreation(query);
    }

    private static Walk ofCreation(DirectoryQuery query) {
      if (!query.tags().isEmpty()) {
        return TAG;
      } else if (!query.statuses().isEmpty()) {
        return STATUS;
      }
      return query.name() == null ? KIND : NAME;
    }

    /** A count needs no order, but walks the index of one. */
    static Walk toCount(DirectoryQuery query) {
      Walk walk = of(query);
      return walk == PRINCIPAL && !query.statuses().isEmpty() ? STATUS_OF_PRINCIPAL : walk;
    }

    boolean isByStatus() {
      return this == STATUS || this == STATUS_OF_PRINCIPAL;
    }

    boolean isByPrincipal() {
      return this == PRINCIPAL || this == STATUS_OF_PRINCIPAL;
    }
  }

  /** The scans of a query: one for each status if that index is scanned. */
  public static List<SqlListing> of(Dialect dialect, DirectoryQuery query) {
    List<String> statuses = query.statuses().stream().sorted().toList();
    Walk walk = Walk.of(query);
    return walk.isByStatus()
        ? statuses.stream()
            .map(one -> new Builder(dialect, query, walk).scan(List.of(one)))
            .toList()
        : List.of(new Builder(dialect, query, walk).scan(statuses));
  }

  /**
   * Counts the matching entries, up to a number, without reading them: within an index, or, if
   * there are criteria that it does not know, among as many entries as a page examines.
   */
  public static Statement count(Dialect dialect, DirectoryQuery query, int most) {
    DirectoryQuery any = unordered(query);
    return new Builder(dialect, any, Walk.toCount(any))
        .count(query.statuses().stream().sorted().toList(), most);
  }

  /** A count needs no order, and more is indexed by creation than by activity. */
  private static DirectoryQuery unordered(DirectoryQuery query) {
    return query.order() == DirectoryQuery.Order.ACTIVITY
        ? query.after(null).orderedBy(DirectoryQuery.Order.CREATION)
        : query.after(null);
  }

  /**
   * The matching entries among those that the index of texts has found, up to one more than a page.
   */
  static Statement among(Object candidates, Dialect dialect, DirectoryQuery query) {
    return new Builder(dialect, query, Walk.TEXT)
        .among(candidates, query.statuses().stream().sorted().toList());
  }

  /** Counts the matching entries among those that the index of texts has found. */
  static Statement countAmong(Object candidates, Dialect dialect, DirectoryQuery query, int most) {
    Statement all = among(candidates, dialect, unordered(query).limitedTo(1));
    List<Object> parameters = new ArrayList<>(all.parameters);
    parameters.set(parameters.size() - 1, most);
    return new Statement("SELECT count(*) FROM (" + all.sql + ") AS counted", parameters);
  }

  private static final class Builder {
    private final Dialect dialect;
    private final DirectoryQuery query;
    private final Walk walk;
    private final String walked;
    private final Conditions scanned = new Conditions();
    private final Conditions checked = new Conditions();

    Builder(Dialect dialect, DirectoryQuery query, Walk walk) {
      this.dialect = dialect;
      this.query = query;
      this.walk = walk;
      this.walked = walk == Walk.TAG ? "tagged" : "entry";
    }

    SqlListing scan(List<String> statuses) {
      criteria(statuses);
      String time = walked + "." + time();
      // Sorting the few entries of a session is cheaper than scanning all by time.
      String ordered = walk == Walk.SESSION ? dialect.offIndex(time) : time;
      String id = walked + ".persistence_id";
      startAfterCursor(ordered, id);
      String direction = query.order().latestFirst() ? "DESC" : "ASC";
      String scan =
          "FROM %s WHERE %s ORDER BY %s %s, %s %s LIMIT %s"
              .formatted(source(), scanned.all(), ordered, direction, id, direction, EXAMINED);
      String matches =
          "SELECT * FROM (SELECT entry.* %s) AS examined %s LIMIT ?"
              .formatted(scan, checked.where());
      List<Object> parameters = new ArrayList<>(scanned.parameters);
      parameters.addAll(checked.parameters);
      // One more than the page, to see whether another follows.
      parameters.add(query.limit() + 1);
      return new SqlListing(
          new Statement(matches, List.copyOf(parameters)),
          checked.all.isEmpty() ? null : end(time, id, scan));
    }

    private Statement end(String time, String id, String scan) {
      // With a column that no index has, or PostgreSQL 18 would skip through all of another index.
      String position = walk == Walk.STATUS ? id + ", entry.seq" : id;
      return new Statement(
          "SELECT * FROM (SELECT %s AS at, %s %s) AS examined LIMIT 1 OFFSET %s"
              .formatted(time, position, scan, EXAMINED - 1),
          List.copyOf(scanned.parameters));
    }

    Statement among(Object candidates, List<String> statuses) {
      criteria(statuses);
      String direction = query.order().latestFirst() ? "DESC" : "ASC";
      startAfterCursor("entry." + time(), "entry.persistence_id");
      List<Object> parameters = new ArrayList<>();
      parameters.add(candidates);
      parameters.addAll(scanned.parameters);
      parameters.addAll(checked.parameters);
      parameters.add(query.limit() + 1);
      return new Statement(
          """
          SELECT * FROM (SELECT entry.* FROM %s WHERE %s) AS examined %s
          ORDER BY %s %s, persistence_id %s LIMIT ?
          """
              .formatted(
                  dialect.candidates(),
                  scanned.all(),
                  checked.where(),
                  time(),
                  direction,
                  direction),
          List.copyOf(parameters));
    }

    private void startAfterCursor(String time, String id) {
      DirectoryCursor begin = query.begin();
      if (begin != null) {
        scanned.add(
            "(%s, %s) %s (?, ?)".formatted(time, id, query.order().latestFirst() ? "<" : ">"),
            begin.at(),
            begin.persistenceId());
      }
    }

    Statement count(List<String> statuses, int most) {
      criteria(statuses);
      List<Object> parameters = new ArrayList<>(scanned.parameters);
      parameters.addAll(checked.parameters);
      parameters.add(most);
      String matches =
          checked.all.isEmpty()
              ? "directory%s AS %s WHERE %s"
                  .formatted(walk == Walk.TAG ? "_tag" : "", walked, scanned.all())
              : "(SELECT entry.* FROM %s WHERE %s LIMIT %s) AS examined %s"
                  .formatted(source(), scanned.all(), EXAMINED, checked.where());
      return new Statement(
          "SELECT count(*) FROM (SELECT 1 FROM %s LIMIT ?) AS counted".formatted(matches),
          List.copyOf(parameters));
    }

    private void criteria(List<String> statuses) {
      scanned.add(walked + ".kind = ?", query.kind());
      equal(walk.isByPrincipal(), "principal", query.principal());
      equal(walk == Walk.SESSION, "session", query.session());
      equal(walk == Walk.NAME, "name", query.name());
      if (!statuses.isEmpty()) {
        boolean walks = walk.isByStatus();
        (walks ? scanned : checked).in(table(walks) + "status", statuses);
      }
      within("created_at", query.created());
      within("since", query.since());
      List<String> tags = query.tags().stream().sorted().toList();
      if (walk == Walk.TAG) {
        scanned.add("tagged.tag = ?", tags.get(0));
      }
      tags.stream()
          .skip(walk == Walk.TAG ? 1 : 0)
          .forEach(
              tag ->
                  checked.add(
                      """
                      EXISTS (SELECT 1 FROM directory_tag AS other
                        WHERE other.persistence_id = examined.persistence_id AND other.tag = ?)
                      """,
                      tag));
      query
          .attributes()
          .forEach(
              (name, value) -> checked.add(dialect.hasAttribute("examined.labels"), name, value));
      if (query.text() != null) {
        checked.add(dialect.contains("examined.searchable"), DirectoryEntry.folded(query.text()));
      }
    }

    private void equal(boolean walks, String column, @Nullable String value) {
      if (value != null) {
        (walks ? scanned : checked).add(table(walks) + column + " = ?", value);
      }
    }

    private static String table(boolean scanned) {
      return scanned ? "entry." : "examined.";
    }

    private void within(String time, Span span) {
      boolean indexed = walk != Walk.STATUS_OF_PRINCIPAL || time.equals("since");
      boolean ordered = indexed && time.equals(time());
      Conditions conditions = ordered ? scanned : checked;
      String column = (ordered ? walked : "examined") + "." + time;
      if (span.from() != null) {
        conditions.add(column + " >= ?", span.from());
      }
      if (span.before() != null) {
        conditions.add(column + " < ?", span.before());
      }
    }

    private String time() {
      return switch (query.order()) {
        case ACTIVITY -> "active_at";
        case CREATION -> "created_at";
        case STATUS -> "since";
      };
    }

    private String source() {
      return walked.equals("entry")
          ? "directory AS entry"
          : """
            directory_tag AS tagged %s directory AS entry
              ON entry.persistence_id = tagged.persistence_id
            """
              .formatted(dialect.orderedJoin());
    }
  }

  /** Conditions that all hold, with their parameters. */
  private static final class Conditions {
    private final List<String> all = new ArrayList<>();
    private final List<Object> parameters = new ArrayList<>();

    void add(String condition, Object... values) {
      all.add(condition);
      parameters.addAll(List.of(values));
    }

    void in(String column, List<String> values) {
      String any = String.join(", ", Collections.nCopies(values.size(), "?"));
      add(values.size() == 1 ? column + " = ?" : column + " IN (" + any + ")", values.toArray());
    }

    String all() {
      return String.join(" AND ", all);
    }

    String where() {
      return all.isEmpty() ? "" : "WHERE " + all();
    }
  }
}
