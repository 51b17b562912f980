package io.fermata.cli.telemetry;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.joran.JoranConfigurator;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.LoggingEvent;
import ch.qos.logback.classic.util.LogbackMDCAdapter;
import ch.qos.logback.core.OutputStreamAppender;
import ch.qos.logback.core.joran.spi.JoranException;
import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.json.Json;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.slf4j.Logger;

/** The log that an application has by default; what a client sends cannot forge a line of it. */
class StandardLogTest {
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
        .anyMatch(line -> line.contains("StandardLogTest.aStackTraceHasItsLinesAndNoOthers("))
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

  private static LoggerContext standard(String form) throws JoranException {
    LoggerContext context = new LoggerContext();
    context.setMDCAdapter(new LogbackMDCAdapter());
    context.putProperty("FERMATA_LOG", form);
    JoranConfigurator configurator = new JoranConfigurator();
    configurator.setContext(context);
    configurator.doConfigure(StandardLog.CONFIGURATION);
    return context;
  }

  private static List<String> logged(Consumer<Logger> logging) throws JoranException {
    PrintStream before = System.err;
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    System.setErr(new PrintStream(out, true, StandardCharsets.UTF_8));
    try {
      LoggerContext context = standard("text");
      logging.accept(context.getLogger("io.fermata.test"));
      context.stop();
    } finally {
      System.setErr(before);
    }
    return out.toString(StandardCharsets.UTF_8).lines().toList();
  }

  @ParameterizedTest
  @CsvSource({"json, json", "JSON, json", "text, text", "'', text", "jsno, text"})
  void itHasOneOfTwoFormsWhateverIsChosen(String chosen, String form) throws JoranException {
    LoggerContext context = standard(chosen);
    List<String> appenders = new ArrayList<>();
    context
        .getLogger(Logger.ROOT_LOGGER_NAME)
        .iteratorForAppenders()
        .forEachRemaining(appender -> appenders.add(appender.getName()));
    assertThat(appenders).containsExactly(form);
    context.stop();
  }

  @Test
  void jsonSaysWhatWasLoggedAndByWhom() throws Exception {
    LoggerContext context = standard("json");
    context.putProperty(LoggedHost.PROPERTY, "10.0.0.5:7400");
    ch.qos.logback.classic.Logger root = context.getLogger(Logger.ROOT_LOGGER_NAME);
    OutputStreamAppender<ILoggingEvent> json =
        (OutputStreamAppender<ILoggingEvent>) root.getAppender("json");
    byte[] line =
        json.getEncoder()
            .encode(
                new LoggingEvent(
                    "", root, Level.INFO, "Taking up {} runs", null, new Object[] {3}));
    JsonNode logged = Json.parse(new String(line, StandardCharsets.UTF_8));
    assertThat(logged.path("formattedMessage").asText()).isEqualTo("Taking up 3 runs");
    assertThat(logged.at("/context/properties/host").asText()).isEqualTo("10.0.0.5:7400");
    assertThat(logged.has("message")).as("the template").isFalse();
    context.stop();
  }
}
