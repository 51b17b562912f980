package io.fermata.agent.state;

import static org.assertj.core.api.Assertions.assertThat;

import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.model.chat.request.ChatRequest;
import io.fermata.agent.Agent;
import io.fermata.agent.CalledFlow;
import io.fermata.agent.Conversation;
import io.fermata.agent.FlowTool;
import io.fermata.agent.Hook;
import io.fermata.agent.Offered;
import io.fermata.agent.Participant;
import io.fermata.agent.Prompt;
import io.fermata.agent.RandomAgents;
import io.fermata.agent.ScheduledHandler;
import io.fermata.agent.Scripted;
import io.fermata.agent.SubAgent;
import io.fermata.agent.Tool;
import io.fermata.agent.engine.Outside;
import io.fermata.agent.message.Message;
import io.fermata.flow.event.ForkOrigin;
import io.fermata.flow.json.Json;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.function.Predicate;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A thread of its own that continues another one from one of its entries. */
class ForkedThreadTest {
  private record Nothing() {}

  private final List<String> ran = new ArrayList<>();
  private final Scripted model = new Scripted();

  private Tool tool(String name) {
    return Tool.of(
        name,
        "Does " + name,
        (flow, args) -> {
          ran.add(name);
          flow.storage().put(name, Json.tree("done"));
          flow.files().write("/" + name, "text of " + name);
          return name + " done";
        });
  }

  private Agent desk(Offered... tools) {
    return Agent.aiHuman("desk", Prompt.of("support", model.model()).tools(tools));
  }

  /** Calls two tools, one after the other, and then speaks of what came of them. */
  private AiMessage next(ChatRequest request) {
    return request.messages().get(request.messages().size() - 1)
            instanceof ToolExecutionResultMessage result
        ? result.toolName().equals("one")
            ? AiMessage.from(model.wants("two", Map.of()))
            : AiMessage.from("Both: " + result.text())
        : AiMessage.from(model.wants("one", Map.of()));
  }

  private static int record(Conversation talk, Predicate<ThreadEvent> event) {
    for (int i = 1; i <= talk.records(); i++) {
      if (talk.record(i).stream().anyMatch(event)) {
        return i;
      }
    }
    throw new AssertionError("There is no such event");
  }

  private static int asks(Conversation talk) {
    return record(talk, ThreadEvent.CallAsked.class::isInstance);
  }

  @Test
  void fromEveryEntryALiveForkEndsAsItsSourceAndMakesNoCallAgainThatHadItsResult() {
    Agent agent = desk(tool("one"), tool("two"));
    model.always(this::next);
    Conversation source = Conversation.with(agent).say("Go");

    for (int i = record(source, ThreadEvent.Received.class::isInstance);
        i <= source.records();
        i++) {
      ThreadState then = source.folded(i);
      ran.clear();
      Conversation fork = source.live(i);
      assertThat(fork.state().stored().storage()).isEqualTo(then.stored().storage());
      assertThat(fork.state().stored().files()).isEqualTo(then.stored().files());
      assertThat(fork.state().usage()).isEqualTo(then.usage());
      assertThat(fork.state().stored().env()).containsEntry("lang", "fr");
      assertThat(fork.state().metadata().fork()).extracting(ThreadFork::entry).isEqualTo((long) i);
      assertThat(fork.state().metadata().createdAt()).isGreaterThan(source.now());

      fork.run();

      assertThat(fork.lines()).as("forked at %d", i).isEqualTo(source.lines());
      assertThat(fork.state().usage()).isEqualTo(source.state().usage());
      for (String tool : List.of("one", "two")) {
        boolean had = then.stored().storage().containsKey(tool);
        assertThat(ran.contains(tool)).as("%s, forked at %d", tool, i).isEqualTo(!had);
      }
      fork.crash();
      fork.requireSame(agent);
    }
  }

