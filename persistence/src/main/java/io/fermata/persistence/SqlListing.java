package io.fermata.persistence;

import java.util.ArrayList;
import java.util.List;

/** The statement that answers one query of the directory, with its parameters. */
record SqlListing(String sql, List<Object> parameters) {

  /**
   * Walks one index in the order of the list: that of a principal, who has few entries, or else of
   * a tag, or of a name, or of the kind. Everything else is looked at on the way.
   */
  static SqlListing of(Dialect dialect, DirectoryQuery query) {
    List<String> tags = query.tags().stream().sorted().toList();
    boolean walksTag = query.principal() == null && !tags.isEmpty();
    Builder listing = new Builder(dialect, walksTag ? "tagged" : "entry");
    listing.where(listing.walked + ".kind = ?", query.kind());
    if (query.principal() != null) {
      listing.where("entry.principal = ?", query.principal());
    }
    if (walksTag) {
      listing.where("tagged.tag = ?", tags.get(0));
    }
    if (query.name() != null) {
      boolean walksName = !walksTag && query.principal() == null;
      String column = walksName ? "entry.name" : dialect.offIndex("entry.name");
      listing.where(column + " = ?", query.name());
    }
    tags.stream().skip(walksTag ? 1 : 0).forEach(listing::whereTagged);
    query.attributes().forEach(listing::whereAttribute);
    if (query.text() != null) {
      listing.where(dialect.contains("entry.searchable"), DirectoryEntry.folded(query.text()));
    }
    return listing.inOrder(query);
  }

  private static final class Builder {

    private final Dialect dialect;
    private final String walked;
    private final List<String> conditions = new ArrayList<>();
    private final List<Object> parameters = new ArrayList<>();

    Builder(Dialect dialect, String walked) {
      this.dialect = dialect;
      this.walked = walked;
    }

    void where(String condition, Object... values) {
      conditions.add(condition);
      parameters.addAll(List.of(values));
    }

    void whereTagged(String tag) {
      where(
          """
          EXISTS (SELECT 1 FROM directory_tag AS other
            WHERE other.persistence_id = entry.persistence_id AND other.tag = ?)
          """,
          tag);
    }

    void whereAttribute(String name, String value) {
      where(dialect.hasAttribute("entry.labels"), name, value);
    }

    SqlListing inOrder(DirectoryQuery query) {
      String time =
          walked
              + switch (query.order()) {
                case ACTIVITY -> ".active_at";
                case CREATION -> ".created_at";
              };
      DirectoryCursor begin = query.begin();
      if (begin != null) {
        where(
            "(%s, %s.persistence_id) < (?, ?)".formatted(time, walked),
            begin.at(),
            begin.persistenceId());
      }
      // One more than the page, to see whether another follows.
      parameters.add(query.limit() + 1);
      return new SqlListing(
          "SELECT entry.* FROM %s WHERE %s ORDER BY %s DESC, %s.persistence_id DESC LIMIT ?"
              .formatted(source(), String.join(" AND ", conditions), time, walked),
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
