package io.fermata.agent.state;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.data.message.AiMessage;
import io.fermata.agent.Agent;
import io.fermata.agent.Agents;
import io.fermata.agent.Compaction;
import io.fermata.agent.Conversation;
import io.fermata.agent.FlowState;
import io.fermata.agent.Handoff;
import io.fermata.agent.Offered;
import io.fermata.agent.Prompt;
import io.fermata.agent.ScheduledHandler;
import io.fermata.agent.Scripted;
import io.fermata.agent.SubAgent;
import io.fermata.agent.Tool;
import io.fermata.agent.engine.ThreadAccess;
import io.fermata.agent.message.Bounds;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.MessageUpdate;
import io.fermata.agent.message.ToolResult;
import io.fermata.flow.json.Json;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What a thread keeps, and for how long it is at hand. */
@Tag("slow")
class KeepingTest {
  private final List<Object> seen = new ArrayList<>();
  private final Scripted model = new Scripted();

  private Agent desk(Offered... tools) {
    return Agent.aiHuman("desk", Prompt.of("support", model.model()).tools(tools));
  }

  // --- files -----------------------------------------------------------------------------------

  @Test
  void aFileThatIsWrittenTwiceInOneRecordReadsBackItsLastVersion() {
    Tool write =
        Tool.of(
            "write",
            "Writes",
            (flow, args) -> {
              flow.files().write("/report", "v1");
              flow.files().write("/report", "v2");
              seen.add(flow.files().readText("/report"));
              return null;
            });
    Tool read = Tool.of("read", "Reads", (flow, args) -> flow.files().readText("/report"));
    model.call("write").call("read").say("Done.");

    Conversation talk = Conversation.with(desk(write, read)).say("Go");

    assertThat(seen).containsExactly("v2");
    assertThat(talk.lines()).contains("read: v2");
  }

  @Test
  void aFileThatTakesThePlaceOfOneThatWasMovedAwayHasItsOwnBytes() {
    Tool write =
        Tool.of(
            "write",
            "Writes",
            (flow, args) -> {
              flow.files().write("/a", "old");
              flow.files().move("/a", "/b");
              flow.files().write("/a", "new");
              seen.add(flow.files().readText("/a") + " " + flow.files().readText("/b"));
              return null;
            });
    Tool read =
        Tool.of(
            "read",
            "Reads",
            (flow, args) -> flow.files().readText("/a") + " " + flow.files().readText("/b"));
    model.call("write").call("read").say("Done.");

    Conversation talk = Conversation.with(desk(write, read)).say("Go");

    assertThat(seen).containsExactly("new old");
    assertThat(talk.lines()).contains("read: new old");
  }

  @Test
  void aStepOfAFlowReadsWhatAnEarlierOneWroteAndSaid() throws Exception {
    Tool tool = Tool.of("tool", "Works", (flow, args) -> "done");
    Agent desk = desk(tool);
    model.call("tool").say("Done.");
    Conversation talk =
        Conversation.with(desk).post("Go").runUntil(effect -> effect.id().equals("s1.0"));
    ThreadAccess first = access(talk, desk, "one", List.of());
    first.flow().files().write("/a", "first");
    first.flow().injectMessage(Message.assistant("Half way"));

    FlowState second = access(talk, desk, "two", first.changes()).flow();
    second.files().write("/b", "second");

    assertThat(second.files().readText("/a")).isEqualTo("first");
    assertThat(second.files().readText("/b")).isEqualTo("second");
    assertThat(second.reloadHistory())
        .extracting(Conversation::line)
        .containsExactly("user: Go", "assistant: [tool]", "assistant: Half way");
  }

  @Test
  void aStepOfAFlowWhosePersonDecidesLaterSpeaksInTheConversationAsTheAgentThatCalledTheFlow() {
    ScheduledHandler remind = ScheduledHandler.of("remind", "Reminds", (flow, args) -> {});
    Agent billing =
        Agent.aiHuman("billing", Prompt.of("billing", Scripted.saying("Billing here.").model()));
    Agent desk =
        desk(
                Tool.of("tool", "Works", (flow, args) -> "done").approval("May I?"),
                Handoff.to("billing", "Invoices").as("to_billing"))
            .effects(remind);
    model.call("tool").call("to_billing", Map.of("message", "please"));
    Conversation talk = Conversation.with(desk, billing).say("Go").say("Billing, please");

    ThreadAccess step = access(talk, new Agents(List.of(desk, billing)), "one", List.of());
    step.flow().injectMessage(Message.assistant("Half way"));
    step.flow().scheduleEffect("remind", Map.of(), Duration.ofDays(1));

    assertThat(talk.state().agent()).isEqualTo("billing");
    assertThat(step.flow().agentConfig().name()).isEqualTo("desk");
    ThreadEvent.Said said = (ThreadEvent.Said) ThreadAccess.change(step.changes().get(0));
    assertThat(said.frame()).isEqualTo(StepFrame.TOP);
    assertThat(said.message().depth()).isZero();
  }

