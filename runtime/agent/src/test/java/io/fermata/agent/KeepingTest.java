package io.fermata.agent;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.langchain4j.data.message.AiMessage;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** What a thread keeps, and for how long it is at hand. */
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
    Loan first = loan(talk, desk, "one", List.of());
    first.flow().files().write("/a", "first");
    first.flow().injectMessage(Message.assistant("Half way"));

    FlowState second = loan(talk, desk, "two", first.changes()).flow();
    second.files().write("/b", "second");

    assertThat(second.files().readText("/a")).isEqualTo("first");
    assertThat(second.files().readText("/b")).isEqualTo("second");
    assertThat(second.reloadHistory())
        .extracting(Conversation::line)
        .containsExactly("user: Go", "assistant: [tool]", "assistant: Half way");
  }

  private static Loan loan(Conversation talk, Agent agent, String step, List<JsonNode> before) {
    return Loan.of(new Agents(List.of(agent)), talk.state(), talk.world(), "s1.0", step, 1, before)
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
  void aModelSeesTheWholeTurnUnderWayHoweverManyCallsItHas() {
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
  void theTurnUnderWayIsNotKeptWhenTheNextOneHasBegun() {
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
  void aSummaryTellsWhatALongStepHasPushedOutOfTheState() {
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

    assertThat(model.lastRequest().get(1)).startsWith("assistant: [look");
    assertThat(model.lastRequest()).hasSize(7);
  }

  @Test
  void aStopEndsASummaryThatIsUnderWay() {
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
    Deferred remind =
        Deferred.of(
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

    talk.pass(Duration.ofDays(3));

    assertThat(seen).containsExactly("desk");
    assertThat(talk.lines()).endsWith("assistant: Billing here.", "assistant: Reminder");
    assertThat(talk.state().effects().values())
        .extracting(ScheduledEffect::status)
        .containsExactly(ScheduledEffect.Status.COMPLETED);
  }

  @Test
  void callsThatWaitAreMadeBeforeTheThreadIsHandedOver() {
    Deferred looks =
        Deferred.of("looks", "Looks", (flow, args) -> flow.queueTool("look", Map.of()));
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
}