  @Test
  void anotherMessageIsAnsweredByAnotherAgentInItsPlace() {
    Agent desk = desk();
    Agent polite =
        Agent.aiHuman("desk-v2", Prompt.of("polite", Scripted.saying("With pleasure.").model()));
    model.say("Hello.").say("No.");
    Conversation source = Conversation.with(desk, polite).say("Hi").say("Help!");

    int before =
        record(
                source,
                event ->
                    event instanceof ThreadEvent.Received received
                        && "Help!".equals(received.message().content()))
            - 1;
    Conversation fork =
        source.fork(before, ForkOrigin.Mode.LIVE, "desk-v2", Message.user("Please help.")).run();

    assertThat(fork.lines())
        .containsExactly(
            "user: Hi", "assistant: Hello.", "user: Please help.", "assistant: With pleasure.");
    assertThat(fork.state().metadata())
        .extracting(ThreadMetadata::agent, ThreadMetadata::origin)
        .containsExactly("desk-v2", "desk-v2");
    fork.requireSame(desk, polite);
  }

  @Test
  void anAgentThatLacksThePromptOfAStepInProgressIsRefused() {
    Agent other = Agent.aiHuman("other", Prompt.of("other", Scripted.saying().model()));
    model.call("ask").say("Done.");
    Conversation source =
        Conversation.with(desk(tool("ask").approval(args -> "May it?")), other).say("Go");

    Conversation fork = source.fork(asks(source), ForkOrigin.Mode.LIVE, "other", null);

    assertThat(Objects.requireNonNull(fork.refusal()).code()).isEqualTo("unknown_prompt");
    assertThat(fork.refusal().message()).contains("support", "other");
  }

  @Test
  void anApprovalThatWasOpenIsOpenInALiveForkAndNobodyIsAskedInASandbox() {
    Agent agent = desk(tool("pay").approval(args -> "Pay?"));
    model.call("pay").say("Paid.").say("Denied.");
    Conversation source = Conversation.with(agent).say("Go");
    int asked = asks(source);
    source.deny("s1.0", null).run();

    Conversation live = source.live(asked);
    assertThat(live.state().open()).extracting(CallState::key).containsExactly("s1.0");
    live.approve("s1.0");
    assertThat(ran).isEmpty();
    live.run();
    assertThat(ran).containsExactly("pay");
    live.requireSame(agent);

    Conversation sandbox = source.sandbox(asked);
    assertThat(sandbox.state().open()).isEmpty();
    assertThat(sandbox.code()).isEqualTo(StopCode.SANDBOXED);
    assertThat(sandbox.state().turn().detail()).isEqualTo("pay {}");
    sandbox.requireSame(agent);
  }

  private static FlowTool book() {
    return CalledFlow.of("book", "Books");
  }

  private static Outside.FlowOutcome asking(String question) {
    return new Outside.FlowOutcome.Asking(Json.object().put("question", question));
  }

  /** What a person is asked in the fork at an entry that another agent continues. */
  private static List<String> asked(Conversation fork) {
    return fork.state().open().stream()
        .map(call -> Objects.requireNonNull(call.question()).path("question").asText())
        .toList();
  }

  private Agent careful(Offered... tools) {
    return Agent.aiHuman("careful", Prompt.of("support", model.model()).tools(tools));
  }

  @Test
  void anApprovalThatOnlyTheAgentOfTheForkDemandsIsAskedBeforeItsFlowIsCalled() {
    Agent careful = careful(book().approval(args -> "Book?"));
    Conversation source = Conversation.with(desk(book()), careful);
    model.call("book").say("Booked.");
    source.world().flow = args -> asking("When?");
    source.say("Go");

    Conversation fork = source.fork(source.records(), ForkOrigin.Mode.LIVE, "careful", null);
    fork.world().flow = args -> asking("Where?");
    fork.run();

    assertThat(asked(fork)).containsExactly("Book?");
    assertThat(fork.world().flowCalls).isEmpty();
    fork.approve("s1.0").run();
    assertThat(asked(fork)).containsExactly("Where?");
    assertThat(fork.world().flowCalls).containsExactly("book s1.0 {}");
    fork.requireSame(desk(book()), careful);

    Conversation sandbox = source.fork(source.records(), ForkOrigin.Mode.SANDBOX, "careful", null);
    assertThat(asked(sandbox)).isEmpty();
    assertThat(sandbox.code()).isEqualTo(StopCode.SANDBOXED);
  }

