package io.fermata.agent.state;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.langchain4j.data.message.AiMessage;
import io.fermata.agent.Agent;
import io.fermata.agent.Conversation;
import io.fermata.agent.Handoff;
import io.fermata.agent.Hook;
import io.fermata.agent.InvalidAgentException;
import io.fermata.agent.Offered;
import io.fermata.agent.Participant;
import io.fermata.agent.Prompt;
import io.fermata.agent.ScheduledHandler;
import io.fermata.agent.Scripted;
import io.fermata.agent.SubAgent;
import io.fermata.agent.Tool;
import io.fermata.agent.TurnHandler;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.Role;
import io.fermata.agent.message.Side;
import io.fermata.agent.message.ToolResult;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;

/** Who acts, and who is shown what as whose words. */
class SidesTest {
  private static final Message FROM_A = Message.assistant("Side A speaks");

  private static Prompt prompt(String name, Scripted model, Offered... tools) {
    return Prompt.of(name, model.model()).tools(tools);
  }

  private static Tool force(Side side) {
    return Tool.of(
        "force",
        "Forces a turn.",
        (flow, args) -> {
          flow.forceTurn(side);
          return "forced";
        });
  }

  @Test
  void whatSideASaysIsTheAssistantsAndWhatSideBSaysIsTheUsers() {
    Scripted pro = Scripted.saying("Yes.", "Still yes.");
    Scripted contra = Scripted.saying("No.", "Still no.");
    Conversation talk =
        Conversation.with(
            Agent.dualAi("debate", prompt("pro", pro), prompt("contra", contra))
                .maxSessionTurns(2));

    talk.say("Is it?");

    assertThat(talk.lines())
        .containsExactly(
            "user: Is it?",
            "assistant: Yes.",
            "user: No.",
            "assistant: Still yes.",
            "user: Still no.");
  }

  @Test
  void theModelOfSideBIsShownItsOwnWordsAsTheAssistants() {
    Scripted pro = Scripted.saying("Yes.", "Still yes.");
    Scripted contra = Scripted.saying("No.", "Still no.");
    Conversation talk =
        Conversation.with(
            Agent.dualAi("debate", prompt("pro", pro), prompt("contra", contra))
                .maxSessionTurns(2));

    talk.say("Is it?");

    assertThat(contra.lastRequest())
        .containsExactly(
            "user: (The conversation so far:)",
            "assistant: Is it?",
            "user: Yes.",
            "assistant: No.",
            "user: Still yes.");
    assertThat(pro.lastRequest()).containsExactly("user: Is it?", "assistant: Yes.", "user: No.");
  }

  @Test
  void aSideIsNotShownTheCallsOfTheOther() {
    Tool lookup = Tool.of("lookup", "Looks.", (flow, args) -> "found");
    Scripted pro = new Scripted().sayAndCall("Let me see.", "lookup", Map.of()).say("Yes.");
    Scripted contra = Scripted.saying("No.");
    Conversation talk =
        Conversation.with(
            Agent.dualAi("debate", prompt("pro", pro, lookup), prompt("contra", contra))
                .maxSessionTurns(1));

    talk.say("Is it?");

    assertThat(contra.lastRequest())
        .containsExactly(
            "user: (The conversation so far:)",
            "assistant: Is it?",
            "user: Let me see.",
            "user: Yes.");
  }

  @Test
  void aDebateOfFiveTurnsOfEachSideHasElevenMessagesAndTheNextSessionCountsAgain() {
    Scripted pro = new Scripted().always(r -> ai("Yes."));
    Scripted contra = new Scripted().always(r -> ai("No."));
    Conversation talk =
        Conversation.with(
            Agent.dualAi("debate", prompt("pro", pro), prompt("contra", contra))
                .maxSessionTurns(5));

    talk.say("Is it?");

    assertThat(talk.messages()).hasSize(11);
    assertThat(talk.code()).isEqualTo(StopCode.MAX_SESSION_TURNS);
    assertThat(talk.state().turn().turnsA()).isZero();
    assertThat(talk.state().turn().turnsB()).isZero();

    talk.say("Once more?");
    assertThat(talk.messages()).hasSize(22);
  }

