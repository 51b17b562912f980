package io.fermata.mcp;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.Agent;
import io.fermata.agent.Prompt;
import io.fermata.flow.Flow;
import io.fermata.flow.json.Json;
import io.fermata.flow.schema.Secret;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import io.fermata.session.ScriptedModels;
import io.fermata.session.admin.DataKeys;
import io.fermata.session.admin.Threads;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolReply;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What operators see and do of the runs of others, over a real socket. */
@Timeout(120)
class OperatorsOverHttpTest {
  record Payment(@Secret String card, Integer number, String note) {}

  private static final String CARD = "4111-1111-1111-1111";

  /** Its step may run once only, and nobody knows whether it did: its result does not fit. */
  private static final Flow<Payment> PAY =
      Flow.of("pay", Payment.class)
          .description("Pays.")
          .act("mark", run -> run.tag("vip"))
          .ask("ask_card", q -> q.question("card", "Which card?"))
          .ask(
              "ask_note",
              q -> q.question("note", "Any note?", o -> o.context(paid -> "By " + paid.card())))
          .act("pay", run -> run.set("number", "unfit"), step -> step.once())
          .edge(Flow.START, "mark")
          .edge("mark", "ask_card")
          .edge("ask_card", "ask_note")
          .edge("ask_note", "pay")
          .edge("pay", Flow.END)
          .result(payment -> Json.object().put("note", payment.note()))
          .compile();

  record Booking(Integer hotel, Integer train) {}

  /** Nobody knows of either branch whether it did what it may do once only. */
  private static final Flow<Booking> BOOK =
      Flow.of("book", Booking.class)
          .description("Books.")
          .fork(Flow.START, f -> f.branch("hotel").branch("train").join("done"))
          .act("hotel", run -> run.set("hotel", "unfit"), step -> step.once())
          .act("train", run -> run.set("train", "unfit"), step -> step.once())
          .act("done", run -> {})
          .edge("hotel", "done")
          .edge("train", "done")
          .edge("done", Flow.END)
          .compile();

  private final HttpClient client = HttpClient.newHttpClient();
  private Fermata host;
  private McpServer server;

  @BeforeEach
  void start() {
    host =
        Fermata.host()
            .store(Store.memory())
            .keys(DataKeys.parse(DataKeys.generate("k1")))
            .flow(PAY)
            .flow(BOOK)
            .agent(Agent.aiHuman("desk", Prompt.of("desk", ScriptedModels.saying("Hi."))))
            .start();
    server =
        McpServer.serving(host)
            .runs(host.runs())
            .port(0)
            .apiKey("ann", "ann-key")
            .apiKey("bob", "bob-key")
            .apiKey("ops", "ops-key")
            .operators("ops")
            .operatorsTool()
            .start();
  }

  @AfterEach
  void stop() {
    server.close();
    host.close();
  }

  private ToolReply call(String principal, String action, ObjectNode updates) {
    return call(principal, action, "to pay", updates);
  }

  private ToolReply call(String principal, String action, String intent, ObjectNode updates) {
    ObjectNode arguments = Json.object().put("action", action).put("intent", intent);
    arguments.set("stateUpdates", updates);
    ObjectNode meta = Json.object().put("threadId", "one");
    return now(host.call(new ToolCall("pay", principal, arguments, meta, null)));
  }

  private String begun(String principal) {
    return begun(principal, "to pay");
  }

  private String begun(String principal, String intent) {
    return call(principal, "start", intent, Json.object())
        .meta()
        .at("/fermata~1run/runId")
        .asText();
  }

  private HttpResponse<String> send(String key, String method, String path, String body)
      throws Exception {
    return send(request(key, method, path, body));
  }

  private HttpResponse<String> send(HttpRequest.Builder request) throws Exception {
    return client.send(request.build(), HttpResponse.BodyHandlers.ofString());
  }

  private HttpRequest.Builder request(String key, String method, String path, String body) {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(server.endpoint().resolve(path))
            .header("content-type", "application/json")
            .method(method, HttpRequest.BodyPublishers.ofString(body));
    return key.isEmpty() ? request : request.header("authorization", "Bearer " + key);
  }

  private HttpResponse<String> post(String path, String body, String idempotencyKey)
      throws Exception {
    return send(request("ops-key", "POST", path, body).header("idempotency-key", idempotencyKey));
  }

  private JsonNode ok(String method, String path, String body) throws Exception {
    HttpResponse<String> response = send("ops-key", method, path, body);
    assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
    return Json.parse(response.body());
  }

