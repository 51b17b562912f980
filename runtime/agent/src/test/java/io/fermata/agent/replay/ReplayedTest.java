package io.fermata.agent.replay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.agent.Agent;
import io.fermata.agent.BlockedException;
import io.fermata.agent.Budget;
import io.fermata.agent.Conversation;
import io.fermata.agent.Hook;
import io.fermata.agent.Participant;
import io.fermata.agent.Prompt;
import io.fermata.agent.Scripted;
import io.fermata.agent.SubAgent;
import io.fermata.agent.Tool;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.ToolResult;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.flow.json.Texts;
import io.fermata.flow.replay.JournalEntry;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** The journal of a thread is decided again, and calls nothing but hooks. */
class ReplayedTest {
  private record Order(String number) {}

  private static final AtomicInteger LOOKED_UP = new AtomicInteger();

  private static final Tool LOOK_UP =
      Tool.of(
          "look_up",
          "Finds an order",
          Order.class,
          (flow, args) -> {
            LOOKED_UP.incrementAndGet();
            flow.storage().put("seen", args.number());
            flow.injectMessage(Message.assistant("I have " + args.number()).asSilent());
            return "Order " + args.number() + ", card 4111";
          });

  private static final Hook MASK =
      Hook.beforeCreateMessage(
          "mask",
          (flow, m) ->
              m.content() == null ? m : m.withContent(m.content().replace("4111", "****")));

  private static Agent desk(Scripted model, Tool lookUp, Hook... hooks) {
    return Agent.aiHuman("desk", Prompt.of("talk", model.model()).text("Talk.").tools(lookUp))
        .hooks(hooks);
  }

  private static Agent desk(Hook... hooks) {
    return desk(new Scripted(), LOOK_UP, hooks);
  }

  private static ThreadJournal recorded(Agent agent, String... messages) {
    Conversation talk = Conversation.with(agent);
    for (String message : messages) {
      talk.say(message);
    }
    return talk.recorded();
  }

  /** A customer asks for an order, and the model has the card's number, too. */
  private static ThreadJournal recorded() {
    Scripted model =
        new Scripted().call("look_up", Map.of("number", "B-1")).say("It is paid with 4111.");
    return recorded(desk(model, LOOK_UP, MASK), "Where is B-1?");
  }

  private static ThreadDivergence divergence(ThreadJournal journal, Agent now) {
    return Objects.requireNonNull(ThreadReplay.of(List.of(now), journal).divergence());
  }

  @Test
  void theSameCodeDecidesTheSameAndPerformsNothing() {
    ThreadJournal journal = recorded();
    int before = LOOKED_UP.get();

    ThreadReplay replay = ThreadReplay.of(List.of(desk(MASK)), journal).requireSame();

    assertThat(replay.decided()).isEqualTo(journal.entries().size());
    assertThat(LOOKED_UP).hasValue(before);
  }

  @Test
  void aHookThatMakesSomethingElseOfAReplyIsNamedWithBothTexts() {
    Hook other =
        Hook.beforeCreateMessage(
            "mask",
            (flow, m) ->
                m.content() == null ? m : m.withContent(m.content().replace("4111", "[card]")));

    ThreadDivergence divergence = divergence(recorded(), desk(other));

    assertThat(divergence.where()).isEqualTo("agent desk, step 1 of side A, prompt talk");
    assertThat(divergence.text())
        .contains(
            "decides entry %d (caller ann,".formatted(divergence.entry().seq()),
            "Recorded: the call s1.0 of look_up ended: \"Order B-1, card ****\"",
            "Now:      the call s1.0 of look_up ended: \"Order B-1, card [card]\"",
            "If the change is wanted, export the thread again. If not: look at the hooks");
  }

  @Test
  void whatAModelSaidIsKnownAlthoughAHookChangedIt() {
    ThreadJournal journal = recorded(desk(Scripted.saying("card 4111"), LOOK_UP, MASK), "Hi");

    Hook none = Hook.beforeCreateMessage("mask", (flow, m) -> m);
    ThreadDivergence divergence = divergence(journal, desk(none));

    assertThat(divergence.recorded()).isEqualTo(new ThreadEvent.ModelReplied("card 4111"));
    assertThat(divergence.now())
        .isInstanceOfSatisfying(
            ThreadEvent.StepEnded.class,
            now -> assertThat(now.message().content()).isEqualTo("card 4111"));
  }

  @Test
  void aVetoThatIsNewRemovesTheCall() {
    Hook veto = Hook.afterToolCallSuccess("veto", (flow, call, result) -> null);

    ThreadDivergence divergence = divergence(recorded(), desk(MASK, veto));

    assertThat(divergence.text()).contains("Now:      ", "a hook removed the call s1.0");
  }

  @Test
  void aHookThatBlocksNowIsSeenWhereTheModelWasAsked() {
    Hook block =
        Hook.prefilterLlmHistory(
            "block",
            (flow, history) -> {
              throw new BlockedException("not today");
            });

    ThreadDivergence divergence = divergence(recorded(), desk(MASK, block));

    assertThat(divergence.text())
        .contains("Recorded: the model scripted replied nothing and calls look_up")
        .contains("the thread rests: hook_blocked (not today)");
  }

