package io.fermata.bench;

import java.io.BufferedReader;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A server in a separate JVM, whose first line of output names its endpoint. */
record ServerJvm(Process process, URI endpoint) implements AutoCloseable {
  private static final Pattern ENDPOINT = Pattern.compile("http://\\S+/mcp");

  static ServerJvm start(Class<?> main, Path directory) throws IOException {
    Path errors = directory.resolve("errors.txt");
    Process process =
        new ProcessBuilder(
                List.of(
                    Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                    "-Xmx512m",
                    "-XX:+IgnoreUnrecognizedVMOptions",
                    "--sun-misc-unsafe-memory-access=allow",
                    "--enable-native-access=ALL-UNNAMED",
                    "-cp",
                    System.getProperty("java.class.path"),
                    main.getName()))
            .redirectError(errors.toFile())
            .start();
    BufferedReader out = process.inputReader(StandardCharsets.UTF_8);
    Matcher line = ENDPOINT.matcher(String.valueOf(out.readLine()));
    if (!line.find()) {
      process.destroyForcibly();
      throw new AssertionError("The server did not start: " + Files.readString(errors));
    }
    return new ServerJvm(process, URI.create(line.group()));
  }

  /** The processor time that it has used so far. */
  Duration cpu() {
    return process
        .info()
        .totalCpuDuration()
        .orElseThrow(() -> new AssertionError("This system does not report processor time"));
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }
}
