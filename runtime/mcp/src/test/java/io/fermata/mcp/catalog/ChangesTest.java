package io.fermata.mcp.catalog;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.agent.Agent;
import io.fermata.agent.Prompt;
import io.fermata.mcp.Events;
import io.fermata.mcp.FakeHost;
import io.fermata.mcp.McpServer;
import io.fermata.mcp.Wired;
import io.fermata.mcp.feature.McpPrompt;
import io.fermata.mcp.feature.McpResource;
import io.fermata.mcp.feature.McpResult;
import io.fermata.mcp.feature.McpTool;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import io.fermata.session.ScriptedModels;
import io.fermata.session.call.WidgetPage;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Changes of features while a server runs, and their notifications. */
@Timeout(60)
class ChangesTest {
  private static final McpTool LATE =
      McpTool.of("late", "Came late").callAtOnce(call -> McpResult.text("here"));

  private McpServer server;

  @BeforeEach
  void start() {
    server =
        McpServer.plain()
            .resource(McpResource.text("test://a", "A", "text/plain", () -> "a"))
            .maxStreams(2)
            .port(0)
            .start();
  }

  @AfterEach
  void stop() {
    server.close();
  }

  private Events listening(String filter) throws Exception {
    return listening(server, filter);
  }

  private static Events listening(McpServer server, String filter) throws Exception {
    Wired client = new Wired(server);
    return client
        .listen(
            client.modernMessage(
                "subscriptions/listen", "", "\"notifications\":{" + filter + "}", "{}"))
        .get();
  }

  private Wired session() {
    return new Wired(server).session("2025-11-25", "{}");
  }

  private static String method(JsonNode message) {
    return message.path("method").asText();
  }