  private void isRefused(HttpResponse<String> response, int status, String code) {
    assertThat(response.statusCode()).as(response.body()).isEqualTo(status);
    assertThat(Json.parse(response.body()).at("/error/code").asText()).isEqualTo(code);
  }

  private List<String> listed(String query) throws Exception {
    return ok("GET", "/runs" + query, "").path("runs").findValuesAsText("runId");
  }

  /** The list is up to a second behind. */
  private void awaitListed(String query, String... runIds) throws Exception {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
    while (!listed(query).containsAll(List.of(runIds)) && System.nanoTime() < end) {
      Thread.sleep(20);
    }
    assertThat(listed(query)).containsExactlyInAnyOrder(runIds);
  }

  @Test
  void anOperatorListsTheRunsOfAnybody() throws Exception {
    String anns = begun("ann");
    String bobs = begun("bob");
    awaitListed("?all=true", anns, bobs);
    awaitListed("?principal=ann", anns);
    assertThat(listed("")).as("its own").isEmpty();
    awaitListed("?all=true&flow=pay&status=waiting&tag=vip&q=card", anns, bobs);
    assertThat(listed("?all=true&status=stopped")).isEmpty();
    isRefused(send("ops-key", "GET", "/runs?all=true&principal=ann", ""), 400, "invalid_fields");
  }

  @Test
  void anOperatorSeesWhatARunIsDoingWithoutItsSecrets() throws Exception {
    String run = begun("ann");
    awaitListed("?principal=ann", run);
    call("ann", "continue", Json.object().put("card", CARD));

    HttpResponse<String> seen = send("ops-key", "GET", "/runs/pay/" + run, "");

    assertThat(seen.statusCode()).as(seen.body()).isEqualTo(200);
    assertThat(seen.body()).doesNotContain(CARD);
    JsonNode now = Json.parse(seen.body());
    assertThat(now.path("principal").asText()).isEqualTo("ann");
    assertThat(now.at("/reply/field").asText()).isEqualTo("note");
    assertThat(now.at("/reply/run/state/card").asText()).isEqualTo("[redacted]");
    assertThat(now.at("/reply/run/intent").asText()).isEqualTo("to pay");
  }

  @Test
  void anOperatorForksARunWithoutSeeingItsSecrets() throws Exception {
    String run = begun("ann");
    ToolReply asked = call("ann", "continue", Json.object().put("card", CARD));
    assertThat(asked.structured().path("context").asText()).isEqualTo("By " + CARD);
    String body = "{\"entry\":%d,\"mode\":\"sandbox\"}";

    HttpResponse<String> forked =
        send(
            "ops-key",
            "POST",
            "/runs/pay/" + run + "/forks",
            body.formatted(asked.meta().at("/fermata~1run/seq").asLong()));

    assertThat(forked.statusCode()).as(forked.body()).isEqualTo(201);
    JsonNode reply = Json.parse(forked.body()).path("reply");
    assertThat(reply.path("field").asText()).isEqualTo("note");
    assertThat(reply.path("context").asText()).isEqualTo("By [redacted]");
    assertThat(forked.body()).doesNotContain(CARD);
  }

  @Test
  void anOperatorCancelsTheRunOfAnybody() throws Exception {
    String run = begun("ann");

    JsonNode cancelled = ok("POST", "/runs/pay/" + run + "/cancel", "");

    assertThat(cancelled.at("/reply/cancelled").asBoolean()).isTrue();
    assertThat(call("ann", "continue", Json.object()).structured().path("code").asText())
        .isEqualTo("run_cancelled");
    isRefused(send("ops-key", "POST", "/runs/pay/" + run + "/cancel", "{}"), 409, "run_cancelled");
  }

