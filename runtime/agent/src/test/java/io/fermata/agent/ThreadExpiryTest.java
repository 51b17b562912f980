package io.fermata.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.agent.engine.Outside;
import io.fermata.agent.message.Message;
import io.fermata.agent.state.ChildThread;
import io.fermata.agent.state.ThreadEffect;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadInput;
import io.fermata.flow.json.Json;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What becomes of threads in which nobody says anything. */
class ThreadExpiryTest {
  private record Nothing() {}

  private static final Duration WEEK = Duration.ofDays(7);
  private static final Duration MOMENT = Duration.ofSeconds(1);

  private final Scripted model = new Scripted();

  private Agent desk(Offered... tools) {
    return Agent.aiHuman("desk", Prompt.of("support", model.model()).tools(tools));
  }

  private Conversation talk(Offered... tools) {
    return Conversation.with(desk(tools).expireAfter(WEEK));
  }

  private static boolean expires(Conversation talk, Duration time) {
    assertThat(talk.state().deleted()).isFalse();
    return talk.pass(time).state().deleted();
  }

  @Test
  void aThreadIsDeletedWhenNobodyHasSaidAnythingForSoLong() {
    model.say("Hello.").say("Still here.");
    Conversation talk = talk().say("Hi");

    assertThat(expires(talk, WEEK.minusDays(1))).isFalse();
    talk.say("Are you there?");
    assertThat(expires(talk.crash(), WEEK.minusDays(1))).isFalse();
    assertThat(expires(talk.crash(), Duration.ofDays(1).plus(MOMENT))).isTrue();
    assertThat(talk.events(ThreadEvent.Deleted.class)).hasSize(1);
  }

  @Test
  void soIsOneInWhichNobodyHasEverSaidAnything() {
    Conversation talk = talk();

    assertThat(expires(talk, WEEK.minusDays(1))).isFalse();
    assertThat(expires(talk, Duration.ofDays(1))).isTrue();
  }

  @Test
  void unlessItsAgentSaysSoAThreadIsKept() {
    model.say("Hello.");
    Conversation talk = Conversation.with(desk()).say("Hi");

    assertThat(talk.wanted()).isEmpty();
    assertThat(expires(talk, Duration.ofDays(10_000))).isFalse();
  }

  @Test
  void aTimerThatAMessageOvertookDeletesNothing() {
    model.say("Hello.").say("Hello again.");
    Conversation talk = talk().say("Hi");
    ThreadEffect timer = talk.wanted().get(0);

    talk.pass(WEEK.minus(MOMENT)).say("Hi again");
    talk.accept(new ThreadInput.EffectDue(timer, talk.now()));

    assertThat(talk.state().deleted()).isFalse();
    assertThat(timer.backgroundTimer()).isTrue();
  }

  @Test
  void aQuestionThatNobodyAnswersDoesNotKeepAThread() {
    FlowTool quote = CalledFlow.of("quote", "Quotes");
    model.call("quote");
    Conversation talk = talk(quote);
    talk.world().flow = args -> new Outside.FlowOutcome.Asking(Json.object().put("field", "email"));
    talk.say("Go");

    assertThat(expires(talk, WEEK.plus(MOMENT))).isTrue();
    talk.perform(talk.ready().get(0));
    assertThat(talk.world().withdrawn).containsExactly("quote s1.0");
  }

  @Test
  void aFlowThatWorksOrWaitsKeepsAThread() {
    FlowTool quote = CalledFlow.of("quote", "Quotes");
    for (Outside.FlowOutcome outcome :
        List.of(
            new Outside.FlowOutcome.Waiting("for signal x", null),
            new Outside.FlowOutcome.Unfinished(true))) {
      model.call("quote").say("It is 30.");
      Conversation talk = talk(quote);
      talk.world().flow = args -> outcome;
      talk.say("Go");

      assertThat(expires(talk, WEEK.plusDays(1))).isFalse();
      talk.replace(desk().expireAfter(WEEK)).crash();
      assertThat(expires(talk, WEEK.plusDays(1))).as("its tool is missing").isFalse();
      talk.world().flow = args -> World.result("30");
      talk.replace(desk(quote).expireAfter(WEEK)).crash();
      assertThat(expires(talk, MOMENT)).as("it has just answered").isFalse();
      assertThat(expires(talk, WEEK)).isTrue();
    }
  }

  @Test
  void scheduledWorkKeepsAThread() {
    Tool plans =
        Tool.of(
            "plans",
            "Plans",
            (flow, args) -> flow.scheduleEffect("remind", Map.of(), WEEK.multipliedBy(2)));
    ScheduledHandler remind =
        ScheduledHandler.of(
            "remind",
            "Reminds.",
            Nothing.class,
            (flow, args) -> flow.injectMessage(Message.assistant("Has it come?")));
    model.call("plans").say("Done.");
    Agent agent = desk(plans).expireAfter(WEEK);
    Conversation talk = Conversation.with(agent.effects(remind)).say("Go");

    assertThat(expires(talk, WEEK.plusDays(1))).isFalse();
    talk.replace(agent).crash();
    assertThat(expires(talk, WEEK.plusDays(1))).as("its handler is missing").isFalse();
    talk.replace(agent.effects(remind)).crash();
    assertThat(expires(talk, MOMENT)).as("just reminded").isFalse();
    assertThat(expires(talk, WEEK)).isTrue();
  }