  private static AiMessage ai(String text) {
    return AiMessage.from(text);
  }

  @Test
  void aSessionWithAPersonEndsWhenBothHaveHadTheirTurns() {
    Conversation talk =
        Conversation.with(
            Agent.aiHuman("desk", prompt("support", Scripted.saying("1", "2", "3")))
                .maxSessionTurns(2));

    talk.say("one");
    assertThat(talk.code()).isEqualTo(StopCode.STOP_ON_RESPONSE);
    talk.say("two");
    assertThat(talk.code()).isEqualTo(StopCode.MAX_SESSION_TURNS);
    talk.say("three");
    assertThat(talk.code()).isEqualTo(StopCode.STOP_ON_RESPONSE);
  }

  @Test
  void forcedTurnsCountTowardsTheEndOfASession() {
    Scripted pro = new Scripted().always(r -> ai("Yes."));
    Scripted contra = new Scripted().always(r -> ai("No."));
    Hook force =
        Hook.afterCreateMessage(
            "force",
            (flow, message) -> flow.forceTurn(message.role() == Role.ASSISTANT ? Side.B : Side.A));
    Conversation talk =
        Conversation.with(
            Agent.dualAi("debate", prompt("pro", pro), prompt("contra", contra))
                .hooks(force)
                .maxSessionTurns(3));

    talk.say("Is it?");

    assertThat(talk.code()).isEqualTo(StopCode.MAX_SESSION_TURNS);
    assertThat(talk.messages()).hasSize(7);
  }

  @Test
  void aPersonCanBeOnSideA() {
    Scripted model = Scripted.saying("Hello.");
    Conversation talk =
        Conversation.with(
            Agent.of("desk", Participant.person(), Participant.prompt(prompt("b", model))));

    talk.post(null, FROM_A).run();

    assertThat(talk.lines()).containsExactly("assistant: Side A speaks", "user: Hello.");
    assertThat(model.lastRequest()).containsExactly("user: Side A speaks");
    assertThat(talk.state().turn().stoppedBy()).isEqualTo(Side.B);
  }

  @Test
  void whatASubAgentReportsIsForTheSideThatCalledIt() {
    Agent worker = Agent.aiHuman("worker", prompt("work", Scripted.saying()));
    SubAgent works = SubAgent.of("worker", "Works");
    Scripted model = new Scripted().call("worker", Map.of("message", "dig")).say("Begun.");
    Agent desk =
        Agent.of("desk", Participant.person(), Participant.prompt(prompt("b", model, works)));
    Conversation talk = Conversation.with(desk, worker).post(null, FROM_A).run();
    model.say("It is dug.");

    talk.crash().report("child-s1.0", 1, false, "a hole").run();

    assertThat(model.lastRequest()).last().asString().startsWith("user: Subagent").endsWith("hole");
    assertThat(talk.last().content()).isEqualTo("It is dug.");
    assertThat(talk.state().turn().stoppedBy()).isEqualTo(Side.B);
  }

  @Test
  void aSubAgentOfBothSidesReportsToTheOneThatPutItToWorkLast() {
    Agent worker = Agent.aiHuman("worker", prompt("work", Scripted.saying()));
    SubAgent works = SubAgent.of("worker", "Works");
    Map<String, String> deeper = Map.of("message", "deeper", "reference", "child-s1.0");
    Scripted one = new Scripted().call("worker", Map.of("message", "dig")).say("Begun.");
    Scripted two = new Scripted().call("worker", deeper).say("It continues.");
    Agent pair =
        Agent.dualAi("pair", prompt("a", one, works), prompt("b", two, works)).maxSessionTurns(1);
    Conversation talk = Conversation.with(pair, worker).say("Go");
    two.say("It is dug.");
    one.say("Good.");

    talk.report("child-s1.0", 1, false, "a deep hole").run();

    assertThat(two.lastRequest()).last().asString().startsWith("user: Subagent").endsWith("hole");
    assertThat(talk.lines()).endsWith("user: It is dug.", "assistant: Good.");
  }