  @Test
  void anApprovalStaysGivenInAForkWhoseAgentAsksTheSameQuestion() {
    Agent careful = careful(tool("pay").approval(args -> "Pay from the safe?"));
    Agent same = Agent.aiHuman("same", Prompt.of("support", model.model()).tools(paying()));
    Conversation source = Conversation.with(desk(paying()), careful, same);
    model.call("pay").say("Paid.");
    source.say("Go");
    int open = source.records();
    source.approve("s1.0");
    int given = source.records();

    for (String agent : List.of("desk", "same")) {
      Conversation fork = source.fork(given, ForkOrigin.Mode.LIVE, agent, null).run();
      assertThat(asked(fork)).isEmpty();
      assertThat(ran).containsExactly("pay");
      ran.clear();
    }
    for (int entry : List.of(open, given)) {
      Conversation fork = source.fork(entry, ForkOrigin.Mode.LIVE, "careful", null).run();
      assertThat(asked(fork)).containsExactly("Pay from the safe?");
      assertThat(ran).isEmpty();
    }
    source.fork(open, ForkOrigin.Mode.LIVE, "careful", null).approve("s1.0").run();
    assertThat(ran).containsExactly("pay");
  }

  private Tool paying() {
    return tool("pay").approval(args -> "Pay?");
  }

  @Test
  void anApprovalStaysGivenWhereTheFlowHasAskedSince() {
    Agent careful = careful(book().approval(args -> "Book at any price?"));
    Conversation source = Conversation.with(desk(book().approval(args -> "Book?")), careful);
    model.call("book").say("Booked.");
    source.world().flow = args -> asking("When?");
    source.say("Go").approve("s1.0").run();
    int asks = source.records();
    source.answer("s1.0", "a2", Json.object().put("when", "now"));

    for (int entry : List.of(asks, source.records())) {
      Conversation same = source.live(entry).run();
      assertThat(same.world().flowCalls).containsExactly("book s1.0 {}");
      Conversation other = source.fork(entry, ForkOrigin.Mode.LIVE, "careful", null).run();
      assertThat(asked(other)).containsExactly("Book at any price?");
      assertThat(other.world().flowCalls).isEmpty();
    }
  }

  @Test
  void aCallThatTheAgentOfTheForkDoesNotKnowFailsAlsoIfItWasUnderWay() {
    Agent other = Agent.aiHuman("other", Prompt.of("support", model.model()));
    Conversation source = Conversation.with(desk(tool("one")), other);
    model.call("one").say("Never mind.");
    source.post("Go").step();
    assertThat(source.state().frames().values())
        .singleElement()
        .satisfies(frame -> assertThat(frame.calls().get(0).attempt()).isEqualTo(1));

    Conversation fork = source.fork(source.records(), ForkOrigin.Mode.LIVE, "other", null).run();

    assertThat(fork.refusal()).isNull();
    assertThat(fork.lines())
        .contains("one failed: Failed to execute tool: There is no tool one; there are .");
    assertThat(ran).isEmpty();
  }

  @Test
  void aCallThatWasApprovedFailsInAForkWhoseAgentDoesNotKnowItsTool() {
    Agent other = Agent.aiHuman("other", Prompt.of("support", model.model()));
    Conversation source = Conversation.with(desk(paying()), other);
    model.call("pay").say("Never mind.").say("Never mind.");
    source.say("Go").approve("s1.0");

    for (ForkOrigin.Mode mode : List.of(ForkOrigin.Mode.LIVE, ForkOrigin.Mode.SANDBOX)) {
      Conversation fork = source.fork(source.records(), mode, "other", null).run();
      assertThat(fork.lines())
          .endsWith(
              "pay failed: Failed to execute tool: There is no tool pay; there are .",
              "assistant: Never mind.");
      fork.requireSame(desk(paying()), other);
    }
    assertThat(ran).isEmpty();
  }

  @Test
  void anApprovalOutsideOfAStepIsForgottenInASandboxWhoseConversationContinues() {
    Agent agent = desk(tool("pay").approval(args -> "Pay?"));
    model.call("pay").say("It waits.").say("Bye.");
    Conversation source = Conversation.with(agent).say("Go").say("And?");

    Conversation sandbox = source.sandbox(source.records());
    assertThat(sandbox.state().open()).isEmpty();
    sandbox.say("Bye");

    assertThat(sandbox.lines()).endsWith("user: Bye", "assistant: Bye.");
    assertThat(ran).isEmpty();
  }