  private static ThreadAccess access(
      Conversation talk, Agent agent, String step, List<JsonNode> before) {
    return access(talk, new Agents(List.of(agent)), step, before);
  }

  private static ThreadAccess access(
      Conversation talk, Agents agents, String step, List<JsonNode> before) {
    return ThreadAccess.of(agents, talk.state(), talk.world(), "s1.0", step, 1, before)
        .orElseThrow();
  }

  // --- the window ------------------------------------------------------------------------------

  private static final Tool LOOK = Tool.of("look", "Looks", (flow, args) -> "seen");

  private static String[] looks(int times) {
    String[] looks = new String[times];
    Arrays.fill(looks, "look");
    return looks;
  }

  @Test
  void aModelSeesTheWholeCurrentTurnHoweverManyCallsItHas() {
    model.say("Hello.").calls(looks(40)).say("Done.");
    Prompt prompt = Prompt.of("support", model.model()).tools(LOOK).parallelToolCalls().window(20);

    Conversation talk =
        Conversation.with(Agent.aiHuman("desk", prompt))
            .say("Hi")
            .post("Go")
            .runUntil(effect -> effect.id().equals("s3"));

    talk.crash().run();
    assertThat(model.lastRequest()).hasSize(42).startsWith("user: Go");
    assertThat(model.lastRequest().get(1)).startsWith("assistant: [look, look");
  }

  @Test
  void aWindowOfOneMessageShowsEveryStepOfATurnAndNothingOfTheTurnBefore() {
    model.call("look").say("First.").call("look").call("look").say("Done.");
    Prompt prompt = Prompt.of("support", model.model()).tools(LOOK).window(1);

    Conversation.with(Agent.aiHuman("desk", prompt)).say("one").say("two");

    assertThat(model.lastRequest())
        .containsExactly(
            "user: two",
            "assistant: [look]",
            "result of look: seen",
            "assistant: [look]",
            "result of look: seen");
  }

  @Test
  void theCurrentTurnIsNotKeptWhenTheNextOneHasBegun() {
    model.calls(looks(100)).always(request -> AiMessage.from("ok"));
    Prompt prompt = Prompt.of("support", model.model()).tools(LOOK).window(3);
    Conversation talk = Conversation.with(Agent.aiHuman("desk", prompt)).say("Go");

    talk.say("more");

    assertThat(talk.messages()).hasSizeLessThan(25);
  }

  // --- summaries -------------------------------------------------------------------------------

  private Conversation summing(Scripted summarizer) {
    Prompt prompt = Prompt.of("support", model.model()).tools(LOOK).parallelToolCalls().window(5);
    return Conversation.with(
        Agent.aiHuman("desk", prompt).compaction(Compaction.by(summarizer.model(), 30, 2)));
  }

  @Test
  void aSummaryReportsWhatALongStepHasPushedOutOfTheState() {
    Scripted summarizer = Scripted.saying("They counted.");
    for (int i = 1; i <= 14; i++) {
      model.say("ok " + i);
    }
    model.calls(looks(60)).say("Done.");
    Conversation talk = summing(summarizer);
    for (int i = 1; i <= 14; i++) {
      talk.say("number " + i);
    }

    talk.say("Go");

    assertThat(talk.events(ThreadEvent.Compacted.class)).hasSize(1);
    assertThat(summarizer.request(0).get(1))
        .contains("number 1\n", "ok 1\n", "number 2\n", "number 14\n");
  }

  @Test
  void whatProvidersWantBackIsKeptUpToABoundAndTheOldestGoes() {
    Tool look = Tool.of("look", "Looks.", (flow, args) -> "seen");
    for (int i = 1; i <= 8; i++) {
      AiMessage.Builder call =
          AiMessage.builder().toolExecutionRequests(List.of(model.wants("look", Map.of())));
      model.then(request -> call.thinking("x".repeat(200_000)).build());
    }
    model.say("Done.");
    Conversation talk = Conversation.with(desk(look));

    talk.say("Go").crash();

    assertThat(talk.state().history().reasoning())
        .containsOnlyKeys("m-s4", "m-s5", "m-s6", "m-s7", "m-s8");
    assertThat(talk.state().outline().history().reasoning()).isEmpty();
  }

