package io.fermata.agent.state;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.TextNode;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.model.chat.ChatModel;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.output.TokenUsage;
import io.fermata.agent.Agent;
import io.fermata.agent.Budget;
import io.fermata.agent.Conversation;
import io.fermata.agent.Hook;
import io.fermata.agent.Offered;
import io.fermata.agent.Participant;
import io.fermata.agent.Prompt;
import io.fermata.agent.ScheduledHandler;
import io.fermata.agent.Scripted;
import io.fermata.agent.Tool;
import io.fermata.agent.message.Bounds;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.Role;
import io.fermata.agent.message.Side;
import io.fermata.agent.message.ToolResult;
import io.fermata.agent.model.Model;
import io.fermata.agent.model.TokenCounts;
import io.fermata.agent.model.Usage;
import java.math.BigDecimal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What lets a thread rest, and what it is then. */
class StopTest {
  private record Words(String text) {}

  private static final Tool DONE = Tool.of("done", "Ends.", Words.class, (flow, args) -> "done");

  private static final Tool BROKEN =
      Tool.of(
          "done",
          "Ends.",
          Words.class,
          (flow, args) -> {
            throw new IllegalStateException("not now");
          });

  private static Prompt prompt(Scripted model, Offered... tools) {
    return Prompt.of("support", model.model()).tools(tools);
  }

  private static Conversation desk(Participant.Speaker side) {
    return Conversation.with(Agent.of("desk", side, Participant.person()));
  }

  private static Scripted done() {
    return new Scripted().call("done", Map.of("text", "Bye."));
  }

  @Test
  void wordsWithoutCallsEndTheTurn() {
    Tool look = Tool.of("look", "Looks.", (flow, args) -> "ok");
    Scripted model = new Scripted().sayAndCall("One moment.", "look", Map.of()).say("There.");
    Conversation talk = desk(Participant.prompt(prompt(model, look)));

    talk.say("Hi");

    assertThat(talk.lines())
        .containsExactly(
            "user: Hi", "assistant: One moment. [look]", "look: ok", "assistant: There.");
    assertThat(talk.code()).isEqualTo(StopCode.STOP_ON_RESPONSE);
    assertThat(talk.state().turn().stoppedBy()).isEqualTo(Side.A);
    assertThat(talk.state().frames()).isEmpty();
  }

  @Test
  void theStopToolEndsTheTurnEvenIfItFails() {
    Conversation talk = desk(Participant.prompt(prompt(done(), BROKEN)).stopTool("done"));

    talk.say("Hi");

    assertThat(talk.lines()).endsWith("done failed: Failed to execute tool: not now");
    assertThat(talk.code()).isEqualTo(StopCode.STOP_TOOL);
  }

  @Test
  void aStopToolThatTheOutputLimitCutOffEndsNoTurnAndItsHalfTextIsNotSaid() {
    Scripted model = new Scripted();
    model
        .cutOff(AiMessage.from(model.wants("done", Map.of("text", "The three rea"))))
        .call("done", Map.of("text", "Three."));
    Participant.Speaker side = Participant.prompt(prompt(model, DONE)).stopTool("done", "text");
    Agent desk = Agent.of("desk", side, Participant.person());
    Conversation talk = Conversation.with(desk);

    talk.say("Why?");

    assertThat(model.requests()).hasSize(2);
    assertThat(talk.lines())
        .noneMatch(line -> line.contains("rea"))
        .endsWith("assistant: Three. [done]", "done: done");
    assertThat(talk.code()).isEqualTo(StopCode.STOP_TOOL);
    talk.requireSame(desk);
  }

  @Test
  void anArgumentOfTheStopToolIsWhatTheSideSays() {
    Conversation talk = desk(Participant.prompt(prompt(done(), DONE)).stopTool("done", "text"));

    talk.say("Hi");

    assertThat(talk.lines()).containsExactly("user: Hi", "assistant: Bye. [done]", "done: done");
  }

  @Test
  void theSessionEndsWellByAToolThatSucceeds() {
    Conversation talk = desk(Participant.prompt(prompt(done(), DONE)).sessionStop("done", "text"));

    talk.say("Hi");

    assertThat(talk.code()).isEqualTo(StopCode.SESSION_STOP);
    assertThat(talk.state().turn().detail()).isEqualTo("Bye.");
    assertThat(talk.state().turn().turnsB()).isZero();
  }

