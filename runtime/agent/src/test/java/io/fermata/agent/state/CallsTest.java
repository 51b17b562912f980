package io.fermata.agent.state;

import static org.assertj.core.api.Assertions.as;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.InstanceOfAssertFactories.STRING;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.model.ModelProvider;
import dev.langchain4j.model.chat.ChatModel;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.response.ChatResponse;
import io.fermata.agent.Agent;
import io.fermata.agent.Agents;
import io.fermata.agent.CalledFlow;
import io.fermata.agent.Compaction;
import io.fermata.agent.Conversation;
import io.fermata.agent.FlowTool;
import io.fermata.agent.Handoff;
import io.fermata.agent.Offered;
import io.fermata.agent.Prompt;
import io.fermata.agent.ScheduledHandler;
import io.fermata.agent.Scripted;
import io.fermata.agent.SubAgent;
import io.fermata.agent.Tool;
import io.fermata.agent.World;
import io.fermata.agent.engine.Outside;
import io.fermata.agent.engine.ThreadProgram;
import io.fermata.agent.engine.ThreadRedecision;
import io.fermata.agent.message.Attachment;
import io.fermata.agent.message.Bounds;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.RequestedCall;
import io.fermata.agent.message.ToolResult;
import io.fermata.agent.model.Model;
import io.fermata.agent.model.Usage;
import io.fermata.flow.event.Program;
import io.fermata.flow.json.Json;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What becomes of a call that a model asks for. */
class CallsTest {
  private record Order(String number, int copies) {}

  private record Nothing() {}

  private final List<String> ran = new ArrayList<>();
  private final Scripted model = new Scripted();

  private final Tool order =
      Tool.of(
          "order",
          "Orders",
          Order.class,
          (flow, args) -> {
            ran.add(args.number() + " x" + args.copies());
            return Map.of("ordered", args.copies());
          });

  private Tool tool(String name) {
    return Tool.of(
        name,
        "Does " + name,
        (flow, args) -> {
          ran.add(name);
          return name + " done";
        });
  }

  private Prompt prompt(Offered... tools) {
    return Prompt.of("support", model.model()).tools(tools);
  }

  private Conversation talk(Offered... tools) {
    return Conversation.with(Agent.aiHuman("desk", prompt(tools)));
  }

  private Conversation parallel(Offered... tools) {
    return Conversation.with(Agent.aiHuman("desk", prompt(tools).parallelToolCalls()));
  }

  private static Predicate<ThreadEffect> call(String key) {
    return effect -> effect.kind() == ThreadEffect.Kind.CALL && effect.id().equals(key);
  }

  private static ThreadEffect ready(Conversation talk, String key) {
    return talk.ready().stream().filter(call(key)).findFirst().orElseThrow();
  }

  private static void ends(Conversation talk, ThreadEffect effect, ThreadInput.Result result) {
    talk.accept(new ThreadInput.EffectEnded(effect, result, talk.now()));
  }

  // --- what a model sends ----------------------------------------------------------------------

  @Test
  void argumentsThatDoNotFitNeverReachTheToolAndTheModelLearnsWhich() {
    model.call("order", Map.of("number", "A1", "copies", "two", "colour", "red")).say("Sorry.");

    Conversation talk = talk(order).say("Go");

    assertThat(ran).isEmpty();
    assertThat(model.lastRequest().get(2))
        .startsWith("result of order: Failed to execute tool: ")
        .contains("[copies]", "[colour]", "Correct them");
    assertThat(talk.messages().get(2).metadata()).isEqualTo(code("invalid_arguments"));
  }

  @Test
  void aMissingArgumentIsNamed() {
    model.call("order", Map.of("number", "A1")).say("Sorry.");

    talk(order).say("Go");

    assertThat(model.lastRequest().get(2)).contains("[copies] is required");
  }

  private static ObjectNode code(String code) {
    return Json.object().put("code", code);
  }

  private void calls(String name, String arguments) {
    model.then(
        request ->
            AiMessage.from(
                ToolExecutionRequest.builder().id("c1").name(name).arguments(arguments).build()));
  }

  @Test
  void argumentsThatAreNoJsonObjectAreReported() {
    calls("order", "{\"number\": ");
    calls("order", "[1]");
    calls("order", "{\"number\":\"A1\",\"copies\":1} and more");
    model.say("Sorry.");

    talk(order).say("Go");

    assertThat(ran).isEmpty();
    assertThat(model.lastRequest())
        .filteredOn(line -> line.startsWith("result"))
        .hasSize(3)
        .allMatch(line -> line.contains("are not a JSON object"));
  }

  @Test
  void aCallWhoseArgumentsHaveAHugeExponentIsRefusedAndTheCallBeforeItKeepsItsResult() {
    for (String number : List.of("5e12345", "-5e-12345", "5e1000", "5e-1000")) {
      ran.clear();
      model.then(
          request ->
              AiMessage.from(
                  request("c1", "one", "{}"),
                  request("c2", "order", "{\"number\":%s,\"copies\":1}".formatted(number))));
      model.say("Sorry.");

      Conversation talk = talk(tool("one"), order).say("Go");

      assertThat(ran).as(number).containsExactly("one");
      assertThat(talk.code()).as(number).isEqualTo(StopCode.STOP_ON_RESPONSE);
      assertThat(model.lastRequest())
          .as(number)
          .contains("result of one: one done")
          .anyMatch(
              line ->
                  line.startsWith("result of order: ") && line.contains("are not a JSON object"));
    }
  }

  private static ToolExecutionRequest request(String id, String name, String arguments) {
    return ToolExecutionRequest.builder().id(id).name(name).arguments(arguments).build();
  }

  /** Some providers close the arguments that were cut off, so that they look whole. */
  @ParameterizedTest
  @ValueSource(strings = {"", "{}", "{\"text\":\"B-"})
  void aCallThatTheOutputLimitCutOffIsNotMadeAndTheOnesBeforeItAre(String arguments) {
    List<String> made = new ArrayList<>();
    Tool tool =
        Tool.of(
            "note",
            "Notes.",
            (flow, args) -> {
              made.add(flow.idempotencyKey());
              return "noted";
            });
    model
        .cutOff(
            AiMessage.from(
                model.wants("note", Map.of()),
                ToolExecutionRequest.builder().name("note").arguments(arguments).build()))
        .say("There.");
    Agent desk = Agent.aiHuman("desk", Prompt.of("support", model.model()).tools(tool));
    Conversation talk = Conversation.with(desk).say("Hi");

    assertThat(made).hasSize(1);
    assertThat(model.lastRequest())
        .endsWith(
            "result of note: noted",
            "result of note: Failed to execute tool: The call was cut off at the output limit of the model; it was not made. Make it shorter, or several of it.");
    assertThat(talk.lines()).endsWith("assistant: There.");
    talk.requireSame(desk);
  }

  @Test
  void anUnknownToolIsReportedTogetherWithTheKnownOnes() {
    model.call("refund").say("Sorry.");

    talk(order, tool("one")).say("Go");

    assertThat(model.lastRequest().get(2)).contains("no tool refund", "order, one");
  }

  @Test
  void idsThatAModelUsesAgainInEveryReplyAreTakenApart() {
    calls("one", "{}");
    calls("two", "{}");
    model.say("Done.");

    Conversation talk = talk(tool("one"), tool("two")).say("Go");

    assertThat(model.lastRequest())
        .containsExactly(
            "user: Go",
            "assistant: [one]",
            "result of one: one done",
            "assistant: [two]",
            "result of two: two done");
    assertThat(talk.messages().stream().flatMap(m -> m.toolCalls().stream()))
        .extracting(RequestedCall::id)
        .doesNotHaveDuplicates();
  }

  @Test
  void idsOfCallsAreWhatEveryProviderTakes() {
    Tool queues = Tool.of("queues", "Queues", (flow, args) -> flow.queueTool("one", Map.of()).id());
    model.call("queues").say("Done.");

    talk(queues, tool("one")).say("Go");

    List<ToolExecutionRequest> shown = new ArrayList<>();
    model.requests().get(1).messages().stream()
        .filter(AiMessage.class::isInstance)
        .forEach(message -> shown.addAll(((AiMessage) message).toolExecutionRequests()));
    assertThat(shown).hasSize(2);
    assertThat(shown)
        .extracting(ToolExecutionRequest::id)
        .allMatch(id -> id.matches("[a-zA-Z0-9_-]{1,40}"));
  }

  @Test
  void idsOfCallsOfOtherProvidersAreWhatMistralTakesWhereItIsAsked() {
    List<ChatMessage> asked = new ArrayList<>();
    ChatModel mistral =
        new ChatModel() {
          @Override
          public ModelProvider provider() {
            return ModelProvider.MISTRAL_AI;
          }

          @Override
          public ChatResponse doChat(ChatRequest request) {
            asked.addAll(request.messages());
            return ChatResponse.builder().aiMessage(AiMessage.from("Done.")).build();
          }
        };
    model.then(
        request -> AiMessage.from(wants("toolu_01A09q90qw90lq917835lq9"), wants("k7Xb2Lm0Q")));
    model.fail(new IllegalStateException("down"));
    Model either = model.model().fallback(Model.of("mistral", mistral));

    Conversation.with(Agent.aiHuman("desk", Prompt.of("support", either).tools(tool("one"))))
        .say("Go");

    assertThat(((AiMessage) asked.get(1)).toolExecutionRequests())
        .extracting(ToolExecutionRequest::id)
        .allMatch(id -> id.matches("[a-zA-Z0-9]{9}"))
        .endsWith("k7Xb2Lm0Q")
        .containsExactlyElementsOf(
            asked.subList(2, 4).stream()
                .map(result -> ((ToolExecutionResultMessage) result).id())
                .toList());
    assertThat(((AiMessage) model.requests().get(1).messages().get(1)).toolExecutionRequests())
        .extracting(ToolExecutionRequest::id)
        .startsWith("toolu_01A09q90qw90lq917835lq9");
  }

  private static ToolExecutionRequest wants(String id) {
    return ToolExecutionRequest.builder().id(id).name("one").arguments("{}").build();
  }

  @Test
  void aStepHasAtMostSoManyCalls() {
    String[] many = new String[200];
    java.util.Arrays.fill(many, "one");
    model.calls(many).say("Done.");

    Conversation talk = talk(tool("one")).say("Go");

    assertThat(ran).hasSize(Bounds.CALLS);
    assertThat(talk.last().content()).isEqualTo("Done.");
  }

  @Test
  void aToolThatQueuesItselfEnds() {
    Tool again =
        Tool.of(
            "again",
            "Again",
            (flow, args) -> {
              ran.add("again");
              flow.queueTool("again", Map.of());
              return "queued";
            });
    model.call("again").say("Done.");

    Conversation talk = talk(again).say("Go");

    assertThat(ran).hasSizeLessThanOrEqualTo(Bounds.CALLS);
    assertThat(talk.last().content()).isEqualTo("Done.");
  }

  // --- what tools come to ----------------------------------------------------------------------

  @Test
  void aResultIsReturnedAsTextOrAsJsonOrAsASuccess() {
    Tool nothing = Tool.of("nothing", "Nothing", (flow, args) -> null);
    model.calls("one", "nothing").call("order", Map.of("number", "A1", "copies", 2)).say("Done.");

    Conversation talk = talk(tool("one"), nothing, order).say("Go");

    assertThat(talk.lines())
        .contains("one: one done", "nothing: Tool executed successfully", "order: {\"ordered\":2}");
  }

  @Test
  void anExceptionIsAResultAndTheTurnContinues() {
    Tool broken =
        Tool.of(
            "broken",
            "Breaks",
            (flow, args) -> {
              flow.storage().put("half", "done");
              throw new IllegalStateException("no paper");
            });
    model.calls("broken", "one").say("Done.");

    Conversation talk = talk(broken, tool("one")).say("Go");

    assertThat(talk.lines())
        .containsSubsequence(
            "broken failed: Failed to execute tool: no paper", "one: one done", "assistant: Done.");
    assertThat(talk.state().stored().storage()).isEmpty();
  }

