package io.fermata.mcp.catalog;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.mcp.TaskClient.accepted;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.FlowTool;
import io.fermata.flow.Flow;
import io.fermata.flow.FlowBuilder;
import io.fermata.flow.QuestionOptions;
import io.fermata.flow.event.Verdict;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Limits;
import io.fermata.mcp.Events;
import io.fermata.mcp.Issuer;
import io.fermata.mcp.McpServer;
import io.fermata.mcp.TaskClient;
import io.fermata.mcp.TaskServer;
import io.fermata.mcp.Wired;
import io.fermata.mcp.protocol.OutboundQueue;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import io.fermata.session.ToolHost;
import io.fermata.session.admin.Settings;
import io.fermata.session.call.DisplayTool;
import io.fermata.session.call.TaskRun;
import io.fermata.session.call.TaskView;
import io.fermata.session.call.Tasks;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolContract;
import io.fermata.session.call.ToolProgress;
import io.fermata.session.call.ToolReply;
import io.fermata.session.key.Handles;
import io.fermata.session.key.HostError;
import java.math.BigDecimal;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalTime;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Calls whose work outlasts them: the extension io.modelcontextprotocol/tasks, backed by runs. */
@Timeout(120)
@Tag("slow")
class TasksTest {
  @TempDir Path directory;
  private TaskServer kitchen;
  private Fermata host;
  private McpServer server;
  private TaskClient ann;

  @BeforeEach
  void start() {
    kitchen = new TaskServer(directory);
    host = kitchen.host(Duration.ofMillis(300));
    server =
        McpServer.serving(host).port(0).apiKey("ann", "ann-key").apiKey("bob", "bob-key").start();
    ann = new TaskClient(server.endpoint()).key("ann-key");
  }

  @AfterEach
  void stop() throws Exception {
    kitchen.release();
    server.close();
    host.close();
  }

  private static String created(Wired.Said said) {
    JsonNode task = said.result();
    assertThat(task.path("resultType").asText()).as(said.body().toString()).isEqualTo("task");
    assertThat(task.path("status").asText()).isEqualTo("working");
    assertThat(task.has("ttlMs") && task.path("ttlMs").isNull()).isTrue();
    assertThat(task.path("pollIntervalMs").asInt()).isPositive();
    return task.path("taskId").asText();
  }

  @Test
  void aLongRunningFlowIsATaskFromItsFirstWorkToItsResult() throws Exception {
    String id = created(ann.start("cook"));
    assertThat(ann.get(id).path("status").asText()).isEqualTo("working");

    kitchen.release();
    JsonNode asks = ann.when(id, "input_required");
    assertThat(asks.path("inputRequests")).hasSize(2);
    String dish = TaskClient.key(asks, "dish");
    JsonNode request = asks.path("inputRequests").path(dish);
    assertThat(request.path("method").asText()).isEqualTo("elicitation/create");
    assertThat(request.at("/params/message").asText()).isEqualTo("Which dish?");

    var both = accepted(Json.object(), dish, "dish", "soup");
    accepted(both, TaskClient.key(asks, "sauce"), "sauce", "none");
    JsonNode acknowledged = ann.update(id, both).result();
    assertThat(acknowledged.path("resultType").asText()).isEqualTo("complete");
    assertThat(acknowledged.has("taskId")).isFalse();

    JsonNode done = ann.when(id, "completed");
    assertThat(done.at("/result/structuredContent/status").asText()).isEqualTo("complete");
    assertThat(done.at("/result/structuredContent/result").asText()).isEqualTo("soup with none");
    assertThat(done.at("/result/isError").asBoolean()).isFalse();
    assertThat(done.path("ttlMs").asLong()).isPositive();
    assertThat(done.path("createdAt")).isEqualTo(asks.path("createdAt"));
  }

  @Test
  void theTaskOfAStartThatEndedAnUnfinishedRunSaysSo() throws Exception {
    kitchen.release();
    TaskClient plain = ann.declaring("{}");
    String start =
        """
        {"action":"start","intent":"to eat","stateUpdates":{"dish":"soup"}%s}""";
    String session =
        plain
            .call("slow", start.formatted(""))
            .result()
            .at("/structuredContent/sessionId")
            .asText();
    JsonNode again =
        ann.call("slow", start.formatted(",\"sessionId\":\"" + session + "\"")).result();
    assertThat(again.at("/structuredContent/context").asText()).contains("unfinished run");

    String cooking =
        plain
            .call("cook", start.formatted(""))
            .result()
            .at("/structuredContent/sessionId")
            .asText();
    Wired.Said over = ann.call("cook", start.formatted(",\"sessionId\":\"" + cooking + "\""));
    created(over);
    assertThat(over.result().path("statusMessage").asText()).contains("{\"dish\":\"soup\"}");
  }

  record Nap(String name) {}

  private static Flow<Nap> napping(String id, Duration time) {
    return Flow.of(id, Nap.class)
        .description("Sleeps.")
        .sleep("nap", time)
        .edge(START, "nap")
        .edge("nap", END)
        .compile();
  }

  private static Flow<Nap> listening() {
    return Flow.of("listening", Nap.class)
        .description("Waits for a signal.")
        .waitFor("hear", "bell")
        .edge(START, "hear")
        .edge("hear", END)
        .compile();
  }

  @Test
  void aTaskThatWaitsForDaysIsPolledAtThatPace() {
    try (Fermata sleepers =
            Fermata.host()
                .store(Store.memory())
                .flow(napping("days", Duration.ofDays(10)))
                .flow(napping("hour", Duration.ofHours(1)))
                .flow(listening())
                .start();
        McpServer edge = McpServer.serving(sleepers).port(0).start()) {
      TaskClient client = new TaskClient(edge.endpoint());
      JsonNode days = client.start("days").result();
      assertThat(days.path("pollIntervalMs").asLong()).isEqualTo(86_400_000);
      assertThat(client.get(days.path("taskId").asText()).path("pollIntervalMs").asLong())
          .isEqualTo(86_400_000);
      assertThat(client.start("hour").result().path("pollIntervalMs").asLong())
          .isBetween(600_000L, 3_600_000L);
      assertThat(client.start("listening").result().path("pollIntervalMs").asLong())
          .isBetween(5_000L, 600_000L);
    }
  }

