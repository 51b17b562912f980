package io.fermata.persistence.postgres;

import io.fermata.persistence.sql.SchemaSteps;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What the statements of a schema create: tables with their keys, indexes, functions and triggers.
 * Without one of them a store would read whole tables, keep what it deletes, or let two hosts write
 * a session. Looking for them is one short query of the catalog, which any role may read.
 */
final class PostgresParts {

  private static final Pattern CREATE =
      Pattern.compile("\\s*CREATE (?:OR REPLACE |UNIQUE )?(TABLE|INDEX|FUNCTION|TRIGGER) (\\w+)");
  private static final Pattern DROP =
      Pattern.compile("\\s*DROP (?:TABLE|INDEX|FUNCTION|TRIGGER) (\\w+)");
  private static final Pattern KEY = Pattern.compile("(?m)^\\s*PRIMARY KEY \\(([^)]*)\\)");
  private static final Pattern KEY_COLUMN = Pattern.compile("(?m)^\\s*(\\w+) [^\\n]*PRIMARY KEY");
  private static final Pattern UNIQUE = Pattern.compile("(?m)^\\s*(\\w+) [^\\n]*UNIQUE");
  private static final Pattern ON = Pattern.compile(" ON (\\w+)");

  /** The parts of these names that are there, and whether each is in use. */
  static final String FOUND =
      """
      SELECT class.relname, index.indexrelid IS NULL OR (index.indisvalid AND index.indisready)
      FROM pg_class AS class LEFT JOIN pg_index AS index ON index.indexrelid = class.oid
      WHERE class.relname = ANY (CAST(? AS name[]))
        AND class.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
      UNION ALL
      SELECT proname, TRUE FROM pg_proc
      WHERE proname = ANY (CAST(? AS name[]))
        AND pronamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
      UNION ALL
      SELECT 'trigger ' || tgname, tgenabled IN ('O', 'A')
      FROM pg_trigger JOIN pg_class AS class ON class.oid = tgrelid
      WHERE class.relname = ANY (CAST(? AS name[]))
        AND class.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
      """;

  /**
   * A part of a schema.
   *
   * @param kind in words
   * @param key its name, which those of triggers share with their functions
   * @param create the statement that creates it again; empty if its content would be lost
   * @param use the statement that puts it to use again
   */
  private record Part(String kind, String name, String key, String create, String use) {

    private String lost() {
      return "The %s %s is missing%s"
          .formatted(kind, name, create.isEmpty() ? "" : "; run \"" + create + "\"");
    }

    private String unused() {
      return "The %s %s is not in use; run \"%s\"".formatted(kind, name, use);
    }
  }

  private final Map<String, Part> parts = new LinkedHashMap<>();

  private PostgresParts() {}

  /** What these statements create and do not drop. */
  static PostgresParts of(SchemaSteps steps) {
    PostgresParts parts = new PostgresParts();
    for (List<String> step : steps.steps()) {
      step.forEach(parts::read);
    }
    return parts;
  }

  private void read(String sql) {
    Matcher dropped = DROP.matcher(sql);
    if (dropped.lookingAt()) {
      parts.values().removeIf(part -> part.name().equals(dropped.group(1)));
    }
    Matcher created = CREATE.matcher(sql);
    if (!created.lookingAt()) {
      return;
    }
    String name = created.group(2);
    String again = sql.strip().replaceAll("\\s+", " ");
    switch (created.group(1)) {
      case "TABLE" -> table(name, sql);
      case "INDEX" -> add(new Part("index", name, name, again, "REINDEX INDEX " + name));
      case "FUNCTION" -> add(new Part("function", name, name, again, ""));
      default -> {
        Matcher on = ON.matcher(again);
        String table = on.find() ? on.group(1) : "";
        String use = "ALTER TABLE %s ENABLE TRIGGER %s".formatted(table, name);
        add(new Part("trigger", name, "trigger " + name, again, use));
      }
    }
  }

  private void add(Part part) {
    parts.put(part.key(), part);
  }

  /** A table, with the indexes to which PostgreSQL gives the names. */
  private void table(String table, String sql) {
    add(new Part("table", table, table, "", ""));
    Matcher key = KEY.matcher(sql);
    Matcher keyColumn = KEY_COLUMN.matcher(sql);
    if (key.find() || keyColumn.find()) {
      String columns = key.reset().find() ? key.group(1) : keyColumn.group(1);
      constraint(table, table + "_pkey", "PRIMARY KEY (" + columns + ")");
    }
    Matcher unique = UNIQUE.matcher(sql);
    while (unique.find()) {
      String column = unique.group(1);
      constraint(table, table + "_" + column + "_key", "UNIQUE (" + column + ")");
    }
  }

  private void constraint(String table, String name, String what) {
    String add = "ALTER TABLE %s ADD CONSTRAINT %s %s".formatted(table, name, what);
    add(new Part("index", name, name, add, "REINDEX INDEX " + name));
  }

  /** The names of all parts. */
  List<String> names() {
    return List.copyOf(parts.keySet());
  }

  List<String> tables() {
    return parts.values().stream()
        .filter(part -> part.kind().equals("table"))
        .map(Part::name)
        .toList();
  }

  /** What is missing or not in use in the schema of a connection, and how to restore it. */
  List<String> damages(Connection connection) throws SQLException {
    Map<String, Part> missing = new LinkedHashMap<>(parts);
    List<String> damages = new ArrayList<>();
    try (PreparedStatement select = connection.prepareStatement(FOUND)) {
      for (int i = 1; i <= 3; i++) {
        select.setArray(
            i,
            connection.createArrayOf(
                "name", parts.values().stream().map(Part::name).toArray(String[]::new)));
      }
      try (ResultSet rows = select.executeQuery()) {
        while (rows.next()) {
          Part found = missing.remove(rows.getString(1));
          if (found != null && !rows.getBoolean(2)) {
            damages.add(found.unused());
          }
        }
      }
    }
    missing.values().forEach(part -> damages.add(part.lost()));
    return damages;
  }
}