  @Test
  @SuppressWarnings("FutureReturnValueIgnored") // the tool waits for what its handler returns
  void aHandlerThatReturnsAStageIsWaitedForAndItsFailureIsTheCalls() {
    Tool pays =
        Tool.of(
                "pays",
                "Pays",
                Nothing.class,
                (flow, args) ->
                    CompletableFuture.supplyAsync(
                        () -> {
                          ran.add("attempt " + flow.attempt());
                          if (flow.attempt() == 1) {
                            throw new IllegalStateException("the bank is closed");
                          }
                          return Map.of("paid", 2);
                        }))
            .retry(2, Duration.ofSeconds(10));
    Tool declines =
        Tool.of(
            "declines",
            "Declines",
            (flow, args) -> CompletableFuture.failedStage(new IOException("the card has expired")));
    Tool invokes =
        Tool.of("invokes", "Invokes", (flow, args) -> flow.invokeTool("declines", Map.of()));
    model.calls("pays", "declines", "invokes").say("Done.");

    Conversation talk = talk(pays, declines, invokes).say("Go").pass(Duration.ofSeconds(11));

    assertThat(ran).containsExactly("attempt 1", "attempt 2");
    assertThat(talk.lines())
        .containsSubsequence(
            "pays: {\"paid\":2}",
            "declines failed: Failed to execute tool: the card has expired",
            "invokes failed: Failed to execute tool: the card has expired",
            "assistant: Done.");
  }

  @Test
  void anErrorKeepsItsCodeAndItsData() {
    Tool broken =
        Tool.of(
            "broken",
            "Breaks",
            (flow, args) ->
                ToolResult.error("sold_out", "None left").withData(Json.object().put("left", 0)));
    model.call("broken").say("Done.");

    Conversation talk = talk(broken).say("Go").crash();

    Message shown = talk.messages().get(2);
    JsonNode details = Objects.requireNonNull(shown.metadata());
    assertThat(shown.failed()).isTrue();
    assertThat(details.path("code").textValue()).isEqualTo("sold_out");
    assertThat(details.path("data")).isEqualTo(Json.object().put("left", 0));
    assertThat(talk.events(ThreadEvent.CallEnded.class).get(0).code()).isEqualTo("sold_out");
  }

  @Test
  void attachmentsBecomeFilesAndTheModelLearnsTheirPaths() {
    byte[] bytes = "hello".getBytes(StandardCharsets.UTF_8);
    Tool draws =
        Tool.of(
            "draws",
            "Draws",
            (flow, args) ->
                ToolResult.success("drawn").attach(new Attachment("a.txt", "text/plain", bytes)));
    Tool reads =
        Tool.of("reads", "Reads", (flow, args) -> flow.files().readText("/attachments/s1.0/a.txt"));
    model.call("draws").call("reads").say("Done.");

    Conversation talk = talk(draws, reads).say("Go").crash();

    assertThat(talk.lines())
        .contains("draws: drawn\nAttachment path: /attachments/s1.0/a.txt", "reads: hello");
    assertThat(talk.messages().get(2).attachments()).containsExactly("/attachments/s1.0/a.txt");
  }

  @Test
  void filesOfAResultThatHaveOneNameAreNumbered() {
    Tool draws =
        Tool.of(
            "draws",
            "Draws",
            (flow, args) ->
                ToolResult.success("drawn")
                    .attach(
                        new Attachment("a.txt", "text/plain", new byte[] {1}),
                        new Attachment("a.txt", "text/plain", new byte[] {2})));
    Tool reads =
        Tool.of(
            "reads",
            "Reads",
            (flow, args) ->
                flow.files().read("/attachments/s1.0/a.txt")[0]
                    + ", "
                    + flow.files().read("/attachments/s1.0/a-2.txt")[0]);
    model.call("draws").call("reads").say("Done.");
    Agent desk = Agent.aiHuman("desk", prompt(draws, reads));

    Conversation talk = Conversation.with(desk).say("Go").crash();

    assertThat(talk.lines()).contains("reads: 1, 2");
    talk.requireSame(desk);
  }

  public static final class Lazy {
    public List<String> getLines() {
      return Stream.of("org/orders/Line")
          .<String>map(
              name -> {
                throw new NoClassDefFoundError(name);
              })
          .toList();
    }
  }

  @Test
  void aResultThatCannotBeKeptDoesNotMakeAFailureOfWorkThatIsDone() {
    Attachment large = new Attachment("a.bin", "image/png", new byte[Bounds.FILE + 1]);
    Attachment small = new Attachment("b.txt", "text/plain", new byte[1]);
    Tool pays =
        Tool.of(
                "pays",
                "Pays",
                (flow, args) -> {
                  ran.add("paid");
                  return ToolResult.success("Paid.").attach(large, small);
                })
            .once()
            .retry(3, Duration.ofSeconds(1));
    Tool pays2 =
        Tool.of(
                "pays_2",
                "Pays",
                (flow, args) -> {
                  ran.add("paid 2");
                  return Map.of("order", new Object());
                })
            .retry(3, Duration.ofSeconds(1));
    Tool pays3 =
        Tool.of(
                "pays_3",
                "Pays",
                (flow, args) -> {
                  ran.add("paid 3");
                  return new Lazy();
                })
            .retry(3, Duration.ofSeconds(1));
    model.call("pays").call("pays_2").call("pays_3").say("Done.");
    Agent desk = Agent.aiHuman("desk", prompt(pays, pays2, pays3));

    Conversation talk = Conversation.with(desk).say("Go").pass(Duration.ofHours(1));

    assertThat(ran).containsExactly("paid", "paid 2", "paid 3");
    assertThat(talk.messages().get(2).content())
        .startsWith(
            "Paid.\nAn attachment is left out: The file /attachments/s1.0/a.bin has 1048577")
        .endsWith("\nAttachment path: /attachments/s1.0/b.txt");
    assertThat(talk.messages().get(4).content())
        .startsWith("Tool executed successfully\nIts result is left out: A value of type");
    assertThat(talk.messages().get(6).content())
        .isEqualTo("Tool executed successfully\nIts result is left out: org/orders/Line");
    assertThat(talk.messages()).noneMatch(Message::failed);
    talk.requireSame(desk);
  }

  @Test
  void anErrorThatAToolReturnsIsNotRetried() {
    Tool pays =
        Tool.of(
                "pays",
                "Pays",
                (flow, args) -> {
                  ran.add("tried");
                  return ToolResult.error("There is not enough money.");
                })
            .retry(3, Duration.ofSeconds(1));
    model.call("pays").say("Sorry.");

    Conversation talk = talk(pays).say("Go").pass(Duration.ofHours(1));

    assertThat(ran).containsExactly("tried");
    assertThat(talk.lines()).contains("assistant: Sorry.");
  }

  @Test
  void aFileTooManyIsLeftOutOfAResult() {
    Tool draws =
        Tool.of(
            "draws",
            "Draws",
            (flow, args) -> {
              for (int i = 0; i < Bounds.FILES; i++) {
                flow.files().write("/" + i, "");
              }
              return ToolResult.success("drawn")
                  .attach(new Attachment("a.txt", "text/plain", new byte[1]));
            });
    model.call("draws").say("Done.");
    Agent desk = Agent.aiHuman("desk", prompt(draws));

    Conversation talk = Conversation.with(desk).say("Go");

    assertThat(talk.messages().get(2).content())
        .startsWith("drawn\nAn attachment is left out: The thread has 1000 files already");
    assertThat(talk.state().stored().files()).hasSize(Bounds.FILES);
    talk.requireSame(desk);
  }

  @Test
  void aHugeResultIsShortened() {
    Tool huge = Tool.of("huge", "Huge", (flow, args) -> "x".repeat(Bounds.TEXT * 2));
    model.call("huge").say("Done.");

    Conversation talk = talk(huge).say("Go");

    assertThat(talk.messages().get(2).content())
        .hasSizeLessThanOrEqualTo(Bounds.TEXT)
        .endsWith("(shortened, " + Bounds.TEXT * 2 + " characters in all)");
  }

  // --- retries and time ------------------------------------------------------------------------

  @Test
  void aFailureIsFollowedByAnotherAttemptAfterAWaitThatDoubles() {
    Tool flaky =
        Tool.of(
                "flaky",
                "Fails",
                (flow, args) -> {
                  ran.add("attempt " + flow.attempt());
                  throw new IllegalStateException("not now");
                })
            .retry(3, Duration.ofSeconds(10));
    model.call("flaky").say("Gave up.");
    Conversation talk = talk(flaky).say("Go");

    talk.pass(Duration.ofSeconds(11));
    assertThat(ran).containsExactly("attempt 1", "attempt 2");
    talk.pass(Duration.ofSeconds(11));
    assertThat(ran).containsExactly("attempt 1", "attempt 2");
    talk.pass(Duration.ofSeconds(10));

    assertThat(ran).containsExactly("attempt 1", "attempt 2", "attempt 3");
    assertThat(talk.events(ThreadEvent.CallFailed.class)).hasSize(2);
    assertThat(talk.lines())
        .containsSubsequence(
            "flaky failed: Failed to execute tool: not now", "assistant: Gave up.");
  }

  @Test
  void aCallThatTakesTooLongFails() {
    model.call("one").say("Too slow.");
    Conversation talk = talk(tool("one")).post("Go").runUntil(call("s1.0"));
    ThreadEffect effect = ready(talk, "s1.0");

    ends(talk, effect, talk.program().timedOut(effect));
    talk.run();

    assertThat(talk.lines().get(2)).contains("no result within PT1M");
    assertThat(talk.messages().get(2).metadata()).isEqualTo(code("timeout"));
  }

  @Test
  void aCallThatTakesTooLongIsTriedAgainWhereItsToolMayBe() {
    model.call("one").say("Done.");
    Conversation talk = talk(tool("one").retry(2, Duration.ofSeconds(1)));
    talk.post("Go").runUntil(call("s1.0"));
    ThreadEffect effect = ready(talk, "s1.0");

    ends(talk, effect, talk.program().timedOut(effect));
    talk.pass(Duration.ofSeconds(2));
    ends(talk, effect, new ThreadInput.Failed("failed", "late", null));

    assertThat(talk.lines()).contains("one: one done", "assistant: Done.");
  }

  @Test
  void aCallThatMayBeMadeOnceAndTakesTooLongIsUnknown() {
    model.call("one").say("I will look.");
    Conversation talk = talk(tool("one").once().retry(3, Duration.ofSeconds(1)));
    talk.post("Go").runUntil(call("s1.0"));
    ThreadEffect effect = ready(talk, "s1.0");

    ends(talk, effect, talk.program().timedOut(effect));
    talk.run();

    assertThat(ran).isEmpty();
    assertThat(talk.messages().get(2).metadata()).isEqualTo(code("outcome_unknown"));
  }

  @Test
  void aCallThatMayBeMadeOnceIsRetriedIfItFailed() {
    Tool flaky =
        Tool.of(
                "flaky",
                "Fails first",
                (flow, args) -> {
                  ran.add("flaky " + flow.attempt());
                  if (flow.attempt() == 1) {
                    throw new IllegalStateException("no paper");
                  }
                  return "sent";
                })
            .once()
            .retry(2, Duration.ofSeconds(1));
    model.call("flaky").say("Sent.");

    Conversation talk = talk(flaky).say("Go").pass(Duration.ofSeconds(2));

    assertThat(ran).containsExactly("flaky 1", "flaky 2");
    assertThat(talk.lines()).contains("flaky: sent", "assistant: Sent.");
  }

  // --- side by side ----------------------------------------------------------------------------

  @Test
  void withoutLeaveCallsAreMadeOneAfterTheOther() {
    model.calls("one", "two").say("Done.");
    Conversation talk = talk(tool("one"), tool("two")).post("Go").runUntil(call("s1.0"));

    assertThat(talk.ready()).hasSize(1);
  }

  @Test
  void callsSideBySideGiveTheirResultsInDeclaredOrderHoweverTheyEnd() {
    model.calls("one", "two", "three").say("Done.");
    Conversation talk = parallel(tool("one"), tool("two"), tool("three"));
    talk.post("Go").runUntil(call("s1.0"));
    assertThat(talk.ready()).hasSize(3);

    talk.lastFirst().run().crash();

    assertThat(ran).containsExactly("three", "two", "one");
    assertThat(talk.lines())
        .containsExactly(
            "user: Go",
            "assistant: [one, two, three]",
            "one: one done",
            "two: two done",
            "three: three done",
            "assistant: Done.");
    assertThat(talk.messages()).extracting(Message::createdAt).isSorted().doesNotHaveDuplicates();
  }

  @Test
  void aQueuedCallFollowsAllTheCallsOfItsStep() {
    Tool queues = Tool.of("queues", "Queues", (flow, args) -> flow.queueTool("one", Map.of()).id());
    model.calls("queues", "two").say("Done.");
    Conversation talk = parallel(queues, tool("one"), tool("two"));

    talk.post("Go").runUntil(call("s1.0"));
    talk.perform(ready(talk, "s1.0"));

    assertThat(talk.ready()).extracting(ThreadEffect::id).containsExactly("s1.1");
    talk.run();
    assertThat(ran).containsExactly("two", "one");
  }