  @Test
  void aToolThatAPersonApprovesLaterEndsTheSessionThen() {
    Scripted model = done().say("A colleague decides.").say("Hello again.");
    Participant.Speaker side =
        Participant.prompt(prompt(model, DONE.approval("End?"))).sessionStop("done", "text");
    Agent agent = Agent.of("desk", side, Participant.person());
    Conversation talk = Conversation.with(agent).say("Hi").say("And?");

    talk.crash().approve("s1.0").run();

    assertThat(talk.code()).isEqualTo(StopCode.SESSION_STOP);
    assertThat(talk.state().turn().detail()).isEqualTo("Bye.");
    assertThat(model.requests()).hasSize(2);
    assertThat(talk.lines())
        .endsWith(
            "assistant: A colleague decides.",
            "user (silent): The call of done that has waited (c1) has ended:\ndone");
    talk.crash().say("Hi again").requireSame(agent);
    assertThat(talk.last().content()).isEqualTo("Hello again.");
  }

  @Test
  void aToolThatAPersonApprovesDuringALaterStepFailsTheSessionAtTheEndOfThatStep() {
    Scripted model = done().say("A colleague decides.").say("As I said.");
    Participant.Speaker side =
        Participant.prompt(prompt(model, DONE.approval("End?")))
            .sessionFail("done", "text")
            .sessionStatus("done", "text");
    Agent agent = Agent.of("desk", side, Participant.person());
    Conversation talk = Conversation.with(agent).say("Hi").say("And?").post("And?");

    talk.approve("s1.0").step();
    assertThat(talk.state().open()).isEmpty();
    assertThat(talk.ready()).extracting(ThreadEffect::id).containsExactly("s3");
    talk.run();

    assertThat(talk.code()).isEqualTo(StopCode.SESSION_FAIL);
    assertThat(talk.state().turn().detail()).isEqualTo("Bye.");
    assertThat(talk.state().stored().status()).isEqualTo("Bye.");
    assertThat(talk.last().content()).isEqualTo("As I said.");
    talk.crash().requireSame(agent);
  }

  @Test
  void aToolThatAPersonApprovesDuringAStepThatFailsEndsTheSessionAllTheSame() {
    Scripted model =
        done().say("A colleague decides.").fail(new IllegalStateException("down")).say("Hello.");
    Participant.Speaker side =
        Participant.prompt(prompt(model, DONE.approval("End?"))).sessionStop("done", "text");
    Agent agent = Agent.of("desk", side, Participant.person());
    Conversation talk = Conversation.with(agent).say("Hi").say("And?").post("And?");

    talk.approve("s1.0").run();

    assertThat(talk.last().status()).isEqualTo(Message.Status.FAILED);
    assertThat(talk.code()).isEqualTo(StopCode.SESSION_STOP);
    assertThat(talk.state().turn().detail()).isEqualTo("Bye.");
    assertThat(talk.state().turn().turnsB()).isZero();
    talk.crash().say("Hi again").requireSame(agent);
    assertThat(talk.last().content()).isEqualTo("Hello.");
  }

  @Test
  void aToolThatAPersonApprovesDoesNotEndASessionThatAClientStopsMeanwhile() {
    Scripted model = done().say("A colleague decides.");
    Participant.Speaker side =
        Participant.prompt(prompt(model, DONE.approval("End?"))).sessionStop("done", "text");
    Conversation talk = desk(side).say("Hi").say("And?").post("And?");

    talk.approve("s1.0").step().stop();

    assertThat(talk.code()).isEqualTo(StopCode.ABORTED_BY_USER);
  }

  @Test
  void aToolThatAPersonApprovesWhileAQueuedCallWaitsEndsTheSessionAfterThatCall() {
    Tool look = Tool.of("look", "Looks.", (flow, args) -> "ok").approval("Look?");
    Tool plan =
        Tool.of(
            "plan",
            "Plans.",
            (flow, args) -> flow.scheduleEffect("look", Map.of(), Duration.ofHours(1)));
    for (boolean proceeds : List.of(false, true)) {
      Scripted model =
          new Scripted()
              .call("plan")
              .call("done", Map.of("text", "Bye."))
              .say("A colleague decides.");
      Participant.Speaker side =
          Participant.prompt(prompt(model, plan, look, DONE.approval("End?")))
              .sessionStop("done", "text");
      Agent agent =
          Agent.of("desk", side, Participant.person())
              .effects(
                  ScheduledHandler.of(
                      "look", "Looks.", (flow, args) -> flow.queueTool("look", Map.of())));
      Conversation talk = Conversation.with(agent).say("Hi").say("And?").pass(Duration.ofHours(1));
      String queued = Objects.requireNonNull(talk.state().top()).calls().get(0).key();

      talk.approve("s2.0").run();
      assertThat(talk.code()).isEqualTo(StopCode.STOP_ON_RESPONSE);
      if (proceeds) {
        talk.proceed(null).run();
      }
      long now = talk.now();
      talk.crash()
          .accept(new ThreadInput.Answer(queued, null, "a2", false, null, null, "ann", now))
          .run();

      assertThat(talk.code()).as("proceeds: %s", proceeds).isEqualTo(StopCode.SESSION_STOP);
      assertThat(talk.state().turn().detail()).isEqualTo("Bye.");
      assertThat(model.requests()).hasSize(3);
      talk.requireSame(agent);
    }
  }