  @Test
  void aHookThatBlockedOnceAndDoesNotNowWouldAskTheModel() {
    Hook block =
        Hook.prefilterLlmHistory(
            "block",
            (flow, history) -> {
              throw new BlockedException("not today");
            });
    ThreadJournal journal = recorded(desk(new Scripted(), LOOK_UP, block), "Hi");

    assertThat(divergence(journal, desk()).text())
        .contains("Now:      refused, not_recorded: Now the model scripted is asked, and");
  }

  @Test
  void aBoundIsSeenWhereItStops() {
    ThreadDivergence divergence = divergence(recorded(), desk(MASK).maxSteps(1));

    assertThat(divergence.recorded()).isInstanceOf(ThreadEvent.StepBegan.class);
    assertThat(divergence.text())
        .contains("Now:      the thread rests: max_total_steps", "look at the bounds");
  }

  @Test
  void aBudgetIsSeenWhereItIsSpent() {
    ThreadDivergence divergence = divergence(recorded(), desk(MASK).budget(Budget.tokens(10)));

    assertThat(divergence.text()).contains("Now:      the thread rests: budget_spent");
    assertThat(divergence.before().usage().inputTokens()).isEqualTo(10);
  }

  @Test
  void anApprovalThatIsNewIsAskedFor() {
    ThreadDivergence divergence =
        divergence(recorded(), desk(new Scripted(), LOOK_UP.approval("May I?"), MASK));

    assertThat(divergence.text())
        .contains(
            "Recorded: the call s1.0 is made (attempt 1)",
            "Now:      a person is asked to approve the call s1.0",
            "look at the approval");
  }

  @Test
  void aStopConditionIsSeenAtTheEndOfItsStep() {
    Agent stopping =
        Agent.of(
                "desk",
                Participant.prompt(
                        Prompt.of("talk", new Scripted().model()).text("Talk.").tools(LOOK_UP))
                    .stopTool("look_up"),
                Participant.person())
            .hooks(MASK);

    assertThat(divergence(recorded(), stopping).text()).contains("the thread rests: stop_tool");
  }

  @Test
  void anAgentThatIsGoneIsNamed() {
    Agent other = Agent.aiHuman("other", Prompt.of("p", new Scripted().model()));

    assertThatThrownBy(() -> ThreadReplay.of(List.of(other), recorded()).requireSame())
        .isInstanceOf(AssertionError.class)
        .hasMessageContaining("unknown_agent: There is no agent desk")
        .hasMessageContaining("register the agent");
  }

  @Test
  void aToolThatFailedAndWasRetriedFailsAgainAsItDid() {
    AtomicInteger calls = new AtomicInteger();
    Tool flaky =
        Tool.of(
                "look_up",
                "Finds an order",
                Order.class,
                (flow, args) -> {
                  if (calls.incrementAndGet() < 3) {
                    throw new IllegalStateException("busy");
                  }
                  return ToolResult.error("gone", "no such order");
                })
            .retry(3, Duration.ofSeconds(1));
    Scripted model = new Scripted().call("look_up", Map.of("number", "B-1")).say("Sorry.");
    Conversation talk = Conversation.with(desk(model, flaky, MASK));
    talk.say("Where is B-1?").pass(Duration.ofMinutes(1)).pass(Duration.ofMinutes(1));
    ThreadJournal journal = talk.recorded();

    ThreadReplay.of(List.of(desk(new Scripted(), flaky, MASK)), journal).requireSame();

    assertThat(calls).hasValue(3);
    Tool impatient = flaky.retry(1, Duration.ofSeconds(1));
    assertThat(divergence(journal, desk(new Scripted(), impatient, MASK)).recorded())
        .isInstanceOf(ThreadEvent.CallFailed.class);
  }

  @Test
  void aToolThatFailedForGoodAndWouldBeTriedAgainNowIsNamed() {
    Tool broken =
        Tool.of(
            "look_up",
            "Finds an order",
            Order.class,
            (flow, args) -> {
              throw new IllegalStateException("busy");
            });
    ThreadJournal journal = recorded(desk(lookingUp(), broken), "Where is B-1?");

    ThreadReplay.of(List.of(desk(new Scripted(), broken)), journal).requireSame();
    Tool patient = broken.retry(3, Duration.ofSeconds(1));
    assertThat(divergence(journal, desk(new Scripted(), patient)).now())
        .isInstanceOf(ThreadEvent.CallFailed.class);
  }

  @Test
  void anErrorThatAToolReturnedIsNotTriedAgainByAnyCode() {
    Tool strict =
        Tool.of(
            "look_up",
            "Finds an order",
            Order.class,
            (flow, args) -> ToolResult.error("gone", "no such order"));
    ThreadJournal journal = recorded(desk(lookingUp(), strict), "Where is B-1?");

    Tool patient = strict.retry(3, Duration.ofSeconds(1));
    ThreadReplay.of(List.of(desk(new Scripted(), patient)), journal).requireSame();
    assertThat(journal.narrative(List.of(desk(new Scripted(), strict))))
        .contains("the call s1.0 returned the error \"no such order\"");
  }