  @Test
  void aFlowThatAskedAPersonStartsAgainForTheForkAndIsNotAnsweredWithWhatTheSourceWasAnswered() {
    Agent agent = desk(CalledFlow.of("book", "Books").approval(args -> "Book?"));
    model.call("book").say("Booked.");
    Conversation source = Conversation.with(agent).say("Go");
    source.world().flow =
        args -> new Outside.FlowOutcome.Asking(Json.object().put("question", "When?"));
    source.approve("s1.0").run();
    int asked = source.records();
    source.answer("s1.0", "a2", Json.object().put("when", "now"));
    int answered = source.records();

    for (int entry : List.of(asked, answered)) {
      Conversation fork = source.live(entry);
      fork.world().flow =
          args -> new Outside.FlowOutcome.Asking(Json.object().put("question", "Where?"));
      fork.run();

      assertThat(fork.world().flowCalls).containsExactly("book s1.0 {}");
      assertThat(fork.state().open())
          .singleElement()
          .satisfies(
              call ->
                  assertThat(Objects.requireNonNull(call.question()).path("question").asText())
                      .isEqualTo("Where?"));
    }
  }

  @Test
  void aForkHasChildrenOfItsOwnAndLeavesThoseOfItsSourceAlone() {
    Agent worker = Agent.aiHuman("worker", Prompt.of("work", Scripted.saying().model()));
    Agent agent = desk(SubAgent.of("worker", "Works").asBlocking());
    model.call("worker", Map.of("message", "dig")).say("Done.");
    Conversation source = Conversation.with(agent, worker).say("Go");
    assertThat(source.state().children()).hasSize(1);

    Conversation fork = source.live(source.records());
    assertThat(fork.state().children()).isEmpty();
    fork.stop().run();
    assertThat(fork.world().stoppedChildren).isEmpty();

    Conversation other = source.live(source.records()).run();
    assertThat(other.world().delegated).containsExactly("child-s1.0: dig");
    other.report("child-s1.0", 1, false, "a hole").run();
    assertThat(other.lines()).endsWith("assistant: Done.");
  }

  @Test
  void theForkOfAChildReportsToNobody() {
    Agent agent = desk();
    model.say("Dug.").say("Again.");
    Conversation source =
        Conversation.of(agent)
            .create(new ThreadEvent.Parent("p", "worker", "s1.0"))
            .run()
            .say("Dig");

    Conversation fork = source.live(record(source, ThreadEvent.Stopped.class::isInstance)).run();
    fork.say("Again");

    assertThat(fork.world().reports).isEmpty();
    assertThat(fork.state().metadata().parent()).isNull();
    fork.requireSame(agent);
  }

  @Test
  void whatIsScheduledKeepsItsDistanceInALiveForkAndIsNotDoneInASandbox() {
    ScheduledHandler remind =
        ScheduledHandler.of("remind", "Reminds", Nothing.class, (flow, args) -> ran.add("remind"));
    Tool plan =
        Tool.of(
            "plan",
            "Plans",
            (flow, args) -> {
              flow.scheduleEffect("remind", Map.of(), Duration.ofDays(1));
              return "planned";
            });
    Agent agent = desk(plan).effects(remind);
    model.call("plan").say("Planned.");
    Conversation source = Conversation.with(agent).say("Go");
    int planned = source.records();
    source.pass(Duration.ofDays(2));
    assertThat(ran).containsExactly("remind");
    ran.clear();

    Conversation live = source.live(planned).pass(Duration.ofHours(23));
    assertThat(ran).isEmpty();
    live.pass(Duration.ofHours(2));
    assertThat(ran).containsExactly("remind");
    live.requireSame(agent);
    ran.clear();

    Conversation sandbox = source.sandbox(planned).pass(Duration.ofDays(9));
    assertThat(sandbox.wanted()).isEmpty();
    assertThat(ran).isEmpty();

    sandbox.live(sandbox.records()).pass(Duration.ofDays(9));
    assertThat(ran).as("a live fork of a sandbox").containsExactly("remind");
  }