  @Test
  void aStopToolThatWaitsForAPersonDoesNotEndTheTurn() {
    Scripted model = done().say("A colleague decides.");
    Participant.Speaker side =
        Participant.prompt(prompt(model, DONE.approval("End?"))).stopTool("done");
    Conversation talk = desk(side).say("Hi").say("And?");

    assertThat(talk.last().content()).isEqualTo("A colleague decides.");
    assertThat(talk.events(ThreadEvent.Stopped.class))
        .extracting(ThreadEvent.Stopped::code)
        .doesNotContain(StopCode.STOP_TOOL);
  }

  @Test
  void aToolThatFailsDoesNotEndTheSession() {
    Scripted model = done().say("Sorry.");
    Conversation talk =
        desk(
            Participant.prompt(prompt(model, BROKEN))
                .sessionStop("done", "text")
                .sessionFail("done", null));

    talk.say("Hi");

    assertThat(talk.code()).isEqualTo(StopCode.STOP_ON_RESPONSE);
    assertThat(talk.lines()).endsWith("assistant: Sorry.");
  }

  @Test
  void aSessionThatFailsFailsThoughAnotherToolWouldEndItWell() {
    Tool fail = Tool.of("fail", "Fails.", (flow, args) -> "It cannot be done.");
    Tool well = Tool.of("well", "Ends.", (flow, args) -> "fine");
    Scripted model = new Scripted().calls("well", "fail");
    Conversation talk =
        desk(
            Participant.prompt(prompt(model, well, fail))
                .sessionStop("well", null)
                .sessionFail("fail", null));

    talk.say("Hi");

    assertThat(talk.code()).isEqualTo(StopCode.SESSION_FAIL);
    assertThat(talk.state().turn().detail()).isEqualTo("It cannot be done.");
  }

  @Test
  void aThreadWhoseSessionEndedContinuesWithTheNextMessage() {
    Scripted model = done().say("Hello again.");
    Conversation talk = desk(Participant.prompt(prompt(model, DONE)).sessionStop("done", "text"));

    talk.say("Hi").say("One more thing");

    assertThat(talk.lines()).endsWith("user: One more thing", "assistant: Hello again.");
  }

  @Test
  void aStatusToolReportsTheStatus() {
    Scripted model = done().say("On it.");
    Conversation talk = desk(Participant.prompt(prompt(model, DONE)).sessionStatus("done", "text"));

    talk.say("Hi");

    assertThat(talk.state().stored().status()).isEqualTo("Bye.");
    assertThat(talk.code()).isEqualTo(StopCode.STOP_ON_RESPONSE);
  }

  @Test
  void aSideMayBeAskedSoOftenInOneExecution() {
    Tool look = Tool.of("look", "Looks.", (flow, args) -> "ok");
    Scripted model = new Scripted();
    model.always(request -> AiMessage.from(model.wants("look", Map.of())));
    Conversation talk = desk(Participant.prompt(prompt(model, look)).maxSteps(3));

    talk.say("Hi");
    assertThat(talk.code()).isEqualTo(StopCode.MAX_SIDE_STEPS);
    assertThat(model.requests()).hasSize(3);

    talk.say("Go on");
    assertThat(model.requests()).hasSize(6);
  }

  @Test
  void theLimitOfTheAgentHoldsForASideThatMayBeAskedMoreOften() {
    Tool look = Tool.of("look", "Looks.", (flow, args) -> "ok");
    Scripted model = new Scripted();
    model.always(request -> AiMessage.from(model.wants("look", Map.of())));
    Participant side = Participant.prompt(prompt(model, look)).maxSteps(20);
    Conversation talk =
        Conversation.with(Agent.of("desk", side, Participant.person()).maxSteps(2)).say("Hi");

    assertThat(talk.code()).isEqualTo(StopCode.MAX_TOTAL_STEPS);
    assertThat(model.requests()).hasSize(2);
  }