  @Test
  void answersMayComeOneByOneAndNoKeyIsUsedAgain() throws Exception {
    String id = created(ann.call("job", "{}"));
    kitchen.release();
    JsonNode asks = ann.when(id, "input_required");
    String dish = TaskClient.key(asks, "dish");
    Set<String> keys = new HashSet<>(Set.of(dish, TaskClient.key(asks, "sauce")));

    for (int i = 0; i < 3; i++) {
      String sauce = TaskClient.key(ann.get(id), "sauce");
      ann.update(id, accepted(Json.object(), sauce, "sauce", "sour"));
      JsonNode again = ann.get(id);
      String next = TaskClient.key(again, "sauce");
      assertThat(keys.add(next)).isTrue();
      assertThat(again.path("inputRequests").has(dish)).isTrue();
      assertThat(again.path("inputRequests").path(next).at("/params/message").asText())
          .isEqualTo("Too sour.\nWhich sauce?");
      ann.update(id, accepted(Json.object(), sauce, "sauce", "late"));
      assertThat(TaskClient.key(ann.get(id), "sauce")).isEqualTo(next);
    }

    ann.update(id, accepted(Json.object(), "never-asked", "sauce", "x"));
    String sauce = TaskClient.key(ann.get(id), "sauce");
    ann.update(id, accepted(Json.object(), sauce, "sauce", "none"));
    assertThat(ann.get(id).path("inputRequests").properties()).hasSize(1);
    assertThat(ann.update(id, accepted(Json.object(), dish, "dish", 7)).code()).isEqualTo(-32602);

    ann.update(id, accepted(Json.object(), dish, "dish", "stone"));
    JsonNode done = ann.when(id, "completed");
    assertThat(done.at("/result/isError").asBoolean()).isTrue();
    assertThat(done.at("/result/content/0/text").asText()).isEqualTo("Nobody can cook that.");
  }

  @Test
  void aClientWithoutTasksIsServedInTheCallOrRefusedWithWhatItNeeds() throws Exception {
    TaskClient plain = ann.declaring("{}");
    JsonNode late = plain.start("cook").result();
    assertThat(late.path("resultType").asText()).isEqualTo("complete");
    assertThat(late.at("/structuredContent/code").asText()).isEqualTo("still_working");
    assertThat(plain.task("get", "any").status()).isEqualTo(400);
    for (String method : new String[] {"get", "cancel", "update"}) {
      assertThat(plain.task(method, "any").code()).isEqualTo(-32021);
    }
    Wired.Said strict = plain.call("strict", "{}");
    assertThat(strict.code()).isEqualTo(-32021);
    assertThat(
            strict
                .body()
                .path("error")
                .path("data")
                .path("requiredCapabilities")
                .path("extensions")
                .has("io.modelcontextprotocol/tasks"))
        .isTrue();
    assertThat(strict.message()).contains("io.modelcontextprotocol/tasks");

    kitchen.release();
    JsonNode job = plain.waited("job", "");
    assertThat(job.path("isError").asBoolean()).isTrue();
    assertThat(job.at("/content/0/text").asText()).contains("elicitation");
    while (!kitchen.undone()) {
      Thread.sleep(20);
    }
  }

  @Test
  void aJobAsksWithinTheCallWhereItsClientTakesNoTasks() throws Exception {
    kitchen.release();
    TaskClient asked = ann.declaring("{\"elicitation\":{}}");
    JsonNode round = asked.waited("job", "");
    assertThat(round.path("resultType").asText()).isEqualTo("input_required");
    var responses = accepted(Json.object(), TaskClient.key(round, "dish"), "dish", "soup");
    accepted(responses, TaskClient.key(round, "sauce"), "sauce", "none");

    JsonNode done =
        asked.waited(
            "job",
            ",\"inputResponses\":%s,\"requestState\":%s"
                .formatted(responses, round.path("requestState")));

    assertThat(done.at("/content/0/text").asText()).isEqualTo("soup with none");
  }

  record Meal(LocalTime at) {}

  @Test
  void whatFitsItsFormAndNotItsFieldIsAskedForAgain() throws Exception {
    Flow<Meal> flow =
        Flow.of("meal", Meal.class)
            .description("Lays a table.")
            .ask("ask_time", q -> q.question("at", "When?"))
            .edge(START, "ask_time")
            .edge("ask_time", END)
            .result(meal -> "at " + meal.at())
            .compile();
    try (Fermata tables =
            Fermata.host()
                .store(Store.memory())
                .job(FlowTool.of("meal", "Lays a table.", flow))
                .start();
        McpServer serving = McpServer.serving(tables).port(0).start()) {
      TaskClient asked = new TaskClient(serving.endpoint()).declaring("{\"elicitation\":{}}");
      JsonNode round = answered(asked, asked.waited("meal", ""), "noon");
      assertThat(round.path("resultType").asText()).isEqualTo("input_required");

      JsonNode done = answered(asked, round, "12:30");
      assertThat(done.at("/content/0/text").asText()).isEqualTo("at 12:30");
    }
  }

  record Dishes(List<TimeUnit> dishes) {}

  @Test
  void aQuestionThatAClientCannotShowSaysWhichOneCould() throws Exception {
    Flow<Dishes> flow =
        Flow.of("dishes", Dishes.class)
            .description("Lays a table.")
            .ask("ask_dishes", q -> q.question("dishes", "Which?"))
            .edge(START, "ask_dishes")
            .edge("ask_dishes", END)
            .compile();
    try (Fermata tables =
            Fermata.host()
                .store(Store.memory())
                .job(FlowTool.of("dishes", "Lays a table.", flow))
                .start();
        McpServer serving = McpServer.serving(tables).port(0).start()) {
      assertThat(refused(serving, "{\"elicitation\":{}}"))
          .contains("forms have lists", "2025-11-25");
      assertThat(refused(serving, "{}")).contains("declares elicitation");
    }
  }