  @Test
  void aMessageInTheNameOfTheModelsSideWaitsForThePerson() {
    Conversation talk = Conversation.with(Agent.aiHuman("desk", prompt("support", new Scripted())));

    talk.post(null, FROM_A).run();

    assertThat(talk.code()).isEqualTo(StopCode.AWAITING_HUMAN);
  }

  @Test
  void aSystemMessageCallsOnSideA() {
    Scripted model = Scripted.saying("Hello.", "Noted.");
    Conversation talk = Conversation.with(Agent.aiHuman("desk", prompt("support", model)));
    talk.say("Hi");

    talk.post(null, Message.system("The shop closes early today.")).run();

    assertThat(talk.lines())
        .containsExactly(
            "user: Hi",
            "assistant: Hello.",
            "system: The shop closes early today.",
            "assistant: Noted.");
  }

  @Test
  void withoutAnyStopConditionTheSidesSwitchAfterEveryStep() {
    Tool lookup = Tool.of("lookup", "Looks.", (flow, args) -> "found");
    Scripted pro = new Scripted().call("lookup").say("Yes.");
    Scripted contra = Scripted.saying("No.");
    Participant a = Participant.prompt(prompt("pro", pro, lookup)).stopOnResponse(false);
    Participant b = Participant.prompt(prompt("contra", contra)).stopOnResponse(false);
    Conversation talk = Conversation.with(Agent.of("debate", a, b).maxSteps(3));

    talk.say("Is it?");

    assertThat(talk.lines())
        .containsExactly(
            "user: Is it?", "assistant: [lookup]", "lookup: found", "user: No.", "assistant: Yes.");
  }

  @Test
  void aSideThatOnlyAToolStopsContinuesAfterItsWords() {
    Tool done = Tool.of("done", "Ends the turn.", (flow, args) -> "ok");
    Scripted model = new Scripted().say("Thinking.").say("More.").call("done");
    Participant a =
        Participant.prompt(prompt("support", model, done)).stopOnResponse(false).stopTool("done");
    Conversation talk = Conversation.with(Agent.of("desk", a, Participant.person()));

    talk.say("Hi");

    assertThat(talk.lines())
        .containsExactly(
            "user: Hi",
            "assistant: Thinking.",
            "assistant: More.",
            "assistant: [done]",
            "done: ok");
    assertThat(talk.code()).isEqualTo(StopCode.STOP_TOOL);
  }

  // --- forced turns ----------------------------------------------------------------------------

  @Test
  void aTurnThatAToolForcesBeginsWhenTheCallsOfTheStepAreOver() {
    List<String> made = new ArrayList<>();
    Tool other =
        Tool.of(
            "other",
            "Another one.",
            (flow, args) -> {
              made.add(flow.currentSide().name());
              return "ok";
            });
    Scripted pro = new Scripted().calls("force", "other");
    Scripted contra = Scripted.saying("No.");
    Conversation talk =
        Conversation.with(
            Agent.dualAi("debate", prompt("pro", pro, force(Side.B), other), prompt("c", contra))
                .maxSteps(2));

    talk.say("Is it?");

    assertThat(made).containsExactly("A");
    assertThat(talk.lines())
        .containsExactly(
            "user: Is it?", "assistant: [force, other]", "force: forced", "other: ok", "user: No.");
  }

  @Test
  void theTurnThatWasForcedLastIsTheOneThatBegins() {
    Tool back =
        Tool.of(
            "back",
            "Forces a turn.",
            (flow, args) -> {
              flow.forceTurn(Side.A);
              return "forced back";
            });
    Scripted pro = new Scripted().calls("force", "back").say("Yes.");
    Scripted contra = new Scripted();
    Conversation talk =
        Conversation.with(
            Agent.dualAi("debate", prompt("pro", pro, force(Side.B), back), prompt("c", contra))
                .maxSteps(2));

    talk.say("Is it?");

    assertThat(talk.lines()).endsWith("assistant: Yes.");
    assertThat(contra.requests()).isEmpty();
  }

