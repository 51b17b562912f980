package io.fermata.agent;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.agent.message.Bounds;
import io.fermata.agent.message.Message;
import io.fermata.agent.state.ThreadEffect;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadInput;
import io.fermata.flow.event.Program;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Retries of failed deliveries to other threads and flows. */
class DeliveryTest {
  private final Scripted model = new Scripted();

  private Conversation owing() {
    Conversation talk = Conversation.child(Agent.aiHuman("desk", Prompt.of("p", model.model())));
    model.say("Found.");
    return talk.post("Find").runUntil(Conversation.kind(ThreadEffect.Kind.REPORT));
  }

  private static void fails(Conversation talk, int attempt) {
    ThreadEffect report = talk.ready().get(0);
    ThreadEffect late =
        new ThreadEffect(report.kind(), report.id(), attempt, null, report.policy());
    talk.accept(
        new ThreadInput.EffectEnded(
            late, new ThreadInput.Failed("failed", "unreachable", null), talk.now()));
  }

  @Test
  void aReportIsOwedHoweverOftenTheParentCouldNotBeReached() {
    Conversation talk = owing();
    fails(talk, 100_000);
    assertThat(talk.state().reports()).hasSize(1);
    assertThat(talk.events(ThreadEvent.DeliveryFailed.class)).hasSize(1);
  }

  @Test
  void aThreadThatIsToNotifyItsParentLaterSleepsMeanwhile() {
    Conversation talk = owing();
    fails(talk, 1);
    assertThat(talk.program().next(talk.state()))
        .isInstanceOfSatisfying(
            Program.Pause.class, pause -> assertThat(pause.until()).isNotNull());
  }

  @Test
  void whatIsNamedTooLongIsRefused() {
    Conversation talk = owing();
    talk.post("k".repeat(Bounds.KEY + 1), Message.user("Hi"));
    assertThat(talk.refusal())
        .isNotNull()
        .satisfies(failure -> assertThat(failure.code()).isEqualTo("invalid_key"));
  }

  /** A child that is given two tasks. */
  private Conversation child(Participant.Speaker speaker) {
    Conversation talk = Conversation.child(Agent.of("desk", speaker, Participant.person()));
    return talk.say("Find the key").say("Find the lamp");
  }

  private Participant.Speaker speaker(Tool... tools) {
    return Participant.prompt(Prompt.of("p", model.model()).tools(tools));
  }

  @Test
  void aReportIsOfItsOwnTaskAlsoIfNothingIsSaidAboutIt() {
    Tool submit = Tool.of("submit", "Submits", (flow, args) -> "submitted");
    model.sayAndCall("The key is found.", "submit", Map.of()).call("submit");

    Conversation talk = child(speaker(submit).stopTool("submit"));

    assertThat(talk.world().reports).containsExactly("1: The key is found.", "2: stop_tool");
  }

  @Test
  void aReportHasWhatWasSaidEarlierInItsTask() {
    Tool look = Tool.of("look", "Looks", (flow, args) -> "seen");
    Tool submit = Tool.of("submit", "Submits", (flow, args) -> "submitted");
    model
        .say("No key here.")
        .sayAndCall("The lamp is found.", "look", Map.of())
        .calls("look", "submit");

    Conversation talk = child(speaker(look, submit).stopTool("submit"));

    assertThat(talk.world().reports).containsExactly("1: No key here.", "2: The lamp is found.");
  }

  @Test
  void aReportSaysWhetherTheThreadGoesOn() {
    Conversation talk = Conversation.child(Agent.aiHuman("desk", Prompt.of("p", model.model())));
    model.say("Found.").say("Found again.");
    talk.post("Find").runUntil(Conversation.kind(ThreadEffect.Kind.STEP));
    talk.post("Find more").run();

    assertThat(talk.world().reports).containsExactly("1 and works on: Found.", "2: Found again.");
  }

  @Test
  void aReportThatIsSentAgainSaysWhetherTheThreadGoesOnNow() {
    Conversation talk = owing();
    fails(talk, 1);
    model.say("Found again.");
    talk.post("Find more").runUntil(Conversation.kind(ThreadEffect.Kind.STEP));
    talk.pass(Duration.ofSeconds(10));

    assertThat(talk.world().reports).startsWith("1 and works on: Found.");
  }

  @Test
  void aThreadThatIsHeldDoesNotGoOn() {
    Agent agent = Agent.aiHuman("desk", Prompt.of("p", model.model()));
    model.say("Found.");
    Conversation talk = Conversation.child(agent).post("Find").post("Find more").stop().run();

    assertThat(talk.world().reports).hasSize(1);
    assertThat(talk.world().reports.get(0)).startsWith("1").doesNotContain("works on");
  }

  @Test
  void aReportHasTheReasonForWhichAToolStoppedTheSession() {
    Tool end =
        Tool.of(
            "end",
            "Ends",
            (flow, args) -> {
              flow.stop("the lamp is sold");
              return null;
            });
    model.say("The key is found.").call("end");

    Conversation talk = child(speaker(end));

    assertThat(talk.world().reports)
        .containsExactly("1: The key is found.", "2: state_stop_session: the lamp is sold");
  }
}
