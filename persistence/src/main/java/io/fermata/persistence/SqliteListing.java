package io.fermata.persistence;

import java.util.ArrayList;
import java.util.List;

/** The statement that answers one query of the directory, with its parameters. */
record SqliteListing(String sql, List<Object> parameters) {

  /**
   * Walks one index in the order of the list: that of a principal, who has few entries, or else of
   * a tag, or of a name, or of the kind. Everything else is looked at on the way.
   */
  static SqliteListing of(DirectoryQuery query) {
    List<String> tags = query.tags().stream().sorted().toList();
    boolean walksTag = query.principal() == null && !tags.isEmpty();
    Builder listing = new Builder(walksTag ? "tagged" : "entry");
    listing.where(listing.walked + ".kind = ?", query.kind());
    if (query.principal() != null) {
      listing.where("entry.principal = ?", query.principal());
    }
    if (walksTag) {
      listing.where("tagged.tag = ?", tags.get(0));
    }
    if (query.name() != null) {
      // The sign keeps the index of names out of a walk along another.
      String sign = walksTag || query.principal() != null ? "+" : "";
      listing.where(sign + "entry.name = ?", query.name());
    }
    tags.stream().skip(walksTag ? 1 : 0).forEach(listing::whereTagged);
    query.attributes().forEach(listing::whereAttribute);
    if (query.text() != null) {
      listing.where("instr(entry.searchable, ?) > 0", DirectoryEntry.folded(query.text()));
    }
    return listing.inOrder(query);
  }

  private static final class Builder {

    private final String walked;
    private final List<String> conditions = new ArrayList<>();
    private final List<Object> parameters = new ArrayList<>();

    Builder(String walked) {
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
      where(
          """
          EXISTS (SELECT 1 FROM json_each(entry.labels, '$.attributes') AS attribute
            WHERE attribute.key = ? AND attribute.value = ?)
          """,
          name,
          value);
    }

    SqliteListing inOrder(DirectoryQuery query) {
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
      return new SqliteListing(
          "SELECT entry.* FROM %s WHERE %s ORDER BY %s DESC, %s.persistence_id DESC LIMIT ?"
              .formatted(source(), String.join(" AND ", conditions), time, walked),
          List.copyOf(parameters));
    }

    /** A cross join keeps its order, in any other SQLite may begin with the entries. */
    private String source() {
      return walked.equals("entry")
          ? "directory AS entry"
          : """
            directory_tag AS tagged CROSS JOIN directory AS entry
              ON entry.persistence_id = tagged.persistence_id
            """;
    }
  }
}