  @Test
  void anOperatorResolvesAStepAndTheOwnerGetsTheOutcome() throws Exception {
    String run = begun("ann");
    String resolve = "/runs/pay/" + run + "/resolve";
    isRefused(
        send("ops-key", "POST", resolve, "{\"resolution\":\"skip\"}"), 409, "nothing_to_resolve");
    call("ann", "continue", Json.object().put("card", CARD));
    assertThat(code(call("ann", "continue", Json.object().put("note", "about " + CARD))))
        .isEqualTo("outcome_unknown");
    isRefused(send("ops-key", "POST", resolve, "{\"resolution\":\"go\"}"), 400, "invalid_fields");
    isRefused(send("ops-key", "POST", resolve, "{}"), 400, "invalid_fields");

    JsonNode again = ok("POST", resolve, "{\"resolution\":\"retry\"}");
    assertThat(again.at("/reply/code").asText()).isEqualTo("outcome_unknown");
    List<String> causes =
        host
            .journals()
            .run("pay", run)
            .readWithSecrets()
            .toCompletableFuture()
            .join()
            .entries()
            .stream()
            .map(entry -> String.valueOf(entry.principal()))
            .toList();
    assertThat(causes).contains("ann", "ops");
    JsonNode done = ok("POST", resolve, "{\"resolution\":\"skip\"}");
    assertThat(done.at("/reply/status").asText()).isEqualTo("complete");
    assertThat(done.toString()).doesNotContain(CARD);

    isRefused(send("ops-key", "POST", resolve, "{\"resolution\":\"skip\"}"), 409, "run_completed");
    ToolReply outcome = call("ann", "continue", Json.object());
    assertThat(outcome.structured().at("/result/note").asText()).isEqualTo("about " + CARD);
  }

  @Test
  void aResolutionThatIsRepeatedUnderItsKeyDecidesAboutOneStep() throws Exception {
    String resolve = "/runs/book/" + stopped() + "/resolve";
    String skip = "{\"resolution\":\"skip\"}";

    HttpResponse<String> first = post(resolve, skip, "k1");
    assertThat(first.statusCode()).as(first.body()).isEqualTo(200);
    HttpResponse<String> repeated = post(resolve, skip, "k1");

    assertThat(repeated.body()).isEqualTo(first.body()).contains("outcome_unknown");
    isRefused(post(resolve, "{\"resolution\":\"retry\"}", "k1"), 409, "key_used");
    HttpResponse<String> last = post(resolve, skip, "k2");
    assertThat(last.body()).contains("\"status\":\"complete\"");
    assertThat(post(resolve, skip, "k2").body()).isEqualTo(last.body());
    isRefused(post(resolve, skip, "k1"), 409, "run_completed");
  }

  /** A run that waits for a decision. */
  private String stopped() {
    ToolReply stopped = booking("begin", Json.object().put("action", "start").put("intent", "go"));
    assertThat(code(stopped)).isEqualTo("outcome_unknown");
    return stopped.meta().at("/fermata~1run/runId").asText();
  }

  private ToolReply booking(String callId, ObjectNode arguments) {
    ObjectNode meta = Json.object().put("threadId", "two").put("fermata/callId", callId);
    return now(host.call(new ToolCall("book", "ann", arguments, meta, null)));
  }

  @Test
  void aResolutionThatIsRepeatedWhenItsReplyIsNotKeptAnyMoreIsStaleAndItsRunIsKnown()
      throws Exception {
    String resolve = "/runs/book/" + stopped() + "/resolve";
    String skip = "{\"resolution\":\"skip\"}";
    assertThat(post(resolve, skip, "k1").body()).contains("outcome_unknown");
    for (int i = 0; i < 16; i++) {
      booking("look " + i, Json.object().put("action", "continue"));
    }

    isRefused(post(resolve, skip, "k1"), 409, "stale_call");
    assertThat(post(resolve, skip, "k2").body()).contains("\"status\":\"complete\"");

    booking("next", Json.object().put("action", "start").put("intent", "go"));
    isRefused(post(resolve, skip, "k3"), 404, "unknown_run");
  }

  @Test
  void aForkOfARunTakesNoKey() throws Exception {
    String forks = "/runs/pay/" + begun("ann") + "/forks";

    isRefused(post(forks, "{\"entry\":1,\"mode\":\"live\"}", "k1"), 400, "invalid_fields");
  }

  private static String code(ToolReply reply) {
    return reply.structured().path("code").asText();
  }

  @Test
  void anOperatorErasesTheRunOfAnybody() throws Exception {
    String run = begun("ann");
    awaitListed("?principal=ann", run);

    JsonNode erased = ok("DELETE", "/runs/pay/" + run, "");

    assertThat(erased.path("journals").asInt()).isEqualTo(1);
    assertThat(code(call("ann", "continue", Json.object()))).isEqualTo("unknown_run");
    assertThat(listed("?all=true")).isEmpty();
    assertThat(ok("DELETE", "/runs/pay/" + run, "").path("journals").asInt()).isZero();
    isRefused(send("ops-key", "DELETE", "/runs/agent:desk/" + run, ""), 404, "unknown_run");
  }