  @Test
  void aSideCanForceItselfToContinue() {
    Scripted model = new Scripted().call("force").say("Done.");
    Participant a = Participant.prompt(prompt("support", model, force(Side.A))).stopTool("force");
    Conversation talk = Conversation.with(Agent.of("desk", a, Participant.person()));

    talk.say("Hi");

    assertThat(talk.lines()).endsWith("assistant: Done.");
    assertThat(talk.code()).isEqualTo(StopCode.STOP_ON_RESPONSE);
  }

  @Test
  void aForcedTurnOfAPersonIsAPause() {
    Scripted model = new Scripted().call("force").say("Hello again.");
    Conversation talk =
        Conversation.with(Agent.aiHuman("desk", prompt("support", model, force(Side.B))));

    talk.say("Hi");
    assertThat(talk.code()).isEqualTo(StopCode.FORCED_HUMAN_TURN);
    assertThat(model.requests()).hasSize(1);

    talk.say("Here I am");
    assertThat(talk.lines()).endsWith("user: Here I am", "assistant: Hello again.");
  }

  @Test
  void aDeferredEffectCanForceATurnOfAThreadAtRest() {
    Scripted model = Scripted.saying("Hello.", "Are you still there?");
    ScheduledHandler nudge =
        ScheduledHandler.of("nudge", "Nudges.", (flow, args) -> flow.forceTurn(Side.A));
    Hook schedule =
        Hook.afterCreateMessage(
            "schedule",
            (flow, message) -> {
              if (message.role() == Role.USER) {
                flow.scheduleEffect("nudge", Map.of(), Duration.ofHours(1));
              }
            });
    Conversation talk =
        Conversation.with(
            Agent.aiHuman("desk", prompt("support", model)).effects(nudge).hooks(schedule));

    talk.say("Hi").pass(Duration.ofHours(2));

    assertThat(talk.lines())
        .containsExactly("user: Hi", "assistant: Hello.", "assistant: Are you still there?");
  }

  @Test
  void anEffectThatForcesATurnDoesNotWakeAThreadThatAPersonStopped() {
    Scripted model = new Scripted();
    ScheduledHandler nudge =
        ScheduledHandler.of("nudge", "Nudges.", (flow, args) -> flow.forceTurn(Side.A));
    Hook schedule =
        Hook.afterCreateMessage(
            "schedule",
            (flow, message) -> {
              if (message.role() == Role.USER) {
                flow.scheduleEffect("nudge", Map.of(), Duration.ofHours(1));
              }
            });
    Conversation talk =
        Conversation.with(
            Agent.aiHuman("desk", prompt("support", model)).effects(nudge).hooks(schedule));
    talk.post("Hi").runUntil(effect -> effect.kind() == ThreadEffect.Kind.STEP);

    talk.stop().pass(Duration.ofHours(2));

    assertThat(model.requests()).isEmpty();
    assertThat(talk.code()).isEqualTo(StopCode.ABORTED_BY_USER);
  }

  // --- code ------------------------------------------------------------------------------------

  private static TurnHandler echo(List<String> handled) {
    return (flow, message) -> {
      handled.add(message.content());
      flow.injectMessage(Message.of(flow.currentSide().role(), "echo " + message.content()));
    };
  }

  @Test
  void codeIsHandedEachMessageInOrderAndOnce() {
    List<String> handled = new ArrayList<>();
    Conversation talk =
        Conversation.with(Agent.of("echo", Participant.code(echo(handled)), Participant.person()));

    talk.post("one").post("two").post("three").run();

    assertThat(handled).containsExactly("one", "two", "three");
    assertThat(talk.lines())
        .containsExactly(
            "user: one",
            "assistant: echo one",
            "user: two",
            "assistant: echo two",
            "user: three",
            "assistant: echo three");
  }

  @Test
  void codeAndAModelTakeTurns() {
    List<String> handled = new ArrayList<>();
    Scripted model = Scripted.saying("One.", "Two.");
    Conversation talk =
        Conversation.with(
            Agent.of(
                    "play", Participant.prompt(prompt("a", model)), Participant.code(echo(handled)))
                .maxSessionTurns(2));

    talk.say("Go");

    assertThat(handled).containsExactly("One.", "Two.");
    assertThat(talk.lines())
        .containsExactly(
            "user: Go", "assistant: One.", "user: echo One.", "assistant: Two.", "user: echo Two.");
  }

