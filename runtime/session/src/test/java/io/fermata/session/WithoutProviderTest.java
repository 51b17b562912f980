package io.fermata.session;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.flow.Flow;
import io.fermata.flow.json.Json;
import io.fermata.persistence.Store;
import io.fermata.session.call.ToolCall;
import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** An application without an SLF4J provider, in a JVM of its own. */
@Tag("slow")
class WithoutProviderTest {
  record Nothing() {}

  /** The application. */
  static final class Application {
    private static final Flow<Nothing> FLOW =
        Flow.of("break", Nothing.class)
            .description("Breaks.")
            .act(
                "break",
                run -> {
                  throw new IllegalStateException(
                      "no bureau\nforged line\u009b1m\u2028forged\u202e end");
                })
            .edge(Flow.START, "break")
            .edge("break", Flow.END)
            .compile();

    public static void main(String[] args) {
      try (Fermata host = Fermata.host().store(Store.memory()).flow(FLOW).start()) {
        host.call(
                new ToolCall(
                    "break",
                    "ann",
                    Json.object().put("action", "start").put("intent", "x"),
                    Json.object(),
                    null))
            .toCompletableFuture()
            .join();
      }
    }
  }

  @Test
  void reportsTheMissingProviderAndFailuresOnStandardError() throws Exception {
    String classPath =
        Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
            .filter(entry -> !entry.contains("logback"))
            .collect(Collectors.joining(File.pathSeparator));
    Process application =
        new ProcessBuilder(
                List.of(
                    Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                    "-cp",
                    classPath,
                    Application.class.getName()))
            .redirectErrorStream(true)
            .start();
    String printed =
        new String(application.getInputStream().readAllBytes(), StandardCharsets.UTF_8);

    assertThat(application.waitFor()).as(printed).isZero();
    assertThat(printed.lines()).noneMatch(line -> line.startsWith("forged line"));
    assertThat(printed)
        .containsOnlyOnce(
            "There is no SLF4J provider on the class path, so only warnings and errors")
        .contains(
            "WARNING",
            "no bureau forged line 1m forged  end",
            "at io.fermata.session.WithoutProviderTest")
        .doesNotContain("SLF4J(");
  }
}
