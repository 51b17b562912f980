package io.fermata.agent;

import static org.assertj.core.api.Assertions.assertThat;

import dev.langchain4j.data.message.AiMessage;
import io.fermata.agent.message.Bounds;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.Role;
import io.fermata.agent.message.Side;
import io.fermata.agent.state.StopCode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** A prompt that another prompt's model calls like a tool. */
class SubPromptTest {
  private static final Tool LOOK = Tool.of("look", "Looks.", (flow, args) -> "seen");

  private static final Tool BROKEN =
      Tool.of(
          "broken",
          "Breaks.",
          (flow, args) -> {
            throw new IllegalStateException("no paper");
          });

  private final Scripted child = new Scripted();
  private final Scripted parent =
      new Scripted().call("expert", Map.of("message", "What is it?")).say("Told.");

  private Prompt expert(Offered... tools) {
    return Prompt.of("expert", child.model())
        .text("You know.")
        .toolDescription("Knows.")
        .tools(tools);
  }

  private Conversation desk(SubPrompt sub, Offered... more) {
    Prompt support = Prompt.of("support", parent.model()).tools(sub).tools(more);
    return Conversation.with(Agent.aiHuman("desk", support));
  }

  private static Message result(Conversation talk) {
    return talk.messages().stream()
        .filter(message -> message.role() == Role.TOOL)
        .findFirst()
        .orElseThrow();
  }

  private static List<String> inside(Conversation talk) {
    return talk.allMessages().stream()
        .filter(message -> message.depth() == 1)
        .map(Conversation::line)
        .toList();
  }

  @Test
  void itSaysOneThingALevelDeeperAndThatIsTheResult() {
    child.say("A teapot.");
    Conversation talk = desk(expert().asTool());

    talk.say("Hi");

    assertThat(talk.lines())
        .containsExactly(
            "user: Hi", "assistant: [expert]", "expert: A teapot.", "assistant: Told.");
    assertThat(inside(talk)).containsExactly("user: What is it?", "assistant: A teapot.");
    assertThat(child.requests()).hasSize(1);
    assertThat(child.lastRequest()).containsExactly("system: You know.", "user: What is it?");
    talk.crash();
  }

  @Test
  void itsMessagesBelongToTheMessageThatReportsTheResult() {
    child.say("A teapot.");
    Conversation talk = desk(expert().asTool());

    talk.say("Hi");

    assertThat(talk.allMessages())
        .filteredOn(message -> message.depth() == 1)
        .hasSize(2)
        .allMatch(message -> result(talk).id().equals(message.parentId()));
  }

  @Test
  void whatItSaysIsNotShownToTheModelThatCalledIt() {
    child.say("A teapot.");
    Conversation talk = desk(expert().asTool());

    talk.say("Hi");

    assertThat(parent.lastRequest())
        .containsExactly("user: Hi", "assistant: [expert]", "result of expert: A teapot.");
  }

  @Test
  void itSeesTheConversationOnlyIfItsPromptWantsIt() {
    child.say("A teapot.");
    Conversation talk = desk(expert().includeChat().asTool());

    talk.say("Hi");

    assertThat(child.lastRequest())
        .containsExactly("system: You know.", "user: Hi", "user: What is it?");
  }

  @Test
  void ofAConversationThatWasCompactedItSeesTheSummary() {
    Scripted summarizer = Scripted.saying("They counted to three.");
    child.say("A teapot.");
    Scripted counts = new Scripted().say("1").say("2").say("3").say("4");
    counts.call("expert", Map.of("message", "What is it?")).say("Told.");
    Prompt support = Prompt.of("support", counts.model()).tools(expert().includeChat().asTool());
    Agent desk = Agent.aiHuman("desk", support).compaction(Compaction.by(summarizer.model(), 6, 2));
    Conversation talk = Conversation.with(desk);
    for (int i = 1; i <= 5; i++) {
      talk.say("number " + i);
    }

    assertThat(child.lastRequest().get(0))
        .contains("You know.", "Summary of the conversation so far:", "They counted to three.");
    talk.requireSame(desk);
  }