  private static String refused(McpServer serving, String capabilities) {
    Wired older = new TaskClient(serving.endpoint()).wired().session("2025-06-18", capabilities);
    return older
        .request("tools/call", "\"name\":\"dishes\",\"arguments\":{}")
        .result()
        .at("/content/0/text")
        .asText();
  }

  private static JsonNode answered(TaskClient client, JsonNode round, String time)
      throws Exception {
    var responses = accepted(Json.object(), TaskClient.key(round, "at"), "at", time);
    return client.waited(
        "meal",
        ",\"inputResponses\":%s,\"requestState\":%s"
            .formatted(responses, round.path("requestState")));
  }

  private static Verdict weighed(String answer) {
    if (answer.equals("boom")) {
      throw new IllegalStateException("The scales are broken");
    }
    return Verdict.accept();
  }

  private static CompletionStage<Verdict> weighedLater(String answer) {
    return CompletableFuture.completedStage(weighed(answer));
  }

  private static ObjectNode reply(JsonNode asks, String field, String value) {
    return accepted(Json.object(), TaskClient.key(asks, field), field, value);
  }

  private static void leaveEmpty(ObjectNode responses, String key) {
    responses.putObject(key).put("action", "accept").putObject("content");
  }

  record Order(String dish, String sauce) {}

  /** Asks for a dish, and beside it for a sauce. */
  private static Fermata orders(Consumer<QuestionOptions<Order>> dish) {
    Flow<Order> flow =
        Flow.of("order", Order.class)
            .description("Takes an order.")
            .longRunning()
            .act("open", run -> {})
            .ask("ask_dish", q -> q.question("dish", "Which dish?", dish))
            .ask("ask_sauce", q -> q.question("sauce", "Which sauce?"))
            .act("serve", run -> {})
            .edge(START, "open")
            .fork("open", f -> f.branch("ask_dish").branch("ask_sauce").join("serve"))
            .edge("ask_dish", "serve")
            .edge("ask_sauce", "serve")
            .edge("serve", END)
            .result(state -> state.dish() + " with " + state.sauce())
            .compile();
    return Fermata.host().store(Store.memory()).flow(flow).start();
  }

  private static String result(JsonNode completed) {
    return completed.at("/result/structuredContent/result").asText();
  }

  @Test
  void anAnswerThatCouldNotBeCheckedIsAskedForAgainUnderANewKeyAndTheTaskLives() throws Exception {
    List<Consumer<QuestionOptions<Order>>> checks =
        List.of(o -> o.validate(TasksTest::weighed), o -> o.validateAsync(TasksTest::weighedLater));
    for (Consumer<QuestionOptions<Order>> check : checks) {
      try (Fermata orders = orders(check);
          McpServer serving = McpServer.serving(orders).port(0).start()) {
        TaskClient client = new TaskClient(serving.endpoint());
        String id = created(client.start("order"));
        client.update(id, reply(client.when(id, "input_required"), "sauce", "salt"));
        Set<String> keys = new HashSet<>();
        for (String answer : List.of("boom", "boom", "soup")) {
          JsonNode asks = client.when(id, "input_required");
          assertThat(keys.add(TaskClient.key(asks, "dish"))).isTrue();
          client.update(id, reply(asks, "dish", answer));
        }

        assertThat(result(client.when(id, "completed"))).isEqualTo("soup with salt");
      }
    }
  }

  @Test
  void anAnswerBesideAQuestionWhoseCheckFailedIsTaken() throws Exception {
    try (Fermata orders = orders(o -> o.validate(TasksTest::weighed));
        McpServer serving = McpServer.serving(orders).port(0).start()) {
      TaskClient client = new TaskClient(serving.endpoint());
      String id = created(client.start("order"));
      JsonNode first = client.when(id, "input_required");
      client.update(id, reply(first, "dish", "boom"));
      JsonNode again = client.get(id);
      assertThat(again.path("inputRequests")).hasSize(2);
      assertThat(TaskClient.key(again, "sauce")).isEqualTo(TaskClient.key(first, "sauce"));

      ObjectNode both = reply(again, "dish", "soup");
      client.update(id, accepted(both, TaskClient.key(again, "sauce"), "sauce", "salt"));

      assertThat(result(client.when(id, "completed"))).isEqualTo("soup with salt");
    }
  }

  @Test
  void aQuestionWhoseCheckFailedIsPutOffUnderANewKeyAndIsNotCheckedMeanwhile() throws Exception {
    try (Fermata orders = orders(o -> o.validate(TasksTest::weighed));
        McpServer serving = McpServer.serving(orders).port(0).start()) {
      TaskClient client = new TaskClient(serving.endpoint());
      String id = created(client.start("order"));
      client.update(id, reply(client.when(id, "input_required"), "dish", "boom"));
      String key = TaskClient.key(client.get(id), "dish");

      client.update(id, Json.object().set(key, Json.object().put("action", "cancel")));
      JsonNode again = client.get(id);
      String next = TaskClient.key(again, "dish");
      assertThat(next).isNotEqualTo(key);

      client.update(id, reply(again, "sauce", "salt"));
      assertThat(TaskClient.key(client.get(id), "dish")).isEqualTo(next);
      client.update(id, reply(client.get(id), "dish", "soup"));
      assertThat(result(client.when(id, "completed"))).isEqualTo("soup with salt");
    }
  }

  @Test
  void aQuestionWhoseCheckFailedMayBeLeftOpenIfItIsOptional() throws Exception {
    try (Fermata orders = orders(o -> o.optional().validate(TasksTest::weighed));
        McpServer serving = McpServer.serving(orders).port(0).start()) {
      TaskClient client = new TaskClient(serving.endpoint());
      String id = created(client.start("order"));
      JsonNode first = client.when(id, "input_required");
      ObjectNode both = reply(first, "dish", "boom");
      client.update(id, accepted(both, TaskClient.key(first, "sauce"), "sauce", "salt"));
      ObjectNode empty = Json.object();
      leaveEmpty(empty, TaskClient.key(client.get(id), "dish"));

      client.update(id, empty);

      assertThat(result(client.when(id, "completed"))).isEqualTo("null with salt");
    }
  }

