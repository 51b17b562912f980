package io.fermata.examples;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.json.Json;
import java.io.PrintWriter;
import java.io.StringWriter;
import org.junit.jupiter.api.Test;

class EvaluateCommandTest {
  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();

  private int run(String... arguments) {
    return Main.cli()
        .commandLine()
        .setOut(new PrintWriter(out))
        .setErr(new PrintWriter(err))
        .execute(arguments);
  }

  /** A provider over a real socket, whose model never calls the tool. */
  @Test
  void aModelOfAProviderIsMeasured() throws Exception {
    try (ChatProvider provider = new ChatProvider()) {
      for (int i = 0; i < 12; i++) {
        provider.say("I cannot do that.");
      }

      int code =
          run(
              "evaluate",
              "--model-url",
              provider.baseUrl(),
              "--model-name",
              "gpt",
              "--model-price",
              "2.00,8.00",
              "--require",
              "0.9",
              "--json");

      assertThat(code).as(err.toString()).isEqualTo(10);
      JsonNode report = Json.parse(out.toString());
      assertThat(report.at("/variants/0/variant").asText()).isEqualTo("gpt");
      assertThat(report.at("/variants/0/passRate").asDouble()).isZero();
      assertThat(report.path("trials")).hasSize(6);
      JsonNode first = provider.requests().get(0);
      assertThat(first.path("tools").findValuesAsText("name")).contains("quote", "show_plans");
      assertThat(first.path("tools").toString()).contains("Never invent an answer");
      assertThat(first.path("messages").toString()).contains("Do not start again");
    }
  }

  @Test
  void withoutAModelTheScriptIsMeasured() {
    assertThat(run("evaluate", "--repeat", "0")).isEqualTo(2);
    assertThat(err).asString().contains("--repeat is 0; give at least 1");

    assertThat(run("evaluate", "--parallel", "0")).isEqualTo(2);
    assertThat(err).asString().contains("--parallel is 0; give at least 1");

    assertThat(run("evaluate", "--require", "90")).isEqualTo(2);
    assertThat(err).asString().contains("--require is 90.0; give a share from 0 to 1");

    assertThat(run("evaluate", "--parallel", "3", "--require", "1")).as(err.toString()).isZero();
    assertThat(out).asString().containsPattern("all cases +scripted +6/6 100%");
  }
}
