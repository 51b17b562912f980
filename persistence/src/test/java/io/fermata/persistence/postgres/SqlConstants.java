package io.fermata.persistence.postgres;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaField;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import io.fermata.layers.Layers;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;

/** The statements about tables that grow, which are constants of the classes that send them. */
final class SqlConstants {

  /** The beginning of others, and what SQLite sends, which inserts entries one by one. */
  private static final Set<String> NOT_SENT =
      Set.of("SqlEntries.SELECT", "SqlEntries.INSERT", "SqlEntries.INSERT_TAG");

  private SqlConstants() {}

  /** Those that are not among what was sent, by their names. */
  static Map<String, String> missing(Set<String> sent) throws IllegalAccessException {
    Map<String, String> missing = new TreeMap<>();
    for (JavaClass each :
        new ClassFileImporter()
            .withImportOption(Layers.MAIN)
            .importPackages("io.fermata.persistence.sql", "io.fermata.persistence.postgres")) {
      for (JavaField constant : each.getFields()) {
        String name = each.getSimpleName() + "." + constant.getName();
        String sql = text(constant.reflect());
        if (StatementLog.isAboutTables(sql) && !NOT_SENT.contains(name) && !isAmong(sent, sql)) {
          missing.put(name, sql);
        }
      }
    }
    return missing;
  }

  private static String text(Field field) throws IllegalAccessException {
    if (!Modifier.isStatic(field.getModifiers()) || field.getType() != String.class) {
      return "";
    }
    field.setAccessible(true);
    return String.valueOf(field.get(null)).strip();
  }

  /** What has places for a table or a condition is sent with these filled in. */
  private static boolean isAmong(Set<String> sent, String sql) {
    if (!sql.contains("%s")) {
      return sent.contains(numbered(sql));
    }
    String parts = sql.replace("%s", "\\E.*\\Q").replace("?", "\\E\\$\\d+\\Q");
    Pattern filled = Pattern.compile("\\Q" + parts + "\\E", Pattern.DOTALL);
    return sent.stream().anyMatch(each -> filled.matcher(each).find());
  }

  private static String numbered(String sql) {
    StringBuilder numbered = new StringBuilder(sql);
    int next = numbered.indexOf("?");
    for (int i = 1; next >= 0; i++) {
      numbered.replace(next, next + 1, "$" + i);
      next = numbered.indexOf("?");
    }
    return numbered.toString();
  }
}
