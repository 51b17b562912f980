package io.fermata.mcp;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.networknt.schema.Schema;
import com.networknt.schema.SchemaRegistry;
import com.networknt.schema.SpecificationVersion;
import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.data.message.AiMessage;
import io.fermata.agent.Agent;
import io.fermata.agent.Prompt;
import io.fermata.agent.Tool;
import io.fermata.agent.model.Model;
import io.fermata.flow.json.Json;
import io.fermata.mcp.catalog.Desk;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import io.fermata.session.ScriptedModels;
import io.fermata.session.call.ToolCall;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** An agent as a model sees it: one tool. */
@Timeout(120)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Tag("slow")
class AgentToolTest {
  private Desk desk;
  private JsonNode tool;
  private Schema output;

  /** All members that replies may have; the published schema names the common ones only. */
  private Schema reply;

  @BeforeAll
  void start(@TempDir Path folder) {
    desk = new Desk(folder.resolve("desk.db"));
    tool = client("alice").request("tools/list", "").result().at("/tools/0");
    SchemaRegistry schemas = SchemaRegistry.withDefaultDialect(SpecificationVersion.DRAFT_2020_12);
    output = schemas.getSchema(tool.path("outputSchema"));
    reply = schemas.getSchema(AgentToolTest.class.getResourceAsStream("agent-reply.schema.json"));
  }

  @AfterAll
  void stop() {
    desk.close();
  }

  private Wired client(String who) {
    return client(desk, who);
  }

  private static Wired client(Desk desk, String who) {
    return new Wired(desk.server())
        .with("Authorization", "Bearer " + who + "-key")
        .with("MCP-Protocol-Version", "2025-11-25");
  }

  private JsonNode call(String who, String arguments, String meta) {
    return call(client(who), arguments, meta);
  }

  private JsonNode call(Wired client, String arguments, String meta) {
    JsonNode result =
        client
            .request(
                "tools/call",
                "\"name\":\"desk\",\"arguments\":{%s},\"_meta\":{%s}".formatted(arguments, meta))
            .result();
    JsonNode structured = result.path("structuredContent");
    assertThat(output.validate(structured)).as(structured.toString()).isEmpty();
    assertThat(reply.validate(structured)).as(structured.toString()).isEmpty();
    assertThat(result.path("isError").asBoolean())
        .isEqualTo(structured.path("status").asText().equals("error"));
    return structured;
  }

  private JsonNode call(String arguments) {
    return call("alice", arguments, "");
  }

  private static String thread(JsonNode said) {
    return "\"threadId\":\"" + said.path("threadId").asText() + "\"";
  }

  private String instructions(String who) {
    return client(who)
        .request("initialize", "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{}")
        .result()
        .path("instructions")
        .asText();
  }

  @Test
  void theToolSaysHowItIsUsed() {
    assertThat(tool.path("name").asText()).isEqualTo("desk");
    assertThat(tool.path("description").asText())
        .startsWith("A support desk.")
        .contains("send", "status", "answer", "asking", "working");
    assertThat(instructions("alice"))
        .contains("threadId", "- rest:", "- asking:", "- stop:")
        .containsPattern("- delete: [^.]*for good[^.]*; only if the user wants that");
    assertThat(tool.path("description").asText().length()).isLessThan(700);
    assertThat(tool.at("/inputSchema/additionalProperties").isBoolean()).isTrue();
  }

  @Test
  void theFirstMessageBeginsAThreadAndTheNextOnesContinueIt() {
    JsonNode first = call("\"action\":\"send\",\"message\":\"hello\"");
    assertThat(first.path("status").asText()).isEqualTo("rest");
    assertThat(Desk.contents(first.path("messages"))).containsExactly("How can I help?");

    JsonNode second = call("\"action\":\"send\",\"message\":\"take a note\"," + thread(first));
    assertThat(second.path("threadId")).isEqualTo(first.path("threadId"));
    assertThat(Desk.contents(second.path("messages"))).containsExactly("Noted.");
    assertThat(call("\"action\":\"status\"," + thread(first)).path("messages"))
        .isEqualTo(second.path("messages"));
  }

