package io.fermata.mcp.legacy;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.mcp.Events;
import io.fermata.mcp.FakeHost;
import io.fermata.mcp.McpServer;
import io.fermata.mcp.Wired;
import io.fermata.mcp.feature.McpResult;
import io.fermata.mcp.feature.McpTool;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The rest of a call for a client whose connection broke while the call was in flight. */
@Timeout(60)
class ResumedResponseTest {
  private final FakeHost host = new FakeHost();
  private final CountDownLatch cameBack = new CountDownLatch(1);
  private final CountDownLatch cameAgain = new CountDownLatch(1);
  private McpServer server;

  @BeforeEach
  void start() {
    server =
        McpServer.serving(host)
            .apiKey("ada", "key-of-ada")
            .apiKey("bob", "key-of-bob")
            .tool(
                McpTool.of("leaving", "Lets its client go")
                    .call(
                        call -> {
                          call.releaseConnection();
                          cameBack.await();
                          return McpResult.text("done");
                        }))
            .tool(
                McpTool.of("long", "Has a long answer")
                    .call(
                        call -> {
                          call.progress(1, 2, "begun");
                          return McpResult.text("x".repeat(100_000));
                        }))
            .tool(
                McpTool.of("often", "Lets its client go twice")
                    .call(
                        call -> {
                          call.releaseConnection();
                          cameBack.await();
                          call.releaseConnection();
                          cameAgain.await();
                          return McpResult.text("done");
                        }))
            .port(0)
            .start();
  }

  @AfterEach
  void stop() {
    server.close();
  }

  private Wired client(String principal, String version) {
    return new Wired(server)
        .with("Authorization", "Bearer key-of-" + principal)
        .with("MCP-Protocol-Version", version);
  }

  private String session(String version) {
    return client("ada", version).session(version, "{}").header("Mcp-Session-Id");
  }

  private CompletableFuture<Events> working(String session, String version) {
    return calling("working", session, version);
  }

  private CompletableFuture<Events> calling(String tool, String session, String version) {
    return client("ada", version)
        .with("Mcp-Session-Id", session)
        .listen(
            "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\",\"_meta\":{\"progressToken\":1}}}"
                .formatted(tool));
  }

  private Events resumed(String principal, String session, String lastId) throws Exception {
    return client(principal, "2025-11-25")
        .with("Mcp-Session-Id", session)
        .with("Last-Event-ID", lastId)
        .method("GET")
        .listen("")
        .get();
  }

  /** A call whose client has received the first event. */
  private record Begun(FakeHost.Work work, Events events) {}

  private Begun begun(String session, String version) throws Exception {
    CompletableFuture<Events> answer = working(session, version);
    FakeHost.Work work = host.work();
    work.streams("begun");
    Events events = answer.get();
    events.next();
    return new Begun(work, events);
  }

  @Test
  void aClientThatReconnectsReceivesTheRestAndNothingTwice() throws Exception {
    String session = session("2025-11-25");
    CompletableFuture<Events> answer = working(session, "2025-11-25");
    FakeHost.Work work = host.work();
    work.streams("one ");
    Events events = answer.get();
    assertThat(events.next().at("/params/message").asText()).isEqualTo("one ");
    String last = events.lastId();
    assertThat(last).endsWith(".1");
    events.breakOff();

    work.streams("two ");
    Events rest = resumed("ada", session, last);
    assertThat(rest.streamed()).isTrue();
    assertThat(rest.next().at("/params/message").asText()).isEqualTo("two ");
    work.streams("three");
    work.ends();

    List<JsonNode> messages = rest.rest();
    assertThat(Events.said(Events.beforeTheResponse(messages))).isEqualTo("three");
    assertThat(messages.get(messages.size() - 1).path("id").asInt()).isEqualTo(7);

    // A client that lost the end receives it again.
    assertThat(Events.said(Events.beforeTheResponse(resumed("ada", session, last).rest())))
        .isEqualTo("two three");
  }

  @Test
  void theEndOfACallIsThereForAClientThatComesBackAfterIt() throws Exception {
    String session = session("2025-11-25");
    Begun call = begun(session, "2025-11-25");
    FakeHost.Work work = call.work();
    Events events = call.events();
    events.breakOff();
    work.ends();

    List<JsonNode> rest = resumed("ada", session, events.lastId()).rest();

    assertThat(rest).hasSize(1);
    assertThat(rest.get(0).path("result").isObject()).isTrue();
  }