  @Test
  void bothSidesTogetherMayBeAskedSoOften() {
    Scripted both = new Scripted().always(request -> AiMessage.from("again"));
    Conversation talk =
        Conversation.with(
            Agent.dualAi("debate", Prompt.of("a", both.model()), Prompt.of("b", both.model()))
                .maxSteps(7));

    talk.say("Hi");

    assertThat(talk.code()).isEqualTo(StopCode.MAX_TOTAL_STEPS);
    assertThat(both.requests()).hasSize(7);
  }

  @Test
  void aToolCanStopTheThreadAndTheCallsAfterItAreNotMade() {
    List<String> made = new ArrayList<>();
    Tool stop =
        Tool.of(
            "stop",
            "Stops.",
            (flow, args) -> {
              flow.stop("enough");
              made.add("stop " + flow.stopped() + " " + flow.stoppedBy());
              return "stopped";
            });
    Tool look =
        Tool.of(
            "look",
            "Looks.",
            (flow, args) -> {
              made.add("look");
              return "ok";
            });
    Conversation talk =
        desk(Participant.prompt(prompt(new Scripted().calls("stop", "look"), stop, look)));

    talk.say("Hi");

    assertThat(made).containsExactly("stop true A");
    assertThat(talk.code()).isEqualTo(StopCode.STATE_STOP_SESSION);
    assertThat(talk.state().turn().detail()).isEqualTo("enough");
    assertThat(talk.state().turn().stoppedBy()).isEqualTo(Side.A);
    assertThat(talk.lines()).hasSize(4);
    assertThat(talk.last().failed()).isTrue();
    assertThat(talk.last().content()).contains("stopped before it was made");
  }

  @Test
  void scheduledWorkThatStopsAThreadAtRestStopsNoCallThatIsQueuedLater() {
    Tool look = Tool.of("look", "Looks.", (flow, args) -> "ok");
    Tool plan =
        Tool.of(
            "plan",
            "Plans.",
            (flow, args) -> {
              flow.scheduleEffect("stop", Map.of(), Duration.ofHours(1));
              return flow.scheduleEffect("look", Map.of(), Duration.ofHours(2));
            });
    Conversation talk =
        Conversation.with(
            Agent.aiHuman("desk", prompt(new Scripted().call("plan").say("Done."), plan, look))
                .effects(
                    ScheduledHandler.of("stop", "Stops.", (flow, args) -> flow.stop("enough")),
                    ScheduledHandler.of(
                        "look", "Looks.", (flow, args) -> flow.queueTool("look", Map.of()))));

    talk.say("Hi").pass(Duration.ofHours(1)).crash().pass(Duration.ofHours(1));

    assertThat(talk.lines()).endsWith("assistant (silent): [look]", "look: ok");
    assertThat(talk.code()).isEqualTo(StopCode.STOP_ON_RESPONSE);
  }

  @Test
  void aCallThatAHookRemovesEightTimesInARowStopsTheThread() {
    Scripted model = new Scripted();
    model.always(request -> AiMessage.from(model.wants("works", Map.of())));
    Tool works = Tool.of("works", "Works", (flow, args) -> "worked");
    Conversation talk =
        Conversation.with(
            Agent.aiHuman("desk", prompt(model, works))
                .hooks(Hook.afterToolCallSuccess("strike", (flow, call, result) -> null)));

    talk.say("Hi");

    assertThat(model.requests()).hasSize(8);
    assertThat(talk.code()).isEqualTo(StopCode.REPEATED_TOOL_ERROR);
    assertThat(talk.last().content()).contains("works", "hook");
    assertThat(talk.crash().code()).isEqualTo(StopCode.REPEATED_TOOL_ERROR);
  }

  @Test
  void theSameErrorEightTimesInARowStopsTheThread() {
    Scripted model = new Scripted();
    model.always(request -> AiMessage.from(model.wants("done", Map.of("text", "x"))));
    int[] times = {0};
    Tool broken =
        Tool.of(
            "done",
            "Ends.",
            Words.class,
            (flow, args) -> {
              throw new IllegalStateException("Out of paper at  " + ++times[0]);
            });
    Conversation talk = desk(Participant.prompt(prompt(model, broken)));

    talk.say("Hi");

    assertThat(model.requests()).hasSize(8);
    assertThat(talk.code()).isEqualTo(StopCode.REPEATED_TOOL_ERROR);
    assertThat(talk.last().role()).isEqualTo(Role.ASSISTANT);
    assertThat(talk.last().content()).startsWith("I've stopped because");
  }