  @Test
  void aSlowCallSaysHowToWaitAndMayBeStopped(@TempDir Path folder) {
    try (Desk hasty = Desk.impatient(folder.resolve("hasty.db"), Duration.ofSeconds(2))) {
      Wired alice = client(hasty, "alice");
      JsonNode working = call(alice, "\"action\":\"send\",\"message\":\"work\"", "");
      assertThat(working.path("status").asText()).isEqualTo("working");
      assertThat(working.path("code").asText()).isEqualTo("still_working");

      String more = "\"action\":\"send\",\"message\":\"and?\"," + thread(working);
      JsonNode waiting = call(alice, more, "");
      assertThat(waiting.path("status").asText()).isEqualTo("working");
      assertThat(waiting.path("messages")).as("it has no answer yet").isEmpty();

      String id = "\"fermata/callId\":\"s-1\"";
      JsonNode stopped = call(alice, "\"action\":\"stop\"," + thread(working), id);
      assertThat(stopped.path("status").asText()).isEqualTo("rest");
      assertThat(stopped.path("code").asText()).isEqualTo("aborted_by_user");

      call(alice, "\"action\":\"send\",\"message\":\"work\"," + thread(working), "");
      JsonNode again = call(alice, "\"action\":\"stop\"," + thread(working), id);
      assertThat(again.path("status").asText()).as("of the next turn").isEqualTo("working");
      call(alice, "\"action\":\"stop\"," + thread(working), "");
    }
  }

  @Test
  void aCallIsRepliedToWhileAFlowWaitsAndSaysForWhat() {
    JsonNode waiting = call("\"action\":\"send\",\"message\":\"parcel\"");
    assertThat(waiting.path("status").asText()).isEqualTo("rest");
    assertThat(waiting.path("code").asText()).as("its turn is not over").isEmpty();
    assertThat(waiting.at("/waits/0/tool").asText()).isEqualTo("parcel");
    assertThat(waiting.at("/waits/0/waitsFor").asText()).isEqualTo("for signal come");

    JsonNode meanwhile = call("\"action\":\"send\",\"message\":\"hello\"," + thread(waiting));
    assertThat(meanwhile.path("status").asText()).isEqualTo("rest");
    assertThat(Desk.contents(meanwhile.path("messages"))).containsExactly("How can I help?");
    assertThat(meanwhile.path("waits")).isEqualTo(waiting.path("waits"));
  }

  @Test
  void aRepeatedCallCountsOnce() {
    String message = "\"action\":\"send\",\"message\":\"hello\"";
    String meta = "\"fermata/callId\":\"c-1\"";

    JsonNode first = call("alice", message, meta);
    JsonNode again = call("alice", message, meta);

    assertThat(again).isEqualTo(first);
    assertThat(call("bob", message, meta).path("threadId")).isNotEqualTo(first.path("threadId"));
  }

  @Test
  void theIdOfACallIsNotForAnotherMessage() {
    String meta = "\"fermata/callId\":\"c-2\"";
    JsonNode first = call("alice", "\"action\":\"send\",\"message\":\"hello\"", meta);

    JsonNode other = call("alice", "\"action\":\"send\",\"message\":\"take a note\"", meta);

    assertThat(other.path("code").asText()).isEqualTo("key_used");
    assertThat(other.has("messages")).isFalse();
    assertThat(call("\"action\":\"status\"," + thread(first)).path("messages"))
        .isEqualTo(first.path("messages"));
  }

  @Test
  void aMessageDoesNotBeginInAThreadThatItsIdHasCreatedInAnotherWay() {
    String thread =
        desk.alice()
            .with("Idempotency-Key", "c-4")
            .post("/threads", "{\"agent\":\"desk\",\"tags\":[\"vip\"]}")
            .is(201)
            .header("Location");

    JsonNode refused =
        call("alice", "\"action\":\"send\",\"message\":\"hello\"", "\"fermata/callId\":\"c-4\"");

    assertThat(refused.path("code").asText()).isEqualTo("key_used");
    assertThat(desk.alice().get(thread).body().path("messages").asInt()).isZero();
  }