  // --- approval --------------------------------------------------------------------------------

  @Test
  void aCallThatNeedsNoApprovalIsMade() {
    model.call("order", Map.of("number", "A1", "copies", 1)).say("Done.");

    talk(order.approval(args -> args.path("copies").asInt() > 10 ? "So many?" : null)).say("Go");

    assertThat(ran).containsExactly("A1 x1");
  }

  @Test
  void aCallThatNeedsApprovalIsMadeWhenItIsGiven() {
    model.call("order", Map.of("number", "A1", "copies", 11)).say("Done.");
    Conversation talk =
        talk(order.approval(args -> args.path("copies").asInt() > 10 ? "So many?" : null))
            .say("Go");
    JsonNode question = Objects.requireNonNull(talk.state().open().get(0).question());
    assertThat(question.path("question").textValue()).isEqualTo("So many?");
    assertThat(question.path("arguments").path("copies").intValue()).isEqualTo(11);
    assertThat(ran).isEmpty();

    talk.approve("s1.0").run();

    assertThat(ran).containsExactly("A1 x11");
    assertThat(talk.last().content()).isEqualTo("Done.");
  }

  @Test
  void aCallThatIsDeniedIsNotMadeAndTheModelLearnsWhy() {
    model.call("one").say("All right.");
    Conversation talk = talk(tool("one").approval("May I?")).say("Go");

    talk.deny("c1", "too dear").run();

    assertThat(ran).isEmpty();
    assertThat(model.lastRequest().get(2)).contains("did not approve the call: too dear");
    assertThat(talk.messages().get(2).metadata()).isEqualTo(code("denied"));
  }

  @Test
  void anAnswerThatIsRepeatedCountsOnceAlsoWhenTheCallIsOver() {
    model.call("one").say("Done.");
    Conversation talk = talk(tool("one").approval("May I?")).say("Go");

    talk.approve("s1.0").approve("s1.0");
    assertThat(talk.refusal()).isNull();
    talk.run().crash().approve("s1.0").run();

    assertThat(talk.refusal()).isNull();
    assertThat(ran).containsExactly("one");
  }

  @Test
  void anAnswerUnderTheIdOfAnAnswerToAnotherCallIsRefused() {
    model.calls("one", "two").say("Done.");
    Conversation talk =
        parallel(tool("one").approval("May I?"), tool("two").approval("And this?")).say("Go");

    talk.approve("s1.0").approve("s1.1");

    assertThat(Objects.requireNonNull(talk.refusal()).code()).isEqualTo("key_used");
    assertThat(Objects.requireNonNull(talk.refusal()).message()).contains("a1", "s1.0", "new key");
    assertThat(talk.state().open()).extracting(CallState::key).containsExactly("s1.1");
  }

  @Test
  void anAnswerThatContradictsTheOneWithItsIdIsRefusedAlsoWhenTheCallIsOver() {
    model.call("one").say("Done.");
    Conversation talk = talk(tool("one").approval("May I?")).say("Go").approve("s1.0");

    talk.deny("s1.0", null);
    assertThat(Objects.requireNonNull(talk.refusal()).code()).isEqualTo("key_used");
    talk.run().crash().deny("s1.0", null);

    assertThat(Objects.requireNonNull(talk.refusal()).code()).isEqualTo("key_used");
    assertThat(ran).containsExactly("one");
  }

  @Test
  void otherAnswersToAFlowUnderAUsedIdAreRefusedAndTheSameOnesCountOnce() {
    model.call("quote").say("Done.");
    Conversation talk = talk(QUOTE);
    talk.world().flow = args -> asking("email");
    talk.world().flowAnswer = answers -> asking("seats");
    talk.say("Go").answer("s1.0", "a1", Json.object().put("email", "a@b.c").put("copies", 2)).run();

    talk.answer("s1.0", "a1", Json.object().put("seats", 3));
    assertThat(Objects.requireNonNull(talk.refusal()).code()).isEqualTo("key_used");
    talk.crash().answer("s1.0", "a1", Json.object().put("copies", 2).put("email", "a@b.c"));

    assertThat(talk.refusal()).isNull();
    assertThat(talk.state().open()).extracting(CallState::question).containsExactly(name("seats"));
  }

  @Test
  void anAnswerToAnEarlierQuestionOfTheFlowIsNotTakenForTheNextOne() {
    model.call("quote").say("Done.");
    Conversation talk = talk(QUOTE);
    talk.world().flow = args -> asking("approved");
    talk.world().flowAnswer = answers -> asking("approved");
    ObjectNode yes = Json.object().put("approved", true);
    String first = talk.say("Go").run().state().open().get(0).questionId();

    talk.answer("s1.0", first, "a1", yes).run();
    String next = talk.state().open().get(0).questionId();
    assertThat(next).isNotEqualTo(first);
    int flowCalls = talk.world().flowCalls.size();

    talk.answer("s1.0", first, "a2", yes);
    assertThat(Objects.requireNonNull(talk.refusal()).code()).isEqualTo("no_open_question");
    assertThat(Objects.requireNonNull(talk.refusal()).message()).contains(first, next);
    talk.run();
    assertThat(talk.world().flowCalls).hasSize(flowCalls);

    // A repetition of the answer that was taken is none to another question.
    talk.answer("s1.0", first, "a1", yes);
    assertThat(talk.refusal()).isNull();

    talk.crash().run();
    assertThat(talk.state().open()).extracting(CallState::questionId).containsExactly(next);
    talk.answer("s1.0", next, "a3", yes);
    assertThat(talk.refusal()).isNull();
  }

  @Test
  void theApprovalOfACallAndWhatItsFlowAsksAreDifferentQuestions() {
    model.call("quote").say("Done.");
    Conversation talk = talk(QUOTE.approval("May I?"));
    talk.world().flow = args -> asking("email");
    String approval = talk.say("Go").run().state().open().get(0).questionId();

    talk.approve("s1.0").run();
    talk.answer("s1.0", approval, "a2", Json.object().put("email", "a@b.c"));

    assertThat(Objects.requireNonNull(talk.refusal()).code()).isEqualTo("no_open_question");
  }

  @Test
  void anAnswerToSomethingThatNobodyAskedNamesWhatIsOpen() {
    model.call("one").say("Done.");
    Conversation talk = talk(tool("one").approval("May I?")).say("Go");

    talk.approve("s9.9");

    assertThat(Objects.requireNonNull(talk.refusal()).code()).isEqualTo("no_open_question");
    assertThat(Objects.requireNonNull(talk.refusal()).message()).contains("s9.9", "open are s1.0");

    talk.approve("s1.0");
    talk.answer("s9.8", "a2", Json.object());
    assertThat(Objects.requireNonNull(talk.refusal()).message())
        .isEqualTo("There is no open question about the call s9.8; no call waits for an answer");
  }

  @Test
  void aToolThatNeedsApprovalCannotBeInvokedPastIt() {
    Tool sly = Tool.of("sly", "Sly", (flow, args) -> flow.invokeTool("one", Map.of()).text());
    model.call("sly").say("Done.");

    Conversation talk = talk(sly, tool("one").approval("May I?")).say("Go");

    assertThat(ran).isEmpty();
    assertThat(talk.messages().get(2).content()).contains("must approve", "queueTool");
  }

  // --- the conversation goes on while a person is asked ----------------------------------------

  @Test
  void anOpenApprovalDoesNotBlockTheConversationAndItsOutcomeIsReportedLater() {
    model.call("one").say("A colleague decides. Anything else?").say("It is done.");
    Conversation talk = talk(tool("one").approval("May I?")).say("Go");

    talk.say("And now?").crash().run();

    assertThat(talk.lines())
        .hasSize(5)
        .startsWith("user: Go", "assistant: [one]")
        .endsWith("user: And now?", "assistant: A colleague decides. Anything else?");
    assertThat(talk.lines().get(2)).startsWith("one: ").contains("May I?", "not been made yet");
    assertThat(talk.state().inbox()).isEmpty();
    assertThat(talk.state().open()).extracting(CallState::key).containsExactly("s1.0");
    assertThat(ran).isEmpty();

    talk.crash().approve("s1.0").run().crash().approve("s1.0").run();

    assertThat(ran).containsExactly("one");
    assertThat(talk.lines())
        .hasSize(7)
        .endsWith(
            "user (silent): The call of one that has waited (c1) has ended:\none done",
            "assistant: It is done.");
    assertThat(talk.state().open()).isEmpty();
    assertThat(talk.state().frames()).isEmpty();
  }

  @Test
  void aCallThatIsDeniedLaterIsReportedWithItsReason() {
    model.call("one").say("A colleague decides.").say("A pity.");
    Conversation talk = talk(tool("one").approval("May I?")).say("Go").say("And now?");

    talk.deny("c1", "too dear").run();

    assertThat(ran).isEmpty();
    assertThat(talk.lines().get(5)).contains("did not approve the call: too dear");
    assertThat(talk.last().content()).isEqualTo("A pity.");
  }

  @Test
  void callsBehindAnOpenApprovalAreNotMadeOnceTheConversationContinues() {
    model.calls("one", "two").say("A colleague decides.").say("Done.");
    Conversation talk = talk(tool("one").approval("May I?"), tool("two")).say("Go");

    talk.say("And now?").approve("s1.0").run();

    assertThat(ran).containsExactly("one");
    assertThat(talk.lines().get(3)).startsWith("two failed").contains("not made", "one");
  }

  @Test
  void aMessageIsRefusedAsBusyWhereTooManyCallsWaitUntilOneHasEnded() {
    model
        .calls(Collections.nCopies(Bounds.DETACHED, "one").toArray(String[]::new))
        .say("Colleagues decide.")
        .call("one")
        .say("One more waits.")
        .say("Here I am.");
    Conversation talk =
        parallel(tool("one").approval("May I?")).say("Go").say("And now?").say("More");
    assertThat(talk.state().open()).hasSize(Bounds.DETACHED + 1);

    talk.say("Hello?");
    assertThat(Objects.requireNonNull(talk.refusal()).code()).isEqualTo("busy");
    assertThat(talk.state().inbox()).isEmpty();
    assertThat(talk.state().open()).hasSize(Bounds.DETACHED + 1);

    talk.crash().deny("s1.5", null).run();
    assertThat(talk.last().content()).isEqualTo("One more waits.");
    assertThat(talk.state().open()).hasSize(Bounds.DETACHED);
    talk.say("Hello?");
    assertThat(talk.refusal()).isNull();
    assertThat(talk.last().content()).isEqualTo("Here I am.");
  }

  @Test
  void aMessageThatCameBeforeTooManyCallsWaitedIsAnsweredOnceOneHasEnded() {
    model
        .calls(Collections.nCopies(Bounds.DETACHED, "one").toArray(String[]::new))
        .say("Colleagues decide.")
        .call("one")
        .say("One more waits.");
    Conversation talk = parallel(tool("one").approval("May I?")).say("Go").say("And now?");

    talk.post("More").post("Hello?").run();
    assertThat(talk.state().inbox()).extracting(Message::content).containsExactly("Hello?");
    assertThat(talk.state().open()).hasSize(Bounds.DETACHED + 1);
    talk.crash().approve("s1.7").run();

    assertThat(ran).containsExactly("one");
    assertThat(talk.state().inbox()).isEmpty();
    assertThat(talk.last().content()).isEqualTo("One more waits.");
  }

  @Test
  void callsSideBySideThatPeopleDecideAreReportedInTheOrderOfTheirOutcomes() {
    model.calls("one", "two").say("Colleagues decide.").say("Two.").say("One.");
    Conversation talk =
        parallel(tool("one").approval("May I?"), tool("two").approval("And this?")).say("Go");

    talk.say("And now?");
    assertThat(talk.state().open()).extracting(CallState::key).containsExactly("s1.0", "s1.1");
    talk.accept(new ThreadInput.Answer("s1.1", null, "b", true, null, null, "bob", talk.now()))
        .run();
    talk.approve("s1.0").run();

    assertThat(ran).containsExactly("two", "one");
    assertThat(talk.last().content()).isEqualTo("One.");
  }

  @Test
  void aFlowThatAsksDoesNotBlockTheConversationEither() {
    model.call("quote").say("Which address?").say("Quoted.");
    Conversation talk = talk(QUOTE);
    talk.world().flow =
        args ->
            new Outside.FlowOutcome.Asking(
                name("email")
                    .put("question", "Which address?")
                    .put("error", "Wrong. Continue without stateUpdates."));
    talk.world().flowAnswer = answers -> World.result("30");

    talk.say("Go").say("And now?").crash();
    assertThat(talk.lines().get(2)).contains("Which address?").doesNotContain("stateUpdates");
    talk.answer("s1.0", "a1", Json.object().put("email", "a@b.c")).run();

    assertThat(talk.world().flowCalls.get(1)).startsWith("quote s1.0 a1");
    assertThat(talk.lines().get(5)).endsWith("has ended:\n30");
    assertThat(talk.last().content()).isEqualTo("Quoted.");
  }

