package io.fermata.mcp;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.session.Fermata;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * The protocol's own conformance suite, against a server of plain tools and of flows. It needs npm
 * on the PATH. On Linux it brings its own Node; elsewhere Node 22 or newer must be installed.
 */
@Tag("tools")
class ConformanceTest {
  private static final Path CLIENTS = Path.of("target", "clients");
  private static final Path SUITE = Path.of("node_modules", "@modelcontextprotocol", "conformance");

  @BeforeAll
  static void install() throws Exception {
    Files.createDirectories(CLIENTS);
    for (String file : List.of("package.json", "package-lock.json")) {
      Files.write(CLIENTS.resolve(file), Files.readAllBytes(Path.of("src/test/clients", file)));
    }
    run(0, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund");
  }

  private static final String TASKS =
      "tasks-lifecycle;tasks-capability-negotiation;tasks-wire-fields;tasks-request-state-removal;"
          + "tasks-mrtr-input;tasks-request-headers;tasks-dispatch-and-envelope;"
          + "tasks-status-notifications;tasks-required-task-error;tasks-mrtr-composition";

  private static final String PENDING =
      "json-schema-2020-12;http-header-validation;http-custom-header-server-validation";

  @ParameterizedTest
  @CsvSource({
    "2026-07-28, 37, " + PENDING + ";" + TASKS,
    "2025-11-25, 30, json-schema-2020-12;server-session-lifecycle;server-sse-polling"
  })
  void everyScenarioThatARevisionRequiresPasses(String revision, int required, String beyond)
      throws Exception {
    List<String> scenarios = required(revision);
    assertThat(scenarios).hasSize(required);
    String printed;
    try (Fermata host = EverythingJobs.host();
        McpServer server = EverythingServer.builder(host).port(0).start()) {
      // Scenarios that are not scored may fail, which would also change the exit status.
      printed =
          run(
              1,
              node(),
              SUITE.resolve("dist/index.js").toString(),
              "server",
              "--url",
              server.endpoint().toString(),
              "-o",
              "out-" + revision,
              "--requirements",
              revision);
    }
    List<String> passed =
        printed
            .lines()
            .filter(line -> line.startsWith("✓ "))
            .map(line -> line.substring(2, line.indexOf(':')))
            .toList();
    assertThat(passed).as(printed).containsAll(scenarios).contains(beyond.split(";"));
  }

  /** The suite lists the requirements of a revision for servers, one per line. */
  private static List<String> required(String revision) throws IOException {
    return Files.readAllLines(
            CLIENTS.resolve(SUITE).resolve("requirements").resolve(revision + ".yaml"))
        .stream()
        .dropWhile(line -> !line.equals("server:"))
        .skip(1)
        .takeWhile(line -> !line.matches("\\w+:"))
        .filter(line -> line.startsWith("  - "))
        .map(line -> line.substring("  - ".length()).strip())
        .toList();
  }

  private static String node() {
    String cpu = System.getProperty("os.arch").equals("aarch64") ? "arm64" : "x64";
    Path node = Path.of("node_modules", "node-linux-" + cpu, "bin", "node");
    return Files.exists(CLIENTS.resolve(node))
        ? CLIENTS.resolve(node).toAbsolutePath().toString()
        : "node";
  }

  private static String run(int worstStatus, String... command)
      throws IOException, InterruptedException {
    Path out = Files.createTempFile("conformance", ".out");
    Process process;
    try {
      process =
          new ProcessBuilder(command)
              .directory(CLIENTS.toFile())
              .redirectErrorStream(true)
              .redirectOutput(out.toFile())
              .start();
    } catch (IOException e) {
      throw new AssertionError(
          command[0] + " is missing; install Node 22 or newer with npm, or leave out the tag tools",
          e);
    }
    boolean ended = process.waitFor(5, TimeUnit.MINUTES);
    if (!ended) {
      process.destroyForcibly();
    }
    String printed = Files.readString(out, StandardCharsets.UTF_8);
    if (!ended || process.exitValue() > worstStatus) {
      throw new AssertionError(String.join(" ", command) + " failed:\n" + printed);
    }
    return printed;
  }
}