  @ParameterizedTest
  @ValueSource(strings = {"17", "\"\"", "true", "{}", "[\"c-3\"]"})
  void anIdThatIsNoNameIsRefusedAndNothingIsSent(String id) {
    int before = desk.bob().get("/threads").body().path("threads").size();

    JsonNode refused =
        call("bob", "\"action\":\"send\",\"message\":\"hello\"", "\"fermata/callId\":" + id);

    assertThat(refused.path("code").asText()).isEqualTo("invalid_arguments");
    assertThat(refused.at("/violations/0/field").asText()).isEqualTo("fermata/callId");
    assertThat(refused.at("/violations/0/message").asText())
        .isEqualTo("must be a string that is not empty");
    assertThat(desk.bob().get("/threads").body().path("threads")).hasSize(before);
  }

  @Test
  void anotherPrincipalFindsNothing() {
    JsonNode mine = call("\"action\":\"send\",\"message\":\"hello\"");

    JsonNode other = call("bob", "\"action\":\"status\"," + thread(mine), "");

    assertThat(other.path("code").asText()).isEqualTo("unknown_thread");
    assertThat(other.path("error").asText()).contains("Send the threadId of an earlier result");
    assertThat(other.path("threadId")).isEqualTo(mine.path("threadId"));
    assertThat(other.has("messages")).isFalse();
  }

  @ParameterizedTest
  @ValueSource(strings = {"x", "desk.", "desk.with space"})
  void whatIsNoIdOfAThreadIsNotRepeated(String beginning) {
    String id = beginning + "x".repeat(2_000);

    JsonNode refused = call("\"action\":\"status\",\"threadId\":\"" + id + "\"");

    assertThat(refused.path("code").asText()).isEqualTo("unknown_thread");
    assertThat(refused.toString()).doesNotContain("xxx");
  }

  @Test
  void aThreadIsDeletedByItsOwnerAndIsGoneForEverybody() {
    JsonNode asking = call("\"action\":\"send\",\"message\":\"refund\"");
    assertThat(asking.path("status").asText()).isEqualTo("asking");
    String delete = "\"action\":\"delete\"," + thread(asking);

    assertThat(call("bob", delete, "").path("code").asText()).isEqualTo("unknown_thread");
    JsonNode gone = call(delete);

    assertThat(gone.path("status").asText()).isEqualTo("deleted");
    assertThat(gone.path("threadId")).isEqualTo(asking.path("threadId"));
    String status = "\"action\":\"status\"," + thread(asking);
    assertThat(call(status).path("code").asText()).isEqualTo("unknown_thread");
    assertThat(call(delete).path("code").asText()).isEqualTo("unknown_thread");
    desk.alice().get("/threads/" + asking.path("threadId").asText()).is(404);
  }

  @Test
  void anAnswerNamesTheQuestionThatTheUserSawAndIsNotTakenForAnother() {
    JsonNode asking = call("\"action\":\"send\",\"message\":\"my expenses\"");
    String answer =
        """
        "action":"answer","call":"%s","question":"%s","answers":{"approved":true},"""
                .formatted(
                    asking.at("/questions/0/call").asText(), asking.at("/questions/0/id").asText())
            + thread(asking);
    JsonNode next = call(answer);
    assertThat(next.path("status").asText()).isEqualTo("asking");

    assertThat(call(answer).path("code").asText()).isEqualTo("no_open_question");

    JsonNode status = call("\"action\":\"status\"," + thread(asking));
    assertThat(status.path("questions")).isEqualTo(next.path("questions"));
    assertThat(next.path("questions")).isNotEqualTo(asking.path("questions"));
  }