  record Letter(String text) {}

  private static Fermata letters() {
    Flow<Letter> flow =
        Flow.of("letter", Letter.class)
            .description("Sends a letter.")
            .longRunning()
            .act("fold", run -> {})
            .ask("ask_text", q -> q.question("text", "What shall it say?"))
            .edge(START, "fold")
            .edge("fold", "ask_text")
            .edge("ask_text", END)
            .result(Letter::text)
            .compile();
    return Fermata.host()
        .store(Store.memory())
        .job(FlowTool.of("letter", "Sends a letter.", flow))
        .settings(Settings.DEFAULT.limits(new Limits(1_000, 100, 100, 32)))
        .start();
  }

  @Test
  void anAnswerThatMakesTheStateOfAJobTooLargeIsAskedForAgain() throws Exception {
    try (Fermata letters = letters();
        McpServer serving = McpServer.serving(letters).port(0).start()) {
      TaskClient client = new TaskClient(serving.endpoint()).declaring(FORMS);
      JsonNode round = client.waited("letter", "");
      for (String text : List.of("x".repeat(2_000), "Hello")) {
        assertThat(round.path("resultType").asText()).isEqualTo("input_required");
        round =
            client.waited(
                "letter",
                ",\"inputResponses\":%s,\"requestState\":%s"
                    .formatted(reply(round, "text", text), round.path("requestState")));
      }

      assertThat(round.at("/content/0/text").asText()).isEqualTo("Hello");
    }
  }

  @Test
  void anAnswerThatMakesTheStateOfATaskTooLargeIsRefused() throws Exception {
    try (Fermata letters = letters();
        McpServer serving = McpServer.serving(letters).port(0).start()) {
      TaskClient client = new TaskClient(serving.endpoint());
      String id = created(client.call("letter", "{}"));
      JsonNode asks = client.when(id, "input_required");

      Wired.Said refused = client.update(id, reply(asks, "text", "x".repeat(2_000)));
      assertThat(refused.code()).isEqualTo(-32602);
      assertThat(refused.message()).contains("1000 bytes");

      client.update(id, reply(asks, "text", "Hello"));
      assertThat(client.when(id, "completed").at("/result/content/0/text").asText())
          .isEqualTo("Hello");
    }
  }

  /** A host with one version of a flow; runs of the first do not fit the second. */
  private Fermata letters(int version) {
    String ask = "ask_text_" + version;
    FlowBuilder<Letter> flow =
        Flow.of("letter", Letter.class)
            .description("Sends a letter.")
            .longRunning()
            .version(version)
            .act("fold", run -> {})
            .compensate("fold", run -> {})
            .ask(ask, q -> q.question("text", "What shall it say?"))
            .edge(START, "fold")
            .edge("fold", ask)
            .edge(ask, END)
            .result(Letter::text);
    if (version > 1) {
      flow.migrate(1, m -> {});
    }
    return Fermata.host()
        .store(Store.sqlite(directory.resolve("letters.db")))
        .job(FlowTool.of("letter", "Sends a letter.", flow.compile()))
        .start();
  }

  @Test
  void anAnswerToAJobWhoseRunCannotBeCarriedOverEndsTheCallWithTheReason() throws Exception {
    JsonNode round;
    try (Fermata first = letters(1);
        McpServer serving = McpServer.serving(first).port(0).start()) {
      round = new TaskClient(serving.endpoint()).declaring(FORMS).waited("letter", "");
      assertThat(round.path("resultType").asText()).isEqualTo("input_required");
    }
    try (Fermata second = letters(2);
        McpServer serving = McpServer.serving(second).port(0).start()) {
      JsonNode ended =
          new TaskClient(serving.endpoint())
              .declaring(FORMS)
              .waited(
                  "letter",
                  ",\"inputResponses\":%s,\"requestState\":%s"
                      .formatted(reply(round, "text", "Hello"), round.path("requestState")));

      assertThat(ended.path("isError").asBoolean()).as(ended.toString()).isTrue();
      assertThat(ended.at("/content/0/text").asText())
          .contains("cannot be carried over to version 2", "ask_text_1");
    }
  }

  /** The id of a task that asks, and whose host has another version of its flow from then on. */
  private String asking() throws Exception {
    try (Fermata first = letters(1);
        McpServer serving = McpServer.serving(first).port(0).start()) {
      TaskClient client = new TaskClient(serving.endpoint());
      String id = created(client.call("letter", "{}"));
      client.when(id, "input_required");
      return id;
    }
  }

  @Test
  void anAnswerToATaskWhoseRunCannotBeCarriedOverIsRefused() throws Exception {
    String id = asking();
    try (Fermata second = letters(2);
        McpServer serving = McpServer.serving(second).port(0).start()) {
      TaskClient client = new TaskClient(serving.endpoint());
      JsonNode asks = client.when(id, "input_required");

      Wired.Said refused = client.update(id, reply(asks, "text", "Hello"));
      assertThat(refused.code()).as(refused.body().toString()).isEqualTo(-32603);
      assertThat(refused.message()).contains("cannot be carried over to version 2");

      String key = TaskClient.key(asks, "text");
      Wired.Said postponed =
          client.update(id, Json.object().set(key, Json.object().put("action", "cancel")));
      assertThat(postponed.message()).contains("cannot be carried over to version 2");
      assertThat(TaskClient.key(client.get(id), "text")).isEqualTo(key);
    }
  }