  @Test
  void codeThatSaysNothingLetsTheThreadRest() {
    Conversation talk =
        Conversation.with(
            Agent.of("quiet", Participant.code((flow, message) -> {}), Participant.person()));

    talk.say("Hi");

    assertThat(talk.code()).isEqualTo(StopCode.HANDLER_IDLE);
  }

  @Test
  void codeThatThrowsStopsTheThreadWithTheReason() {
    Conversation talk =
        Conversation.with(
            Agent.of(
                "broken",
                Participant.code(
                    (flow, message) -> {
                      throw new IllegalStateException("no paper");
                    }),
                Participant.person()));

    talk.say("Hi");

    assertThat(talk.code()).isEqualTo(StopCode.STEP_ERROR);
    assertThat(talk.state().turn().detail()).isEqualTo("no paper");
  }

  @Test
  void codeWhoseTurnIsForcedHasItOnce() {
    List<String> handled = new ArrayList<>();
    Scripted model = new Scripted().call("force").say("Well.");
    Conversation talk =
        Conversation.with(
            Agent.of(
                    "play",
                    Participant.prompt(prompt("a", model, force(Side.B))),
                    Participant.code(echo(handled)))
                .maxSteps(2));

    talk.say("Go");

    assertThat(handled).hasSize(2);
    assertThat(model.requests()).hasSize(2);
  }

  @Test
  void codeThatIsCalledOnAgainForTheSameMessageSaysSomethingNew() {
    List<String> handled = new ArrayList<>();
    Conversation talk =
        Conversation.with(Agent.of("echo", Participant.code(echo(handled)), Participant.person()));

    talk.say("one").proceed(Side.A).run();

    assertThat(handled).containsExactly("one", "one");
    assertThat(talk.messages()).extracting(Message::id).doesNotHaveDuplicates();
  }

  @Test
  void toolsThatCodeQueuesAreCalledWhenItsTurnIsOver() {
    List<String> made = new ArrayList<>();
    Tool note =
        Tool.of(
            "note",
            "Notes.",
            (flow, args) -> {
              made.add("noted");
              return "noted";
            });
    Scripted model = Scripted.saying("One.", "Two.");
    TurnHandler handler =
        (flow, message) -> {
          flow.injectMessage(Message.user("I note it."));
          flow.queueTool("note", Map.of());
        };
    Conversation talk =
        Conversation.with(
            Agent.of(
                    "play", Participant.prompt(prompt("a", model, note)), Participant.code(handler))
                .maxSessionTurns(2));

    talk.say("Go");

    assertThat(made).containsExactly("noted", "noted");
    assertThat(model.lastRequest())
        .containsExactly(
            "user: Go",
            "assistant: One.",
            "user: I note it.",
            "assistant: [note]",
            "result of note: noted");
    assertThat(talk.code()).isEqualTo(StopCode.MAX_SESSION_TURNS);
  }

  @Test
  void aCallThatAnEffectQueuesDoesNotCutOffTheCodeThatHasTheTurn() {
    Tool note = Tool.of("note", "Notes.", (flow, args) -> "noted");
    ScheduledHandler queue =
        ScheduledHandler.of("queue", "Queues.", (flow, args) -> flow.queueTool("note", Map.of()));
    Scripted model = Scripted.saying("One.", "Two.");
    List<String> handled = new ArrayList<>();
    Hook schedule =
        Hook.afterCreateMessage(
            "schedule",
            (flow, message) -> {
              if ("Go".equals(message.content())) {
                flow.scheduleEffect("queue", Map.of(), Duration.ofMillis(1));
              }
            });
    Conversation talk =
        Conversation.with(
            Agent.of(
                    "play",
                    Participant.prompt(prompt("a", model, note)),
                    Participant.code(echo(handled)))
                .effects(queue)
                .hooks(schedule)
                .maxSessionTurns(2));
    talk.post("Go").runUntil(Conversation.kind(ThreadEffect.Kind.HANDLE));

    talk.lastFirst().pass(Duration.ofSeconds(1));

    assertThat(handled).containsExactly("One.", "Two.");
    assertThat(talk.lines())
        .containsExactly(
            "user: Go",
            "assistant: One.",
            "user: echo One.",
            "assistant (silent): [note]",
            "note: noted",
            "assistant: Two.",
            "user: echo Two.");
  }