  @Test
  void anAnswerReachesItsFlowAlthoughAnotherCallStopsTheThread() {
    Tool stop =
        Tool.of(
            "stop",
            "Stops.",
            (flow, args) -> {
              flow.stop("enough");
              return "stopped";
            });
    model.calls("quote", "stop");
    Conversation talk = parallel(QUOTE, stop);
    talk.world().flow = args -> new Outside.FlowOutcome.Asking(name("email"));
    talk.world().flowAnswer = answers -> World.result("30");

    talk.say("Go");
    talk.answer("s1.0", "a1", Json.object().put("email", "a@b.c")).run();

    assertThat(talk.world().flowCalls.get(1)).startsWith("quote s1.0 a1");
    assertThat(talk.lines()).anyMatch(line -> line.endsWith("quote: 30"));
    assertThat(talk.code()).isEqualTo(StopCode.STATE_STOP_SESSION);
  }

  @Test
  void aFlowThatWaitsForAMomentDoesNotBlockTheConversationEither() {
    model.calls("quote", "one").say("It waits.").say("Quoted.");
    Conversation talk = talk(QUOTE, tool("one"));
    Duration month = Duration.ofDays(30);
    long until = talk.now() + month.toMillis();
    talk.world().flow = args -> new Outside.FlowOutcome.Waiting("until May", until);

    talk.say("Go").say("And now?").crash().run();

    assertThat(talk.lines())
        .hasSize(6)
        .endsWith("user: And now?", "assistant: It waits.")
        .element(2)
        .asString()
        .contains("It waits until May.", "not ended yet");
    assertThat(talk.lines().get(3)).contains("not made", "quote");
    assertThat(talk.state().inbox()).isEmpty();
    assertThat(talk.state().asks()).isFalse();

    for (int minute = 0; minute < 100; minute++) {
      talk.pass(Duration.ofMinutes(1));
    }
    assertThat(talk.world().flowCalls).as("polled ever more rarely").hasSizeLessThan(20);
    talk.world().flow = args -> World.result("30");
    talk.crash().pass(month).run();

    assertThat(talk.lines().get(6))
        .isEqualTo("user (silent): The call of quote that has waited (c1) has ended:\n30");
    assertThat(talk.last().content()).isEqualTo("Quoted.");
    assertThat(talk.state().frames()).isEmpty();
    assertThat(ran).isEmpty();
    talk.requireSame(Agent.aiHuman("desk", prompt(QUOTE, tool("one"))));
  }

  @Test
  void onceAFlowWasSeenAtWorkOrWaitingItsCallOnlyLooksWhateverItComesTo() {
    for (Outside.FlowOutcome seen :
        List.of(WORKS, new Outside.FlowOutcome.Waiting("for signal x", null))) {
      model.call("quote").say("Done.");
      Conversation talk = talk(QUOTE);
      talk.world().flow = args -> new Outside.FlowOutcome.Unfinished(false);
      talk.say("Go").pass(Duration.ofSeconds(2));
      talk.world().flow = args -> seen;
      talk.pass(Duration.ofSeconds(2));
      talk.world().flow = args -> new Outside.FlowOutcome.Unfinished(false);
      talk.pass(Duration.ofHours(1)).crash().pass(Duration.ofSeconds(2));
      talk.world().flow = args -> World.result("30");
      talk.pass(Duration.ofSeconds(2));

      assertThat(talk.world().flowAttempts)
          .startsWith(
              Outside.FlowAttempt.FIRST,
              Outside.FlowAttempt.REPEATED,
              Outside.FlowAttempt.REPEATED,
              Outside.FlowAttempt.LOOK)
          .endsWith(Outside.FlowAttempt.LOOK, Outside.FlowAttempt.LOOK)
          .doesNotContainSequence(Outside.FlowAttempt.LOOK, Outside.FlowAttempt.REPEATED);
      talk.requireSame(Agent.aiHuman("desk", prompt(QUOTE)));
    }
  }

  @Test
  void aFlowThatWaitsForASignalIsPolledEverMoreRarelyAndWithinAnHourOfIt() {
    model.call("quote").say("Signed.");
    Conversation talk = talk(QUOTE);
    talk.world().flow = args -> new Outside.FlowOutcome.Waiting("for signal x", null);
    talk.say("Go");
    for (int minute = 0; minute < 1_000; minute++) {
      talk.pass(Duration.ofMinutes(1));
    }
    assertThat(talk.world().flowCalls).hasSizeLessThan(30);

    talk.world().flow = args -> World.result("30");
    talk.pass(Duration.ofHours(1));

    assertThat(talk.last().content()).isEqualTo("Signed.");
    talk.requireSame(Agent.aiHuman("desk", prompt(QUOTE)));
  }

  @Test
  void aThreadWhoseFlowWaitsSleepsWithItsTurnOrWithoutOne() {
    model.call("quote").say("It waits.");
    Conversation talk = talk(QUOTE);
    talk.world().flow = args -> new Outside.FlowOutcome.Waiting("for signal x", null);

    talk.say("Go");
    assertThat(talk.wanted()).hasSize(1).allMatch(ThreadEffect::backgroundTimer);
    assertThat(talk.state().waitingStep()).isNotNull();
    assertThat(talk.state().outline().paused()).isEqualTo(talk.state().paused()).hasSize(1);

    talk.say("And now?");
    assertThat(talk.state().turn().running()).isFalse();
    assertThat(talk.wanted()).hasSize(1).allMatch(ThreadEffect::backgroundTimer);

    talk.world().flow = args -> WORKS;
    talk.accept(new ThreadInput.FlowChanged("s1.0", talk.now())).run();
    assertThat(talk.wanted()).hasSize(1).noneMatch(ThreadEffect::backgroundTimer);
  }

  @Test
  void aTurnThatWaitsForAFlowAndForWorkOfAChildWorks() {
    model.then(
        request ->
            AiMessage.from(
                model.wants("quote", Map.of()), model.wants("worker", Map.of("message", "dig"))));
    Conversation talk = parent(prompt(QUOTE, BLOCKING).parallelToolCalls());
    talk.world().flow = args -> new Outside.FlowOutcome.Waiting("for signal x", null);

    talk.say("Go");

    assertThat(talk.state().paused()).hasSize(1);
    assertThat(talk.state().waitingStep()).isNull();
  }

  @Test
  void aFlowThatWorksStillHoldsMessagesBackAsAToolDoes() {
    model.call("quote").say("Done.");
    Conversation talk = talk(QUOTE);
    talk.world().flow = args -> WORKS;

    talk.say("Go").say("And now?");

    assertThat(talk.state().inbox()).hasSize(1);
  }

  @Test
  void aChildThatAsksAPersonDoesNotBlockTheConversationOfItsParent() {
    model.call("worker", Map.of("message", "dig")).say("Somebody decides.").say("It is dug.");
    Conversation talk = parent(prompt(BLOCKING)).say("Go");

    talk.say("Patience?");
    assertThat(talk.state().inbox()).hasSize(1);
    stands(talk, 1, ChildThread.Status.ASKING).run().crash();

    assertThat(talk.last().content()).isEqualTo("Somebody decides.");
    assertThat(talk.state().askingIn()).hasSize(1);
    talk.report("child-s1.0", 2, false, "a hole").run();
    assertThat(talk.lines().get(5)).contains("has ended:", "a hole");
    assertThat(talk.last().content()).isEqualTo("It is dug.");
  }

  @Test
  void aChildWhoseFlowWaitsDoesNotBlockTheConversationOfItsParentEither() {
    model.call("worker", Map.of("message", "dig")).say("It waits.").say("It is dug.");
    Conversation talk =
        Conversation.of(Agent.aiHuman("desk", prompt(BLOCKING)), WORKER)
            .create(new ThreadEvent.Parent("t0", "desk", "s1.0"))
            .run()
            .say("Go");

    talk.say("Patience?");
    assertThat(talk.state().inbox()).hasSize(1);
    stands(talk, 1, ChildThread.Status.WAITING).run().crash();

    assertThat(talk.last().content()).isEqualTo("It waits.");
    assertThat(talk.lines().get(2)).contains("It waits in the thread child-s1.0.", "not ended yet");
    assertThat(talk.state().asks()).isFalse();
    assertThat(talk.state().waitingIn()).hasSize(1);
    assertThat(talk.state().outline().waitingIn()).isEqualTo(talk.state().waitingIn());
    talk.report("child-s1.0", 2, false, "a hole").run();
    assertThat(talk.lines().get(5)).contains("has ended:", "a hole");
    assertThat(talk.last().content()).isEqualTo("It is dug.");
  }

  @Test
  void aThreadThatWaitsForAChildThatWaitsNotifiesItsOwnParent() {
    model.call("worker", Map.of("message", "dig")).say("Done.");
    Conversation talk =
        Conversation.of(Agent.aiHuman("desk", prompt(BLOCKING)), WORKER)
            .create(new ThreadEvent.Parent("t0", "desk", "s1.0"))
            .run()
            .say("Go");

    stands(talk, 1, ChildThread.Status.WAITING).run();
    stands(talk, 2, ChildThread.Status.RUNNING).run();
    stands(talk, 3, ChildThread.Status.WAITING).run();
    talk.report("child-s1.0", 4, false, "a hole").run();

    assertThat(talk.world().reports)
        .containsExactly("1 WAITING", "2 RUNNING", "3 WAITING", "4 RUNNING", "5: Done.");
  }

  @Test
  void aDecidedCallThatWasCutOffIsMadeAgainAndReportedOnce() {
    model.call("one").say("A colleague decides.").say("Done.");
    Conversation talk = talk(tool("one").approval("May I?")).say("Go").say("And now?");

    talk.approve("s1.0").crashDuring(call("s1.0")).run();

    assertThat(ran).containsExactly("one", "one");
    assertThat(talk.lines()).filteredOn(line -> line.contains("has ended")).hasSize(1);
  }

  @Test
  void aDecisionIsMadeByTheAgentThatAskedForItAfterTheThreadWasHandedOver() {
    Scripted billing = Scripted.saying("Billing here.", "It is done.");
    model.call("one").call("to_billing", Map.of("message", "please"));
    Conversation talk =
        Conversation.with(
            Agent.aiHuman(
                "desk",
                prompt(
                    tool("one").approval("May I?"),
                    Handoff.to("billing", "Invoices").as("to_billing"))),
            Agent.aiHuman("billing", Prompt.of("billing", billing.model())));

    talk.say("Go").say("Billing, please").approve("s1.0");

    assertThat(talk.state().agent()).isEqualTo("billing");
    assertThat(talk.ready())
        .singleElement()
        .satisfies(
            call -> assertThat(talk.program().agentOf(talk.state(), call)).isEqualTo("desk"));
    talk.run();
    assertThat(ran).containsExactly("one");
    assertThat(talk.last().content()).isEqualTo("It is done.");
  }

  @Test
  void aThreadThatIsStoppedSaysWhichCallsNobodyDecides() {
    model.call("one").say("A colleague decides.");
    Conversation talk = talk(tool("one").approval("May I?")).say("Go").say("And now?");

    talk.stop().run().crash();

    assertThat(talk.state().open()).isEmpty();
    assertThat(talk.lines()).anyMatch(line -> line.startsWith("system:") && line.contains("one"));
  }

  // --- a release without what a thread waits for -----------------------------------------------

  @Test
  void anApprovalWaitsForAReleaseThatHasItsToolAgain() {
    model.call("one").say("Done.");
    Agent full = Agent.aiHuman("desk", prompt(tool("one").approval("May I?")));
    Conversation talk = Conversation.with(full).say("Go");

    talk.replace(Agent.aiHuman("desk", prompt(tool("two")))).crash().approve("s1.0").run();

    assertThat(Objects.requireNonNull(talk.refusal()).code()).isEqualTo("tool_missing");
    assertThat(talk.program().held(talk.state()))
        .singleElement()
        .extracting(HeldWork::why, as(STRING))
        .contains("one");
    assertThat(talk.state().open()).hasSize(1);

    talk.replace(full).crash().approve("s1.0").run();

    assertThat(talk.program().held(talk.state())).isEmpty();
    assertThat(ran).containsExactly("one");
    assertThat(talk.last().content()).isEqualTo("Done.");
  }