  @Test
  void aModernClientIsNotifiedOfWhatItNamedAndNothingElse() throws Exception {
    Events events = listening("\"toolsListChanged\":true,\"resourceSubscriptions\":[\"test://a\"]");
    JsonNode acknowledged = events.next();
    assertThat(method(acknowledged)).isEqualTo("notifications/subscriptions/acknowledged");
    assertThat(acknowledged.at("/params/notifications").has("promptsListChanged")).isFalse();

    server.changes().prompt(McpPrompt.of("p", "P").get(call -> List.of()));
    server.changes().updated("test://b");
    server.changes().updated("test://a");
    server.changes().tool(LATE);

    JsonNode updated = events.next();
    assertThat(method(updated)).isEqualTo("notifications/resources/updated");
    assertThat(updated.at("/params/uri").asText()).isEqualTo("test://a");
    assertThat(updated.at("/params/_meta").path(Subscriptions.ID).asInt()).isEqualTo(7);
    assertThat(method(events.next())).isEqualTo("notifications/tools/list_changed");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "[]                                  | notifications must be an object",
        "null                                | notifications must be an object",
        "{'toolsListChanged':'true'}         | notifications.toolsListChanged must be true or false",
        "{'promptsListChanged':1}            | notifications.promptsListChanged must be true or false",
        "{'resourceSubscriptions':'test://a'}| resourceSubscriptions must be an array of strings",
        "{'resourceSubscriptions':{'a':'b'}} | resourceSubscriptions must be an array of strings",
        "{'resourceSubscriptions':['a',7]}   | resourceSubscriptions must be an array of strings",
        "{'resourceSubscriptions':[null]}    | resourceSubscriptions must be an array of strings",
        "{'taskIds':'x'}                     | notifications.taskIds must be an array of strings",
      })
  void aSubscriptionOfAnotherTypeIsRefusedAndNotTakenForOneToNothing(String filter, String why)
      throws Exception {
    Wired client = new Wired(server);
    String params = "\"notifications\":" + filter.replace('\'', '"');

    JsonNode error =
        client
            .listen(client.modernMessage("subscriptions/listen", "", params, "{}"))
            .get()
            .plain()
            .path("error");

    assertThat(error.path("code").asInt()).isEqualTo(-32602);
    assertThat(error.path("message").asText()).contains(why);
  }

  @Test
  void anUpdateReachesTheSubscribersOfAllServersOfItsHostOnce() throws Exception {
    String both = "\"resourceSubscriptions\":[\"test://a\",\"test://b\"]";
    Agent agent = Agent.aiHuman("desk", Prompt.of("desk", ScriptedModels.saying("Hello")));
    try (Fermata host = Fermata.host().store(Store.memory()).agent(agent).start();
        McpServer one = McpServer.serving(host).port(0).start();
        McpServer other = McpServer.serving(host).port(0).start()) {
      Events here = listening(one, both);
      Events there = listening(other, both);
      here.next();
      there.next();

      one.changes().updated("test://a");
      assertThat(updated(here)).isEqualTo("test://a");
      assertThat(updated(there)).isEqualTo("test://a");
      other.changes().updated("test://b");
      assertThat(updated(here)).isEqualTo("test://b");
      assertThat(updated(there)).isEqualTo("test://b");
    }
  }

  private static String updated(Events events) throws Exception {
    return events.next().at("/params/uri").asText();
  }

  private static McpTool shown(String html) {
    return McpTool.of("shown", "Shows")
        .page(WidgetPage.of(html))
        .callAtOnce(call -> McpResult.text(""));
  }

  @Test
  void thePageOfAToolComesAndGoesWithIt() throws Exception {
    String page = WidgetPage.uri("shown");
    Events events =
        listening("\"resourcesListChanged\":true,\"resourceSubscriptions\":[\"" + page + "\"]");
    events.next();
    JsonNode before = new Wired(server).modern("server/discover", "").result();
    assertThat(before.at("/capabilities/extensions").has(ToolPage.EXTENSION)).isFalse();

    String listed = "notifications/resources/list_changed";
    String updated = "notifications/resources/updated";
    server.changes().tool(LATE);
    server.changes().tool(shown("<p>one</p>"));
    assertThat(method(events.next())).isEqualTo(listed);
    JsonNode after = new Wired(server).modern("server/discover", "").result();
    server.changes().tool(shown("<p>two</p>"));
    assertThat(method(events.next())).isEqualTo(listed);
    assertThat(method(events.next())).isEqualTo(updated);
    server.changes().withoutTool("shown");
    assertThat(method(events.next())).isEqualTo(listed);
    server.changes().updated(page);
    assertThat(method(events.next())).isEqualTo(updated);
    assertThat(after.at("/capabilities/extensions").has(ToolPage.EXTENSION)).isTrue();
  }

  @Test
  void anOlderClientIsNotifiedInTheStreamOfItsSession() throws Exception {
    Wired client = session();
    client.request("resources/subscribe", "\"uri\":\"test://a\"");
    Events events = client.method("GET").listen("").get();
    assertThat(events.streamed()).isTrue();

    server.changes().updated("test://a");
    server.changes().tool(LATE);

    assertThat(method(events.next())).isEqualTo("notifications/resources/updated");
    assertThat(method(events.next())).isEqualTo("notifications/tools/list_changed");
  }

  @Test
  void theStreamOfASessionEndsWithIt() throws Exception {
    Wired client = session();
    Events events = client.method("GET").listen("").get();

    assertThat(client.method("DELETE").send("").status()).isEqualTo(204);
    server.changes().tool(LATE);

    assertThat(events.next().isMissingNode()).isTrue();
  }

  @Test
  void aNewStreamOfASessionReplacesTheOneBefore() throws Exception {
    Wired client = session().method("GET");
    Events before = client.listen("").get();
    Events after = client.listen("").get();

    assertThat(after.streamed()).isTrue();
    server.changes().tool(LATE);

    assertThat(before.next().isMissingNode()).isTrue();
    assertThat(method(after.next())).isEqualTo("notifications/tools/list_changed");
  }

  @Test
  void whatCameLateIsListedAndAnswersAndWhatIsWithdrawnDoesNot() {
    server.changes().tool(LATE);
    assertThat(session().request("tools/list", "").result().at("/tools/0/name").asText())
        .isEqualTo("late");
    assertThat(session().request("tools/call", "\"name\":\"late\"").result().isObject()).isTrue();

    server.changes().withoutTool("late");
    assertThat(session().request("tools/list", "").result().path("tools")).isEmpty();
    assertThat(session().request("tools/call", "\"name\":\"late\"").code()).isEqualTo(-32602);
  }

  /** A list is made when a client asks for it, not with each change. */
  @Test
  void addingManyFeaturesCostsLessThanListingThemOnce() {
    String description = "x".repeat(100_000);
    long began = System.nanoTime();
    for (int i = 0; i < 100; i++) {
      server.changes().prompt(McpPrompt.of("prompt" + i, description).get(call -> List.of()));
    }
    long added = System.nanoTime();
    JsonNode prompts = session().request("prompts/list", "").result().path("prompts");
    long listed = System.nanoTime();

    assertThat(prompts).hasSize(100);
    assertThat(added - began).isLessThan(listed - added);
  }

  @Test
  void aServerOfFlowsAloneOffersPromptsWhenItHasThem() {
    try (McpServer flows = McpServer.serving(new FakeHost()).port(0).start()) {
      JsonNode none = new Wired(flows).modern("prompts/list", "").result();
      assertThat(none.path("prompts").isArray()).isTrue();
      assertThat(none.path("prompts")).isEmpty();
      JsonNode discovery = new Wired(flows).modern("server/discover", "").result();
      assertThat(discovery.path("capabilities").has("prompts")).isTrue();

      flows.changes().prompt(McpPrompt.of("p", "P").get(call -> List.of()));

      JsonNode one = new Wired(flows).modern("prompts/list", "").result();
      assertThat(one.at("/prompts/0/name").asText()).isEqualTo("p");
    }
  }

  @Test
  void aListThatMayChangeIsNotKeptForLong() {
    long kept = new Wired(server).modern("tools/list", "").result().path("ttlMs").asLong();
    long fixed = new Wired(server).modern("server/discover", "").result().path("ttlMs").asLong();

    assertThat(kept).isPositive().isLessThanOrEqualTo(10_000).isLessThan(fixed);
  }

  @Test
  void aServerThatClosesEndsWhatIsLeftOfItsStreams() throws Exception {
    Events modern = listening("\"toolsListChanged\":true");
    modern.next();
    Events elder = session().method("GET").listen("").get();

    server.close();

    assertThat(modern.next().at("/result/resultType").asText()).isEqualTo("complete");
    assertThat(elder.next().isMissingNode()).isTrue();
  }

  @Test
  void whatIsKeptOfAClientIsBounded() {
    String longest = "t://" + "x".repeat(4_092);

    assertThat(session().request("resources/subscribe", "\"uri\":\"" + longest + "\"").code())
        .isZero();
    assertThat(session().request("resources/subscribe", "\"uri\":\"" + longest + "x\"").code())
        .isEqualTo(-32602);
    assertThat(
            new Wired(server)
                .request(
                    "initialize",
                    "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"a\":\"%s\"}"
                        .formatted("x".repeat(8_192)))
                .message())
        .contains("capabilities", "8192");
  }

  @Test
  void aPrincipalHasOnlySoManyStreams() throws Exception {
    Events first = listening("\"toolsListChanged\":true");
    Events second = listening("\"toolsListChanged\":true");
    first.next();
    second.next();

    assertThat(listening("\"toolsListChanged\":true").status()).isEqualTo(429);
  }
}
