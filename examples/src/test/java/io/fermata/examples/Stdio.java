package io.fermata.examples;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The server as a process of a client that uses its standard input and output. */
public final class Stdio {
  private Stdio() {}

  public static List<String> command(Path database) {
    List<String> command = new ArrayList<>(ServerProcess.java());
    command.addAll(
        List.of(
            "-cp",
            System.getProperty("java.class.path"),
            Main.class.getName(),
            "stdio",
            "--store",
            "sqlite:" + database));
    return command;
  }
}