  @Test
  void theCancellationOfATaskThatNoVersionCanUndoIsRefused() throws Exception {
    String id = asking();
    try (Fermata second = letters(2);
        McpServer serving = McpServer.serving(second).port(0).start()) {
      TaskClient client = new TaskClient(serving.endpoint());
      String key = TaskClient.key(client.when(id, "input_required"), "text");

      Wired.Said refused = client.task("cancel", id);
      assertThat(refused.code()).as(refused.body().toString()).isEqualTo(-32603);
      assertThat(refused.message()).contains("version 1");

      Wired.Said declined =
          client.update(id, Json.object().set(key, Json.object().put("action", "decline")));
      assertThat(declined.message()).isEqualTo(refused.message());
      assertThat(client.get(id).path("status").asText()).isEqualTo("input_required");
    }
  }

  record Article(String topic, String note) {}

  @Test
  void whatIsLeftEmptyInTheFormOfATaskIsPassedAtOnceAndItsKeyIsNotUsedAgain() throws Exception {
    Flow<Article> flow =
        Flow.of("article", Article.class)
            .description("Writes.")
            .longRunning()
            .act("research", run -> {})
            .ask(
                "ask",
                q ->
                    q.question("topic", "About what?")
                        .question("note", "Any wishes?", o -> o.optional()))
            .edge(START, "research")
            .edge("research", "ask")
            .edge("ask", END)
            .result(state -> state.topic() + " with " + state.note())
            .compile();
    try (Fermata writers =
            Fermata.host()
                .store(Store.memory())
                .job(FlowTool.of("article", "Writes.", flow))
                .start();
        McpServer serving = McpServer.serving(writers).port(0).start()) {
      TaskClient client = new TaskClient(serving.endpoint());
      String id = created(client.call("article", "{}"));
      JsonNode asks = client.when(id, "input_required");
      ObjectNode both = reply(asks, "topic", "cats");
      leaveEmpty(both, TaskClient.key(asks, "note"));

      client.update(id, both);

      assertThat(client.get(id).path("inputRequests")).isEmpty();
      assertThat(client.when(id, "completed").at("/result/content/0/text").asText())
          .isEqualTo("cats with null");
    }
  }

  @Test
  void aCallerThatMayNotUseATaskIsNotNotifiedOfIt() throws Exception {
    try (Issuer issuer = Issuer.running(Issuer.ec("r1"));
        McpServer serving =
            McpServer.serving(host)
                .port(0)
                .oauth(issuer.oauth().scopesOf("cook", "kitchen"))
                .start()) {
      TaskClient allowed = new TaskClient(serving.endpoint()).key(issuer.token("ann", "kitchen"));
      String id = created(allowed.start("cook"));

      Wired.Said refused =
          new TaskClient(serving.endpoint())
              .key(issuer.token("ann", "mcp"))
              .say("subscriptions/listen", "", "\"notifications\":{\"taskIds\":[\"" + id + "\"]}");
      assertThat(refused.status()).isEqualTo(403);
    }
  }

  @Test
  void aJobIsWaitedForHoweverLongItTakes() throws Exception {
    Wired wired = ann.wired();
    Events answer =
        wired
            .listen(
                wired.modernMessage(
                    "tools/call",
                    "job",
                    "\"name\":\"job\",\"arguments\":{}",
                    "{\"elicitation\":{}}"))
            .get();
    kitchen.release();
    assertThat(answer.next().at("/result/resultType").asText()).isEqualTo("input_required");
  }

  @Test
  @Tag("long")
  void aJobIsWaitedForLongerThanAConnectionMayBeSilent() throws Exception {
    try (McpServer hasty =
        McpServer.serving(host).port(0).idleTimeout(Duration.ofSeconds(3)).start()) {
      Events answer =
          new Wired(hasty)
              .listen(
                  "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"tools/call\",\"params\":{\"name\":\"job\"}}")
              .get();
      assertThat(answer.streamed()).isTrue();
      Thread.sleep(7_000);

      kitchen.release();

      assertThat(answer.next().path("id").asInt()).isEqualTo(9);
    }
  }

  private static final String FORMS = "{\"elicitation\":{}}";

  private void serveAgain() {
    server = McpServer.serving(host).port(0).apiKey("ann", "ann-key").start();
    ann = new TaskClient(server.endpoint()).key("ann-key").declaring(FORMS);
  }

  /** The result of a repeated call that was handed back. */
  private JsonNode again(JsonNode handedBack) throws Exception {
    assertThat(handedBack.path("isError").asBoolean()).as(handedBack.toString()).isTrue();
    assertThat(handedBack.at("/content/0/text").asText()).contains("continues", "fermata/callId");
    String callId = handedBack.path("_meta").path("fermata/callId").asText();
    Wired wired = ann.wired();
    String message =
        jobMessage(wired)
            .replace("\"_meta\":{", "\"_meta\":{\"fermata/callId\":\"" + callId + "\",");
    Events answer = wired.listen(message).get();
    return (answer.streamed() ? answer.next() : answer.plain()).path("result");
  }

  @Test
  void aJobWhoseServerShutsDownContinuesAndIsFoundAgain() throws Exception {
    Wired wired = ann.wired();
    Events answer =
        wired
            .listen(
                wired.modernMessage("tools/call", "job", "\"name\":\"job\",\"arguments\":{}", "{}"))
            .get();

    server.drain(Duration.ofMillis(50));

    JsonNode handedBack = answer.next().path("result");
    serveAgain();
    kitchen.release();
    assertThat(again(handedBack).path("resultType").asText()).isEqualTo("input_required");
    assertThat(kitchen.heated()).isEqualTo(1);
    assertThat(kitchen.undone()).isFalse();
  }

  @Test
  void aJobThatAsksWhenItsServerEndsAsksAgain() throws Exception {
    kitchen.release();
    Events answer =
        ann.wired()
            .session("2025-11-25", FORMS)
            .listen(
                "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"job\",\"arguments\":{}}}")
            .get();
    assertThat(answer.next().path("method").asText()).isEqualTo("elicitation/create");
    assertThat(answer.next().path("method").asText()).isEqualTo("elicitation/create");

    server.drain(Duration.ofMillis(50));

    JsonNode handedBack = answer.next().path("result");
    serveAgain();
    assertThat(again(handedBack).path("inputRequests")).hasSize(2);
    assertThat(kitchen.heated()).isEqualTo(1);
    assertThat(kitchen.undone()).isFalse();
  }