  @Test
  void aCallThatWasApprovedAndCutOffWaitsForItsTool() {
    model.call("one").say("Done.");
    Agent full = Agent.aiHuman("desk", prompt(tool("one").approval("May I?")));
    Conversation talk = Conversation.with(full).say("Go").approve("s1.0");

    talk.replace(Agent.aiHuman("desk", prompt(tool("two")))).crash().run();
    assertThat(talk.ready()).isEmpty();
    talk.replace(full).crash().run();

    assertThat(ran).containsExactly("one");
    assertThat(talk.last().content()).isEqualTo("Done.");
  }

  @Test
  void aCallThatIsApprovedWhileItsThreadIsSummarizedWaitsForItsTool() {
    Scripted summarizer = Scripted.saying("A summary.");
    Compaction compaction = Compaction.by(summarizer.model(), 6, 2);
    model.call("one").always(request -> AiMessage.from("A colleague decides."));
    Agent full = Agent.aiHuman("desk", prompt(tool("one").approval("May I?")));
    Conversation talk = Conversation.with(full.compaction(compaction)).say("Go");
    while (talk.state().compacting() == 0) {
      talk.post("And now?").runUntil(Conversation.kind(ThreadEffect.Kind.COMPACT));
    }
    talk.approve("s1.0");

    talk.replace(Agent.aiHuman("desk", prompt(tool("two"))).compaction(compaction)).crash().run();
    assertThat(talk.events(ThreadEvent.Compacted.class)).hasSize(1);
    assertThat(talk.program().held(talk.state()))
        .singleElement()
        .extracting(HeldWork::why, as(STRING))
        .contains("one");
    assertThat(until(talk)).as("a release that has it wakes it").isLessThanOrEqualTo(talk.now());

    talk.replace(full.compaction(compaction)).crash().run();
    assertThat(ran).containsExactly("one");
    assertThat(talk.lines()).anyMatch(line -> line.contains("one done"));
  }

  @Test
  void aCallIsNotHeldWhereItsAgentOffersTheToolInAnotherPrompt() {
    Prompt helps = Prompt.of("help", model.model()).tools(tool("one"));
    for (Agent next :
        List.of(
            Agent.aiHuman("desk", helps),
            Agent.aiHuman("desk", prompt(helps.asTool().withDescription("Helps"))))) {
      model.call("one").say("Done.");
      Conversation working = talk(tool("one")).post("Go").runUntil(call("s1.0"));
      working.replace(next).crash().run();
      assertThat(working.lines()).endsWith("one: one done", "assistant: Done.");

      model.call("one").say("Done.");
      Conversation asking = talk(tool("one").approval("May I?")).say("Go");
      asking.replace(next).crash();
      assertThat(asking.program().held(asking.state())).isEmpty();
      asking.approve("s1.0").run();
      assertThat(asking.lines()).endsWith("one: one done", "assistant: Done.");
    }
  }

  @Test
  void aCallThatMayRunOnlyOnceAndWasCutOffWaitsForItsToolUntilItsOutcomeIsCalledUnknown() {
    model.call("one").say("Done.");
    Agent full = Agent.aiHuman("desk", prompt(tool("one").once()));
    Conversation talk = Conversation.with(full).post("Go").runUntil(call("s1.0"));
    talk.outcome(ready(talk, "s1.0"));

    talk.replace(Agent.aiHuman("desk", prompt(tool("two")))).crash().run();
    assertThat(talk.program().held(talk.state()))
        .singleElement()
        .extracting(HeldWork::why, as(STRING))
        .contains("one");
    assertThat(until(talk)).as("a release that has it wakes it").isLessThanOrEqualTo(talk.now());

    talk.replace(full).crash().run();
    assertThat(ran).containsExactly("one");
    assertThat(talk.lines()).anyMatch(line -> line.contains("may or may not have taken effect"));
  }

  @Test
  void aCallThatIsToBeRepeatedWaitsForItsTool() {
    Tool fails =
        Tool.of(
                "one",
                "Fails once",
                Nothing.class,
                (flow, args) -> {
                  if (flow.attempt() == 1) {
                    throw new IllegalStateException("closed");
                  }
                  return "one done";
                })
            .retry(2, Duration.ofSeconds(10));
    model.call("one").say("Done.");
    Agent full = Agent.aiHuman("desk", prompt(fails));
    Conversation talk = Conversation.with(full).say("Go");

    talk.replace(Agent.aiHuman("desk", prompt(tool("two")))).crash().pass(Duration.ofHours(1));
    assertThat(talk.wanted()).isEmpty();

    talk.replace(full).crash().pass(Duration.ofSeconds(11));
    assertThat(talk.lines()).endsWith("one: one done", "assistant: Done.");
  }

  @Test
  void aFlowThatHasNotRepliedYetWaitsForItsToolAndIsWithdrawnWhenItsThreadIsStopped() {
    Agent full = Agent.aiHuman("desk", prompt(QUOTE));
    for (boolean stops : List.of(false, true)) {
      model.call("quote").say("Done.");
      Conversation talk = Conversation.with(full).post("Go").runUntil(call("s1.0"));
      talk.world().flow = args -> World.result("30");
      talk.outcome(ready(talk, "s1.0"));
      talk.replace(Agent.aiHuman("desk", prompt(tool("two")))).crash().run();
      assertThat(talk.ready()).isEmpty();

      if (stops) {
        talk.stop().crash().run();
        assertThat(talk.world().withdrawn).containsExactly("quote s1.0");
      } else {
        talk.replace(full).crash().run();
        assertThat(talk.lines()).endsWith("quote: 30", "assistant: Done.");
      }
    }
  }

  @Test
  void aCallWhoseFlowWaitsOrWorksWaitsForAReleaseThatHasItsToolAgain() {
    model.call("quote").say("Done.");
    Agent full = Agent.aiHuman("desk", prompt(QUOTE));
    Agent without = Agent.aiHuman("desk", prompt(tool("two")));
    Conversation talk = Conversation.with(full);
    talk.world().flow = args -> new Outside.FlowOutcome.Waiting("for signal x", null);
    talk.say("Go");

    talk.replace(without).crash().pass(Duration.ofHours(2));
    assertThat(talk.state().paused()).hasSize(1);
    assertThat(talk.program().held(talk.state()))
        .singleElement()
        .extracting(HeldWork::why, as(STRING))
        .contains("quote");

    talk.world().flow = args -> WORKS;
    talk.replace(full).crash().pass(Duration.ofHours(2));
    talk.replace(without).crash().pass(Duration.ofHours(2));
    assertThat(talk.wanted()).isEmpty();

    talk.world().flow = args -> World.result("30");
    talk.replace(full).crash().pass(Duration.ofHours(2));
    assertThat(talk.lines()).endsWith("quote: 30", "assistant: Done.");
  }

  private Conversation withoutItsTool(Outside.FlowOutcome outcome) {
    model.call("quote");
    Conversation talk = talk(QUOTE);
    talk.world().flow = args -> outcome;
    return talk.say("Go").replace(Agent.aiHuman("desk", prompt(tool("two")))).crash();
  }

  private static @Nullable Long until(Conversation talk) {
    return ((Program.Pause<ThreadEffect>) talk.program().next(talk.state())).until();
  }

  @Test
  void aThreadWhoseToolIsMissingIsWokenWhenItsCallWouldContinue() {
    Conversation talk = withoutItsTool(new Outside.FlowOutcome.Waiting("for signal x", null));
    Agent without = Agent.aiHuman("desk", prompt(tool("two")));
    long look = Objects.requireNonNull(talk.state().paused().get(0).retryAt());
    model.say("It waits.");
    talk.say("And now?");
    assertThat(until(talk)).isEqualTo(look);

    talk.replace(Agent.aiHuman("desk", prompt(QUOTE)));
    ThreadEffect due = talk.wanted().get(0);
    talk.accept(new ThreadInput.EffectDue(due, look)).replace(without).crash();
    assertThat(until(talk)).as("its look was cut off").isLessThanOrEqualTo(talk.now());

    assertThat(until(withoutItsTool(asking("email")))).as("a person decides").isNull();
  }

  @Test
  void aFlowWhoseToolIsMissingIsWithdrawnWhenItsThreadIsStoppedOrDeleted() {
    for (Outside.FlowOutcome outcome :
        List.of(new Outside.FlowOutcome.Waiting("for signal x", null), WORKS, asking("email"))) {
      Conversation stopped = withoutItsTool(outcome).stop().crash().run();
      assertThat(stopped.world().withdrawn).containsExactly("quote s1.0");
      assertThat(stopped.state().abandonedCalls()).isEmpty();

      Conversation deleted = withoutItsTool(outcome).delete().crash();
      deleted.perform(deleted.ready().get(0));
      assertThat(deleted.world().withdrawn).containsExactly("quote s1.0");
    }
  }

  @Test
  void aFlowWhoseAgentIsMissingIsWithdrawnWhenItsThreadIsDeleted() {
    Conversation talk = withoutItsTool(asking("email")).replace(WORKER).crash().delete();

    talk.perform(talk.ready().get(0));

    assertThat(talk.world().withdrawn).containsExactly("quote s1.0");
  }

  @Test
  void aFlowThatOnlyAnotherReleaseCanEndKeepsAStopButNoErasureWaiting() {
    Conversation stopped = withoutItsTool(asking("email"));
    stopped.world().stays = "version_changed";
    stopped.stop();
    assertThat(stopped.state().abandonedCalls()).isNotEmpty();

    Conversation deleted = withoutItsTool(asking("email")).delete();
    deleted.world().stays = "version_changed";
    assertThat(deleted.outcome(deleted.ready().get(0))).isInstanceOf(ThreadInput.Done.class);
  }

  @Test
  void aScheduledEffectWaitsForAReleaseThatHasItsHandler() {
    Tool plans =
        Tool.of(
            "plans",
            "Plans",
            (flow, args) -> flow.scheduleEffect("remind", Map.of(), Duration.ofDays(1)));
    ScheduledHandler remind =
        ScheduledHandler.of(
            "remind", "Reminds.", Nothing.class, (flow, args) -> ran.add("reminded"));
    model.call("plans").say("Done.");
    Agent plain = Agent.aiHuman("desk", prompt(plans));
    Conversation talk = Conversation.with(plain.effects(remind)).say("Go");

    talk.replace(plain).crash().pass(Duration.ofDays(2));

    assertThat(talk.program().held(talk.state()))
        .singleElement()
        .extracting(HeldWork::why, as(STRING))
        .contains("remind");
    assertThat(talk.wanted()).isEmpty();

    talk.replace(plain.effects(remind)).crash().pass(Duration.ofSeconds(1));

    assertThat(ran).containsExactly("reminded");
  }

  // --- other agents ----------------------------------------------------------------------------

  private static final Agent WORKER =
      Agent.aiHuman("worker", Prompt.of("work", Scripted.saying().model()));
  private static final SubAgent BLOCKING = SubAgent.of("worker", "Works").asBlocking();

  private Conversation parent(Prompt prompt) {
    return Conversation.with(Agent.aiHuman("desk", prompt), WORKER);
  }

  @Test
  void aChildThatIsWaitedForBringsTheResultOfTheCall() {
    model.call("worker", Map.of("message", "dig")).say("Done.");
    Conversation talk = parent(prompt(BLOCKING)).say("Go");

    talk.report("child-s1.0", 1, false, "a hole").run();

    assertThat(talk.lines()).endsWith("worker: Reference: child-s1.0\na hole", "assistant: Done.");
    assertThat(talk.state().children().get("child-s1.0"))
        .extracting(ChildThread::status)
        .isEqualTo(ChildThread.Status.IDLE);
  }

  @Test
  void aChildThatFailedFailsTheCall() {
    model.call("worker", Map.of("message", "dig")).say("Done.");
    Conversation talk = parent(prompt(BLOCKING)).say("Go");

    talk.report("child-s1.0", 1, true, "rock").run();

    assertThat(talk.messages().get(2).failed()).isTrue();
    assertThat(talk.messages().get(2).content()).contains("rock");
  }

  @Test
  void aChildThatIsNotWaitedForReportsLaterAndWakesTheThread() {
    model.call("worker", Map.of("message", "dig")).say("Begun.").say("It is dug.");
    Conversation talk = parent(prompt(SubAgent.of("worker", "Works"))).say("Go");
    assertThat(talk.lines()).endsWith("worker: Reference: child-s1.0", "assistant: Begun.");

    talk.report("child-s1.0", 1, false, "a hole").run();

    assertThat(talk.last().content()).isEqualTo("It is dug.");
    assertThat(talk.messages().get(talk.messages().size() - 2).silent()).isTrue();
  }