  @Test
  void itTakesOneStepHoweverManyToolsItCalls() {
    child.then(r -> AiMessage.from("Let me see.", List.of(child.wants("look", Map.of()))));
    Conversation talk = desk(expert(LOOK).asTool());

    talk.say("Hi");

    assertThat(child.requests()).hasSize(1);
    assertThat(result(talk).content()).isEqualTo("Let me see.\nTool Executions:\n- look: seen");
    assertThat(inside(talk))
        .containsExactly("user: What is it?", "assistant: Let me see. [look]", "look: seen");
  }

  @Test
  void whatOfItBecomesTheResultCanBeChosen() {
    child.sayAndCall("Let me see.", "look", Map.of());
    Conversation talk = desk(expert(LOOK).asTool().withoutToolCalls());
    talk.say("Hi");
    assertThat(result(talk).content()).isEqualTo("Let me see.");

    parent.call("expert", Map.of("message", "And?")).say("Told.");
    child.sayAndCall("Let me see.", "look", Map.of());
    Conversation quiet = desk(expert(LOOK).asTool().withoutText());
    quiet.say("Hi");
    assertThat(result(quiet).content()).isEqualTo("Tool Executions:\n- look: seen");
  }

  @Test
  void anErrorOfItsToolsMakesTheCallFail() {
    child.calls("broken", "look");
    Conversation talk = desk(expert(LOOK, BROKEN).asTool());

    talk.say("Hi");

    assertThat(result(talk).failed()).isTrue();
    assertThat(result(talk).content())
        .contains("Sub-prompt failed with 1 error(s)", "no paper", "look: seen");
  }

  @Test
  void errorsOfItsToolsCanBeLeftOut() {
    child.sayAndCall("Never mind.", "broken", Map.of());
    Conversation talk = desk(expert(BROKEN).asTool().withoutErrors());

    talk.say("Hi");

    assertThat(result(talk).failed()).isFalse();
    assertThat(result(talk).content()).isEqualTo("Never mind.");
  }

  @Test
  void aModelThatDoesNotAnswerMakesTheCallFailAndTheTurnContinues() {
    child.fail(new IllegalStateException("on fire"));
    Conversation talk = desk(expert().asTool());

    talk.say("Hi");

    assertThat(result(talk).failed()).isTrue();
    assertThat(result(talk).content()).contains("on fire");
    assertThat(talk.lines()).endsWith("assistant: Told.");
  }

  private record Question(String subject, int depth) {}

  @Test
  void aModelThatReachesItsOutputLimitBeforeItSaysAnythingMakesTheCallFail() {
    child.cutOff(AiMessage.from(""));
    Conversation talk = desk(expert().asTool());

    talk.say("Hi");

    assertThat(result(talk).failed()).isTrue();
    assertThat(result(talk).content()).contains("its output limit");
    assertThat(talk.lines()).endsWith("assistant: Told.");
  }

  @Test
  void anArgumentCanBecomeTheMessageAndAllOfThemDoOtherwise() {
    Scripted asking =
        new Scripted().call("expert", Map.of("subject", "tea", "depth", 2)).say("Told.");
    child.say("Brown.").say("Brown.");
    Prompt wide = expert().requiredSchema(Question.class);

    Conversation.with(Agent.aiHuman("desk", Prompt.of("s", asking.model()).tools(wide.asTool())))
        .say("Hi");
    assertThat(child.lastRequest().get(1)).contains("\"subject\":\"tea\"", "\"depth\":2");

    asking.call("expert", Map.of("subject", "tea", "depth", 2)).say("Told.");
    Conversation.with(
            Agent.aiHuman(
                "desk", Prompt.of("s", asking.model()).tools(wide.asTool().userMessage("subject"))))
        .say("Hi");
    assertThat(child.lastRequest().get(1)).isEqualTo("user: tea");
  }

