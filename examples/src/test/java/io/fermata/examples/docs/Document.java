package io.fermata.examples.docs;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A Markdown file of the repository, line by line.
 *
 * @param path from the root of the repository
 */
record Document(String path, List<String> lines) {
  /** The root of the repository; tests run in the folder of this module. */
  static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

  private static final Set<String> NAMES =
      Set.of("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md");
  private static final Pattern FENCE = Pattern.compile("\\s*```(\\w*) ?(.*)");
  private static final String CONTEXT = "<!-- java context";

  /**
   * A fenced block.
   *
   * @param language the first word after the fence
   * @param options the words after the language
   * @param line the number of its first line
   */
  record Block(Document document, String language, String options, int line, List<String> lines) {
    boolean is(String option) {
      return List.of(options.split(" ", -1)).contains(option);
    }

    /** The value of an option that is written {@code name=value}; empty without it. */
    String value(String option) {
      for (String part : options.split(" ", -1)) {
        if (part.startsWith(option + "=")) {
          return part.substring(option.length() + 1);
        }
      }
      return "";
    }

    @Override
    public String toString() {
      return document.path + ":" + line;
    }
  }

  static Document of(String path) {
    try {
      return new Document(path, Files.readAllLines(ROOT.resolve(path)));
    } catch (IOException e) {
      throw new UncheckedIOException("The document " + path + " cannot be read", e);
    }
  }

  /** The README of each folder that has one, and the other documents of the root. */
  static List<Document> all() {
    try (Stream<Path> files = Files.walk(ROOT, 3)) {
      return files
          .filter(file -> NAMES.contains(file.getFileName().toString()))
          .map(file -> ROOT.relativize(file).toString().replace('\\', '/'))
          .filter(path -> !path.contains("target/"))
          .sorted()
          .map(Document::of)
          .toList();
    } catch (IOException e) {
      throw new UncheckedIOException("The documents cannot be listed", e);
    }
  }

  Path file() {
    return ROOT.resolve(path);
  }

  /** All fenced blocks, and the comments with the context of Java snippets. */
  List<Block> blocks() {
    List<Block> blocks = new ArrayList<>();
    for (int i = 0; i < lines.size(); i++) {
      Matcher fence = FENCE.matcher(lines.get(i));
      boolean context = lines.get(i).startsWith(CONTEXT);
      if (context || fence.matches()) {
        int end = i + 1;
        while (!(context ? lines.get(end).equals("-->") : lines.get(end).strip().equals("```"))) {
          end++;
        }
        String language = context ? "context" : fence.group(1);
        String options = context ? "" : fence.group(2);
        blocks.add(new Block(this, language, options, i + 2, lines.subList(i + 1, end)));
        i = end;
      }
    }
    return blocks;
  }

  List<Block> blocks(String language) {
    return blocks().stream().filter(block -> block.language().equals(language)).toList();
  }

  /** Its lines without those of fenced blocks, which are empty. */
  List<String> prose() {
    List<String> prose = new ArrayList<>(lines);
    for (Block block : blocks()) {
      for (int i = 0; i < block.lines().size(); i++) {
        prose.set(block.line() - 1 + i, "");
      }
    }
    return prose;
  }

  @Override
  public String toString() {
    return path;
  }
}
