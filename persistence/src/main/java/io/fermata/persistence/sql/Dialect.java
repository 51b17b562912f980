package io.fermata.persistence.sql;

/** What one database that keeps journals says in other words than the next. */
public enum Dialect {
  SQLITE("instr", "CROSS JOIN", "+") {
    @Override
    String hasAttribute(String labels) {
      return """
      EXISTS (SELECT 1 FROM json_each(%s, '$.attributes') AS attribute
        WHERE attribute.key = ? AND attribute.value = ?)
      """
          .formatted(labels);
    }
  },
  POSTGRES("strpos", "JOIN", "") {
    @Override
    String hasAttribute(String labels) {
      return "CAST(%s AS json) -> 'attributes' ->> CAST(? AS text) = ?".formatted(labels);
    }
  };

  private final String position;
  private final String orderedJoin;
  private final String offIndex;

  Dialect(String position, String orderedJoin, String offIndex) {
    this.position = position;
    this.orderedJoin = orderedJoin;
    this.offIndex = offIndex;
  }

  /** The text in a column contains a parameter. */
  String contains(String column) {
    return position + "(" + column + ", ?) > 0";
  }

  /** The labels of an entry have an attribute: a parameter for its name, one for its value. */
  abstract String hasAttribute(String labels);

  /** A join that is made in the order in which it is written, where a planner has to be told. */
  String orderedJoin() {
    return orderedJoin;
  }

  /** A column that is compared without its index, where a planner would choose the wrong one. */
  String offIndex(String column) {
    return offIndex + column;
  }
}