  @Test
  void anOperatorErasesAPrincipalWithItsRunsAndThreads() throws Exception {
    String run = begun("ann b");
    String others = begun("ann");
    now(
        host.threads()
            .create(new Threads.NewThread("ann b", "desk", null, Set.of(), Map.of(), List.of())));
    String path = "/principals/ann%20b";
    isRefused(send("ann-key", "DELETE", path, ""), 403, "may_not_operate");

    JsonNode erased = ok("DELETE", path, "");

    assertThat(erased.path("journals").asInt()).isEqualTo(2);
    assertThat(erased.path("records").asInt()).isPositive();
    assertThat(now(host.runs().status("pay", run)).structured().path("code").asText())
        .isEqualTo("unknown_run");
    assertThat(now(host.runs().status("pay", others)).structured().path("code").isMissingNode())
        .isTrue();
    assertThat(ok("DELETE", path, "").path("journals").asInt()).isZero();
    isRefused(send("ops-key", "GET", path, ""), 405, "method_not_allowed");
    isRefused(send("ops-key", "DELETE", "/principals/", ""), 404, "not_found");
  }

  private static <T> T now(CompletionStage<T> stage) {
    return stage.toCompletableFuture().orTimeout(60, TimeUnit.SECONDS).join();
  }

  @Test
  void nobodyElseOperatesAndARefusalDoesNotSayWhetherThereIsARun() throws Exception {
    String run = begun("ann");
    for (String each : List.of(run, "no.run")) {
      String path = "/runs/pay/" + each;
      for (String key : List.of("ann-key", "bob-key")) {
        isRefused(send(key, "POST", path + "/cancel", ""), 403, "may_not_operate");
        isRefused(
            send(key, "POST", path + "/resolve", "{\"resolution\":\"skip\"}"),
            403,
            "may_not_operate");
        isRefused(send(key, "DELETE", path, ""), 403, "may_not_operate");
        isRefused(send(key, "GET", "/runs?all=true", ""), 403, "may_not_operate");
        isRefused(send(key, "GET", "/runs?principal=ops", ""), 403, "may_not_operate");
      }
      for (String key : List.of("", "wrong")) {
        isRefused(send(key, "POST", path + "/cancel", ""), 401, "unauthorized");
        isRefused(send(key, "POST", path + "/resolve", ""), 401, "unauthorized");
        isRefused(send(key, "DELETE", path, ""), 401, "unauthorized");
        isRefused(send(key, "GET", path, ""), 401, "unauthorized");
        isRefused(send(key, "GET", "/runs?all=true", ""), 401, "unauthorized");
      }
    }
    assertThat(send("ann-key", "GET", "/runs?principal=ann", "").statusCode()).isEqualTo(200);
    assertThat(call("ann", "status", Json.object()).structured().path("status").asText())
        .isEqualTo("interrupt");
  }

  @Test
  void aRunThatThereIsNotIsUnknown() throws Exception {
    String first = begun("ann");
    String second = begun("ann");
    assertThat(second).isNotEqualTo(first);
    for (String path :
        List.of("/runs/pay/" + first, "/runs/pay/no.run", "/runs/other/no.run", "/runs/p%00/x")) {
      isRefused(send("ops-key", "POST", path + "/cancel", ""), 404, "unknown_run");
      isRefused(
          send("ops-key", "POST", path + "/resolve", "{\"resolution\":\"retry\"}"),
          404,
          "unknown_run");
    }
    isRefused(send("ops-key", "GET", "/runs/p%00/x", ""), 404, "unknown_run");
    assertThat(call("ann", "status", Json.object()).structured().path("status").asText())
        .isEqualTo("interrupt");
    isRefused(send("ops-key", "GET", "/runs/pay/x/cancel", ""), 405, "method_not_allowed");
  }

  // --- what happened in a run, and forks over MCP -----------------------------------------------

  @Test
  void anOperatorReadsTheEntriesOfARunWithoutItsSecretsWheneverTheyWereSaid() throws Exception {
    String run = begun("ann", "to pay with " + CARD);
    call("ann", "continue", Json.object().put("card", CARD));
    String path = "/runs/pay/" + run + "/entries";

    JsonNode entries = ok("GET", path, "").path("entries");

    assertThat(entries.toString()).doesNotContain(CARD).contains("[redacted]");
    assertThat(entries.get(0).path("by").asText()).isEqualTo("caller");
    assertThat(entries.get(0).path("principal").asText()).isEqualTo("ann");
    assertThat(entries.get(0).path("account").toString()).contains("Run " + run + " of pay");
    JsonNode last = entries.get(entries.size() - 1);
    assertThat(last.path("account").toString()).contains("Any note?");
    assertThat(ok("GET", path + "?after=1&limit=1", "").path("entries").findValuesAsText("entry"))
        .containsExactly(entries.get(1).path("entry").asText());
    assertThat(ok("GET", path + "?after=" + last.path("entry"), "").path("entries")).isEmpty();
    isRefused(send("ann-key", "GET", path, ""), 403, "may_not_operate");
    isRefused(send("ops-key", "GET", "/runs/pay/none/entries", ""), 404, "unknown_run");
    isRefused(send("ops-key", "GET", "/runs/other/" + run + "/entries", ""), 404, "unknown_run");
    isRefused(send("ops-key", "GET", path + "?after=x", ""), 400, "invalid_fields");
    isRefused(send("ops-key", "POST", path, "{}"), 405, "method_not_allowed");
  }