  @Test
  void aReportThatComesWhileTheCallIsBeingMadeIsToComeAgain() {
    model.call("worker", Map.of("message", "dig")).say("Done.");
    Conversation talk = parent(prompt(BLOCKING)).post("Go").runUntil(call("s1.0"));

    talk.report("child-s1.0", 1, false, "a hole");
    assertThat(Objects.requireNonNull(talk.refusal()).code()).isEqualTo("not_yet");
    talk.run().report("child-s1.0", 1, false, "a hole").run();

    assertThat(talk.last().content()).isEqualTo("Done.");
  }

  @Test
  void aReportThatComesWhileTheReleaseLacksTheRelationOfTheCallIsToComeAgain() {
    Agent full = Agent.aiHuman("desk", prompt(BLOCKING.atMost(1)));
    Agent without = Agent.aiHuman("desk", prompt(tool("two")));
    model
        .call("worker", Map.of("message", "dig"))
        .say("Dug.")
        .call("worker", Map.of("message", "deeper"))
        .say("Deeper.")
        .call("worker", Map.of("message", "down", "reference", "child-s1.0"))
        .say("Down.");
    Conversation talk = Conversation.with(full, WORKER);
    int report = 0;
    for (String step : List.of("s1.0", "s3.0", "s5.0")) {
      report++;
      talk.post("Go").runUntil(call(step)).outcome(ready(talk, step));

      talk.replace(without, WORKER).crash().run().reportOn("child-s1.0", report, step, "a hole");
      assertThat(Objects.requireNonNull(talk.refusal()).code()).isEqualTo("not_yet");

      talk.replace(full, WORKER).crash().run().reportOn("child-s1.0", report, step, "a hole").run();
      assertThat(talk.refusal()).isNull();
      assertThat(talk.state().turn().running()).isFalse();
    }
    assertThat(talk.last().content()).isEqualTo("Down.");
    assertThat(talk.world().delegated)
        .containsExactly("child-s1.0: dig", "child-s1.0: deeper", "child-s1.0: down");
  }

  @Test
  void aChildWhoseDelegationIsHeldDoesNotWaitUntilWhatItSpendsIsCounted() {
    Agent full = Agent.aiHuman("desk", prompt(BLOCKING));
    Agent without = Agent.aiHuman("desk", prompt(tool("two")));
    for (List<Agent> lacking : List.of(List.of(without, WORKER), List.of(WORKER))) {
      model.call("worker", Map.of("message", "dig"));
      Conversation talk = Conversation.with(full, WORKER).post("Go").runUntil(call("s1.0"));
      talk.outcome(ready(talk, "s1.0"));
      assertThat(Objects.requireNonNull(spent(talk, 10).refusal()).code()).isEqualTo("not_yet");

      talk.replace(lacking.toArray(Agent[]::new)).crash();
      assertThat(spent(talk, 10).refusal()).isNull();
      assertThat(talk.state().usage().cachedTokens()).isZero();

      talk.replace(full, WORKER).crash().run();
      assertThat(spent(talk, 30).refusal()).isNull();
      assertThat(talk.state().usage().cachedTokens()).isEqualTo(30);
    }
  }

  private static Conversation spent(Conversation talk, long tokens) {
    Usage total = new Usage(tokens, tokens, 0, BigDecimal.ZERO);
    return talk.accept(new ThreadInput.ChildSpent("child-s1.0", total, talk.now()));
  }

  @Test
  void aReportOfAChildWhoseCallWasStoppedIsTakenAndChangesNothing() {
    model.call("worker", Map.of("message", "dig"));
    Conversation talk = parent(prompt(BLOCKING)).post("Go").runUntil(call("s1.0"));

    talk.stop().run().report("child-s1.0", 1, false, "a hole");

    assertThat(talk.refusal()).isNull();
    assertThat(talk.lines()).noneMatch(line -> line.contains("a hole"));
  }

  @Test
  void aReferenceContinuesWithAChildAndAnUnknownOneIsRefused() {
    model
        .call("worker", Map.of("message", "dig"))
        .call("worker", Map.of("message", "deeper", "reference", "child-s1.0"))
        .call("worker", Map.of("message", "who", "reference", "nobody"))
        .say("Done.");

    Conversation talk = parent(prompt(SubAgent.of("worker", "Works"))).say("Go");

    assertThat(talk.world().delegated).containsExactly("child-s1.0: dig", "child-s1.0: deeper");
    assertThat(talk.state().children()).hasSize(1);
    assertThat(talk.lines()).anyMatch(line -> line.contains("no worker with the reference nobody"));
  }

  @Test
  void thereAreNoMoreChildrenThanAllowed() {
    model
        .call("worker", Map.of("message", "dig"))
        .call("worker", Map.of("message", "more"))
        .say("Done.");

    Conversation talk = parent(prompt(SubAgent.of("worker", "Works").atMost(1))).say("Go");

    assertThat(talk.world().delegated).containsExactly("child-s1.0: dig");
    assertThat(talk.lines()).anyMatch(line -> line.contains("child-s1.0") && line.contains("1 of"));
  }

  @Test
  void thereAreNoMoreChildrenThanAllowedWhenCallsAreMadeSideBySide() {
    twoAtOnce();

    Conversation talk =
        parent(prompt(SubAgent.of("worker", "Works").atMost(1)).parallelToolCalls()).say("Go");

    assertThat(talk.world().delegated).containsExactly("child-s1.0: dig");
  }

  private void twoAtOnce() {
    twoAtOnce("worker", "worker");
  }

  private void twoAtOnce(String first, String second) {
    model
        .then(
            request ->
                AiMessage.from(
                    model.wants(first, Map.of("message", "dig")),
                    model.wants(second, Map.of("message", "deeper"))))
        .say("Done.");
  }

  @Test
  void aChildAnswersOneCallAfterTheOther() {
    twoAtOnce();
    Conversation talk = parent(prompt(BLOCKING.atMost(1)).parallelToolCalls()).say("Go");
    assertThat(talk.world().delegated).containsExactly("child-s1.0: dig");

    talk.report("child-s1.0", 1, false, "a hole").run();
    talk.report("child-s1.0", 2, false, "a pit").run().crash();

    assertThat(talk.world().delegated).containsExactly("child-s1.0: dig", "child-s1.0: deeper");
    assertThat(talk.lines())
        .endsWith(
            "worker: Reference: child-s1.0\na hole",
            "worker: Reference: child-s1.0\na pit",
            "assistant: Done.");
  }

  @Test
  void aChildThatStillWorksForAnEarlierCallTakesNoOtherOne() {
    model
        .call("worker", Map.of("message", "dig"))
        .call("worker", Map.of("message", "deeper"))
        .say("Somebody decides.")
        .say("It is dug.");
    Conversation talk = parent(prompt(BLOCKING.atMost(1))).say("Go");

    stands(talk, 1, ChildThread.Status.ASKING).say("Deeper?").crash();

    assertThat(talk.world().delegated).containsExactly("child-s1.0: dig");
    assertThat(talk.messages())
        .filteredOn(Message::failed)
        .extracting(Message::metadata)
        .containsExactly(code("busy_reference"));
    assertThat(talk.last().content()).isEqualTo("Somebody decides.");

    talk.report("child-s1.0", 2, false, "a hole").run();

    assertThat(talk.lines().get(talk.lines().size() - 2))
        .endsWith("has ended:\nReference: child-s1.0\na hole");
    assertThat(talk.last().content()).isEqualTo("It is dug.");
    assertThat(talk.state().frames()).isEmpty();
  }

  @Test
  void theReferenceOfAnotherRelationIsUnknownAlsoWhileItsChildWorks() {
    model
        .call("worker", Map.of("message", "dig"))
        .call("helper", Map.of("message", "dig", "reference", "child-s1.0"))
        .say("Somebody decides.");
    SubAgent helping = SubAgent.of("helper", "Helps").asBlocking();
    Agent helper = Agent.aiHuman("helper", Prompt.of("help", Scripted.saying().model()));
    Conversation talk =
        Conversation.with(Agent.aiHuman("desk", prompt(BLOCKING, helping)), WORKER, helper)
            .say("Go");

    stands(talk, 1, ChildThread.Status.ASKING).say("Help?");

    assertThat(talk.messages())
        .filteredOn(Message::failed)
        .extracting(Message::metadata)
        .containsExactly(code("unknown_reference"));
    assertThat(talk.last().content()).isEqualTo("Somebody decides.");
  }

  @Test
  void promptsSideBySideNeitherShareAChildNorCreateMoreThanAllowed() {
    Scripted one = new Scripted().call("worker", Map.of("message", "dig"));
    Scripted two = new Scripted().call("worker", Map.of("message", "deeper"));
    twoAtOnce("one", "two");
    Conversation talk =
        parent(prompt(asking("one", one), asking("two", two)).parallelToolCalls()).post("Go");

    talk.runUntil(call("s2.0")).lastFirst().run();

    assertThat(talk.world().delegated).containsExactly("child-s2.0: dig");
    talk.report("child-s2.0", 1, false, "a hole").run();
    assertThat(talk.lines()).anyMatch(line -> line.startsWith("one:") && line.contains("a hole"));
    assertThat(talk.lines())
        .anyMatch(line -> line.startsWith("two failed") && line.contains("still works"));
    assertThat(talk.last().content()).isEqualTo("Done.");
  }

  private static Offered asking(String name, Scripted who) {
    return Prompt.of(name, who.model())
        .toolDescription("Has work done")
        .tools(BLOCKING.atMost(1))
        .asTool();
  }

  @Test
  void aChildThatIsWaitedForIsStoppedWithItsParent() {
    model.call("worker", Map.of("message", "dig"));
    Conversation talk = parent(prompt(BLOCKING)).say("Go");

    talk.stop().run().crash().run();

    assertThat(talk.world().stoppedChildren).containsExactly("child-s1.0");
    assertThat(talk.state().abandonedCalls()).isEmpty();
  }

  @Test
  void aChildThatIsYetToStopGetsNoOtherCallBefore() {
    model.call("worker", Map.of("message", "dig")).call("worker", Map.of("message", "deeper"));
    Conversation talk = parent(prompt(BLOCKING.atMost(1))).say("Go");

    talk.stop()
        .post("Try again")
        .runUntil(
            effect -> effect.kind() == ThreadEffect.Kind.WITHDRAW && talk.ready().size() == 1);
    assertThat(talk.world().delegated).containsExactly("child-s1.0: dig");
    assertThat(talk.world().stoppedChildren).isEmpty();

    talk.crash().run();

    assertThat(talk.world().stoppedChildren).containsExactly("child-s1.0");
    assertThat(talk.world().delegated).containsExactly("child-s1.0: dig", "child-s1.0: deeper");
  }

  @Test
  void aCallOfAChildThatCannotBeStoppedEndsAsBusy() {
    model
        .call("worker", Map.of("message", "dig"))
        .call("worker", Map.of("message", "deeper"))
        .call("worker", Map.of("message", "again"))
        .say("It cannot be reached.");
    Conversation talk = parent(prompt(BLOCKING.atMost(1))).say("Go");
    talk.stop()
        .post("Try again")
        .runUntil(
            effect -> effect.kind() == ThreadEffect.Kind.WITHDRAW && talk.ready().size() == 1);

    ends(talk, talk.ready().get(0), new ThreadInput.Failed("failed", "key_missing", null));
    talk.crash().run();

    assertThat(talk.lines())
        .filteredOn(line -> line.startsWith("worker failed") && line.contains("has not stopped"))
        .hasSize(2);
    assertThat(talk.last().content()).isEqualTo("It cannot be reached.");
    assertThat(talk.world().delegated).containsExactly("child-s1.0: dig");

    model.call("worker", Map.of("message", "deeper"));
    talk.pass(Duration.ofSeconds(1)).say("And now?");
    assertThat(talk.world().stoppedChildren).containsExactly("child-s1.0");
    assertThat(talk.world().delegated).containsExactly("child-s1.0: dig", "child-s1.0: deeper");
  }

  @Test
  void aParentThatCannotBeReachedIsNotifiedLaterAndNotAtOnceAgain() {
    Conversation talk = Conversation.child(Agent.aiHuman("desk", prompt()));
    model.say("Found.");
    talk.post("Find").runUntil(effect -> effect.kind() == ThreadEffect.Kind.REPORT);

    ends(talk, talk.ready().get(0), new ThreadInput.Failed("failed", "not_yet", null));
    assertThat(talk.ready()).isEmpty();
    talk.crash();
    assertThat(talk.ready()).isEmpty();
    talk.pass(Duration.ofSeconds(1));

    assertThat(talk.world().reports).containsExactly("1: Found.");
    assertThat(talk.state().reports()).isEmpty();
    assertThat(talk.state().relations().deliveries()).isEmpty();
  }