  @Test
  void callsThatAMessagePreventsDoNotCountAsErrors() {
    Tool refund = Tool.of("refund", "Pays.", (flow, args) -> "paid").approval("Pay?");
    Scripted model = new Scripted().calls(nine("refund")).say("It waits.");
    Conversation talk = Conversation.with(Agent.aiHuman("desk", prompt(model, refund)));

    talk.say("Refund all").say("Is it done?");

    assertThat(talk.lines()).filteredOn(line -> line.startsWith("refund failed")).hasSize(8);
    assertThat(talk.lines()).noneMatch(line -> line.contains("I've stopped"));
    assertThat(talk.events(ThreadEvent.Stopped.class))
        .extracting(ThreadEvent.Stopped::code)
        .doesNotContain(StopCode.REPEATED_TOOL_ERROR);
    assertThat(talk.last().content()).isEqualTo("It waits.");
    assertThat(talk.code()).isEqualTo(StopCode.STOP_ON_RESPONSE);
  }

  @Test
  void callsThatAPersonDeniesDoNotCountAsErrors() {
    Tool refund = Tool.of("refund", "Pays.", (flow, args) -> "paid").approval("Pay?");
    Scripted model = new Scripted().calls(nine("refund")).say("All right.");
    Conversation talk = Conversation.with(Agent.aiHuman("desk", prompt(model, refund)));
    talk.say("Refund all");

    for (int i = 0; i < 9; i++) {
      String call = "s1." + i;
      talk.accept(new ThreadInput.Answer(call, null, call, false, null, null, "ann", talk.now()));
      talk.run();
    }

    assertThat(talk.last().content()).isEqualTo("All right.");
    assertThat(talk.code()).isEqualTo(StopCode.STOP_ON_RESPONSE);
  }

  @Test
  void aToolThatFailsWithTheCodeOfADenialCountsAsAnyOther() {
    Tool refund =
        Tool.of("refund", "Pays.", (flow, args) -> ToolResult.error("denied", "The bank says no"));
    Scripted model = new Scripted().calls(nine("refund"));
    Conversation talk = Conversation.with(Agent.aiHuman("desk", prompt(model, refund)));

    talk.say("Refund all");

    assertThat(talk.code()).isEqualTo(StopCode.REPEATED_TOOL_ERROR);
  }

  private static String[] nine(String tool) {
    return Collections.nCopies(9, tool).toArray(String[]::new);
  }

  @Test
  void anotherErrorOrASuccessInBetweenDoesNotStopIt() {
    Scripted model = new Scripted();
    int[] times = {0};
    Tool flaky =
        Tool.of(
            "done",
            "Ends.",
            Words.class,
            (flow, args) -> {
              if (++times[0] % 8 == 0) {
                return "fine";
              }
              throw new IllegalStateException("not now");
            });
    for (int i = 0; i < 15; i++) {
      model.call("done", Map.of("text", "x"));
    }
    model.say("Enough.");
    Conversation talk = desk(Participant.prompt(prompt(model, flaky)));

    talk.say("Hi");

    assertThat(talk.code()).isEqualTo(StopCode.STOP_ON_RESPONSE);
  }

  @Test
  void anEmptyReplyIsAskedForAgain() {
    Scripted model = new Scripted().silence().say("Hello.");
    Conversation talk = desk(Participant.prompt(prompt(model)));

    talk.say("Hi");

    assertThat(talk.lines()).containsExactly("user: Hi", "assistant: Hello.");
    assertThat(model.lastRequest()).hasSize(2).last().asString().contains("empty");
  }

  @Test
  void aModelThatSaysNothingAgainAndAgainFailsTheStep() {
    Scripted model = new Scripted().silence().silence().silence();
    Conversation talk = desk(Participant.prompt(prompt(model)));

    talk.say("Hi");

    assertThat(talk.code()).isEqualTo(StopCode.STEP_ERROR);
    assertThat(model.requests()).hasSize(3);
    assertThat(talk.last().status()).isEqualTo(Message.Status.FAILED);
    assertThat(error(talk.last()).get("message").textValue()).contains("replied with nothing");
  }

  /** It would think as long again. */
  @Test
  void aModelThatReachesItsOutputLimitBeforeItSaysAnythingFailsTheStepAtOnce() {
    Scripted model = new Scripted().cutOff(AiMessage.from(""));
    Agent desk = Agent.of("desk", Participant.prompt(prompt(model)), Participant.person());
    Conversation talk = Conversation.with(desk);

    talk.say("Hi");

    assertThat(talk.code()).isEqualTo(StopCode.STEP_ERROR);
    assertThat(model.requests()).hasSize(1);
    assertThat(error(talk.last()).get("code").textValue()).isEqualTo("empty");
    assertThat(error(talk.last()).get("message").textValue()).contains("its output limit");
    assertThat(talk.state().usage().outputTokens()).as("is paid for").isEqualTo(5);
    talk.requireSame(desk);
  }

