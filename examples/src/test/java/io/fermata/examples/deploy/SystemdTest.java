package io.fermata.examples.deploy;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine.ParseResult;

/** The unit of systemd, compared with the server that it starts. */
class SystemdTest {
  private static final String UNIT = "fermata@.service";

  private final Map<String, String> unit = unit();

  private static Map<String, String> unit() {
    Map<String, String> settings = new HashMap<>();
    for (String line : Deployed.text(UNIT).lines().toList()) {
      int equals = line.indexOf('=');
      if (equals > 0 && !line.startsWith("#")) {
        String before = settings.put(line.substring(0, equals), line.substring(equals + 1));
        assertThat(before).as(line).isNull();
      }
    }
    return settings;
  }

  private String of(String key) {
    return unit.getOrDefault(key, "");
  }

  private List<String> command() {
    return List.of(of("ExecStart").replace("%i", "8081").split(" ", -1));
  }

  private ParseResult serve() {
    List<String> all = command();
    List<String> arguments = all.subList(all.indexOf("serve"), all.size());
    assertThat(arguments.get(arguments.size() - 1)).isEqualTo("$SERVE_OPTIONS");
    return Deployed.serve(arguments.subList(0, arguments.size() - 1));
  }

  @Test
  void theServerIsStartedAsAMemberOfTheClusterAtThePortOfTheInstance() {
    assertThat(Deployed.option(serve(), "--cluster", Boolean.class)).isTrue();
    assertThat(Deployed.option(serve(), "--port", Integer.class)).isEqualTo(8081);
    assertThat(command()).contains("-jar", "/opt/fermata/fermata-examples.jar");
  }

  @Test
  void theVariablesThatItNamesAreReadByTheServer() throws Exception {
    String comment =
        Deployed.text(UNIT)
            .lines()
            .filter(line -> line.startsWith("# FERMATA_STORE"))
            .findFirst()
            .orElseThrow();
    List<String> variables = List.of(comment.substring(2, comment.indexOf(';')).split(", ", -1));
    assertThat(variables).hasSizeGreaterThan(2);
    assertThat(Deployed.unread(variables.stream())).isEmpty();
  }

  /** What systemd does with an exit code: systemd.service(5), Restart. */
  private boolean restarts(int code) {
    List<String> clean = List.of(("0 " + of("SuccessExitStatus")).split(" ", -1));
    List<String> prevented = List.of(of("RestartPreventExitStatus").split(" ", -1));
    String status = String.valueOf(code);
    return of("Restart").equals("on-failure")
        && !clean.contains(status)
        && !prevented.contains(status);
  }

  @Test
  void aServerThatWasRemovedIsStartedAgainAndAWrongOptionIsNot() {
    assertThat(restarts(Deployed.lost())).isTrue();
    assertThat(restarts(1)).isTrue();
    assertThat(restarts(3)).as("the database is not up yet").isTrue();
    assertThat(restarts(2)).as("the command line is wrong").isFalse();
    assertThat(restarts(143)).as("it was stopped").isFalse();
    assertThat(of("StartLimitIntervalSec")).isEqualTo("0");
  }

  @Test
  void aServerHasTimeToLeave() {
    assertThat(of("KillSignal")).isEqualTo("SIGTERM");
    assertThat(Duration.ofSeconds(Long.parseLong(of("TimeoutStopSec"))))
        .isGreaterThan(Deployed.closing(serve()));
  }

  @Test
  void itMayWriteWhereItWorks() {
    assertThat(of("ProtectSystem")).isEqualTo("strict");
    assertThat(of("WorkingDirectory")).isEqualTo("%S/" + of("StateDirectory"));
  }

  @Test
  @Tag("tools")
  void systemdFindsNothingWrong(@TempDir Path folder) throws Exception {
    // The machine of the test has no user and no jar of the name, and its own java.
    Path java = Path.of(System.getProperty("java.home"), "bin", "java");
    String here = Deployed.text(UNIT).replace("/usr/bin/java", java.toString());
    assertThat(verified(folder, here)).isEmpty();
    assertThat(verified(folder, here.replace("ProtectClock", "ProtectClocks")))
        .contains("ProtectClocks");
  }

  private static String verified(Path folder, String unit) throws Exception {
    Path file = Files.writeString(folder.resolve(UNIT), unit);
    Process verify =
        new ProcessBuilder("systemd-analyze", "verify", "--man=no", file.toString())
            .redirectErrorStream(true)
            .start();
    String said = new String(verify.getInputStream().readAllBytes(), UTF_8);
    verify.waitFor();
    return said;
  }
}
