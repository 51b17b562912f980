package io.fermata.flow.replay;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.route.Condition.gt;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.flow.Driver;
import io.fermata.flow.Flow;
import io.fermata.flow.FlowBuilder;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Verdict;
import io.fermata.flow.schema.Computed;
import io.fermata.flow.schema.Describe;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** A journal is compared with the present code of its flow, without its effects. */
class ReplayedTest {
  record Order(
      @Describe("Seats") Integer seats,
      @Describe("Email") String email,
      @Computed Integer price,
      @Computed String plan) {}

  private final List<String> charged = new ArrayList<>();

  private Flow<Order> order(int version, int large, String refusing) {
    FlowBuilder<Order> flow =
        Flow.of("order", Order.class).version(version).description("Sells seats.");
    if (version > 1) {
      flow.migrate(1, m -> {});
    }
    return flow.ask("ask_seats", q -> q.question("seats", "How many seats?"))
        .act("team", run -> charge(run.idempotencyKey()))
        .act("enterprise", run -> charge(run.idempotencyKey()))
        .ask(
            "ask_email",
            q ->
                q.question(
                    "email",
                    "Your email?",
                    o ->
                        o.validate(
                            (String mail) ->
                                mail.contains(refusing)
                                    ? Verdict.reject("No such address.")
                                    : Verdict.accept())))
        .edge(START, "ask_seats")
        .decide(
            "ask_seats",
            d -> d.when("large", gt("seats", large)).to("enterprise").otherwise("team"))
        .edge("team", "ask_email")
        .edge("enterprise", "ask_email")
        .edge("ask_email", END)
        .compile();
  }

  private void charge(String key) {
    charged.add(key);
  }

  private RunJournal recorded() {
    Driver run = new Driver(order(2, 6, "#"));
    run.start("seats", 7);
    run.proceed("email", "ann@acme.com");
    assertThat(charged).hasSize(1);
    return journal(run);
  }

  private static RunJournal journal(Driver run) {
    return RunJournal.of(
        "order",
        "run-1",
        run.entries.stream()
            .map(e -> new RunJournal.Entry(e.seq(), e.at(), "caller", "ann", e.events()))
            .toList());
  }

  /** Decided as a whole, which is what it is when its entries pass. */
  private static Replay replayed(Flow<?> flow, RunJournal journal) {
    Replay replay = Replay.of(flow, journal);
    RunReplayer passing = new RunReplayer(flow);
    journal.entries().forEach(passing::decide);
    assertThat(passing.same()).isEqualTo(replay.same());
    assertThat(passing.state()).isEqualTo(journal.state());
    return replay;
  }

  private static Divergence divergence(Replay replay) {
    return Objects.requireNonNull(replay.divergence());
  }

  @Test
  void unchangedCodeDecidesTheSameAndPerformsNothing() {
    Replay replay = replayed(order(2, 6, "#"), recorded()).requireSame();

    assertThat(replay.decided()).isEqualTo(3);
    assertThat(charged).hasSize(1);
  }

  @Test
  void aChangedConditionIsNamedWithWhatItSawThenAndNow() {
    Replay replay = replayed(order(2, 10, "#"), recorded());

    assertThatThrownBy(replay::requireSame)
        .isInstanceOf(AssertionError.class)
        .hasMessage(
            """
            The present code of order version 2 decides entry 1 (caller ann, 1970-01-01T00:00:01.001Z) otherwise than it was recorded.
            Recorded: After ask_seats the run went to enterprise, because "large" (seats was 7, above 6).
            Now:      After ask_seats the run went to team, because no rule held: "large" (seats was 7, not above 10).""");
    assertThat(divergence(replay).before().data().path("seats").asInt()).isEqualTo(7);
  }

  @Test
  void aChangedValidatorIsNamed() {
    assertThat(divergence(replayed(order(2, 6, "acme"), recorded())).text())
        .contains(
            "entry 3", "Now:      email = \"ann@acme.com\" was refused: \"No such address.\"");
  }

  @Test
  void anAnswerThatTheSchemaRefusesNowIsNamed() {
    record Other(String email) {}
    Flow<Other> other =
        Flow.of("order", Other.class)
            .description("Sells nothing.")
            .ask("ask_email", q -> q.question("email", "Your email?"))
            .edge(START, "ask_email")
            .edge("ask_email", END)
            .compile();
    Divergence divergence = divergence(replayed(other, recorded()));

    assertThat(Objects.requireNonNull(divergence.refused()).code()).isEqualTo("invalid_updates");
    assertThat(divergence.text()).contains("Now:      refused, invalid_updates", "seats");
  }

  @Test
  void aRunThatWasCarriedOverIsComparedFromItsMigrationOn() {
    Driver older = new Driver(order(1, 3, "#"));
    older.start("seats", 5);
    Driver newer = new Driver(order(2, 6, "#"));
    newer.takeOver(older);
    newer.proceed("email", "ann@acme.com");

    assertThat(replayed(order(2, 6, "#"), journal(newer)).requireSame().decided()).isEqualTo(2);
    assertThat(replayed(order(1, 3, "#"), journal(newer)).requireSame().decided()).isEqualTo(2);
  }

  @Test
  void aJournalWithoutEntriesIsNoProof() {
    RunJournal empty = new RunJournal("order", "run-1", List.of());
    assertThatThrownBy(() -> replayed(order(2, 6, "#"), empty).requireSame())
        .hasMessageContaining("Nothing of run run-1 was decided again");
  }

  @Test
  void aJournalShowsItsRunAtEveryEntry() {
    RunJournal journal = recorded();
    Flow<Order> flow = order(2, 6, "#");

    assertThat(journal.upTo(1).state().places().keySet())
        .extracting(place -> place.node())
        .containsExactly("enterprise");
    assertThat(journal.state().running()).isFalse();
    assertThat(journal.narrative(flow)).contains("After ask_seats the run went to enterprise");
    assertThat(journal.why(flow, "seats").toString()).contains("7");
    assertThat(journal.picture(flow).svg()).contains("<svg");
  }

  @Test
  void aRunIsFoundAmongOthersOfItsSession() {
    Driver run = new Driver(order(2, 6, "#"));
    run.start("seats", 1);
    run.start("seats", 9);
    run.proceed("email", "a@b.c");
    List<RunJournal.Entry> session =
        run.entries.stream()
            .map(e -> new RunJournal.Entry(e.seq(), e.at(), "caller", "ann", e.events()))
            .toList();

    RunJournal first = RunJournal.of("order", "run-1", session);
    RunJournal second = RunJournal.of("order", "run-2", session);

    assertThat(first.events()).last().isInstanceOf(Event.Abandoned.class);
    assertThat(second.events()).first().isInstanceOf(Event.Started.class);
    assertThatCode(() -> replayed(order(2, 6, "#"), first).requireSame())
        .doesNotThrowAnyException();
    assertThatCode(() -> replayed(order(2, 6, "#"), second).requireSame())
        .doesNotThrowAnyException();
  }
}