  @Test
  void aReplyThatTheOutputLimitCutOffSaysSo() {
    Scripted model = new Scripted().cutOff(AiMessage.from("The three reasons are")).say("Three.");
    Agent desk = Agent.of("desk", Participant.prompt(prompt(model)), Participant.person());
    Conversation talk = Conversation.with(desk);

    talk.say("Why?");

    assertThat(talk.lines()).endsWith("assistant: The three reasons are");
    assertThat(talk.last().metadata()).hasToString("{\"finish\":\"length\"}");
    assertThat(talk.say("Go on").last().metadata()).isNull();
    talk.requireSame(desk);
  }

  @Test
  void aModelThatDoesNotAnswerLeavesAFailedMessageWithAnErrorThatClientsCanRead() {
    Scripted model =
        new Scripted().fail(new IllegalStateException("The provider is on fire")).say("Better.");
    Conversation talk = desk(Participant.prompt(prompt(model)));

    talk.say("Hi");

    Message failed = talk.last();
    assertThat(talk.code()).isEqualTo(StopCode.STEP_ERROR);
    assertThat(failed.status()).isEqualTo(Message.Status.FAILED);
    assertThat(failed.role()).isEqualTo(Role.ASSISTANT);
    assertThat(error(failed).get("code").textValue()).isEqualTo("failed");
    assertThat(error(failed).get("message").textValue()).contains("The provider is on fire");

    talk.say("Now?");
    assertThat(model.lastRequest()).containsExactly("user: Hi", "user: Now?");
    assertThat(talk.lines()).endsWith("assistant: Better.");
  }

  private static JsonNode error(Message message) {
    return Objects.requireNonNull(message.metadata()).path("error");
  }

  @Test
  void aThreadThatHasUsedItsTokensStopsBeforeTheNextStep() {
    Scripted model = Scripted.saying("1", "2", "3");
    Conversation talk =
        Conversation.with(Agent.aiHuman("desk", prompt(model)).budget(Budget.tokens(30)));

    talk.say("one").say("two").say("three");

    assertThat(talk.code()).isEqualTo(StopCode.BUDGET_SPENT);
    assertThat(talk.state().turn().detail()).contains("30 tokens");
    assertThat(model.requests()).hasSize(2);
    assertThat(talk.state().usage().inputTokens()).isEqualTo(20);
  }

  @Test
  void aThreadThatHasSpentItsMoneyStopsBeforeTheNextStep() {
    Scripted model = Scripted.saying("1", "2");
    Prompt priced = Prompt.of("support", model.model().price("1000", "2000", "0"));
    Conversation talk =
        Conversation.with(Agent.aiHuman("desk", priced).budget(Budget.cost("0.02")));

    talk.say("one").say("two");

    assertThat(talk.state().usage().cost()).isEqualByComparingTo("0.02");
    assertThat(talk.code()).isEqualTo(StopCode.BUDGET_SPENT);
    assertThat(talk.crash().code()).isEqualTo(StopCode.BUDGET_SPENT);
  }

  /** Token counts of a provider whose input has neither what its cache gave nor what it took. */
  private static final class CountedBeside extends TokenUsage {
    private final int read;
    private final int written;

    CountedBeside(int input, int output, int read, int written) {
      super(input, output);
      this.read = read;
      this.written = written;
    }
  }

  private static ChatModel reporting(TokenUsage usage) {
    return new ChatModel() {
      @Override
      public ChatResponse doChat(ChatRequest request) {
        return ChatResponse.builder().aiMessage(AiMessage.from("ok")).tokenUsage(usage).build();
      }
    };
  }

  @ParameterizedTest
  @CsvSource({"10, 5, 75", "10, , 75", "10, 65, 75", "10, 65, "})
  void whatAProviderCountsInItsTotalAloneReachesTheBudgetAsOutput(
      int input, @Nullable Integer output, @Nullable Integer total) throws InterruptedException {
    TokenUsage reported = new TokenUsage(input, output, total);
    Model model = Model.of("thinking", reporting(reported)).price("0", "1000000", "0");
    ChatRequest hi = ChatRequest.builder().messages(UserMessage.from("Hi")).build();

    assertThat(model.call(hi).usage())
        .isEqualTo(new Usage(10, 0, 65, new BigDecimal("65")))
        .isEqualTo(model.tokens(usage -> TokenCounts.beside(usage, 0, 0)).call(hi).usage());
  }

