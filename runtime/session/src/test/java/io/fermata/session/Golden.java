package io.fermata.session;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** What releases have written down, and how this one writes down its own. */
public final class Golden {
  private static final Path RESOURCES = Path.of("src/test/resources");

  private Golden() {}

  /** Whether {@code -Dgolden=write} asks for files of the present form. */
  public static boolean writes() {
    return "write".equals(System.getProperty("golden"));
  }

  public static void write(String name, String text) throws IOException {
    Files.writeString(RESOURCES.resolve(name), text + "\n");
  }

  public static String read(String name) throws IOException {
    return Files.readString(RESOURCES.resolve(name)).strip();
  }
}