  @Test
  void aSystemMessageIsNotHandedToCode() {
    List<String> handled = new ArrayList<>();
    Conversation talk =
        Conversation.with(Agent.of("echo", Participant.code(echo(handled)), Participant.person()));

    talk.say("one").post(null, Message.system("A remark")).run();

    assertThat(handled).containsExactly("one");
    assertThat(talk.lines()).endsWith("system: A remark");
  }

  // --- handoff ---------------------------------------------------------------------------------

  @Test
  void anotherAgentContinuesAtTheEndOfTheStep() {
    List<String> during = new ArrayList<>();
    Tool look =
        Tool.of(
            "look",
            "Looks.",
            (flow, args) -> {
              during.add(flow.agentConfig().name());
              return "ok";
            });
    Scripted first = new Scripted().calls("billing", "look");
    Scripted second = Scripted.saying("Billing here.");
    Conversation talk =
        Conversation.with(
            Agent.aiHuman(
                "desk", prompt("support", first, Handoff.to("billing", "For bills."), look)),
            Agent.aiHuman("billing", prompt("bills", second).text("You do bills.")));

    talk.say("My bill?");

    assertThat(during).containsExactly("desk");
    assertThat(talk.state().agent()).isEqualTo("billing");
    assertThat(talk.state().metadata().origin()).isEqualTo("desk");
    assertThat(talk.lines())
        .containsExactly(
            "user: My bill?",
            "assistant: [billing, look]",
            "billing: Handoff complete",
            "look: ok",
            "assistant: Billing here.");
    assertThat(second.lastRequest()).contains("system: You do bills.", "user: My bill?");
  }

  @Test
  void aHandoffCountsNoTurnAndItsMessageReachesTheNextAgentSilently() {
    Scripted first = new Scripted().call("billing", Map.of("message", "Order 7, paid twice."));
    Scripted second = Scripted.saying("Billing here.");
    Conversation talk =
        Conversation.with(
            Agent.aiHuman("desk", prompt("support", first, Handoff.to("billing", "For bills."))),
            Agent.aiHuman("billing", prompt("bills", second)));

    talk.say("My bill?");

    assertThat(talk.lines()).contains("user (silent): Order 7, paid twice.");
    assertThat(second.lastRequest()).contains("user: Order 7, paid twice.");
    assertThat(talk.state().turn().turnsA()).isEqualTo(1);
  }

  private static final Handoff TO_BILLING = Handoff.to("billing", "For bills.");

  @Test
  void aThreadIsHandedOverOnlyToAnAgentThatAllHostsHave() {
    Scripted first = new Scripted().call("billing").say("Try later.").call("billing");
    Agent[] agents = {
      Agent.aiHuman("desk", prompt("support", first, TO_BILLING)),
      Agent.aiHuman("billing", prompt("bills", Scripted.saying("Billing here.")))
    };
    Conversation talk = Conversation.with(agents);
    talk.world().early.add("billing");

    talk.say("My bill").crash();
    assertThat(talk.state().agent()).isEqualTo("desk");
    assertThat(talk.lines())
        .anyMatch(line -> line.contains("not all hosts have the agent billing yet"))
        .endsWith("assistant: Try later.");
    talk.requireSame(agents);

    talk.world().early.clear();
    talk.say("My bill").crash();
    assertThat(talk.state().agent()).isEqualTo("billing");
    talk.requireSame(agents);
  }

  private static final String NOT_OF_A_STEP =
      "Failed to execute tool: The thread was not handed over: only a step of a prompt that offers"
          + " billing can do that. Let its model call it, or queue it in such a step.";

  private static Conversation withBilling(Agent desk, Scripted bills) {
    return Conversation.with(desk, Agent.aiHuman("billing", prompt("bills", bills)));
  }