  @Test
  void aJobThatIsUnreadableForAWhileIsWaitedForAndNotStartedAgain() throws Exception {
    BusyHost busy = new BusyHost(host);
    busy.is.set(true);
    try (McpServer serving = McpServer.serving(busy).port(0).start()) {
      Wired wired = new TaskClient(serving.endpoint()).wired();
      Events answer = wired.listen(jobMessage(wired)).get();
      while (busy.missed.get() < 2) {
        Thread.sleep(5);
      }
      kitchen.release();
      busy.is.set(false);

      assertThat(answer.next().at("/result/resultType").asText()).isEqualTo("input_required");
      assertThat(kitchen.heated()).isEqualTo(1);
    }
  }

  private static String jobMessage(Wired wired) {
    return wired.modernMessage("tools/call", "job", "\"name\":\"job\",\"arguments\":{}", FORMS);
  }

  @Test
  void aJobWhoseReplyWasLostWithItsHostIsFoundAgain() throws Exception {
    AtomicBoolean lost = new AtomicBoolean();
    ToolHost lossy =
        new SeenHost(host) {
          @Override
          public CompletionStage<ToolReply> call(ToolCall call, Consumer<ToolProgress> progress) {
            return super.call(call, progress)
                .thenApply(
                    reply -> lost.getAndSet(true) ? reply : ToolReply.refused(HostError.MOVED));
          }
        };
    try (McpServer serving = McpServer.serving(lossy).port(0).start()) {
      ann = new TaskClient(serving.endpoint()).declaring(FORMS);
      JsonNode first = ann.call("job", "{}").result();

      kitchen.release();
      assertThat(again(first).path("resultType").asText()).isEqualTo("input_required");
      assertThat(kitchen.heated()).isEqualTo(1);
    }
  }

  @Test
  void aJobOfAClientThatTakesNoStreamEndsBeforeItsConnectionDoes() throws Exception {
    try (McpServer impatient =
        McpServer.serving(host).port(0).idleTimeout(Duration.ofSeconds(5)).start()) {
      Wired.Said late =
          new Wired(impatient)
              .with("Accept", "application/json")
              .request("tools/call", "\"name\":\"job\",\"arguments\":{}");

      assertThat(late.message()).contains("was cancelled", "text/event-stream");
    }
  }

  @Test
  @Timeout(30)
  void aClientThatTakesNoStreamCancelsItsJob() throws Exception {
    Wired client = ann.wired().session("2025-06-18", "{}").with("Accept", "application/json");
    CompletableFuture<Events> answer =
        client.listen(
            "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"tools/call\",\"params\":{\"name\":\"job\"}}");
    while (kitchen.heated() == 0) {
      Thread.sleep(20);
    }

    client.send(
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":9}}");

    assertThat(answer.get().plain().at("/error/message").asText()).contains("cancelled");
    while (!kitchen.undone()) {
      Thread.sleep(20);
    }
  }

  @Test
  void aCallThatOutlastsItsDeadlineBecomesATask() throws Exception {
    String id = created(ann.start("slow"));
    kitchen.release();
    assertThat(ann.when(id, "input_required").path("inputRequests")).hasSize(2);
  }

  @Test
  void onlyWhoWasGivenATaskFindsIt() {
    String id = created(ann.start("cook"));
    TaskClient bob = new TaskClient(server.endpoint()).key("bob-key");
    String forged = id.substring(0, id.length() - 1) + (id.endsWith("A") ? "B" : "A");

    for (String method : new String[] {"get", "cancel"}) {
      assertThat(bob.task(method, id).code()).isEqualTo(-32602);
      assertThat(ann.task(method, forged).code()).isEqualTo(-32602);
      assertThat(ann.task(method, "a:b:c:d").code()).isEqualTo(-32602);
    }
    assertThat(bob.update(id, Json.object()).code()).isEqualTo(-32602);
    assertThat(ann.get(id).path("status").asText()).isEqualTo("working");
    assertThat(id.length()).isGreaterThan(80);
  }

  @Test
  void theHeaderNamesTheTask() {
    String id = created(ann.start("cook"));
    Wired.Said other = ann.say("tasks/get", "another", "\"taskId\":\"" + id + "\"");
    assertThat(other.code()).isEqualTo(-32020);
    assertThat(other.status()).isEqualTo(400);
    assertThat(ann.say("tasks/get", "", "\"taskId\":\"" + id + "\"").code()).isEqualTo(-32020);
  }

  @Test
  void cancellingUndoesWhatWasDone() throws Exception {
    String id = created(ann.start("cook"));
    kitchen.release();
    ann.when(id, "input_required");

    JsonNode acknowledged = ann.task("cancel", id).result();
    assertThat(acknowledged.has("status")).isFalse();
    ann.when(id, "cancelled");
    assertThat(kitchen.undone()).isTrue();
    assertThat(ann.task("cancel", id).result().path("resultType").asText()).isEqualTo("complete");
    assertThat(ann.update(id, Json.object()).result().path("resultType").asText())
        .isEqualTo("complete");
  }

  @Test
  void workIsCancelledInItsMiddle() throws Exception {
    String id = created(ann.call("job", "{}"));
    ann.task("cancel", id);
    assertThat(ann.when(id, "cancelled").has("result")).isFalse();
  }

  @Test
  void whoDeclinesToAnswerEndsTheTaskAndWhoPutsItOffDoesNot() throws Exception {
    String id = created(ann.start("cook"));
    kitchen.release();
    String key = TaskClient.key(ann.when(id, "input_required"), "dish");

    ann.update(id, Json.object().set(key, Json.object().put("action", "cancel")));
    String again = TaskClient.key(ann.get(id), "dish");
    ann.update(id, Json.object().set(again, Json.object().put("action", "decline")));
    ann.when(id, "cancelled");
  }