  @Test
  void aLongAnswerPushesOutNothingThatMayHaveBeenLostWithIt() throws Exception {
    String session = session("2025-11-25");
    Events events = calling("long", session, "2025-11-25").get();
    List<JsonNode> sent = events.rest();
    assertThat(sent).hasSize(2);

    String opening = events.lastId().replaceFirst("\\d+$", "0");
    assertThat(resumed("ada", session, opening).rest()).isEqualTo(sent);
  }

  @Test
  void aHandlerMayLetItsClientGoWhichComesBackForTheAnswer() throws Exception {
    String session = session("2025-11-25");
    Events events = calling("leaving", session, "2025-11-25").get();
    assertThat(events.next().isMissingNode()).isTrue();
    assertThat(events.lastId()).endsWith(".0");

    Events rest = resumed("ada", session, events.lastId());
    cameBack.countDown();

    assertThat(rest.next().at("/result/content/0/text").asText()).isEqualTo("done");
    assertThat(rest.next().isMissingNode()).isTrue();
  }

  @Test
  void aClientThatCameBackMayBeLetGoAgain() throws Exception {
    String session = session("2025-11-25");
    Events events = calling("often", session, "2025-11-25").get();
    assertThat(events.next().isMissingNode()).isTrue();

    Events second = resumed("ada", session, events.lastId());
    cameBack.countDown();
    assertThat(second.next().isMissingNode()).isTrue();
    assertThat(second.lastId()).isEqualTo(events.lastId());

    Events third = resumed("ada", session, second.lastId());
    cameAgain.countDown();
    assertThat(third.next().at("/result/content/0/text").asText()).isEqualTo("done");
  }

  @Test
  void aClientThatCannotComeBackIsNotLetGo() throws Exception {
    CompletableFuture<Events> answer = calling("leaving", session("2025-06-18"), "2025-06-18");
    cameBack.countDown();

    assertThat(answer.get().plain().at("/result/content/0/text").asText()).isEqualTo("done");
  }

  @Test
  void nobodyElseReceivesTheRest() throws Exception {
    String session = session("2025-11-25");
    Begun call = begun(session, "2025-11-25");
    FakeHost.Work work = call.work();
    Events events = call.events();
    String last = events.lastId();

    assertThat(resumed("bob", session, last).status()).isEqualTo(410);
    assertThat(resumed("ada", session("2025-11-25"), last).status()).isEqualTo(410);
    for (String id : List.of("", ".", "x.1", last + "0", last.replace(".1", ""))) {
      assertThat(resumed("ada", session, id).status()).isEqualTo(410);
    }
    work.ends();
  }

  @Test
  void theLatestOfTwoClientsThatResumeContinues() throws Exception {
    String session = session("2025-11-25");
    Begun call = begun(session, "2025-11-25");
    FakeHost.Work work = call.work();
    Events events = call.events();
    Events first = resumed("ada", session, events.lastId());
    Events second = resumed("ada", session, events.lastId());

    assertThat(first.next().isMissingNode()).isTrue();
    work.ends();
    assertThat(second.next().path("result").isObject()).isTrue();
  }

  @Test
  void progressMeanwhileIsBounded() throws Exception {
    String session = session("2025-11-25");
    Begun call = begun(session, "2025-11-25");
    FakeHost.Work work = call.work();
    Events events = call.events();
    events.breakOff();
    String piece = "x".repeat(1_000);
    IntStream.range(0, 200).forEach(i -> work.streams(piece));

    Events rest = resumed("ada", session, events.lastId());
    work.ends();

    String said = Events.said(Events.beforeTheResponse(rest.rest()));
    assertThat(said.length()).isLessThan(200 * piece.length());
    assertThat(said).contains("left out");
  }

  @Test
  void clientsThatDoNotKnowOfItGetNoIds() throws Exception {
    Begun call = begun(session("2025-06-18"), "2025-06-18");
    FakeHost.Work work = call.work();
    Events events = call.events();

    assertThat(events.lastId()).isEmpty();
    work.ends();
  }
}