  @Test
  void aThreadThatStopsInTheStepOfAHandoffRestsWithTheNextAgent() {
    Tool stop =
        Tool.of(
            "finish",
            "Stops.",
            (flow, args) -> {
              flow.stop("done");
              return "stopped";
            });
    Tool end = Tool.of("finish", "Ends.", (flow, args) -> "ended");

    assertThat(finishedWithAHandoff(stop, side -> side)).isEqualTo(StopCode.STATE_STOP_SESSION);
    assertThat(finishedWithAHandoff(end, side -> side.sessionStop("finish", null)))
        .isEqualTo(StopCode.SESSION_STOP);
  }

  private static String finishedWithAHandoff(
      Tool finish, UnaryOperator<Participant.Speaker> ending) {
    Scripted model = new Scripted().calls("billing", "finish");
    Scripted bills = Scripted.saying("Billing here.");
    Participant desk =
        ending.apply(Participant.prompt(prompt("support", model, TO_BILLING, finish)));
    Conversation talk =
        withBilling(Agent.of("desk", desk, Participant.person()), bills).say("My bill?");
    String code = String.valueOf(talk.code());

    assertThat(talk.state().agent()).isEqualTo("billing");
    assertThat(talk.crash().say("Hello?").last().content()).isEqualTo("Billing here.");
    return code;
  }

  @Test
  void aSubPromptCannotHandOver() {
    Scripted child = new Scripted().call("billing");
    Scripted model = new Scripted().call("helper", Map.of("message", "Help")).say("I stay.");
    Prompt helper = prompt("helper", child, TO_BILLING).toolDescription("Helps.");
    Conversation talk =
        withBilling(Agent.aiHuman("desk", prompt("support", model, helper.asTool())), child);

    talk.say("My bill?").crash();

    assertThat(talk.state().agent()).isEqualTo("desk");
    assertThat(talk.allMessages().stream().map(Conversation::line))
        .contains(
            "billing failed: Failed to execute tool: The thread was not handed over: a sub-prompt"
                + " cannot do that, only the prompt of a side that offers billing.")
        .endsWith("assistant: I stay.");
  }

  @Test
  void aHandoffThatIsQueuedOutsideAStepOfItsPromptFails() {
    ScheduledHandler later =
        ScheduledHandler.of("later", "Later.", (flow, args) -> flow.queueTool("billing", Map.of()));
    Tool schedules =
        Tool.of(
            "schedules",
            "Schedules.",
            (flow, args) -> flow.scheduleEffect("later", Map.of(), Duration.ofHours(1)));
    Scripted model = new Scripted().call("schedules").say("Done.");
    Conversation talk =
        withBilling(
            Agent.aiHuman("desk", prompt("support", model, TO_BILLING, schedules)).effects(later),
            new Scripted());

    talk.say("Hi").pass(Duration.ofHours(2)).crash();

    assertThat(talk.state().agent()).isEqualTo("desk");
    assertThat(talk.last().content()).isEqualTo(NOT_OF_A_STEP);
  }

  @Test
  void aHandoffThatOnlyAnotherPromptOffersFails() {
    Tool queues =
        Tool.of("queues", "Queues.", (flow, args) -> flow.queueTool("billing", Map.of()).name());
    Prompt helper = prompt("helper", new Scripted(), TO_BILLING).toolDescription("Helps.");
    Scripted model = new Scripted().call("queues").say("I stay.");
    Conversation talk =
        withBilling(
            Agent.aiHuman("desk", prompt("support", model, queues, helper.asTool())),
            new Scripted());

    talk.say("Hi").crash();

    assertThat(talk.state().agent()).isEqualTo("desk");
    assertThat(talk.lines())
        .containsSubsequence("billing failed: " + NOT_OF_A_STEP, "assistant: I stay.");
  }

