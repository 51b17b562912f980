package io.fermata.flow.json;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.Flows.talk;
import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.flow.Driver;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.event.Program;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.Verdict;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** A journal is enough: folding it gives the state, and asks no author's code. */
class ReplayTest {
  private boolean forbidden;
  private int called;

  private <T> T own(T value) {
    assertThat(forbidden).as("an author's code runs").isFalse();
    called++;
    return value;
  }

  private Driver driver() {
    return new Driver(
        talk()
            .ask(
                "ask",
                q ->
                    q.question(
                            "a",
                            s -> own("a?"),
                            o ->
                                o.suggest(s -> own(List.of("x")))
                                    .context(s -> own("hint"))
                                    .validate((String a) -> own(Verdict.accept(a + "!"))))
                        .question(
                            "b",
                            "b?",
                            o ->
                                o.validateAsync(
                                    (String b) ->
                                        CompletableFuture.completedStage(
                                            own(
                                                b.equals("bad")
                                                    ? Verdict.reject("Bad.")
                                                    : Verdict.accept().set("computed", b)))))
                        .context(s -> own("context")))
            .act("act", run -> run.append("log", own("acted")).set("number", 5L))
            .widget("show", w -> w.data(s -> own(Map.of("n", 1.50))).field("c"))
            .edge(START, "ask")
            .edge("ask", "act")
            .edge("act", "show")
            .decide(
                "show",
                d ->
                    d.when("again", s -> own("again".equals(s.get("c", String.class))))
                        .to("ask")
                        .otherwise(END))
            .result(s -> own(s))
            .compile());
  }

  private static Driver talked(Driver talk) {
    talk.start("a", "x");
    talk.proceed("b", "bad");
    talk.proceed("b", "good");
    talk.proceed("c", "again");
    talk.proceed("a", "y", "b", "z");
    talk.reset("b", "w");
    talk.proceed("c", "over");
    return talk;
  }

  @Test
  void foldingTheJournalGivesTheLiveStateAndCallsNoCodeOfTheAuthor() {
    Driver talk = talked(driver());
    assertThat(talk.state.status()).isEqualTo(RunState.Status.COMPLETED);
    assertThat(called).isPositive();
    forbidden = true;
    assertThat(Driver.fold(talk.journal)).isEqualTo(talk.state);
  }

  @Test
  void theJournalUpToAPauseShowsWhatIsAskedWithoutTheAuthorsCode() {
    Driver talk = driver();
    talk.start("a", "x");
    List<Integer> ends = new ArrayList<>(List.of(talk.journal.size()));
    talk.proceed("b", "good");
    ends.add(talk.journal.size());
    forbidden = true;
    for (int end : ends) {
      RunState state = Driver.fold(talk.journal.subList(0, end));
      assertThat(talk.program.next(state)).isInstanceOf(Program.Pause.class);
      assertThat(talk.program.open(state)).isNotNull();
    }
  }

  @Test
  void aJournalThatWasStoredGivesTheSameStateAsTheLiveOne() throws Exception {
    Driver talk = talked(driver());
    List<Event> stored = new ArrayList<>();
    for (Event event : talk.journal) {
      stored.add(Json.MAPPER.readValue(Json.MAPPER.writeValueAsString(event), Event.class));
    }
    assertThat(stored).isEqualTo(talk.journal);
    assertThat(Driver.fold(stored)).isEqualTo(talk.state);
  }

  @Test
  void aRecoveredPauseShowsTheSameQuestionWithoutBuildingItAgain() {
    Driver talk = driver();
    Outcome pause = talk.start("a", "x");
    forbidden = true;
    talk.crash(talk.journal.size());
    talk.recover();
    assertThat(talk.settle()).isEqualTo(pause);
    assertThat(talk.proceed()).isEqualTo(pause);
  }
}