  @Test
  void itsToolsKnowThatTheyWorkForItAndReachTheConversation() {
    List<Object> seen = new ArrayList<>();
    Tool tool =
        Tool.of(
            "look",
            "Looks.",
            (flow, args) -> {
              seen.add(flow.isChildPrompt());
              FlowState root = Objects.requireNonNull(flow.rootState());
              seen.add(root.isChildPrompt());
              seen.add(root.messageHistory().size());
              flow.injectMessage(Message.user("for the expert"));
              root.injectMessage(Message.system("for all"));
              flow.injectTopLevel(Message.system("for all, too"));
              flow.context("found", 1);
              return "seen";
            });
    child.call("look");
    Conversation talk = desk(expert(tool).asTool());

    talk.say("Hi");

    assertThat(seen).containsExactly(true, false, 2);
    assertThat(talk.lines())
        .containsExactly(
            "user: Hi",
            "assistant: [expert]",
            "system: for all",
            "system: for all, too",
            "expert: Tool Executions:\n- look: seen",
            "assistant: Told.");
    assertThat(inside(talk)).contains("user: for the expert");
    assertThat(talk.state().stored().context()).containsKey("found");
  }

  @Test
  void aToolOfTheConversationHasNoRoot() {
    List<Object> seen = new ArrayList<>();
    Tool tool =
        Tool.of(
            "look",
            "Looks.",
            (flow, args) -> {
              seen.add(flow.isChildPrompt());
              seen.add(flow.rootState() == null);
              return "seen";
            });
    Scripted model = new Scripted().call("look").say("Told.");
    Conversation.with(Agent.aiHuman("desk", Prompt.of("s", model.model()).tools(tool))).say("Hi");

    assertThat(seen).containsExactly(false, true);
  }

  @Test
  void promptsCallPromptsInTheSameThread() {
    Scripted deepest = Scripted.saying("Earl Grey.");
    Prompt sommelier = Prompt.of("sommelier", deepest.model()).toolDescription("Knows drinks.");
    child.call("sommelier", Map.of("message", "Which tea?"));
    Conversation talk = desk(expert(sommelier.asTool()).asTool());

    talk.say("Hi");

    assertThat(result(talk).content()).isEqualTo("Tool Executions:\n- sommelier: Earl Grey.");
    assertThat(talk.allMessages())
        .filteredOn(message -> message.depth() == 2)
        .extracting(Conversation::line)
        .containsExactly("user: Which tea?", "assistant: Earl Grey.");
    talk.crash();
  }

  @Test
  void aCallQueuedInsideIsMadeInside() {
    Tool queue =
        Tool.of(
            "queue",
            "Queues.",
            (flow, args) -> {
              flow.queueTool("look", Map.of());
              return "queued";
            });
    child.call("queue");
    Conversation talk = desk(expert(queue, LOOK).asTool());

    talk.say("Hi");

    assertThat(result(talk).content()).isEqualTo("Tool Executions:\n- queue: queued\n- look: seen");
    assertThat(talk.lines()).hasSize(4);
  }

  @Test
  void aStopInsideStopsTheThreadAndTheCallsAfterIt() {
    Tool stop =
        Tool.of(
            "stop",
            "Stops.",
            (flow, args) -> {
              flow.stop("enough");
              return "stopped";
            });
    child.calls("stop", "look");
    Conversation talk = desk(expert(stop, LOOK).asTool());

    talk.say("Hi");

    assertThat(talk.code()).isEqualTo(StopCode.STATE_STOP_SESSION);
    assertThat(inside(talk)).last().asString().contains("look failed");
    assertThat(parent.requests()).hasSize(1);
  }

  @Test
  void aThreadStoppedFromOutsideReportsTheCallsInsideAndTheCallThatTheyWereFor() {
    Conversation[] talk = new Conversation[1];
    Tool slow =
        Tool.of(
            "slow",
            "Takes long.",
            (flow, args) -> {
              talk[0].stop();
              return "too late";
            });
    child.calls("slow");
    talk[0] = desk(expert(slow).asTool());

    talk[0].say("Hi");

    assertThat(inside(talk[0]))
        .endsWith("slow failed: Failed to execute tool: Execution stopped by user");
    assertThat(talk[0].lines())
        .containsExactly(
            "user: Hi",
            "assistant: [expert]",
            "expert failed: Failed to execute tool: Execution stopped by user",
            "system: Execution stopped by user");
    talk[0].crash();
  }

