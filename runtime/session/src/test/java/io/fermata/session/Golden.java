package io.fermata.session;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** What releases have written down, and how this one writes down its own. */
final class Golden {
  private static final Path RESOURCES = Path.of("src/test/resources");

  private Golden() {}

  /** Whether {@code -Dgolden=write} asks for files of the present form. */
  static boolean writes() {
    return "write".equals(System.getProperty("golden"));
  }

  static void write(String name, String text) throws IOException {
    Files.writeString(RESOURCES.resolve(name), text + "\n");
  }

  static String read(String name) throws IOException {
    return Files.readString(RESOURCES.resolve(name)).strip();
  }
}
