package io.fermata.mcp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Flow;
import io.fermata.flow.event.Verdict;
import io.fermata.flow.json.Json;
import io.fermata.flow.route.Condition;
import io.fermata.flow.schema.Computed;
import io.fermata.flow.schema.Secret;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import io.fermata.session.HostBuilder;
import io.fermata.session.admin.DataKeys;
import io.fermata.session.call.ToolCall;
import io.fermata.session.telemetry.Meters;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;

/** A model asks about its own run, over a real socket. */
@Timeout(120)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ExplainRunTest {
  record Order(Integer seats, @Secret String card, @Computed Integer price, String note) {}

  private static Flow<Order> order(String id) {
    return Flow.of(id, Order.class)
        .description("Sells seats.")
        .ask("ask_seats", q -> q.question("seats", "How many seats?"))
        .ask(
            "ask_card",
            q ->
                q.question(
                    "card",
                    "Which card?",
                    o ->
                        o.validate(
                            (String card) ->
                                card.contains("-")
                                    ? Verdict.accept()
                                    : Verdict.reject("No card."))))
        .act("team", run -> run.set("price", run.state().seats() * 8))
        .act("single", run -> run.set("price", run.state().seats() * 10))
        .ask("ask_note", q -> q.question("note", "Anything else?"))
        .edge(Flow.START, "ask_seats")
        .edge("ask_seats", "ask_card")
        .decide(
            "ask_card",
            d -> d.when("large", Condition.gt("seats", 6)).to("team").otherwise("single"))
        .edge("team", "ask_note")
        .edge("single", "ask_note")
        .edge("ask_note", Flow.END)
        .compile();
  }

  private Fermata host;
  private McpServer server;

  private static HostBuilder host(Flow<?> flow) {
    return Fermata.host()
        .store(Store.memory())
        .keys(DataKeys.parse(DataKeys.generate("k1")))
        .flow(flow);
  }

  @BeforeAll
  void start() throws Exception {
    host = host(order("order")).explainRuns().start();
    server =
        McpServer.serving(host).apiKey("alice", "a-key").apiKey("bob", "b-key").port(0).start();
    call("alice", "order", "\"action\":\"start\",\"intent\":\"to go\"");
    call("alice", "order", "\"action\":\"continue\",\"stateUpdates\":{\"seats\":7}");
    call("alice", "order", "\"action\":\"continue\",\"stateUpdates\":{\"card\":\"4111222233\"}");
    call("alice", "order", "\"action\":\"continue\",\"stateUpdates\":{\"card\":\"4111-2222\"}");
  }

  @AfterAll
  void stop() {
    server.close();
    host.close();
  }

  private JsonNode call(String who, String tool, String arguments) throws Exception {
    JsonNode result =
        new Wired(server)
            .with("Authorization", "Bearer " + who.charAt(0) + "-key")
            .with("MCP-Protocol-Version", "2025-11-25")
            .request(
                "tools/call",
                "\"name\":\"%s\",\"arguments\":{%s},\"_meta\":{\"threadId\":\"chat\"}"
                    .formatted(tool, arguments))
            .result();
    assertThat(result.path("isError").asBoolean())
        .isEqualTo(result.at("/structuredContent/status").asText().equals("error"));
    return result.path("structuredContent");
  }

  private String explained(String question) throws Exception {
    JsonNode answer = call("alice", "explain_run", "\"flow\":\"order\"," + question);
    assertThat(answer.path("status").asText()).as(answer.toString()).isEqualTo("explained");
    String text = answer.path("text").asText();
    assertThat(text).doesNotContain("4111").hasSizeLessThanOrEqualTo(2_001);
    return text;
  }

  @Test
  void itSaysWhyAFieldHasItsValueAndWhichRuleChose() throws Exception {
    assertThat(explained("\"about\":\"why\",\"field\":\"price\""))
        .startsWith("price = 56 because team#1 set it")
        .contains("seats = 7 because the client answered ask_seats#1");
    assertThat(explained("\"about\":\"decisions\""))
        .isEqualTo(
            "After ask_card the run went to team, by the rule \"large\" (seats gt 6: 7 (true)).");
  }

  @Test
  void itSaysWhatWasAskedAndWhatHappenedWithoutSecrets() throws Exception {
    assertThat(explained("\"about\":\"asked\""))
        .contains(
            "Asked for seats: How many seats?",
            "Answered seats: 7.",
            "Refused",
            "[redacted]",
            "Asked for note: Anything else?");
    assertThat(explained("\"about\":\"path\"")).contains("the run went to team", "to go");
  }

  @Test
  void anUnknownFieldIsRefusedWithTheNearestOrElseWithAll() throws Exception {
    assertThat(call("alice", "explain_run", unknown("prise")).path("error").asText())
        .contains("The flow order has no field prise; did you mean price?");
    assertThat(call("alice", "explain_run", unknown("colour")).path("error").asText())
        .contains("The flow order has no field colour; its fields are card, note, price, seats");
    assertThat(explained("\"about\":\"why\",\"field\":\"note\"")).contains("note has no value");
  }

  private static String unknown(String field) {
    return "\"flow\":\"order\",\"about\":\"why\",\"field\":\"%s\"".formatted(field);
  }

  @Test
  void runsOfOthersAndUnfitQuestionsAreRefused() throws Exception {
    JsonNode others = call("bob", "explain_run", "\"flow\":\"order\",\"about\":\"path\"");
    assertThat(others.path("error").asText())
        .contains("There is no run of order", "or it has ended and is not kept")
        .doesNotContain("start");
    assertThat(
            call("alice", "explain_run", "\"flow\":\"order\",\"about\":\"why\"")
                .path("error")
                .asText())
        .contains("Name the field");
    assertThat(
            call("alice", "explain_run", "\"flow\":\"other\",\"about\":\"path\"")
                .path("code")
                .asText())
        .isEqualTo("invalid_arguments");
  }

  @Test
  void itsCallsAreMeasuredAsThoseOfOtherTools() throws Exception {
    SimpleMeterRegistry registry = new SimpleMeterRegistry();
    try (Fermata measured =
        host(order("order")).explainRuns().telemetry(Meters.of(registry)).start()) {
      ObjectNode question = Json.object().put("flow", "order").put("about", "path");
      measured
          .call(new ToolCall("explain_run", "ann", question, Json.object(), "chat"))
          .toCompletableFuture()
          .get(60, TimeUnit.SECONDS);

      assertThat(registry.find("fermata.calls").tag("tool", "explain_run").timer()).isNotNull();
    }
  }

  @Test
  void itIsOfferedOnlyWhereTheHostSaysSo() {
    try (Fermata other = host(order("order")).start()) {
      assertThat(other.tools()).noneMatch(tool -> tool.name().equals("explain_run"));
    }
    List<String> names = new ArrayList<>();
    host.tools().forEach(tool -> names.add(tool.name()));
    assertThat(names).containsExactly("order", "explain_run");
    assertThatThrownBy(() -> host(order("explain_run")).explainRuns().start())
        .hasMessageContaining("rename that");
  }
}