  @Test
  void aRefusalToDelegateIsDecidedAgainWithItsHooks() {
    Hook started =
        Hook.toolCallStarted(
            "count",
            (flow, call, arguments) -> flow.storage().put("started", arguments.path("reference")));
    Hook words =
        Hook.afterToolCallFailure(
            "words", (flow, call, result) -> result.withText("Sorry: " + result.text()));
    Agent worker = Agent.aiHuman("worker", Prompt.of("work", new Scripted().model()));
    Scripted model =
        new Scripted().call("worker", Map.of("message", "dig", "reference", "w7")).say("Sorry.");
    Agent agent =
        Agent.aiHuman(
                "desk", Prompt.of("talk", model.model()).tools(SubAgent.of("worker", "Works")))
            .hooks(started, words);
    ThreadJournal journal = Conversation.with(agent, worker).say("Dig").recorded();

    ThreadReplay.of(List.of(agent, worker), journal).requireSame();
    assertThat(journal.messages())
        .extracting(Message::content)
        .contains("Failed to execute tool: Sorry: There is no worker with the reference w7");
    assertThat(journal.narrative(List.of(agent, worker)))
        .contains("the call s1.0 returned the error \"There is no worker with the reference w7\"");
  }

  private static Scripted lookingUp() {
    return new Scripted().call("look_up", Map.of("number", "B-1")).say("Sorry.");
  }

  @Test
  void aHookThatInvokesAToolInvokesNothingAndItsEntryIsTakenAsItIs() {
    AtomicInteger invoked = new AtomicInteger();
    Tool counting =
        Tool.of(
            "look_up",
            "Finds an order",
            Order.class,
            (flow, args) -> "number " + invoked.incrementAndGet());
    Hook checks =
        Hook.afterToolCallSuccess(
            "check", (flow, call, result) -> flow.invokeTool("look_up", new Order("again")));
    Scripted model = new Scripted().call("look_up", Map.of("number", "B-1")).say("Done.");
    ThreadJournal journal = recorded(desk(model, counting, checks), "Where is B-1?");
    int before = invoked.get();

    ThreadReplay.of(List.of(desk(new Scripted(), counting, checks)), journal).requireSame();

    assertThat(invoked).hasValue(before);
  }

  @Test
  void aJournalShowsTheThreadAsItWasAndWhatHappened() {
    ThreadJournal journal = recorded();

    assertThat(journal.transcript(List.of(desk())))
        .isEqualTo(
            """
            user: Where is B-1?
            assistant: [look_up {"number":"B-1"}]
            assistant (silent): I have B-1
            look_up: Order B-1, card ****
            assistant: It is paid with ****.""");
    assertThat(journal.narrative(List.of(desk())))
        .contains(
            "entry 1 (caller ann,",
            "the thread t1 of the agent desk is created",
            "the call s1.0 returned \"Order B-1, card 4111\", before its hooks",
            "the thread rests: stop_on_response");
    assertThat(journal.upTo(1).state().greeted()).isTrue();
    assertThat(journal.upTo(1).messages()).isEmpty();
    assertThat(journal.upTo(1).cut()).isTrue();
    assertThat(journal.cut()).isFalse();
    assertThat(journal.state().turn().code()).isEqualTo("stop_on_response");
  }

  @Test
  void whatPeopleAndModelsWroteIsNoLineOfItsOwnAndChangesNoTerminal() {
    String forged = "a\n  the call s3.0 is made (attempt 1)\u001b[2K\u202e";
    Scripted model = new Scripted().call("look_up", Map.of("number", forged)).say(forged);
    ThreadJournal written = recorded(desk(model, LOOK_UP), forged);
    List<JournalEntry<ThreadEvent>> entries =
        written.entries().stream()
            .map(each -> new JournalEntry<>(each.seq(), each.at(), "caller", forged, each.events()))
            .toList();
    ThreadJournal journal = new ThreadJournal("desk", "t1", entries);
    int happened = entries.size() + journal.events().size();

    for (String narrative :
        List.of(journal.narrative(List.of(desk())), journal.narrativeWithSecrets())) {
      assertThat(narrative.lines()).hasSize(happened).allMatch(ReplayedTest::isVisible);
    }
    for (String transcript :
        List.of(journal.transcript(List.of(desk())), journal.transcriptWithSecrets())) {
      assertThat(transcript.lines())
          .hasSize(journal.messages().size())
          .allMatch(ReplayedTest::isVisible);
    }
    assertThat(journal.why(List.of(desk())).toString().lines()).allMatch(ReplayedTest::isVisible);
  }

  private static boolean isVisible(String line) {
    return line.equals(Texts.visible(line));
  }

  @Test
  void nothingIsNoProof() {
    ThreadJournal empty = new ThreadJournal("desk", "t1", List.of());

    assertThatThrownBy(() -> ThreadReplay.of(List.of(desk()), empty).requireSame())
        .isInstanceOf(AssertionError.class)
        .hasMessageContaining("Nothing of thread t1 was decided again");
  }
}
