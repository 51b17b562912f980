package io.fermata.flow.event;

import static io.fermata.flow.Driver.code;
import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.Flows.ask;
import static io.fermata.flow.Flows.drive;
import static io.fermata.flow.Flows.talk;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.flow.Driver;
import io.fermata.flow.action.StepException;
import io.fermata.flow.json.Json;
import io.fermata.flow.observe.AttachedRecorder;
import io.fermata.flow.observe.Occurrence;
import io.fermata.flow.observe.Recorder;
import io.fermata.flow.record.RunObserver;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** The tags that steps give their run. */
class TagTest {

  @Test
  void aTagIsJournaledWithTheStepAndStaysUntilItIsTakenAway() {
    Driver talk =
        drive(
            ask(
                talk()
                    .act("mark", run -> run.tag("vip").tag("new").tag("vip"))
                    .act("unmark", run -> run.untag("new")),
                "a"),
            "mark",
            "ask_a",
            "unmark");
    talk.start();
    assertThat(talk.state.tags()).containsExactly("vip", "new");
    assertThat(talk.events(Event.Tagged.class).get(0).added()).containsExactly("vip", "new");
    talk.proceed("a", "x");
    assertThat(talk.state.tags()).containsExactly("vip");
  }

  @Test
  void aStepSeesTheTagsOfTheRunAndItsOwn() {
    List<String> seen = new ArrayList<>();
    Driver talk =
        drive(
            talk()
                .act("mark", run -> run.tag("vip"))
                .act("look", run -> seen.addAll(run.tag("late").untag("vip").tags())),
            "mark",
            "look");
    talk.start();
    assertThat(seen).containsExactly("late");
  }

  @Test
  void aStepThatFailsTagsNothing() {
    Driver talk =
        drive(
            talk()
                .act(
                    "mark",
                    run -> {
                      run.tag("vip");
                      throw new StepException("No.");
                    }),
            "mark");
    assertThat(code(talk.start())).isEqualTo("step_failed");
    assertThat(talk.state.tags()).isEmpty();
    assertThat(talk.events(Event.Tagged.class)).isEmpty();
  }

  @Test
  void aTagStaysWhenAnswersAreCorrected() {
    Driver talk =
        drive(
            ask(ask(talk(), "a").act("mark", run -> run.tag("vip")), "b"),
            "ask_a",
            "mark",
            "ask_b");
    talk.start();
    talk.proceed("a", "x");
    talk.reset("a", "y");
    assertThat(talk.state.tags()).containsExactly("vip");
  }

  @Test
  void anotherRunInTheSessionBeginsWithoutTags() {
    Driver talk =
        drive(
            ask(talk(), "a")
                .act(
                    "mark",
                    run -> {
                      if (run.intent().isEmpty()) {
                        run.tag("never");
                      }
                      run.tag("vip");
                    }),
            "mark",
            "ask_a");
    talk.start();
    assertThat(talk.state.tags()).containsExactly("vip");
    talk.feed(new Input.Start("another", "i", Json.object(), talk.now));
    assertThat(talk.state.tags()).isEmpty();
  }

  @Test
  void whatIsNoTagIsRefusedInWordsThatHelp() {
    for (String bad : List.of("", " ", " vip", "v\nip", "x".repeat(Tagging.LENGTH + 1))) {
      assertThatThrownBy(() -> Tagging.NONE.add(bad))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("is no tag")
          .hasMessageContaining("64");
    }
  }

  @Test
  void aRunHasSoManyTagsAndNoMore() {
    Driver talk =
        drive(
            talk()
                .act(
                    "mark",
                    run -> IntStream.rangeClosed(0, Tagging.MOST).forEach(i -> run.tag("t" + i))),
            "mark");
    assertThat(code(talk.start())).isEqualTo("step_failed");
    assertThat(talk.state.tags()).isEmpty();
  }

  @Test
  void branchesThatTagTooMuchTogetherStopTheLater() {
    Driver talk =
        new Driver(
            talk()
                .act("one", run -> IntStream.range(0, 10).forEach(i -> run.tag("one" + i)))
                .act("two", run -> IntStream.range(0, 10).forEach(i -> run.tag("two" + i)))
                .act("join", run -> {})
                .fork(START, f -> f.branch("one").branch("two").join("join"))
                .edge("one", "join")
                .edge("two", "join")
                .edge("join", END)
                .compile());
    assertThat(code(talk.start())).isEqualTo("step_failed");
    assertThat(talk.state.tags()).hasSize(10);
  }

  @Test
  void recordersReceiveTags() {
    Driver talk = drive(ask(talk(), "a").act("mark", run -> run.tag("vip")), "mark", "ask_a");
    talk.start();
    List<Event.Tagged> observed = new ArrayList<>();
    Recorder recorder =
        new Recorder() {
          @Override
          public void onTag(Occurrence at, Event.Tagged event) {
            observed.add(event);
          }
        };
    RunObserver.from(
            RunState.NONE, talk.program.flow(), "s", List.of(AttachedRecorder.everywhere(recorder)))
        .record(1, 1, talk.journal);
    assertThat(observed).singleElement().extracting(Event.Tagged::added).isEqualTo(List.of("vip"));
  }
}
