package io.fermata.agent;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.agent.message.Bounds;
import io.fermata.agent.message.Message;
import io.fermata.agent.state.ThreadEffect;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadInput;
import io.fermata.flow.event.Program;
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
}