  @Test
  void promptsThatCallEachOtherGoOnlySoDeep() {
    Scripted all = new Scripted();
    all.always(
        request ->
            request.toolSpecifications().isEmpty()
                ? AiMessage.from("Deep.")
                : AiMessage.from(
                    all.wants(request.toolSpecifications().get(0).name(), Map.of("message", "?"))));
    Prompt prompt = Prompt.of("p0", all.model()).toolDescription("Asks.");
    for (int i = 1; i <= Bounds.DEPTH + 2; i++) {
      prompt = Prompt.of("p" + i, all.model()).toolDescription("Asks.").tools(prompt.asTool());
    }
    Participant side = Participant.prompt(prompt).maxSteps(1);
    Conversation talk = Conversation.with(Agent.of("desk", side, Participant.person()));

    talk.say("Hi");

    assertThat(all.requests()).hasSize(1 + Bounds.DEPTH);
    assertThat(talk.last().failed()).isTrue();
    assertThat(talk.last().content()).contains("at most " + Bounds.DEPTH + " levels deep");
  }

  @Test
  void itsModelCallsCountForTheLimitOfTheAgent() {
    Scripted all = new Scripted();
    all.always(request -> AiMessage.from(all.wants("expert", Map.of("message", "?"))));
    child.always(request -> AiMessage.from("A teapot."));
    Prompt prompt = Prompt.of("support", all.model()).tools(expert().asTool());
    Conversation talk = Conversation.with(Agent.aiHuman("desk", prompt).maxSteps(3)).say("Hi");

    assertThat(all.requests()).hasSize(2);
    assertThat(child.requests()).hasSize(1);
    assertThat(talk.last().content()).contains("Models were called 3 times");
    assertThat(talk.code()).isEqualTo(StopCode.MAX_TOTAL_STEPS);
    talk.crash().say("Go on");
    assertThat(child.requests()).hasSize(2);
  }

  @Test
  void aSpentBudgetHoldsForItToo() {
    Prompt support = Prompt.of("support", parent.model()).tools(expert().asTool());
    Conversation talk = Conversation.with(Agent.aiHuman("desk", support).budget(Budget.tokens(15)));

    talk.say("Hi");

    assertThat(child.requests()).isEmpty();
    assertThat(result(talk).content()).contains("budget", "15 tokens");
    assertThat(talk.code()).isEqualTo(StopCode.BUDGET_SPENT);
  }

  @Test
  void aTurnForcedInsideBeginsWhenTheStepIsOver() {
    Tool force =
        Tool.of(
            "force",
            "Forces.",
            (flow, args) -> {
              flow.forceTurn(Side.B);
              return "forced";
            });
    child.call("force");
    Conversation talk = desk(expert(force).asTool());

    talk.say("Hi");

    assertThat(talk.code()).isEqualTo(StopCode.FORCED_HUMAN_TURN);
    assertThat(parent.requests()).hasSize(1);
    assertThat(result(talk).failed()).isFalse();
  }

  @Test
  void anotherOneMayWorkBesideIt() {
    Scripted other = Scripted.saying("Coffee.");
    Prompt barista = Prompt.of("barista", other.model()).toolDescription("Knows coffee.");
    Scripted asking =
        new Scripted()
            .then(
                request ->
                    AiMessage.from(
                        List.of(
                            parent.wants("expert", Map.of("message", "tea?")),
                            parent.wants("barista", Map.of("message", "coffee?")))))
            .say("Told.");
    child.say("Tea.");
    Prompt support =
        Prompt.of("support", asking.model())
            .tools(expert().asTool(), barista.asTool())
            .parallelToolCalls();
    Conversation talk = Conversation.with(Agent.aiHuman("desk", support)).lastFirst();

    talk.say("Hi");

    assertThat(talk.lines())
        .containsExactly(
            "user: Hi",
            "assistant: [expert, barista]",
            "expert: Tea.",
            "barista: Coffee.",
            "assistant: Told.");
    assertThat(talk.performed()).contains("STEP/s3/1", "STEP/s2/1");
    assertThat(talk.performed().indexOf("STEP/s3/1"))
        .isLessThan(talk.performed().indexOf("STEP/s2/1"));
  }
}