  @Test
  void aToolDeletesNoThreadOfAnotherAgent() {
    JsonNode other =
        client("alice")
            .request(
                "tools/call",
                "\"name\":\"other\",\"arguments\":{\"action\":\"send\",\"message\":\"hi\"}")
            .result()
            .path("structuredContent");

    JsonNode refused = call("\"action\":\"delete\"," + thread(other));

    assertThat(refused.path("code").asText()).isEqualTo("unknown_thread");
    desk.alice().get("/threads/" + other.path("threadId").asText()).is(200);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "\"action\":\"begin\" | action",
        "\"message\":\"hi\" | action",
        "\"action\":\"send\" | message",
        "\"action\":\"send\",\"message\":7 | message",
        "\"action\":\"send\",\"message\":\"hi\",\"approved\":true | approved",
        "\"action\":\"send\",\"message\":\"hi\",\"model\":\"x\" | model",
        "\"action\":\"status\" | threadId",
        "\"action\":\"delete\" | threadId",
        "\"action\":\"answer\",\"threadId\":\"x\" | call"
      })
  void argumentsThatDoNotFitAreNamed(String arguments, String field) {
    JsonNode said = call(arguments);

    assertThat(said.path("code").asText()).isEqualTo("invalid_arguments");
    assertThat(said.at("/violations/0/field").asText()).isEqualTo(field);
  }

  @Test
  void aLongUnknownArgumentIsNotCutInsideACharacter() {
    String name = "x".repeat(79) + "😀".repeat(9);

    JsonNode said = call("\"action\":\"send\",\"message\":\"hi\",\"" + name + "\":1");

    assertThat(said.path("code").asText()).isEqualTo("invalid_arguments");
    assertThat(said.at("/violations/0/field").asText()).isEqualTo("x".repeat(79) + "…");
  }

  @Test
  void onlySoManyUnknownArgumentsAreListed() {
    StringBuilder many = new StringBuilder("\"action\":\"send\",\"message\":7");
    for (int i = 0; i < 1_000; i++) {
      many.append(",\"field").append(i).append("\":1");
    }

    JsonNode said = call(many.toString());

    assertThat(said.path("code").asText()).isEqualTo("invalid_arguments");
    assertThat(said.path("violations")).hasSize(101);
    assertThat(said.at("/violations/0/field").asText()).isEqualTo("message");
  }

  @Test
  void progressIsSentToClientsThatAskForIt() throws Exception {
    Events events =
        client("alice")
            .listen(
                ("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"desk\","
                    + "\"arguments\":{\"action\":\"send\",\"message\":\"take a note\"},"
                    + "\"_meta\":{\"progressToken\":\"t\"}}}"))
            .get();

    assertThat(events.streamed()).isTrue();
    List<JsonNode> messages = events.rest();
    assertThat(Objects.requireNonNull(Events.said(Events.beforeTheResponse(messages))))
        .contains("calls: note", "noted: {\"n\":1}", "Noted.");
  }

  /** Looks so often before it is done, and says something each time. */
  private static Agent talkative(int looks) {
    AtomicInteger steps = new AtomicInteger();
    Model model =
        ScriptedModels.answering(
            messages -> {
              int step = steps.incrementAndGet();
              ToolExecutionRequest look =
                  ToolExecutionRequest.builder().id("" + step).name("look").arguments("{}").build();
              return step > looks
                  ? AiMessage.from("Done.")
                  : AiMessage.from("Step " + step, List.of(look));
            });
    Tool look = Tool.of("look", "Looks.", (flow, arguments) -> "nothing");
    return Agent.aiHuman("talker", Prompt.of("talker", model).tools(look));
  }

  @ParameterizedTest
  @CsvSource({"60, 1, 61", "120, 22, 100"})
  void whatWasSaidInALongTurnIsInTheReplyOrItsHintSaysThatItIsCut(
      int looks, int first, int messages) throws Exception {
    try (Fermata host = Fermata.host().store(Store.memory()).agent(talkative(looks)).start()) {
      ObjectNode arguments = Json.object().put("action", "send").put("message", "look around");
      JsonNode said =
          host.call(new ToolCall("talker", "ann", arguments, Json.object(), null))
              .toCompletableFuture()
              .get(60, TimeUnit.SECONDS)
              .structured();

      assertThat(reply.validate(said)).as(said.toString()).isEmpty();
      assertThat(said.path("messages")).hasSize(messages);
      assertThat(said.at("/messages/0/content").asText()).isEqualTo("Step " + first);
      assertThat(said.path("hint").asText().contains("Only the latest")).isEqualTo(first > 1);
    }
  }
}
