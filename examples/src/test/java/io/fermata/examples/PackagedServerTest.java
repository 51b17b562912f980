package io.fermata.examples;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.flow.json.Json;
import java.io.BufferedReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;

/**
 * The jar that the build packaged, as users start it. What it does under faults is in the tests
 * that the build runs with it: {@code packaged.tests} in the pom.
 */
@Timeout(600)
@Tag("slow")
@EnabledIfSystemProperty(
    named = "server.jar",
    matches = ".+",
    disabledReason = "the jar is packaged and named in mvn verify")
class PackagedServerTest {
  @TempDir Path directory;

  private static Path jar() {
    return Path.of(Objects.requireNonNull(ServerProcess.JAR));
  }

  private String errors() throws Exception {
    return Files.readString(directory.resolve("errors.txt"));
  }

  @Test
  void theServerIsTheJarAndKnowsItsVersion() throws Exception {
    assertThat(jar()).exists();
    Process version = ServerProcess.run(directory, "--version");
    try (BufferedReader out = version.inputReader(StandardCharsets.UTF_8)) {
      assertThat(out.readLine()).matches("fermata-examples \\d+\\.\\d+\\.\\d+(-SNAPSHOT)?");
    }
    assertThat(version.waitFor()).isZero();
  }

  @Test
  void itContinuesARunAfterAKillAndWarnsOfNothing() throws Exception {
    String[] serve = {"serve", "--port", "0", "--store", "sqlite:test.db"};
    String run;
    try (ServerProcess server = ServerProcess.start(directory, serve)) {
      run =
          server
              .call("quote", Json.object().put("action", "start").put("intent", "wants a price"))
              .path("sessionId")
              .asText();
      server.kill();
    }
    assertThat(errors()).doesNotContain("WARN", "ERROR");
    try (ServerProcess server = ServerProcess.start(directory, serve)) {
      assertThat(
              server
                  .call("quote", Json.object().put("action", "continue").put("sessionId", run))
                  .at("/questions/0/field")
                  .asText())
          .isEqualTo("name");
      assertThat(server.endsWhenAsked()).isTrue();
    }
    assertThat(errors()).doesNotContain("WARN", "ERROR");
  }

  @Test
  void itTakesItsClassesFromTheArchiveBesideIt() throws Exception {
    Path loaded = directory.resolve("loaded.txt");
    Process version =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:SharedArchiveFile=" + jar().resolveSibling("fermata-examples.jsa"),
                "-Xlog:class+load:file=" + loaded,
                "-jar",
                jar().toString(),
                "--version")
            .redirectErrorStream(true)
            .start();
    assertThat(version.waitFor(60, TimeUnit.SECONDS)).isTrue();
    assertThat(version.exitValue()).isZero();
    List<String> own =
        Files.readAllLines(loaded).stream()
            .filter(line -> line.contains(" io.fermata.cli.Cli "))
            .toList();
    assertThat(own).singleElement().asString().contains("source: shared objects file (top)");
  }
}
