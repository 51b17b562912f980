package io.fermata.mcp;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.mcp.feature.McpAsk;
import io.fermata.mcp.feature.McpCall;
import io.fermata.mcp.feature.McpReply;
import io.fermata.mcp.feature.McpResult;
import io.fermata.mcp.feature.McpTool;
import java.math.BigDecimal;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;

/** A handler that asks, with clients of each revision. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class AskingTest {
  record Name(String name) {}

  private static final String ASKING = "\"name\":\"greet\",\"arguments\":{}";
  private static final String FORMS = "{\"elicitation\":{}}";

  private McpServer server;

  @BeforeAll
  void start() {
    server =
        McpServer.plain()
            .tool(
                McpTool.of("greet", "Greets")
                    .call(
                        call -> {
                          String first = asked(call, "first", "Your first name?");
                          String last = asked(call, "last", "And the last one, " + first + "?");
                          return McpResult.text("Hello, " + first + " " + last);
                        }))
            .tool(
                McpTool.of("take", "Takes out what it was given")
                    .input("{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}}}")
                    .call(
                        call -> {
                          String taken = call.arguments().remove("a").asText();
                          return McpResult.text(taken + asked(call, "name", "Your name?"));
                        }))
            .tool(
                McpTool.of("weigh", "Weighs twice")
                    .call(
                        call -> {
                          BigDecimal first = weight(call, "first");
                          return McpResult.text(first.add(weight(call, "second")).toString());
                        }))
            .tool(
                McpTool.of("advise", "Asks a model that has tools, and one that has none")
                    .call(
                        call ->
                            McpResult.text(
                                call.ask(
                                        Map.of(
                                            "advice",
                                            McpAsk.model(modelWithTools()),
                                            "opinion",
                                            McpAsk.model("And you?", 10)))
                                    .keySet()
                                    .toString())))
            .tool(
                McpTool.of("remark", "Takes a remark")
                    .call(
                        call ->
                            McpResult.text(
                                Json.text(
                                    call.ask("remark", McpAsk.form("Anything?", Remark.class))
                                        .content()))))
            .tool(
                McpTool.of("pick", "Picks some")
                    .call(
                        call ->
                            McpResult.text(
                                call.ask("picks", McpAsk.form("Which?", Picks.class)).action())))
            .apiKey("ada", "key-of-ada")
            .apiKey("bob", "key-of-bob")
            .port(0)
            .start();
  }

  private static ObjectNode modelWithTools() {
    return (ObjectNode)
        Json.parse(
            """
            {"messages": [{"role": "user", "content": {"type": "text", "text": "Which?"}}],
             "maxTokens": 10,
             "tools": [{"name": "weather", "inputSchema": {"type": "object"}}]}""");
  }

  private static String asked(McpCall call, String key, String question) {
    McpReply reply = call.ask(key, McpAsk.form(question, Name.class));
    return reply.accepted() ? reply.content().path("name").asText() : "nobody";
  }

  record Picks(List<TimeUnit> picks) {}

  record Remark(Optional<String> remark) {}

  record Weight(BigDecimal n) {}

  private static BigDecimal weight(McpCall call, String key) {
    McpReply reply = call.ask(key, McpAsk.form("How heavy?", Weight.class));
    return reply.content().path("n").decimalValue();
  }

  @AfterAll
  void stop() {
    server.close();
  }

  private Wired client(String key) {
    return new Wired(server).with("Authorization", "Bearer key-of-" + key);
  }

  private Wired.Said call(String key, String params, String capabilities) {
    Wired client = client(key);
    return client.send(client.modernMessage("tools/call", "greet", params, capabilities));
  }

  private Wired.Said retry(String key, String state, String reply) {
    return call(
        key,
        ASKING + ",\"requestState\":\"%s\",\"inputResponses\":{%s}".formatted(state, reply),
        FORMS);
  }

  private static String reply(String key, String name) {
    return "\"%s\":{\"action\":\"accept\",\"content\":{\"name\":\"%s\"}}".formatted(key, name);
  }

  @Test
  void aModernClientBringsItsRepliesWithTheNextCall() {
    JsonNode first = call("ada", ASKING, FORMS).result();
    assertThat(first.path("resultType").asText()).isEqualTo("input_required");
    assertThat(first.at("/inputRequests/first/method").asText()).isEqualTo("elicitation/create");

    JsonNode second =
        retry("ada", first.path("requestState").asText(), reply("first", "Ada")).result();
    assertThat(second.at("/inputRequests/last/params/message").asText()).contains("Ada");

    JsonNode third =
        retry("ada", second.path("requestState").asText(), reply("last", "Lovelace")).result();
    assertThat(third.at("/content/0/text").asText()).isEqualTo("Hello, Ada Lovelace");
  }

  @Test
  void aReplyThatWasGivenInAnEarlierRoundCannotBeReplacedByALaterOne() {
    JsonNode first = call("ada", ASKING, FORMS).result();
    JsonNode second =
        retry("ada", first.path("requestState").asText(), reply("first", "Ada")).result();

    String replies = reply("last", "Lovelace") + "," + reply("first", "Bob");
    JsonNode third = retry("ada", second.path("requestState").asText(), replies).result();

    assertThat(third.at("/content/0/text").asText()).isEqualTo("Hello, Ada Lovelace");
  }

  @Test
  void aHandlerMayChangeItsArgumentsBeforeItAsks() {
    String taking = "\"name\":\"take\",\"arguments\":{\"a\":\"Dear \"}";
    Wired client = client("ada");
    JsonNode first =
        client.send(client.modernMessage("tools/call", "take", taking, FORMS)).result();
    String replied =
        taking
            + ",\"requestState\":\"%s\",\"inputResponses\":{%s}"
                .formatted(first.path("requestState").asText(), reply("name", "Ada"));

    JsonNode second =
        client.send(client.modernMessage("tools/call", "take", replied, FORMS)).result();

    assertThat(second.at("/content/0/text").asText()).isEqualTo("Dear Ada");
  }

  @Test
  void aReplyWithAVeryLargeNumberIsKnownInTheNextRound() {
    JsonNode first = weigh("").result();
    JsonNode second = weigh(weighed(first, "first")).result();

    JsonNode third = weigh(weighed(second, "second")).result();

    assertThat(new BigDecimal(third.at("/content/0/text").asText())).isEqualByComparingTo("2e120");
  }

  private Wired.Said weigh(String more) {
    Wired client = client("ada");
    String params = "\"name\":\"weigh\",\"arguments\":{}" + more;
    return client.send(client.modernMessage("tools/call", "weigh", params, FORMS));
  }

  private static String weighed(JsonNode asked, String key) {
    return ",\"requestState\":%s,\"inputResponses\":{\"%s\":{\"action\":\"accept\",\"content\":{\"n\":1e120}}}"
        .formatted(asked.path("requestState"), key);
  }

  @Test
  void aReplyThatDoesNotFitIsAskedForAgain() {
    String state = call("ada", ASKING, FORMS).result().path("requestState").asText();

    JsonNode again =
        retry("ada", state, "\"first\":{\"action\":\"accept\",\"content\":{\"name\":7}}").result();

    assertThat(again.at("/inputRequests").has("first")).isTrue();
  }

  private Wired.Said remark(String more) {
    Wired client = client("ada");
    String params = "\"name\":\"remark\",\"arguments\":{}" + more;
    return client.send(client.modernMessage("tools/call", "remark", params, FORMS));
  }

  @Test
  void anAcceptedFormWithoutContentIsOneThatWasLeftEmpty() {
    String state = remark("").result().path("requestState").asText();

    JsonNode done =
        remark(
                ",\"requestState\":\"%s\",\"inputResponses\":{\"remark\":{\"action\":\"accept\"}}"
                    .formatted(state))
            .result();

    assertThat(done.at("/content/0/text").asText()).isEqualTo("{}");
  }

  @Test
  void anAcceptedFormWithoutContentLacksWhatIsRequired() {
    String state = call("ada", ASKING, FORMS).result().path("requestState").asText();

    JsonNode again = retry("ada", state, "\"first\":{\"action\":\"accept\"}").result();

    assertThat(again.at("/inputRequests").has("first")).isTrue();
  }

  @Test
  void aStateIsGoodOnceAndForItsPrincipalAlone() {
    String state = call("ada", ASKING, FORMS).result().path("requestState").asText();

    assertThat(retry("bob", state, reply("first", "Bob")).code()).isEqualTo(-32602);
    assertThat(retry("ada", state, reply("first", "Ada")).result().isObject()).isTrue();
    assertThat(retry("ada", state, reply("first", "Ada")).code()).isEqualTo(-32602);
  }

  @Test
  void aClientThatCannotShowFormsIsNotSentOne() {
    Wired.Said said = call("ada", ASKING, "{\"sampling\":{}}");

    assertThat(said.status()).isEqualTo(400);
    assertThat(said.code()).isEqualTo(-32021);
    assertThat(said.body().at("/error/data/requiredCapabilities/elicitation").isObject()).isTrue();
    assertThat(call("ada", ASKING, "{\"elicitation\":{\"url\":{}}}").code()).isEqualTo(-32021);
  }

  private Wired.Said advise(String capabilities) {
    Wired client = client("ada");
    String params = "\"name\":\"advise\",\"arguments\":{}";
    return client.send(client.modernMessage("tools/call", "advise", params, capabilities));
  }

  @Test
  void toolsAreOfferedOnlyToTheModelOfAClientThatDeclaresThem() {
    Wired.Said said = advise("{\"sampling\":{}}");

    assertThat(said.code()).isEqualTo(-32021);
    assertThat(said.message()).contains("declares sampling.tools");
    assertThat(said.body().at("/error/data/requiredCapabilities/sampling/tools").isObject())
        .isTrue();
    assertThat(advise("{}").body().at("/error/data/requiredCapabilities/sampling/tools").isObject())
        .isTrue();
    assertThat(
            advise("{\"sampling\":{\"tools\":{}}}")
                .result()
                .at("/inputRequests/advice/params/tools"))
        .hasSize(1);
  }

  private Wired session(String capabilities) {
    return client("ada").session("2025-11-25", capabilities);
  }

  private static Events calling(Wired client) throws Exception {
    return client
        .listen(
            "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{" + ASKING + "}}")
        .get();
  }

  private static String response(JsonNode asked, String name) {
    return "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"action\":\"accept\",\"content\":{\"name\":\"%s\"}}}"
        .formatted(asked.path("id"), name);
  }

  @Test
  void anElderClientIsAskedWhileItWaitsForTheAnswer() throws Exception {
    Wired client = session(FORMS);
    Events events = calling(client);

    JsonNode first = events.next();
    assertThat(first.path("method").asText()).isEqualTo("elicitation/create");
    // Nobody else can answer in its place.
    assertThat(client("bob").send(response(first, "Bob")).status()).isEqualTo(202);
    assertThat(client.send(response(first, "Ada")).status()).isEqualTo(202);
    JsonNode last = events.next();
    assertThat(last.at("/params/message").asText()).contains("Ada");
    client.send(response(last, "Lovelace"));

    assertThat(events.next().at("/result/content/0/text").asText())
        .isEqualTo("Hello, Ada Lovelace");
  }

  @Test
  void aQuestionIsAnsweredInItsOwnSessionAlone() throws Exception {
    Wired client = session(FORMS);
    Events events = calling(client);
    JsonNode first = events.next();

    assertThat(session(FORMS).send(response(first, "Eve")).status()).isEqualTo(202);
    assertThat(client.send(response(first, "Ada")).status()).isEqualTo(202);

    assertThat(events.next().at("/params/message").asText()).contains("Ada");
  }

  @Test
  void aQuestionEndsWithItsSession() throws Exception {
    Wired client = session(FORMS);
    Events events = calling(client);
    events.next();

    assertThat(client.method("DELETE").send("").status()).isEqualTo(204);

    assertThat(events.next().at("/error/message").asText()).contains("cancelled");
  }

  @Test
  void anOlderClientThatRepliesSomethingElseIsRefused() throws Exception {
    Wired client = session(FORMS);
    Events events = calling(client);
    JsonNode asked = events.next();

    client.send(response(asked, "Ada").replace("\"Ada\"", "7"));

    assertThat(events.next().at("/error/message").asText()).contains("first");
  }

  @Test
  void anOlderClientThatCannotBeAskedIsRefusedWithWhatIsMissing() {
    assertThat(session("{}").request("tools/call", ASKING).message()).contains("elicitation");
    Wired.Said said =
        session(FORMS).with("Accept", "application/json").request("tools/call", ASKING);
    assertThat(said.message()).contains("text/event-stream");
    assertThat(said.status()).isEqualTo(200);
    assertThat(client("ada").request("tools/call", ASKING).message()).contains("initialize");
  }

  @Test
  void aFormWithAListIsRefusedToAClientWhoseRevisionHasNone() {
    Wired older = client("ada").session("2025-06-18", FORMS);
    Wired.Said said = older.request("tools/call", "\"name\":\"pick\",\"arguments\":{}");
    assertThat(said.message())
        .contains("a revision whose forms have lists", "2025-11-25")
        .doesNotContain("declares");
    assertThat(said.status()).isEqualTo(200);
  }

  @Test
  void messagesAreLoggedToThoseWhoWantThem() {
    assertThat(session("{}").request("logging/setLevel", "\"level\":\"debug\"").result())
        .isEqualTo(Json.object());
    assertThat(session("{}").request("logging/setLevel", "\"level\":\"loud\"").code())
        .isEqualTo(-32602);
  }
}