  private Conversation child(Offered... offered) {
    return Conversation.child(Agent.aiHuman("desk", prompt(offered)));
  }

  @Test
  void aChildThatAsksNotifiesItsParentAndNotifiesItAgainWhenItIsAnswered() {
    model.call("quote", Map.of()).say("Quoted.");
    Conversation talk = child(QUOTE);
    talk.world().flow = args -> asking("seats");

    talk.say("Quote");
    assertThat(talk.world().reports).containsExactly("1 ASKING");
    talk.crash().run().answer("s1.0", "a1", Json.object().put("seats", 3)).run();

    assertThat(talk.world().reports).containsExactly("1 ASKING", "2 RUNNING", "3: Quoted.");
    assertThat(talk.state().reports()).isEmpty();
  }

  @Test
  void aChildWhoseFlowWaitsNotifiesItsParentOnceHoweverOftenItLooks() {
    model.call("quote", Map.of()).say("Quoted.");
    Conversation talk = child(QUOTE);
    talk.world().flow = args -> new Outside.FlowOutcome.Waiting("for signal x", null);

    talk.say("Quote");
    for (int hour = 0; hour < 10; hour++) {
      talk.pass(Duration.ofHours(1)).crash();
    }
    assertThat(talk.world().flowCalls).hasSizeGreaterThan(5);
    assertThat(talk.world().reports).containsExactly("1 WAITING");
    talk.world().flow = args -> World.result("30");
    talk.pass(Duration.ofHours(1)).run();

    assertThat(talk.world().reports).containsExactly("1 WAITING", "2 RUNNING", "3: Quoted.");
    talk.requireSame(Agent.aiHuman("desk", prompt(QUOTE)));
  }

  /** What a child wrote that reported nothing of a wait, and not of which call its result is. */
  private static List<ThreadEvent> earlier(List<ThreadEvent> events) {
    List<ThreadEvent> all = new ArrayList<>();
    for (ThreadEvent event : events) {
      if (event instanceof ThreadEvent.ReportPending report && report.status() == null) {
        all.add(new ThreadEvent.ReportPending(1, report.failed(), report.text(), null, null));
      } else if (event instanceof ThreadEvent.Reported reported && reported.report() == 3) {
        all.add(new ThreadEvent.Reported(1));
      } else if (!(event instanceof ThreadEvent.ReportPending)
          && !(event instanceof ThreadEvent.Reported)) {
        all.add(event);
      }
    }
    return all;
  }

  @Test
  void aJournalOfAnEarlierReleaseThatLacksWhatChildrenReportNowIsDecidedAgainAsItWas() {
    model.call("quote", Map.of()).say("Quoted.");
    Conversation talk = child(QUOTE);
    talk.world().flow = args -> new Outside.FlowOutcome.Waiting("for signal x", null);
    talk.say("Quote");
    talk.world().flow = args -> World.result("30");
    talk.pass(Duration.ofHours(1)).run();
    assertThat(talk.world().reports).containsExactly("1 WAITING", "2 RUNNING", "3: Quoted.");

    NavigableMap<Long, List<ThreadEvent>> records = new TreeMap<>();
    List<Long> times = new ArrayList<>();
    for (int i = 1; i <= talk.records(); i++) {
      List<ThreadEvent> events = earlier(talk.record(i));
      if (!events.isEmpty()) {
        times.add(talk.cause(i).at());
        records.put((long) times.size(), events);
      }
    }
    ThreadRedecision again =
        new ThreadRedecision(
            new Agents(List.of(Agent.aiHuman("desk", prompt(QUOTE)))), EarlierEntries.of(records));
    records.forEach(
        (seq, events) ->
            assertThat(again.decide(seq, times.get((int) (seq - 1)), events))
                .as("entry %d", seq)
                .isNull());
  }

  @Test
  void aChildThatIsStoppedWhileItAsksReportsItsEndAlone() {
    model.call("quote", Map.of());
    Conversation talk = child(QUOTE);
    talk.world().flow = args -> asking("seats");

    talk.say("Quote").stop().run();

    assertThat(talk.world().reports).hasSize(2);
    assertThat(talk.world().reports.get(1)).startsWith("2");
    assertThat(talk.world().reports.get(1)).doesNotContain("RUNNING");
  }

  private static Conversation stands(Conversation talk, long number, ChildThread.Status status) {
    return talk.accept(
        new ThreadInput.ChildStatusChanged("child-s1.0", number, status, talk.now()));
  }

  @Test
  void aThreadThatWaitsForAChildThatAsksKnowsWhereAndNotifiesItsOwnParent() {
    model.call("worker", Map.of("message", "dig")).say("Done.");
    Conversation talk =
        Conversation.of(Agent.aiHuman("desk", prompt(BLOCKING)), WORKER)
            .create(new ThreadEvent.Parent("t0", "desk", "s1.0"))
            .run()
            .say("Go");

    stands(talk, 1, ChildThread.Status.ASKING).run();
    assertThat(talk.state().askingIn())
        .extracting(ChildThread::threadId)
        .containsExactly("child-s1.0");
    stands(talk, 2, ChildThread.Status.RUNNING).run();
    stands(talk, 1, ChildThread.Status.ASKING).run();
    assertThat(talk.state().askingIn()).isEmpty();
    talk.report("child-s1.0", 3, false, "a hole").run();

    assertThat(talk.world().reports).containsExactly("1 ASKING", "2 RUNNING", "3: Done.");
  }

  @Test
  void whatAChildAsksWhileItsCallIsBeingMadeIsToBeReportedAgain() {
    model.call("worker", Map.of("message", "dig")).say("Done.");
    Conversation talk = parent(prompt(BLOCKING)).post("Go").runUntil(call("s1.0"));

    stands(talk, 1, ChildThread.Status.ASKING);

    assertThat(Objects.requireNonNull(talk.refusal()).code()).isEqualTo("not_yet");
  }

  // --- what is deleted, or given up while it is handed over ------------------------------------

  @Test
  void aCallWhoseChildWasDeletedFailsAndTheChildIsNotChosenAgain() {
    model
        .call("worker", Map.of("message", "dig"))
        .call("worker", Map.of("message", "again"))
        .say("Done.");
    Conversation talk = parent(prompt(BLOCKING.atMost(1))).say("Go");

    talk.accept(new ThreadInput.ChildDeleted("child-s1.0", Usage.ZERO, talk.now())).run().crash();

    assertThat(talk.messages().get(2).content()).contains("child-s1.0", "deleted");
    assertThat(talk.state().children()).containsOnlyKeys("child-s2.0");
    assertThat(talk.world().delegated).containsExactly("child-s1.0: dig", "child-s2.0: again");
  }

  @Test
  void aThreadThatLearnsOfADeletedChildThatItDoesNotWaitForIsNotifiedSilently() {
    model.call("worker", Map.of("message", "dig")).say("Begun.").say("A pity.");
    Conversation talk = parent(prompt(SubAgent.of("worker", "Works"))).say("Go");

    talk.accept(new ThreadInput.ChildDeleted("child-s1.0", Usage.ZERO, talk.now())).run();
    talk.accept(new ThreadInput.ChildDeleted("child-s1.0", Usage.ZERO, talk.now())).run();

    assertThat(talk.lines())
        .endsWith(
            "user (silent): Subagent (reference: child-s1.0) has failed: deleted",
            "assistant: A pity.");
    assertThat(talk.state().children()).isEmpty();
  }

  @Test
  void aChildThatIsDeletedWhenItIsDoneIsForgottenWithoutAWord() {
    model.call("worker", Map.of("message", "dig")).say("Done.");
    Conversation talk = parent(prompt(BLOCKING)).say("Go");
    talk.report("child-s1.0", 1, false, "a hole").run();

    talk.accept(new ThreadInput.ChildDeleted("child-s1.0", Usage.ZERO, talk.now())).run();

    assertThat(talk.state().children()).isEmpty();
    assertThat(talk.last().content()).isEqualTo("Done.");
  }

  @Test
  void aThreadThatIsDeletedNotifiesItsParentOfWhatItOwesAndThatItIsGone() {
    Conversation talk = Conversation.child(Agent.aiHuman("desk", prompt()));
    model.say("Found.");
    talk.post("Find").runUntil(effect -> effect.kind() == ThreadEffect.Kind.REPORT);

    talk.delete().perform(talk.ready().get(0));

    assertThat(talk.world().reports).containsExactly("1: Found.", "gone");
  }

  @Test
  void aThreadThatIsDeletedWithdrawsTheFlowsOfItsCalls() {
    model.call("quote");
    Conversation talk = talk(QUOTE);
    talk.world().flow = args -> asking("email");

    talk.say("Go").delete().crash().perform(talk.ready().get(0));

    assertThat(talk.world().withdrawn).containsExactly("quote s1.0");
  }

  @Test
  void aThreadThatIsDeletedStillWithdrawsWhatAStopLeftBehind() {
    model.call("quote");
    Conversation talk = talk(QUOTE);
    talk.world().flow = args -> asking("email");

    talk.say("Go").stop().delete().perform(talk.ready().get(0));

    assertThat(talk.world().withdrawn).containsExactly("quote s1.0");
  }

  @Test
  void aChildThatCannotBeReachedIsTriedAgain() {
    model.call("worker", Map.of("message", "dig")).say("Done.");
    Conversation talk = parent(prompt(BLOCKING)).post("Go").runUntil(call("s1.0"));

    ends(talk, ready(talk, "s1.0"), new ThreadInput.Failed("failed", "busy", null));
    talk.pass(Duration.ofSeconds(1)).report("child-s1.0", 1, false, "a hole").run();

    assertThat(talk.lines()).endsWith("worker: Reference: child-s1.0\na hole", "assistant: Done.");
  }

  @Test
  void aReportThatComesBeforeTheCallIsTriedAgainIsToComeAgain() {
    model.call("worker", Map.of("message", "dig")).say("Done.");
    Conversation talk = parent(prompt(BLOCKING)).post("Go").runUntil(call("s1.0"));

    ends(talk, ready(talk, "s1.0"), new ThreadInput.Failed("failed", "busy", null));
    talk.report("child-s1.0", 1, false, "a hole");
    assertThat(Objects.requireNonNull(talk.refusal()).code()).isEqualTo("not_yet");
    talk.pass(Duration.ofSeconds(1)).run().report("child-s1.0", 1, false, "a hole").run();

    assertThat(talk.last().content()).isEqualTo("Done.");
  }

  @Test
  void aReportThatComesWhileItsChildIsGivenMoreToDoIsToComeAgain() {
    model
        .call("worker", Map.of("message", "dig"))
        .say("Begun.")
        .call("worker", Map.of("message", "deeper", "reference", "child-s1.0"))
        .say("Begun again.");
    Conversation talk = parent(prompt(SubAgent.of("worker", "Works"))).say("Go");
    talk.post("Deeper").runUntil(call("s3.0"));

    talk.report("child-s1.0", 1, false, "a hole");
    assertThat(Objects.requireNonNull(talk.refusal()).code()).isEqualTo("not_yet");
    talk.run().reportAndGoOn("child-s1.0", 1, false, "a hole");
    assertThat(talk.refusal()).isNull();
    assertThat(status(talk, "child-s1.0")).isEqualTo(ChildThread.Status.RUNNING);
  }

  private static ChildThread.Status status(Conversation talk, String child) {
    return Objects.requireNonNull(talk.state().children().get(child)).status();
  }

  @Test
  void aChildThatReportsAndGoesOnWorksUntilItReportsAgain() {
    model.call("worker", Map.of("message", "dig")).say("One.").say("Two.").say("Three.");
    Conversation talk = parent(prompt(SubAgent.of("worker", "Works"))).say("Go");

    talk.reportAndGoOn("child-s1.0", 1, true, "a stone").run();
    assertThat(status(talk, "child-s1.0")).isEqualTo(ChildThread.Status.RUNNING);
    talk.report("child-s1.0", 2, false, "a hole").run();
    assertThat(status(talk, "child-s1.0")).isEqualTo(ChildThread.Status.IDLE);

    assertThat(talk.last().content()).isEqualTo("Three.");
    talk.requireSame(Agent.aiHuman("desk", prompt(SubAgent.of("worker", "Works"))), WORKER);
  }