  @Test
  void whatAProviderCountsBesideItsInputTokensReachesTheBudget() {
    Model cached =
        Model.of("cached", reporting(new CountedBeside(12, 8, 50_000, 1_000)))
            .price("2", "10", "0.20")
            .tokens(
                usage ->
                    usage instanceof CountedBeside beside
                        ? TokenCounts.beside(beside, beside.read, beside.written)
                        : null);
    Agent desk = Agent.aiHuman("desk", Prompt.of("support", cached));
    Conversation tokens = Conversation.with(desk.budget(Budget.tokens(50_000)));
    Conversation dollars = Conversation.with(desk.budget(Budget.cost("0.01")));

    tokens.say("one").say("two");
    dollars.say("one").say("two");

    assertThat(tokens.state().usage())
        .isEqualTo(new Usage(51_012, 50_000, 8, new BigDecimal("0.012104")));
    assertThat(tokens.code()).isEqualTo(StopCode.BUDGET_SPENT);
    assertThat(dollars.code()).isEqualTo(StopCode.BUDGET_SPENT);
  }

  @Test
  void moreCachedTokensThanInputAreRefusedAndNotTakenForLess() {
    Model mistaken =
        Model.of("mistaken", reporting(new CountedBeside(12, 8, 50_000, 0)))
            .tokens(usage -> TokenCounts.within(usage, 50_000));
    Conversation talk = Conversation.with(Agent.aiHuman("desk", Prompt.of("support", mistaken)));

    talk.say("one");

    assertThat(talk.code()).isEqualTo(StopCode.STEP_ERROR);
    assertThat(talk.state().turn().detail())
        .contains("50000 of 12 input tokens", "TokenCounts.beside");
  }

  // --- from outside ----------------------------------------------------------------------------

  /**
   * A thread that is stopped while its model is asked for the first time, and what comes before.
   */
  private static Conversation stopped(Agent agent, Scripted model, Consumer<Conversation> before) {
    Conversation talk = Conversation.of(agent);
    model.then(
        request -> {
          before.accept(talk);
          talk.stop();
          return AiMessage.from("Too late.");
        });
    return talk;
  }

  @Test
  void aThreadStoppedWhileItsModelIsAskedHasNoReplyAndSaysSo() {
    Scripted model = new Scripted();
    Conversation talk = stopped(Agent.aiHuman("desk", prompt(model)), model, before -> {});

    talk.create().say("Hi");

    assertThat(talk.lines()).containsExactly("user: Hi", "system: Execution stopped by user");
    assertThat(talk.code()).isEqualTo(StopCode.ABORTED_BY_USER);
    assertThat(talk.ready()).isEmpty();
  }

  @Test
  void aThreadStoppedAmidItsToolsReportsEveryCallThatWasNotOver() {
    List<String> made = new ArrayList<>();
    Conversation[] talk = new Conversation[1];
    Tool first =
        Tool.of(
            "first",
            "First.",
            (flow, args) -> {
              made.add("first");
              return "ok";
            });
    Tool second =
        Tool.of(
            "second",
            "Second.",
            (flow, args) -> {
              made.add("second");
              flow.storage().put("late", true);
              talk[0].stop();
              return "too late";
            });
    Scripted model = new Scripted().calls("first", "second", "first");
    talk[0] = Conversation.with(Agent.aiHuman("desk", prompt(model, first, second)));

    talk[0].say("Hi");

    assertThat(made).containsExactly("first", "second");
    assertThat(talk[0].lines())
        .containsExactly(
            "user: Hi",
            "assistant: [first, second, first]",
            "first: ok",
            "second failed: Failed to execute tool: Execution stopped by user",
            "first failed: Failed to execute tool: Execution stopped by user",
            "system: Execution stopped by user");
    assertThat(talk[0].state().stored().storage()).isEmpty();
    assertThat(talk[0].state().frames()).isEmpty();
    talk[0].crash();
  }

  @Test
  void aStoppedThreadTakesTheNextUserMessageHoweverManyWait() {
    Scripted model = new Scripted();
    Conversation talk =
        stopped(
            Agent.aiHuman("desk", prompt(model)),
            model,
            before -> {
              for (int i = 0; i < Bounds.INBOX; i++) {
                before.post("more");
              }
              before.post("too many");
              assertThat(Objects.requireNonNull(before.refusal()).code()).isEqualTo("busy");
            });
    model.say("Here I am.");
    talk.create().say("Hi");

    talk.post(null, Message.assistant("Me, too"));
    assertThat(Objects.requireNonNull(talk.refusal()).code()).isEqualTo("busy");
    talk.say("Hello?");

    assertThat(talk.refusal()).isNull();
    assertThat(talk.state().inbox()).isEmpty();
    assertThat(talk.last().content()).isEqualTo("Here I am.");
  }

