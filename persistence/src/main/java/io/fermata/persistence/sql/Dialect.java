package io.fermata.persistence.sql;

/** The SQL that differs between databases. */
public enum Dialect {
  SQLITE("instr", "CROSS JOIN", "+", 50) {
    @Override
    String hasAttribute(String labels) {
      return """
      EXISTS (SELECT 1 FROM json_each(%s, '$.attributes') AS attribute
        WHERE attribute.key = ? AND attribute.value = ?)
      """
          .formatted(labels);
    }

    @Override
    String candidates() {
      return "json_each(?) AS candidate CROSS JOIN directory AS entry ON entry.id = candidate.value";
    }
  },
  POSTGRES("strpos", "JOIN", "", 1_000) {
    @Override
    String hasAttribute(String labels) {
      return "CAST(%s AS json) -> 'attributes' ->> CAST(? AS text) = ?".formatted(labels);
    }

    @Override
    String candidates() {
      return """
      unnest(CAST(? AS text[])) AS candidate (name) JOIN directory AS entry
        ON entry.persistence_id = candidate.name
      """;
    }
  };

  private final String position;
  private final String orderedJoin;
  private final String offIndex;
  private final int sweptAtOnce;

  Dialect(String position, String orderedJoin, String offIndex, int sweptAtOnce) {
    this.position = position;
    this.orderedJoin = orderedJoin;
    this.offIndex = offIndex;
    this.sweptAtOnce = sweptAtOnce;
  }

  /**
   * How many journals are swept in one transaction: few where appends wait for it, more where each
   * statement is a round trip.
   */
  int sweptAtOnce() {
    return sweptAtOnce;
  }

  /** A condition: the text in a column contains a parameter. */
  String contains(String column) {
    return position + "(" + column + ", ?) > 0";
  }

  /**
   * A condition: the labels of an entry have an attribute, given as two parameters, name and value.
   */
  abstract String hasAttribute(String labels);

  /** The entries that {@link SqlTexts#candidates} names, given as one parameter. */
  abstract String candidates();

  /** A join in the order in which it is written, where the planner needs that hint. */
  String orderedJoin() {
    return orderedJoin;
  }

  /** A column compared without its index, where the planner would choose the wrong one. */
  String offIndex(String column) {
    return offIndex + column;
  }
}
