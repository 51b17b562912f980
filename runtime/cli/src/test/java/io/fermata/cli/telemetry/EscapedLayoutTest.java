package io.fermata.cli.telemetry;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.joran.JoranConfigurator;
import ch.qos.logback.classic.util.LogbackMDCAdapter;
import ch.qos.logback.core.joran.spi.JoranException;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.slf4j.Logger;

/** What a client sends cannot forge a line of the log that the server writes by default. */
class EscapedLayoutTest {
  private static final String FORGED =
      "x\r\n16:59:59.000 ERROR i.f.FORGED admin logged in \u001b[31m\u2028\u202eend";

  @Test
  void aMessageIsOneLineWithoutControlCharacters() throws JoranException {
    assertThat(logged(log -> log.error("No flight {}", FORGED)))
        .singleElement()
        .asString()
        .contains("ERROR")
        .endsWith(
            "No flight x\\r\\n16:59:59.000 ERROR i.f.FORGED admin logged in"
                + " \\u001b[31m\\u2028\\u202eend");
  }

  @Test
  void aStackTraceHasItsLinesAndNoOthers() throws JoranException {
    Exception cause = new IllegalArgumentException(FORGED);
    cause.addSuppressed(new IllegalStateException(FORGED));

    List<String> lines = logged(log -> log.error("failed", new RuntimeException(FORGED, cause)));

    assertThat(lines)
        .noneMatch(line -> line.startsWith("16:59:59.000"))
        .noneMatch(line -> line.indexOf('\u001b') >= 0)
        .anyMatch(line -> line.contains("EscapedLayoutTest.aStackTraceHasItsLinesAndNoOthers("))
        .anyMatch(line -> line.startsWith("Caused by: java.lang.IllegalArgumentException: x\\r"))
        .anyMatch(line -> line.contains("Suppressed: java.lang.IllegalStateException: x\\r"));
  }

  @Test
  void ordinaryTextStaysAsItIs() throws JoranException {
    assertThat(logged(log -> log.error("Zürich\t☕ 𝄐 \\n")))
        .singleElement()
        .asString()
        .endsWith("Zürich\t☕ 𝄐 \\n");
  }

  @Test
  void aHostOfAClusterIsNamedInEachLine() throws JoranException {
    assertThat(logged(log -> log.error("alone")))
        .singleElement()
        .asString()
        .matches("[0-9:.]{12} ERROR io.fermata.test alone");
    assertThat(
            logged(
                log -> {
                  ((ch.qos.logback.classic.Logger) log)
                      .getLoggerContext()
                      .putProperty(LoggedHost.PROPERTY, "10.0.0.5:7400");
                  log.error("not alone");
                }))
        .singleElement()
        .asString()
        .matches("[0-9:.]{12} ERROR 10.0.0.5:7400 io.fermata.test not alone");
  }

  private static List<String> logged(Consumer<Logger> logging) throws JoranException {
    PrintStream before = System.err;
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    LoggerContext context = new LoggerContext();
    context.setMDCAdapter(new LogbackMDCAdapter());
    System.setErr(new PrintStream(out, true, StandardCharsets.UTF_8));
    try {
      JoranConfigurator configurator = new JoranConfigurator();
      configurator.setContext(context);
      configurator.doConfigure(StandardLog.CONFIGURATION);
      logging.accept(context.getLogger("io.fermata.test"));
    } finally {
      context.stop();
      System.setErr(before);
    }
    return out.toString(StandardCharsets.UTF_8).lines().toList();
  }
}
