package io.fermata.examples;

import java.nio.file.Path;
import java.util.List;

/** The server as a process of a client that uses its standard input and output. */
public final class Stdio {
  private Stdio() {}

  public static List<String> command(Path database) {
    return List.of(
        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
        "-cp",
        System.getProperty("java.class.path"),
        Main.class.getName(),
        "stdio",
        "--store",
        "sqlite:" + database);
  }
}