  @Test
  void aSummaryDoesNotPartCallsFromTheirResults() {
    Scripted summarizer = Scripted.saying("They counted.");
    for (int i = 1; i <= 14; i++) {
      model.say("ok " + i);
    }
    model.calls(looks(5)).say("Done.");
    Conversation talk = summing(summarizer);
    for (int i = 1; i <= 14; i++) {
      talk.say("number " + i);
    }

    talk.say("Go");

    assertThat(model.lastRequest().get(2)).startsWith("assistant: [look");
    assertThat(model.lastRequest()).hasSize(8);
  }

  @Test
  void aStopEndsASummaryThatIsInFlight() {
    Scripted summarizer = Scripted.saying("They counted.");
    model.always(request -> AiMessage.from("ok"));
    Conversation talk = summing(summarizer);
    for (int i = 1; i <= 17; i++) {
      talk.post("number " + i).runUntil(Conversation.kind(ThreadEffect.Kind.COMPACT));
    }
    assertThat(talk.state().compacting()).isEqualTo(1);

    talk.stop().run();

    assertThat(summarizer.requests()).isEmpty();
    assertThat(talk.wanted()).isEmpty();
    assertThat(talk.say("Go on").last().content()).isEqualTo("ok");
  }

  // --- another agent ---------------------------------------------------------------------------

  @Test
  void whatAnAgentPutOffIsDoneByItAfterAHandover() {
    ScheduledHandler remind =
        ScheduledHandler.of(
            "remind",
            "Reminds",
            (flow, args) -> {
              seen.add(flow.agentConfig().name());
              flow.injectMessage(Message.assistant("Reminder"));
            });
    Tool later =
        Tool.of(
            "later",
            "Puts it off",
            (flow, args) -> flow.scheduleEffect("remind", Map.of(), Duration.ofDays(2)));
    model.calls("later", "billing");
    Scripted second = Scripted.saying("Billing here.");
    Conversation talk =
        Conversation.with(
                desk(later, Handoff.to("billing", "For bills")).effects(remind),
                Agent.aiHuman("billing", Prompt.of("bills", second.model())))
            .say("Go")
            .crash()
            .run();

    assertThat(talk.wanted())
        .extracting(effect -> talk.program().agentOf(talk.state(), effect))
        .containsExactly("desk");
    talk.pass(Duration.ofDays(3));

    assertThat(seen).containsExactly("desk");
    assertThat(talk.lines()).endsWith("assistant: Billing here.", "assistant: Reminder");
    assertThat(talk.state().effects().values())
        .extracting(ScheduledEffect::status)
        .containsExactly(ScheduledEffect.Status.COMPLETED);
  }

  @Test
  void callsThatWaitAreMadeBeforeTheThreadIsHandedOver() {
    ScheduledHandler looks =
        ScheduledHandler.of("looks", "Looks", (flow, args) -> flow.queueTool("look", Map.of()));
    Tool later =
        Tool.of(
            "later",
            "Puts it off",
            (flow, args) -> flow.scheduleEffect("looks", Map.of(), Duration.ofSeconds(1)));
    model.call("later").calls("billing");
    Scripted second = Scripted.saying("Billing here.");
    Conversation talk =
        Conversation.with(
            desk(later, LOOK, Handoff.to("billing", "For bills")).effects(looks),
            Agent.aiHuman("billing", Prompt.of("bills", second.model())));
    talk.post("Go").runUntil(effect -> effect.id().equals("s2"));
    ThreadEffect due = talk.wanted().stream().filter(ThreadEffect::timer).findFirst().orElseThrow();
    talk.accept(new ThreadInput.EffectDue(due, Objects.requireNonNull(due.due())));
    talk.perform(
        talk.ready().stream()
            .filter(Conversation.kind(ThreadEffect.Kind.DEFERRED))
            .findFirst()
            .orElseThrow());

    talk.run();

    assertThat(talk.lines())
        .endsWith(
            "assistant: [billing, look]",
            "billing: Handoff complete",
            "look: seen",
            "assistant: Billing here.");
    assertThat(talk.state().agent()).isEqualTo("billing");
  }

  // --- bounds ----------------------------------------------------------------------------------

