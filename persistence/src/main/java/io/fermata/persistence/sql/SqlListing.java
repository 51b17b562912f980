package io.fermata.persistence.sql;

import io.fermata.persistence.directory.DirectoryCursor;
import io.fermata.persistence.directory.DirectoryEntry;
import io.fermata.persistence.directory.DirectoryQuery;
import io.fermata.persistence.directory.Span;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;

/** The statement of one directory query, with its parameters. */
public record SqlListing(String sql, List<Object> parameters) {

  /** The index that is scanned in the order of the list; the other criteria filter its entries. */
  private enum Walk {
    /** The entries of a principal, which are few. */
    PRINCIPAL,
    /** The entries of a session, which are fewer. */
    SESSION,
    TAG,
    STATUS,
    NAME,
    KIND;

    static Walk of(DirectoryQuery query) {
      if (query.session() != null) {
        return SESSION;
      } else if (query.principal() != null) {
        return PRINCIPAL;
      } else if (query.order() == DirectoryQuery.Order.STATUS) {
        return STATUS;
      } else if (!query.tags().isEmpty()) {
        return TAG;
      } else if (!query.statuses().isEmpty() && query.order() != DirectoryQuery.Order.ACTIVITY) {
        return STATUS;
      }
      return query.name() == null ? KIND : NAME;
    }
  }

  public static SqlListing of(Dialect dialect, DirectoryQuery query) {
    List<String> statuses = query.statuses().stream().sorted().toList();
    if (Walk.of(query) != Walk.STATUS) {
      return new Builder(dialect, query).walk(statuses);
    }
    List<SqlListing> walks =
        statuses.stream().map(status -> new Builder(dialect, query).walk(List.of(status))).toList();
    return walks.size() == 1 ? walks.get(0) : merged(query, walks);
  }

  /** A full page of each scan; as each is sorted, that is enough. */
  private static SqlListing merged(DirectoryQuery query, List<SqlListing> walks) {
    List<Object> parameters = new ArrayList<>();
    walks.forEach(walk -> parameters.addAll(walk.parameters()));
    parameters.add(query.limit() + 1);
    String all =
        String.join(
            " UNION ALL ",
            walks.stream().map(walk -> "SELECT * FROM (" + walk.sql() + ") AS walk").toList());
    String direction = direction(query);
    return new SqlListing(
        "SELECT * FROM (%s) AS found ORDER BY %s %s, persistence_id %s LIMIT ?"
            .formatted(all, time(query), direction, direction),
        List.copyOf(parameters));
  }

  private static String time(DirectoryQuery query) {
    return switch (query.order()) {
      case ACTIVITY -> "active_at";
      case CREATION -> "created_at";
      case STATUS -> "since";
    };
  }

  private static String direction(DirectoryQuery query) {
    return query.order().latestFirst() ? "DESC" : "ASC";
  }

  private static final class Builder {

    private final Dialect dialect;
    private final DirectoryQuery query;
    private final Walk walk;
    private final String walked;
    private final List<String> conditions = new ArrayList<>();
    private final List<Object> parameters = new ArrayList<>();

    Builder(Dialect dialect, DirectoryQuery query) {
      this.dialect = dialect;
      this.query = query;
      this.walk = Walk.of(query);
      this.walked = walk == Walk.TAG ? "tagged" : "entry";
    }

    SqlListing walk(List<String> statuses) {
      where(walked + ".kind = ?", query.kind());
      if (query.principal() != null) {
        where(column(Walk.PRINCIPAL, "principal") + " = ?", query.principal());
      }
      if (query.session() != null) {
        where(column(Walk.SESSION, "session") + " = ?", query.session());
      }
      List<String> tags = query.tags().stream().sorted().toList();
      if (walk == Walk.TAG) {
        where("tagged.tag = ?", tags.get(0));
      }
      if (!statuses.isEmpty()) {
        String any = String.join(", ", Collections.nCopies(statuses.size(), "?"));
        String status = column(Walk.STATUS, "status");
        where(statuses.size() == 1 ? status + " = ?" : status + " IN (" + any + ")", statuses);
      }
      if (query.name() != null) {
        where(column(Walk.NAME, "name") + " = ?", query.name());
      }
      within("created_at", query.created());
      within("since", query.since());
      tags.stream().skip(walk == Walk.TAG ? 1 : 0).forEach(this::whereTagged);
      query.attributes().forEach(this::whereAttribute);
      if (query.text() != null) {
        where(dialect.contains("entry.searchable"), DirectoryEntry.folded(query.text()));
      }
      return inOrder();
    }

    /** A column whose index is scanned, or one that only filters. */
    private String column(Walk along, String name) {
      return walk == along ? "entry." + name : dialect.offIndex("entry." + name);
    }

    private void within(String time, Span span) {
      boolean ordered = time.equals(time(query));
      String column = ordered ? walked + "." + time : dialect.offIndex("entry." + time);
      if (span.from() != null) {
        where(column + " >= ?", span.from());
      }
      if (span.before() != null) {
        where(column + " < ?", span.before());
      }
    }

    private void where(String condition, Object value) {
      where(condition, List.of(value));
    }

    private void where(String condition, Collection<?> values) {
      conditions.add(condition);
      parameters.addAll(values);
    }

    private void whereTagged(String tag) {
      where(
          """
          EXISTS (SELECT 1 FROM directory_tag AS other
            WHERE other.persistence_id = entry.persistence_id AND other.tag = ?)
          """,
          tag);
    }

    private void whereAttribute(String name, String value) {
      where(dialect.hasAttribute("entry.labels"), List.of(name, value));
    }

    private SqlListing inOrder() {
      String time = walked + "." + time(query);
      if (walk == Walk.SESSION) {
        // Sorting the few entries of a session is cheaper than scanning all by time.
        time = dialect.offIndex(time);
      }
      String direction = direction(query);
      DirectoryCursor begin = query.begin();
      if (begin != null) {
        where(
            "(%s, %s.persistence_id) %s (?, ?)"
                .formatted(time, walked, query.order().latestFirst() ? "<" : ">"),
            List.of(begin.at(), begin.persistenceId()));
      }
      // One more than the page, to see whether another follows.
      parameters.add(query.limit() + 1);
      return new SqlListing(
          "SELECT entry.* FROM %s WHERE %s ORDER BY %s %s, %s.persistence_id %s LIMIT ?"
              .formatted(
                  source(), String.join(" AND ", conditions), time, direction, walked, direction),
          List.copyOf(parameters));
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
}