  @Test
  void aCallEndsWithTheReportItWaitsForAlsoIfTheChildGoesOn() {
    model.call("worker", Map.of("message", "dig")).say("Done.");
    Conversation talk = parent(prompt(BLOCKING)).say("Go");

    talk.reportAndGoOn("child-s1.0", 1, false, "a hole").run();

    assertThat(talk.lines()).endsWith("worker: Reference: child-s1.0\na hole", "assistant: Done.");
    assertThat(status(talk, "child-s1.0")).isEqualTo(ChildThread.Status.RUNNING);
  }

  @Test
  void aCallIsWaitedForUntilItsChildReportsTheResultOfThatCall() {
    model
        .call("worker", Map.of("message", "dig"))
        .say("Dug.")
        .call("worker", Map.of("message", "deeper"))
        .say("Done.");
    Conversation talk = parent(prompt(BLOCKING.atMost(1))).say("Go");
    talk.reportOn("child-s1.0", 1, "s1.0", "a hole").run().say("Deeper");

    talk.reportOn("child-s1.0", 2, "s1.0", "It rains.").run().crash();
    assertThat(talk.state().delegatedTo("child-s1.0")).isNotNull();
    assertThat(status(talk, "child-s1.0")).isEqualTo(ChildThread.Status.RUNNING);
    talk.reportOn("child-s1.0", 3, "s3.0", "a pit").run();

    assertThat(talk.lines())
        .endsWith(
            "worker: Reference: child-s1.0\na pit",
            "user (silent): Subagent (reference: child-s1.0) has returned the following result:\n"
                + "It rains.",
            "assistant: Done.");
    talk.requireSame(Agent.aiHuman("desk", prompt(BLOCKING.atMost(1))), WORKER);
  }

  private static List<String> reportedCalls(Conversation talk) {
    return talk.events(ThreadEvent.ReportPending.class).stream()
        .map(ThreadEvent.ReportPending::call)
        .toList();
  }

  private static Conversation called(Conversation talk, String call) {
    return talk.post("call " + call, Message.user("Dig"));
  }

  private static boolean asks(ThreadEffect effect) {
    return effect.kind() == ThreadEffect.Kind.STEP;
  }

  @Test
  void aChildReportsOfWhichCallOfItsParentItsResultIs() {
    model.say("Good day.").say("A hole.").say("It rains.").say("A pit.");
    Conversation talk = child().say("Hi");
    called(talk, "s1.0").run();

    called(talk.post("Does it rain?").runUntil(CallsTest::asks), "s2.0").crash().run();

    assertThat(reportedCalls(talk)).containsExactly("", "s1.0", "s1.0", "s2.0");
    talk.requireSame(Agent.aiHuman("desk", prompt()));
  }

  @Test
  void aChildThatIsStoppedReportsTheEndOfTheCallThatHasYetToBeTakenUp() {
    model.say("It rains.");
    Conversation talk = child().post("Does it rain?").runUntil(CallsTest::asks);

    called(talk, "s1.0").stop().run();

    assertThat(reportedCalls(talk)).containsExactly("s1.0");
    assertThat(talk.state().works()).isFalse();
  }

  @Test
  void aThreadLearnsThatAChildWasDeletedInTheWorkAfterItsReport() {
    model.call("worker", Map.of("message", "dig")).say("Begun.").say("A hole.").say("A pity.");
    Conversation talk = parent(prompt(SubAgent.of("worker", "Works"))).say("Go");
    talk.reportAndGoOn("child-s1.0", 1, false, "a hole").run();

    talk.accept(new ThreadInput.ChildDeleted("child-s1.0", Usage.ZERO, talk.now())).run();

    assertThat(talk.last().content()).isEqualTo("A pity.");
  }

  @Test
  void aReportOfAChildIsTakenWhileAnotherIsGivenMoreToDo() {
    twoAtOnce();
    model.call("worker", Map.of("message", "on", "reference", "child-s1.0")).say("Begun again.");
    Conversation talk = parent(prompt(SubAgent.of("worker", "Works"))).say("Go");
    talk.post("Go on").runUntil(call("s3.0"));

    talk.report("child-s1.1", 1, false, "a pit");

    assertThat(talk.refusal()).isNull();
  }

  @Test
  void aThreadLearnsThatAChildWasDeletedDuringItsSecondWork() {
    model
        .call("worker", Map.of("message", "dig"))
        .say("Begun.")
        .call("worker", Map.of("message", "deeper", "reference", "child-s1.0"))
        .say("Begun again.")
        .say("A pity.");
    Conversation talk = parent(prompt(SubAgent.of("worker", "Works"))).say("Go");
    talk.report("child-s1.0", 1, false, "a hole").run();

    talk.accept(new ThreadInput.ChildDeleted("child-s1.0", Usage.ZERO, talk.now())).run();

    assertThat(talk.last().content()).isEqualTo("A pity.");
    talk.requireSame(Agent.aiHuman("desk", prompt(SubAgent.of("worker", "Works"))), WORKER);
  }

  @Test
  void aChildThatMayHaveBeenBornWhenItsCallWasStoppedIsDiscarded() {
    model.call("worker", Map.of("message", "dig"));
    Conversation talk = parent(prompt(BLOCKING)).post("Go").runUntil(call("s1.0"));
    talk.outcome(ready(talk, "s1.0"));

    talk.stop().crash().run();

    assertThat(talk.world().discarded).containsExactly("worker s1.0");
    assertThat(talk.state().abandonedCalls()).isEmpty();
  }

  @Test
  void aChildThatMayHaveBeenBornWhenItsParentWasDeletedIsDiscarded() {
    model.call("worker", Map.of("message", "dig"));
    Conversation talk =
        parent(prompt(SubAgent.of("worker", "Works"))).post("Go").runUntil(call("s1.0"));

    talk.delete().perform(talk.ready().get(0));

    assertThat(talk.world().discarded).containsExactly("worker s1.0");
  }

  @Test
  void aChildThatACallContinuesWithIsStoppedWhenTheCallIsAbandonedWhileItIsHandedOver() {
    model
        .call("worker", Map.of("message", "dig"))
        .call("worker", Map.of("message", "deeper", "reference", "child-s1.0"));
    Conversation talk = parent(prompt(BLOCKING)).say("Go");
    talk.report("child-s1.0", 1, false, "a hole").runUntil(call("s2.0"));

    talk.stop().run();

    assertThat(talk.world().stoppedChildren).containsExactly("child-s1.0");
    assertThat(talk.world().discarded).isEmpty();
  }

  // --- flows -----------------------------------------------------------------------------------

  private static final FlowTool QUOTE = CalledFlow.of("quote", "Makes a quote");
  private static final Outside.FlowOutcome WORKS = new Outside.FlowOutcome.Unfinished(true);

  @Test
  void aFlowIsCalledLikeATool() {
    model.call("quote", Map.of("seats", 3)).say("Done.");
    Conversation talk = talk(QUOTE);
    talk.world().flow = args -> World.result("30 for " + args.path("seats"));

    talk.say("Go");

    assertThat(talk.lines()).contains("quote: 30 for 3");
  }

  @Test
  void aFlowMayAskAgainAndAgain() {
    model.call("quote").say("Done.");
    Conversation talk = talk(QUOTE);
    talk.world().flow = args -> asking("email");
    talk.world().flowAnswer =
        answers -> answers.has("email") ? asking("seats") : World.result("30");

    talk.say("Go").answer("s1.0", "a1", Json.object().put("email", "a@b.c")).run();
    assertThat(talk.state().open()).extracting(CallState::question).containsExactly(name("seats"));
    talk.answer("s1.0", "a1", Json.object().put("email", "a@b.c")).run();
    assertThat(talk.state().open()).hasSize(1);
    talk.answer("s1.0", "a2", Json.object().put("seats", 3)).run();

    assertThat(talk.lines()).contains("quote: 30", "assistant: Done.");
  }

  @Test
  void aFlowThatChangesWhileItAsksIsLookedAt() {
    model.call("quote").say("A pity.");
    Conversation talk = talk(QUOTE);
    talk.world().flow = args -> asking("email");
    talk.say("Go");

    talk.world().flow = args -> asking("seats");
    talk.accept(new ThreadInput.FlowChanged("s1.0", talk.now())).run().crash();
    assertThat(talk.state().open()).extracting(CallState::question).containsExactly(name("seats"));
    talk.world().flow = args -> World.result("Too late");
    talk.accept(new ThreadInput.FlowChanged("s1.0", talk.now())).run();

    assertThat(talk.lines()).endsWith("quote: Too late", "assistant: A pity.");
    talk.requireSame(Agent.aiHuman("desk", prompt(QUOTE)));
  }

  private static Outside.FlowOutcome asking(String field) {
    return new Outside.FlowOutcome.Asking(name(field));
  }

  private static ObjectNode name(String field) {
    return Json.object().put("field", field);
  }

  @Test
  void aFlowThatContinuesByItselfIsAskedAgainLater() {
    model.call("quote").say("Done.");
    Conversation talk = talk(QUOTE);
    talk.world().flow = args -> WORKS;
    talk.say("Go").crash().run();
    assertThat(talk.world().flowCalls).hasSize(1);

    talk.world().flow = args -> World.result("30");
    talk.pass(Duration.ofSeconds(3));

    assertThat(talk.world().flowCalls).hasSize(2);
    assertThat(talk.lines()).contains("quote: 30", "assistant: Done.");
  }

  @Test
  void aFlowThatAsksIsWithdrawnWhenTheThreadIsStopped() {
    model.call("quote");
    Conversation talk = talk(QUOTE);
    talk.world().flow = args -> asking("email");

    talk.say("Go").stop().crash().run();

    assertThat(talk.world().withdrawn).containsExactly("quote s1.0");
    assertThat(talk.state().abandonedCalls()).isEmpty();
    assertThat(talk.state().open()).isEmpty();
  }

  @Test
  void aFlowWhoseCallFailedIsWithdrawn() {
    model.call("quote").say("Sorry.");
    Conversation talk = talk(QUOTE);
    talk.world().flow =
        args -> {
          throw new IllegalStateException("unreachable");
        };

    talk.say("Go");

    assertThat(talk.messages().get(2).content()).contains("unreachable");
    assertThat(talk.world().withdrawn).containsExactly("quote s1.0");
  }

  @Test
  void anAnswerWithoutAnswersIsRefused() {
    model.call("quote");
    Conversation talk = talk(QUOTE);
    talk.world().flow = args -> asking("email");

    talk.say("Go").approve("s1.0");

    assertThat(Objects.requireNonNull(talk.refusal()).code()).isEqualTo("missing_answers");
  }

  @Test
  void anApprovalThatAlsoHasAnswersStartsTheFlowAndDoesNotAnswerIt() {
    model.call("quote").say("Done.");
    Conversation talk = talk(QUOTE.approval("May I?"));

    talk.say("Go")
        .accept(
            new ThreadInput.Answer(
                "s1.0", null, "a1", true, Json.object(), null, "ann", talk.now()))
        .run();

    assertThat(talk.world().flowCalls).containsExactly("quote s1.0 {}");
    assertThat(talk.last().content()).isEqualTo("Done.");
  }

  @Test
  void aToolThatThrowsAnOutOfMemoryErrorEndsItsCallAsFailedAndTheThreadGoesOn() {
    model.call("one").say("Sorry.");
    Conversation talk =
        talk(
            Tool.of(
                "one",
                "Needs too much.",
                (flow, args) -> {
                  throw new OutOfMemoryError("Requested array size exceeds VM limit");
                }));

    talk.say("Go");

    assertThat(talk.messages().get(2).failed()).isTrue();
    assertThat(talk.messages().get(2).content()).contains("Requested array size exceeds VM limit");
    assertThat(talk.last().content()).isEqualTo("Sorry.");
  }

  @Test
  void anEffectThatThrowsAnOutOfMemoryErrorHasFailed() {
    model.call("one");
    Conversation talk = talk(tool("one")).post("Go");
    OutOfMemoryError thrown = new OutOfMemoryError();

    ThreadInput.Failed failed =
        new ThreadProgram(new Agents(List.of())).failed(talk.wanted().get(0), thrown);

    assertThat(failed.reason()).isEqualTo("OutOfMemoryError");
    assertThat(failed.thrown()).isSameAs(thrown);
  }

  @Test
  void anErrorInWhetherACallNeedsApprovalFailsTheCallAlone() {
    model.call("one").say("Sorry.");
    Conversation talk =
        talk(
            tool("one")
                .approval(
                    args -> {
                      throw new AssertionError("broken");
                    }));

    talk.say("Go");

    assertThat(ran).isEmpty();
    assertThat(talk.messages().get(2).metadata()).isEqualTo(code("approval_failed"));
    assertThat(talk.last().content()).isEqualTo("Sorry.");
  }
}