  private Conversation doing(ScheduledHandler effect, Work work) {
    Tool tool = Tool.of("work", "Works", (flow, args) -> work.of(flow));
    model.call("work").say("Done.");
    return Conversation.with(desk(tool).effects(effect)).say("Go");
  }

  private interface Work {
    @Nullable Object of(FlowState flow) throws Exception;
  }

  private record Note(String text) {}

  private static final ScheduledHandler NOTE =
      ScheduledHandler.of("note", "Notes", Note.class, (flow, args) -> {});

  @Test
  void aThreadPutsOffAtMostSoManyEffects() {
    Conversation talk =
        doing(
            NOTE,
            flow -> {
              for (int i = 0; i < Bounds.EFFECTS; i++) {
                flow.scheduleEffect("note", new Note("n" + i), Duration.ofDays(1));
              }
              assertThatThrownBy(
                      () -> flow.scheduleEffect("note", new Note("more"), Duration.ofDays(1)))
                  .hasMessageContaining("at most " + Bounds.EFFECTS + " scheduled effects");
              flow.removeScheduledEffect(flow.scheduledEffects().get(0).id());
              return flow.scheduleEffect("note", new Note("instead"), Duration.ofDays(1));
            });

    assertThat(talk.state().effects()).hasSize(Bounds.EFFECTS);
  }

  @Test
  void theArgumentsOfEffectsThatWaitHaveABoundTogether() {
    String half = "x".repeat(Bounds.EFFECTS_ARGUMENTS / 2);

    Conversation talk =
        doing(
            NOTE,
            flow -> {
              flow.scheduleEffect("note", new Note(half), Duration.ofDays(1));
              assertThatThrownBy(
                      () -> flow.scheduleEffect("note", new Note(half), Duration.ofDays(1)))
                  .hasMessageContaining("files");
              return null;
            });

    assertThat(talk.state().effects()).hasSize(1);
  }

  @Test
  void metadataAndDataOfEventsHaveABound() {
    Map<String, String> large = Map.of("text", "x".repeat(Bounds.DATA));

    Conversation talk =
        doing(
            NOTE,
            flow -> {
              Message said = flow.injectMessage(Message.assistant("Small"));
              assertThatThrownBy(() -> flow.emitEvent("big", large)).hasMessageContaining("big");
              assertThatThrownBy(
                      () ->
                          flow.injectMessage(
                              Message.assistant("Large").withMetadata(Json.tree(large))))
                  .hasMessageContaining("metadata");
              assertThatThrownBy(
                      () ->
                          flow.updateMessage(
                              said.id(), new MessageUpdate(null, null, Json.tree(large))))
                  .hasMessageContaining("metadata");
              return null;
            });

    assertThat(talk.events(ThreadEvent.Emitted.class)).isEmpty();
    assertThat(talk.lines()).contains("assistant: Small").doesNotContain("assistant: Large");
  }

  @Test
  void dataOfAResultThatIsTooLargeIsLeftOutAndItsWordsStay() {
    JsonNode large = Json.tree(Map.of("text", "x".repeat(Bounds.DATA)));

    Conversation talk = doing(NOTE, flow -> new ToolResult(false, "found", null, large, List.of()));

    Message result = talk.messages().get(2);
    assertThat(result.content()).isEqualTo("found");
    assertThat(Objects.requireNonNull(result.metadata()).has("data")).isFalse();
    assertThat(result.metadata().has("data_left_out")).isTrue();
  }

  @Test
  void aThreadThatHasCreatedSoManyOthersCreatesNoMore() {
    for (int i = 0; i <= Bounds.CHILDREN / Bounds.CALLS; i++) {
      model.then(
          request -> {
            List<ToolExecutionRequest> all = new ArrayList<>();
            for (int n = 0; n < Bounds.CALLS; n++) {
              all.add(model.wants("worker", Map.of("message", "work")));
            }
            return AiMessage.from(all);
          });
    }

    Conversation talk =
        Conversation.with(
                desk(SubAgent.of("worker", "Works")),
                Agent.aiHuman("worker", Prompt.of("worker", model.model())))
            .say("Go");

    assertThat(talk.state().children()).hasSize(Bounds.CHILDREN);
    assertThat(talk.lines())
        .filteredOn(line -> line.startsWith("worker failed"))
        .hasSize((Bounds.CHILDREN / Bounds.CALLS + 1) * Bounds.CALLS - Bounds.CHILDREN);
  }
}