  private JsonNode tool(String who, String arguments) {
    return new Wired(server)
        .with("Authorization", "Bearer " + who + "-key")
        .with("MCP-Protocol-Version", "2025-11-25")
        .request(
            "tools/call",
            "\"name\":\"operate_runs\",\"arguments\":{" + arguments.replace('\'', '"') + "}")
        .result();
  }

  private String refused(String who, String arguments) {
    JsonNode result = tool(who, arguments);
    assertThat(result.path("isError").asBoolean()).as(result.toString()).isTrue();
    return result.at("/content/0/text").asText();
  }

  @Test
  void theModelOfAnOperatorFindsARunReadsItAndForksIt() throws Exception {
    String run = begun("ann");
    call("ann", "continue", Json.object().put("card", CARD));
    awaitListed("?principal=ann&status=waiting", run);
    assertThat(
            tool("ops", "'action':'list','flow':'pay','principal':'ann','status':'waiting'")
                .at("/structuredContent/runs/0/runId")
                .asText())
        .isEqualTo(run);
    String ofRun = "'flow':'pay','runId':'" + run + "'";
    JsonNode entries = tool("ops", "'action':'entries'," + ofRun).at("/structuredContent/entries");
    assertThat(entries.toString()).contains("Any note?").doesNotContain(CARD);
    JsonNode last = entries.get(entries.size() - 1).path("entry");

    JsonNode fork =
        tool(
                "ops",
                "'action':'fork',%s,'entry':%s,'answers':{'note':'none'}".formatted(ofRun, last))
            .path("structuredContent");

    assertThat(fork.path("principal").asText()).isEqualTo("ann");
    assertThat(fork.path("runId").asText()).isNotEmpty().isNotEqualTo(run);
    assertThat(fork.toString()).doesNotContain(CARD);
  }

  @Test
  void theModelOfAnOperatorNamesTheVersionOfAFork() {
    String fork = "'action':'fork','flow':'pay','runId':'" + begun("ann") + "','entry':1,";

    assertThat(tool("ops", fork + "'version':1").at("/structuredContent/principal").asText())
        .isEqualTo("ann");
    assertThat(refused("ops", fork + "'version':7"))
        .contains("version_changed", "the host has no version 7 of its flow; it has [1]");
    assertThat(refused("ops", fork + "'version':1,'newestVersion':true"))
        .isEqualTo("version names the version; leave out newestVersion");
    assertThat(refused("ops", fork + "'version':1.5")).contains("version");
  }

  @Test
  void theToolOfOperatorsIsForOperatorsAndSaysWhatIsMissing() {
    String run = begun("ann");
    assertThat(refused("ann", "'action':'list'")).contains("Only operators", "ann is none");
    assertThat(refused("ops", "'action':'entries'")).contains("needs flow and runId");
    assertThat(refused("ops", "'action':'fork','flow':'pay','runId':'" + run + "'"))
        .contains("needs entry");
    assertThat(refused("ops", "'action':'entries','flow':'pay','runId':'none'"))
        .contains("unknown_run", "List the runs with action list");
    assertThat(refused("ops", "'action':'fork','flow':'pay','runId':'none','entry':1"))
        .contains("unknown_run", "List the runs with action list");
    String tooLong = "'flow':'pay','runId':'%s'".formatted("x".repeat(2_000));
    assertThat(refused("ops", "'action':'entries'," + tooLong))
        .isEqualTo("unknown_run: There is no such run. List the runs with action list.");
    assertThat(refused("ops", "'action':'fork','entry':1," + tooLong)).doesNotContain("xxx");
    assertThat(
            refused("ops", "'action':'fork','flow':'pay','runId':'%s','entry':99".formatted(run)))
        .contains("unknown_entry", "has no entry 99");
  }
}