  @Test
  void aQuestionThatIsPutOffHasAnotherKeyAndTheOthersHaveTheirs() throws Exception {
    String id = created(ann.start("cook"));
    kitchen.release();
    JsonNode asks = ann.when(id, "input_required");
    String dish = TaskClient.key(asks, "dish");

    ann.update(id, Json.object().set(dish, Json.object().put("action", "cancel")));
    JsonNode requests = ann.get(id).path("inputRequests");
    assertThat(requests).hasSize(2);
    assertThat(requests.has(dish)).isFalse();
    asks.path("inputRequests")
        .fieldNames()
        .forEachRemaining(key -> assertThat(requests.has(key)).isEqualTo(!key.equals(dish)));

    ann.update(id, Json.object().set(dish, Json.object().put("action", "decline")));
    assertThat(ann.get(id).path("status").asText()).isEqualTo("input_required");
    assertThat(ann.get(id).path("inputRequests")).isEqualTo(requests);
  }

  @Test
  void whatNoFormAsksIsTheResultAndTheModelContinuesFromThere() throws Exception {
    String id = created(ann.start("parcel"));
    JsonNode asks = ann.when(id, "completed").at("/result/structuredContent");
    assertThat(asks.path("status").asText()).isEqualTo("interrupt");
    assertThat(asks.path("field").asText()).isEqualTo("things");

    JsonNode done =
        ann.call(
                "parcel",
                "{\"action\":\"continue\",\"sessionId\":%s,\"stateUpdates\":{\"things\":[\"a\"]}}"
                    .formatted(asks.path("sessionId")))
            .result();
    assertThat(done.at("/structuredContent/result").asInt()).isEqualTo(1);
  }

  @Test
  void aSubscriberReceivesATasksStatusAndThenEveryChange() throws Exception {
    String id = created(ann.start("cook"));
    Events listening = ann.listen(id, "unknown");
    JsonNode acknowledged = listening.next();
    assertThat(acknowledged.at("/params/notifications/taskIds")).hasSize(1);
    JsonNode first = listening.next();
    assertThat(first.path("method").asText()).isEqualTo("notifications/tasks");
    assertThat(first.at("/params/status").asText()).isEqualTo("working");
    assertThat(first.at("/params/_meta").path(Subscriptions.ID).asInt()).isEqualTo(7);

    kitchen.release();
    JsonNode asks = listening.next().path("params");
    assertThat(asks.path("status").asText()).isEqualTo("input_required");
    var no = Json.object();
    no.putObject(TaskClient.key(asks, "dish")).put("action", "decline");
    ann.update(id, no);
    JsonNode last = listening.next().path("params");
    while (!last.path("status").asText().equals("cancelled")) {
      assertThat(last.path("status").asText()).isEqualTo("working");
      last = listening.next().path("params");
    }
    assertThat(last.path("taskId").asText()).isEqualTo(id);
    listening.breakOff();

    Wired wired = ann.wired();
    Wired.Said undeclared =
        wired.send(
            wired.modernMessage(
                "subscriptions/listen", "", "\"notifications\":{\"taskIds\":[\"x\"]}", "{}"));
    assertThat(undeclared.code()).isEqualTo(-32021);
  }

  @Test
  void aSubscriberReceivesTheEndOfATaskThatWasUnreadableForAWhile() throws Exception {
    BusyHost busy = new BusyHost(host);
    try (McpServer serving = McpServer.serving(busy).port(0).start()) {
      TaskClient client = new TaskClient(serving.endpoint());
      String id = created(client.start("cook"));
      Events listening = client.listen(id);
      listening.next();
      assertThat(listening.next().at("/params/status").asText()).isEqualTo("working");

      busy.is.set(true);
      host.tasks().cancel(Objects.requireNonNull(busy.watched.get()));
      while (busy.missed.get() < 2) {
        Thread.sleep(5);
      }
      busy.is.set(false);

      assertThat(listening.next().at("/params/status").asText()).isEqualTo("cancelled");
    }
  }

  @Test
  void aTaskThatCannotBeReadHoldsUpNoOtherOfItsSubscriber() throws Exception {
    AtomicReference<String> away = new AtomicReference<>("");
    SeenHost seen =
        new SeenHost(host) {
          @Override
          CompletionStage<TaskView> view(TaskRun run) {
            return Objects.requireNonNull(away.get()).contains(run.runId())
                ? CompletableFuture.completedFuture(unreadable())
                : super.view(run);
          }
        };
    try (McpServer serving = McpServer.serving(seen).port(0).start()) {
      TaskClient client = new TaskClient(serving.endpoint());
      String id = created(client.start("cook"));
      away.set(id);
      String other = created(client.start("cook"));
      Events listening = client.listen(id, other);
      assertThat(listening.next().at("/params/notifications/taskIds")).hasSize(2);
      assertThat(listening.next().at("/params/status").asText()).isEqualTo("working");

      host.tasks().cancel(Objects.requireNonNull(seen.watched.get()));

      JsonNode status = listening.next().path("params");
      while (!status.path("status").asText().equals("cancelled")) {
        status = listening.next().path("params");
      }
      assertThat(status.path("taskId").asText()).isEqualTo(other);
      listening.breakOff();
    }
  }

  @Test
  void aSubscriberOfManyTasksReceivesTheLargeResultsOfAll() throws Exception {
    ToolHost large =
        new SeenHost(host) {
          @Override
          CompletionStage<TaskView> view(TaskRun run) {
            return CompletableFuture.completedFuture(
                ended("x".repeat(OutboundQueue.MAX_SENT_BYTES / 8)));
          }
        };
    try (McpServer serving = McpServer.serving(large).port(0).start()) {
      TaskClient client = new TaskClient(serving.endpoint());
      Set<String> ids = new HashSet<>();
      for (int i = 0; i < 12; i++) {
        ids.add(created(client.start("cook")));
      }

      Events listening = client.listen(ids.toArray(String[]::new));
      assertThat(listening.next().at("/params/notifications/taskIds")).hasSize(12);
      Set<String> notified = new HashSet<>();
      for (int i = 0; i < 12; i++) {
        JsonNode task = listening.next().path("params");
        assertThat(task.path("status").asText()).isEqualTo("completed");
        notified.add(task.path("taskId").asText());
      }

      assertThat(notified).isEqualTo(ids);
      listening.breakOff();
    }
  }

