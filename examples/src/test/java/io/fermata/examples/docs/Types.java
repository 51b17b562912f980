package io.fermata.examples.docs;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** The Java files of the repository by the simple names of their types. */
final class Types {
  private static final Pattern PACKAGE = Pattern.compile("(?m)^package ([\\w.]+);");
  private static final List<String> SOURCES =
      List.of("src/main/java", "src/test/java", "src/fixtures/java", "src/contract/java");

  private final Map<String, List<Source>> byName = new TreeMap<>();

  private Types() {}

  /**
   * A Java file.
   *
   * @param test whether users never see it
   */
  record Source(String name, String pack, boolean test, String text) {
    boolean isPublic() {
      String kinds = "(?:class|interface|record|enum|@interface)";
      return Pattern.compile(
              "(?m)^public (?:(?:final|abstract|sealed|non-sealed) )*" + kinds + " " + name + "\\b")
          .matcher(text)
          .find();
    }

    /** Whether it declares a method, a constant or a nested type of this name. */
    boolean has(String member) {
      // A search for the name alone is much faster, and most files do not contain it.
      return text.contains(member)
          && Pattern.compile("[\\w>\\]] " + Pattern.quote(member) + "\\b|\\b" + member + "[,;(]")
              .matcher(text)
              .find();
    }
  }

  static Types ofRepository() {
    Types types = new Types();
    try (Stream<Path> files = Files.walk(Document.ROOT)) {
      files.filter(Types::isSource).forEach(types::add);
    } catch (IOException e) {
      throw new UncheckedIOException("The sources cannot be listed", e);
    }
    return types;
  }

  private static boolean isSource(Path file) {
    String path = relative(file);
    return path.endsWith(".java")
        && !path.contains("/target/")
        && SOURCES.stream().anyMatch(folder -> path.contains(folder + "/"));
  }

  private static String relative(Path file) {
    return Document.ROOT.relativize(file).toString().replace('\\', '/');
  }

  private void add(Path file) {
    String path = relative(file);
    String name = path.substring(path.lastIndexOf('/') + 1, path.length() - ".java".length());
    String text = read(file);
    Matcher pack = PACKAGE.matcher(text);
    boolean test = !path.contains("src/main/java/");
    Source source = new Source(name, pack.find() ? pack.group(1) : "", test, text);
    byName.computeIfAbsent(name, any -> new ArrayList<>()).add(source);
  }

  static String read(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      throw new UncheckedIOException(file + " cannot be read", e);
    }
  }

  List<Source> named(String name) {
    return byName.getOrDefault(name, List.of());
  }

  Stream<Source> all() {
    return byName.values().stream().flatMap(List::stream);
  }

  /** The one file of main code that declares a type. */
  Source main(String name) {
    return named(name).stream()
        .filter(source -> !source.test())
        .findFirst()
        .orElseThrow(() -> new AssertionError("There is no type " + name));
  }

  /** The public types of main code, the shorter package first where a name is used twice. */
  Map<String, String> forUsers() {
    Map<String, String> users = new TreeMap<>();
    all()
        .filter(source -> !source.test() && source.isPublic())
        .sorted(Comparator.comparing(source -> source.pack().length()))
        .forEach(source -> users.putIfAbsent(source.name(), source.pack() + "." + source.name()));
    return users;
  }
}