  @Test
  void theFirstOfTwoHandoffsInOneReplyCounts() {
    Scripted first = new Scripted();
    first.then(
        request ->
            AiMessage.from(
                List.of(
                    first.wants("billing", Map.of("message", "Order 7")),
                    first.wants("shipping", Map.of("message", "Order 8")),
                    first.wants("billing", Map.of("message", "Order 9")))));
    Conversation talk =
        Conversation.with(
            Agent.aiHuman(
                "desk",
                prompt("support", first, TO_BILLING, Handoff.to("shipping", "For parcels."))
                    .parallelToolCalls()),
            Agent.aiHuman("billing", prompt("bills", Scripted.saying("Billing here."))),
            Agent.aiHuman("shipping", prompt("parcels", new Scripted())));

    talk.say("My orders?").crash();

    String refused =
        " failed: Failed to execute tool: The thread was not handed over: an earlier call of the"
            + " step has done that already.";
    assertThat(talk.lines())
        .containsExactly(
            "user: My orders?",
            "assistant: [billing, shipping, billing]",
            "billing: Handoff complete",
            "shipping" + refused,
            "billing" + refused,
            "user (silent): Order 7",
            "assistant: Billing here.");
    assertThat(talk.state().agent()).isEqualTo("billing");
  }

  @Test
  void theSecondOfTwoHandoffsInOneReplyCountsIfAHookFailsTheFirst() {
    Hook hook =
        Hook.afterToolCallSuccess(
            "no-billing",
            (flow, call, result) ->
                call.name().equals("billing") ? ToolResult.error("closed", "Closed.") : result);
    for (boolean parallel : List.of(false, true)) {
      Prompt prompt =
          prompt(
              "support",
              new Scripted().calls("billing", "look", "shipping"),
              TO_BILLING,
              Tool.of("look", "Looks.", (flow, args) -> "ok"),
              Handoff.to("shipping", "For parcels."));
      Conversation talk =
          Conversation.with(
              Agent.aiHuman("desk", parallel ? prompt.parallelToolCalls() : prompt).hooks(hook),
              Agent.aiHuman("billing", prompt("bills", new Scripted())),
              Agent.aiHuman("shipping", prompt("parcels", Scripted.saying("Shipping here."))));

      talk.lastFirst().say("My order?").crash();

      assertThat(talk.lines())
          .containsExactly(
              "user: My order?",
              "assistant: [billing, look, shipping]",
              "billing failed: Failed to execute tool: Closed.",
              "look: ok",
              "shipping: Handoff complete",
              "assistant: Shipping here.");
      assertThat(talk.state().agent()).isEqualTo("shipping");
    }
  }

  @Test
  void anAgentThatIsNotThereCannotBeHandedOverTo() {
    Agent desk =
        Agent.aiHuman("desk", prompt("support", new Scripted(), Handoff.to("nobody", "For all.")));

    assertThatThrownBy(() -> Conversation.of(desk))
        .isInstanceOf(InvalidAgentException.class)
        .hasMessageContaining("nobody");
  }

  // --- what waits ------------------------------------------------------------------------------

  @Test
  void messagesThatArriveDuringAStepComeInBetweenSteps() {
    Scripted model = new Scripted();
    Conversation talk =
        Conversation.of(
            Agent.aiHuman(
                "desk", prompt("support", model, Tool.of("look", "Looks.", (flow, args) -> "ok"))));
    model
        .then(
            request -> {
              talk.post("And this?").post("And that?");
              return AiMessage.from(model.wants("look", Map.of()));
            })
        .say("All of it.");

    talk.create().say("Hi");

    assertThat(talk.lines())
        .containsExactly(
            "user: Hi",
            "assistant: [look]",
            "look: ok",
            "user: And this?",
            "user: And that?",
            "assistant: All of it.");
  }

  @Test
  void theFirstOfTheMessagesThatWaitedDecidesWhoActs() {
    Scripted pro = new Scripted();
    Scripted contra = Scripted.saying("No.");
    Conversation talk =
        Conversation.of(
            Agent.dualAi("debate", prompt("pro", pro), prompt("contra", contra)).maxSteps(2));
    pro.then(
        request -> {
          talk.post(null, FROM_A).post("And I?");
          return ai("Yes.");
        });

    talk.create().say("Is it?");

    assertThat(talk.lines())
        .containsExactly(
            "user: Is it?",
            "assistant: Yes.",
            "assistant: Side A speaks",
            "user: And I?",
            "user: No.");
  }
}