  @Test
  void aSandboxAsksItsModelAndRestsAtTheFirstCallWithWhatWasWanted() {
    Agent agent =
        desk(tool("one"), tool("two"), CalledFlow.of("book", "Books"))
            .hooks(Hook.toolCallStarted("watch", (flow, call, args) -> ran.add("hook")));
    model.say("Hello.");
    Conversation source = Conversation.with(agent).say("Hi");
    model.calls("one", "book").say("Never mind.");

    Conversation sandbox = source.sandbox(source.records()).say("Go");

    assertThat(ran).isEmpty();
    assertThat(sandbox.world().flowCalls).isEmpty();
    assertThat(sandbox.code()).isEqualTo(StopCode.SANDBOXED);
    assertThat(sandbox.state().turn().detail()).isEqualTo("one {}; book {}");
    assertThat(sandbox.lines())
        .endsWith(
            "assistant: [one, book]",
            "one failed: Failed to execute tool: It was not made, as the thread is in a sandbox",
            "book failed: Failed to execute tool: It was not made, as the thread is in a sandbox");
    sandbox.say("Then not");
    assertThat(sandbox.lines()).endsWith("assistant: Never mind.");
    sandbox.requireSame(agent);
  }

  @Test
  void aHookInvokesNoToolInASandbox() {
    Agent agent =
        desk(tool("one"))
            .hooks(Hook.afterCreateMessage("asks", (flow, m) -> flow.invokeTool("one", Map.of())));
    model.say("Hello.").say("Bye.");
    Conversation source = Conversation.with(agent).say("Hi");
    assertThat(ran).isNotEmpty();
    ran.clear();

    Conversation sandbox = source.sandbox(source.records()).say("Bye");

    assertThat(ran).isEmpty();
    assertThat(sandbox.lines()).endsWith("assistant: Bye.");
    assertThat(sandbox.events(ThreadEvent.HookFailed.class))
        .last()
        .extracting(ThreadEvent.HookFailed::reason)
        .asString()
        .contains("one is not called", "sandbox");
  }

  @Test
  void codeOfASideTakesNoTurnInASandbox() {
    Agent agent =
        Agent.of(
            "echo", Participant.code((flow, message) -> ran.add("code")), Participant.person());
    Conversation source = Conversation.with(agent).post("Hi");
    int begins = source.records();
    source.run();
    assertThat(ran).containsExactly("code");

    for (int entry : List.of(begins, source.records())) {
      Conversation sandbox = source.sandbox(entry).say("Hi");
      assertThat(sandbox.code()).isEqualTo(StopCode.SANDBOXED);
    }
    assertThat(ran).containsExactly("code");
  }

  private static Conversation rest(Conversation fork) {
    for (int i = 0; i < 5_000 && !fork.ready().isEmpty(); i++) {
      fork.step();
    }
    assertThat(fork.ready()).isEmpty();
    return fork;
  }

  @Test
  @Tag("slow")
  void whateverHappenedAForkContinuesItAndASandboxTouchesNothing() {
    PropertyTest.forEverySeed(
        120,
        seed -> {
          Agent[] agent = new RandomAgents(seed, false).next();
          Conversation source = new Walk(seed, false, agent).order(new Random(seed)).end();
          int entry = 1 + new Random(seed).nextInt(source.records());
          if (source.folded(entry).deleted()) {
            return;
          }
          Conversation live = source.live(entry);
          assertThat(live.state().children()).isEmpty();
          rest(rest(live).crash());
          live.requireSame(agent);

          Conversation sandbox = rest(rest(source.sandbox(entry)).crash());
          assertThat(sandbox.state().open()).isEmpty();
          assertThat(sandbox.world().flowCalls).isEmpty();
          assertThat(sandbox.world().delegated).isEmpty();
          assertThat(sandbox.world().withdrawn).isEmpty();
          assertThat(sandbox.world().stoppedChildren).isEmpty();
          assertThat(sandbox.world().reports).isEmpty();
          sandbox.requireSame(agent);
        });
  }
}