  @Test
  void aStoppedThreadWhosePersonIsOnSideATakesTheNextMessageOfThatPerson() {
    Scripted model = new Scripted();
    Conversation talk =
        stopped(
            Agent.of("desk", Participant.person(), Participant.prompt(prompt(model))),
            model,
            before -> {
              for (int i = 0; i < Bounds.INBOX; i++) {
                before.post(null, Message.assistant("more"));
              }
            });
    model.say("Here I am.");
    talk.create().post(null, Message.assistant("Hi")).run();

    talk.post(null, Message.assistant("Hello?")).run();

    assertThat(talk.refusal()).isNull();
    assertThat(talk.state().inbox()).isEmpty();
    assertThat(talk.last().content()).isEqualTo("Here I am.");
  }

  @Test
  void aStoppedThreadDoesNotContinueByAMessageInTheNameOfItsModel() {
    Scripted model = new Scripted();
    Conversation talk = stopped(Agent.aiHuman("desk", prompt(model)), model, before -> {});
    talk.create().say("Hi");

    talk.post(null, Message.assistant("Are you there?")).run();

    assertThat(talk.code()).isEqualTo(StopCode.ABORTED_BY_USER);
    assertThat(talk.state().inbox()).hasSize(1);
  }

  @Test
  void aMessageThatAThreadCannotKeepIsRefusedAlsoIfItIsCreatedWithIt() {
    Agent desk = Agent.aiHuman("desk", prompt(new Scripted()));
    Message data = Message.user("x").withMetadata(TextNode.valueOf("x".repeat(Bounds.DATA)));
    Map<Message, String> codes =
        Map.of(
            Message.of(Role.TOOL, "x"),
            "invalid_message",
            Message.user("x".repeat(Bounds.TEXT + 1)),
            "message_too_long",
            data,
            "message_too_long");

    codes.forEach(
        (message, code) -> {
          Conversation created = Conversation.of(desk).create(Message.user("Hi"), message);
          Conversation talk = Conversation.with(desk).post(null, message);

          assertThat(Objects.requireNonNull(created.refusal()).code()).isEqualTo(code);
          assertThat(created.records()).isZero();
          assertThat(talk.refusal()).isEqualTo(created.refusal());
        });
  }

  @Test
  void whatArrivedMeanwhileWaitsForTheNextUserMessage() {
    Scripted model = new Scripted();
    Conversation talk =
        stopped(Agent.aiHuman("desk", prompt(model)), model, before -> before.post("meanwhile"));
    model.say("Now.");
    talk.create().say("Hi");
    talk.post(null, Message.system("A remark")).run();
    assertThat(model.requests()).hasSize(1);

    talk.crash().run();
    assertThat(talk.lines()).containsExactly("user: Hi", "system: Execution stopped by user");

    talk.say("Go on");
    assertThat(talk.lines())
        .containsExactly(
            "user: Hi",
            "system: Execution stopped by user",
            "user: meanwhile",
            "system: A remark",
            "user: Go on",
            "assistant: Now.");
  }

  @Test
  void aStoppedThreadCanBeContinued() {
    Scripted model = new Scripted();
    Conversation talk = stopped(Agent.aiHuman("desk", prompt(model)), model, before -> {});
    model.say("Where was I?");
    talk.create().say("Hi");

    talk.proceed(null).run();

    assertThat(talk.lines())
        .containsExactly(
            "user: Hi", "system: Execution stopped by user", "assistant: Where was I?");
  }

  @Test
  void aMessageCanNameTheSideThatContinues() {
    Scripted model = Scripted.saying("Hello.", "And another thing.");
    Conversation talk = desk(Participant.prompt(prompt(model)));
    talk.say("Hi");

    talk.proceed(null).run();
    assertThat(talk.code()).isEqualTo(StopCode.AWAITING_HUMAN);

    talk.proceed(Side.A).run();
    assertThat(talk.lines()).endsWith("assistant: And another thing.");
  }

  @Test
  void stoppingAThreadAtRestChangesNothing() {
    Conversation talk = desk(Participant.prompt(prompt(Scripted.saying("Hello."))));
    talk.say("Hi");
    int records = talk.records();

    talk.stop();

    assertThat(talk.records()).isEqualTo(records);
    assertThat(talk.code()).isEqualTo(StopCode.STOP_ON_RESPONSE);
  }
}