  @Test
  void aChildGoesWithItsParentAndAParentWaitsForItsWork() {
    Conversation child = Conversation.child(desk().expireAfter(WEEK));
    assertThat(expires(child, WEEK.plus(MOMENT))).isFalse();

    model.call("worker", Map.of("message", "dig")).say("Begun.").say("It is dug.");
    Conversation talk = digging(SubAgent.of("worker", "Works"));
    assertThat(expires(talk, WEEK.plus(MOMENT))).isFalse();

    talk.report("child-s1.0", 1, false, "a hole").run();
    assertThat(expires(talk, WEEK.minus(MOMENT))).isFalse();
    assertThat(expires(talk, MOMENT.plus(MOMENT))).isTrue();
  }

  @Test
  void aParentWaitsForAChildThatWaits() {
    model.call("worker", Map.of("message", "dig")).say("It waits.").say("It is dug.");
    Conversation talk = digging(SubAgent.of("worker", "Works").asBlocking()).say("Patience?");
    talk.accept(
            new ThreadInput.ChildStatusChanged(
                "child-s1.0", 1, ChildThread.Status.WAITING, talk.now()))
        .run();

    requireToWaitForTheSecondReport(talk);
  }

  /** A parent whose model is scripted to let its worker dig, and is asked to. */
  private Conversation digging(SubAgent works) {
    Agent worker = Agent.aiHuman("worker", Prompt.of("work", model.model()));
    return Conversation.with(desk(works).expireAfter(WEEK), worker).say("Go");
  }

  private static void requireToWaitForTheSecondReport(Conversation talk) {
    assertThat(expires(talk, WEEK.plus(MOMENT))).isFalse();
    talk.report("child-s1.0", 2, false, "a deeper hole").run();
    assertThat(expires(talk, WEEK.plus(MOMENT))).isTrue();
  }

  @Test
  void aParentWaitsForTheSecondWorkOfAChildToo() {
    model
        .call("worker", Map.of("message", "dig"))
        .call("worker", Map.of("message", "deeper", "reference", "child-s1.0"))
        .say("It is dug.");
    Conversation talk = digging(SubAgent.of("worker", "Works").asBlocking());
    talk.report("child-s1.0", 1, false, "a hole").run();

    requireToWaitForTheSecondReport(talk);
  }

  private void scriptSecondWork() {
    model
        .call("worker", Map.of("message", "dig"))
        .say("Begun.")
        .call("worker", Map.of("message", "deeper", "reference", "child-s1.0"))
        .say("Begun again.")
        .say("It is dug.");
  }

  @Test
  void aParentWaitsForTheSecondWorkOfAChildThatNoCallWaitsFor() {
    scriptSecondWork();
    Conversation talk = digging(SubAgent.of("worker", "Works"));
    talk.report("child-s1.0", 1, false, "a hole").run().crash();

    requireToWaitForTheSecondReport(talk);
  }

  @Test
  void aParentWaitsForTheWorkThatAChildWasGivenBeforeItsReport() {
    scriptSecondWork();
    model.say("It is deep.");
    Conversation talk = digging(SubAgent.of("worker", "Works"));
    talk.say("Deeper").reportAndGoOn("child-s1.0", 1, false, "a hole").run().crash();

    requireToWaitForTheSecondReport(talk);
  }

  @Test
  void aTimeThatCannotPassIsRefused() {
    for (Duration time : List.of(Duration.ZERO, Duration.ofSeconds(-1))) {
      assertThatThrownBy(() -> desk().expireAfter(time))
          .isInstanceOf(InvalidAgentException.class)
          .hasMessageContaining("expire after " + time + "; give it a time that can pass")
          .asString()
          .containsOnlyOnce("expire after");
    }
  }

  @Test
  void aTimeThatAJournalCannotCountIsRefused() {
    Duration millis = Duration.ofMillis(Long.MAX_VALUE);
    Duration forever = ChronoUnit.FOREVER.getDuration();
    Tool patient =
        Tool.of("look", "Looks", (flow, args) -> "seen").timeout(millis).retry(2, forever);
    ScheduledHandler later =
        ScheduledHandler.of("later", "Later", (flow, args) -> {}).timeout(forever);

    assertThatThrownBy(() -> desk().expireAfter(millis))
        .isInstanceOf(InvalidAgentException.class)
        .hasMessageContaining("expire after " + millis + "; give it at most 365000 days");
    assertThatThrownBy(() -> desk(patient))
        .hasMessageContaining("look has the timeout " + millis + "; give it at most 365000 days")
        .hasMessageContaining("look is tried again after " + forever);
    assertThatThrownBy(() -> desk().effects(later))
        .hasMessageContaining("the effect later has the timeout " + forever);
    assertThat(desk().expireAfter(Duration.ofDays(365_000)).expiry()).isNotNull();
  }
}