  @Test
  void aResultBeyondTheLimitsOfAMessageOfAClientIsFetchedAndNotified() throws Exception {
    AtomicReference<Object> result = new AtomicReference<>("");
    ToolHost host =
        new SeenHost(this.host) {
          @Override
          CompletionStage<TaskView> view(TaskRun run) {
            return CompletableFuture.completedFuture(ended(Objects.requireNonNull(result.get())));
          }
        };
    try (McpServer serving = McpServer.serving(host).port(0).start()) {
      TaskClient client = new TaskClient(serving.endpoint());
      String id = created(client.start("cook"));
      for (Object large : List.of(new BigDecimal("1e120"), "x".repeat(1_100_000))) {
        result.set(large);

        JsonNode fetched = client.get(id).at("/result/structuredContent/result");
        Events listening = client.listen(id);
        listening.next();
        JsonNode notified = listening.next().at("/params/result/structuredContent/result");

        assertThat(fetched.asText()).isEqualTo(Json.tree(large).asText());
        assertThat(notified).isEqualTo(fetched);
        listening.breakOff();
      }
    }
  }

  @Test
  void aSubscriberIsNotifiedOfAChangeAfterOneThatCouldNotBeShown() throws Exception {
    AtomicBoolean broken = new AtomicBoolean(true);
    ToolReply wrong =
        new ToolReply(
            Json.object().put("status", "waiting").put("waitsFor", "time").put("until", "soon"),
            Json.object());
    SeenHost seen =
        new SeenHost(host) {
          @Override
          CompletionStage<TaskView> view(TaskRun run) {
            return broken.getAndSet(false)
                ? CompletableFuture.completedFuture(
                    new TaskView(TaskView.Status.WORKING, wrong, Map.of(), Instant.EPOCH, null))
                : super.view(run);
          }
        };
    try (McpServer serving = McpServer.serving(seen).port(0).start()) {
      TaskClient client = new TaskClient(serving.endpoint());
      String id = created(client.start("cook"));
      Events listening = client.listen(id);
      listening.next();

      host.tasks().cancel(Objects.requireNonNull(seen.watched.get()));

      JsonNode status = listening.next().at("/params/status");
      while (!status.asText().equals("cancelled")) {
        assertThat(status.asText()).isEqualTo("working");
        status = listening.next().at("/params/status");
      }
    }
  }

  private static TaskView ended(Object result) {
    ObjectNode body = Json.object().put("status", "complete").set("result", Json.tree(result));
    ToolReply reply = new ToolReply(body, Json.object());
    return new TaskView(TaskView.Status.ENDED, reply, Map.of(), Instant.now(), null);
  }

  private static TaskView unreadable() {
    ToolReply reply =
        new ToolReply(Json.object().put("status", "error").put("code", "busy"), Json.object());
    return new TaskView(TaskView.Status.UNREACHABLE, reply, Map.of(), Instant.EPOCH, null);
  }

  /** A host that is sometimes too busy to view its tasks. */
  private static final class BusyHost extends SeenHost {
    final AtomicBoolean is = new AtomicBoolean();
    final AtomicInteger missed = new AtomicInteger();

    BusyHost(ToolHost host) {
      super(host);
    }

    @Override
    CompletionStage<TaskView> view(TaskRun run) {
      if (!is.get()) {
        return super.view(run);
      }
      missed.incrementAndGet();
      return CompletableFuture.completedFuture(unreadable());
    }
  }

  /** A host with the task views of a test. */
  private static class SeenHost implements ToolHost {
    final AtomicReference<TaskRun> watched = new AtomicReference<>();
    private final ToolHost host;

    SeenHost(ToolHost host) {
      this.host = host;
    }

    CompletionStage<TaskView> view(TaskRun run) {
      return host.tasks().view(run);
    }

    @Override
    public List<ToolContract> tools() {
      return host.tools();
    }

    @Override
    public List<DisplayTool> displays() {
      return host.displays();
    }

    @Override
    public CompletionStage<ToolReply> call(ToolCall call, Consumer<ToolProgress> progress) {
      return host.call(call, progress);
    }

    @Override
    public Handles handles() {
      return host.handles();
    }

    @Override
    public Tasks tasks() {
      Tasks tasks = host.tasks();
      return new Tasks() {
        @Override
        public CompletionStage<TaskView> view(TaskRun run) {
          return SeenHost.this.view(run);
        }

        @Override
        public CompletionStage<ToolReply> answer(
            TaskRun run, ObjectNode answers, Map<String, String> asked) {
          return tasks.answer(run, answers, asked);
        }

        @Override
        public CompletionStage<ToolReply> postpone(TaskRun run, Map<String, String> asked) {
          return tasks.postpone(run, asked);
        }

        @Override
        public CompletionStage<ToolReply> cancel(TaskRun run) {
          return tasks.cancel(run);
        }

        @Override
        public Runnable watch(TaskRun run, Runnable changed) {
          watched.set(run);
          return tasks.watch(run, changed);
        }
      };
    }
  }

  @Test
  void theServerSaysThatItHasTasks() {
    JsonNode found = ann.say("server/discover", "", "\"x\":1").result();
    assertThat(found.at("/capabilities/extensions").has("io.modelcontextprotocol/tasks")).isTrue();
    assertThat(found.path("capabilities").has("tasks")).isFalse();
    assertThat(ann.task("result", "x").code()).isEqualTo(-32601);
    assertThat(ann.task("list", "x").code()).isEqualTo(-32601);
  }
}
