package io.fermata.flow.replay;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.route.Condition.eq;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.flow.Driver;
import io.fermata.flow.Flow;
import io.fermata.flow.FlowBuilder;
import io.fermata.flow.Migrating;
import io.fermata.flow.action.StepException;
import io.fermata.flow.event.Verdict;
import io.fermata.flow.record.Narrative;
import io.fermata.flow.record.Redaction;
import io.fermata.flow.schema.Computed;
import io.fermata.flow.schema.Secret;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** What is said of a journal shows no secrets unless its name says so. */
class SecretReplayTest {
  private static final String CARD = "4111-1111-1111";

  record Holder(String name, @Secret String code) {}

  record Order(@Secret String card, Holder holder, @Computed String receipt) {}

  private static Flow<Order> order(String visa, String refusing) {
    return Flow.of("order", Order.class)
        .description("Sells seats.")
        .ask(
            "ask_card",
            q ->
                q.question(
                    "card",
                    "Which card?",
                    o ->
                        o.validate(
                            (String card) ->
                                card.contains(refusing)
                                    ? Verdict.reject("Not " + card + ".")
                                    : Verdict.accept())))
        .ask("ask_holder", q -> q.question("holder.name", "Who?").question("holder.code", "Code?"))
        .act("pay", run -> run.set("receipt", "paid from " + run.state().card()))
        .edge(START, "ask_card")
        .edge("ask_holder", "pay")
        .edge("pay", END)
        .decide("ask_card", d -> d.when("visa", eq("card", visa)).to("ask_holder").otherwise("pay"))
        .compile();
  }

  private static RunJournal recorded() {
    Driver run = new Driver(order(CARD, "#"));
    run.start("card", CARD);
    run.proceed("holder.name", "Ann", "holder.code", "x1");
    return RunJournal.of("order", run.journal);
  }

  private static Divergence divergence(Flow<Order> now) {
    return Objects.requireNonNull(Replay.of(now, recorded()).divergence());
  }

  @Test
  void aDivergenceSaysWhereWithoutTheValues() {
    Flow<Order> other = order("5", "#");

    assertThat(divergence(other).text())
        .contains("the run went to ask_holder", "card was " + quoted(Redaction.MARK))
        .doesNotContain(CARD);
    assertThatThrownBy(() -> Replay.of(other, recorded()).requireSame())
        .message()
        .contains("the run went to pay")
        .doesNotContain(CARD);
    assertThat(Replay.of(other, recorded()).toString()).doesNotContain(CARD);
    assertThat(divergence(other).textWithSecrets()).contains("card was " + quoted(CARD));
  }

  @Test
  void aRefusalThatQuotesAnAnswerIsRedacted() {
    Divergence refused = divergence(order(CARD, "4111"));

    assertThat(refused.text()).contains("refused", "Not [redacted].").doesNotContain(CARD);
    assertThat(refused.textWithSecrets()).contains("Not " + CARD + ".");
  }

  record Paid(@Secret String number, Holder holder) {}

  private static <S extends Record> FlowBuilder<S> paid(Class<S> state, String card, int version) {
    return Flow.of("order", state)
        .version(version)
        .description("Sells seats.")
        .ask("ask_card", q -> q.question(card, "Which card?"))
        .ask("ask_name", q -> q.question("holder.name", "Who?"))
        .edge(START, "ask_card")
        .edge("ask_card", "ask_name")
        .edge("ask_name", END);
  }

  @Test
  void aFailedTestOfARunThatCannotContinueQuotesNoSecret() {
    Driver first = new Driver(paid(Order.class, "card", 1).compile());
    first.start("card", CARD);
    Driver second = new Driver(paid(Order.class, "card", 2).migrate(1, m -> {}).compile());
    second.takeOver(first);
    second.proceed("holder.name", "Ann");
    assertThat(second.state.running()).isFalse();
    Flow<Paid> third =
        paid(Paid.class, "number", 3)
            .migrate(1, m -> {})
            .migrate(2, m -> m.field("card", "number").state(SecretReplayTest::refuse))
            .compile();

    Replay replay = Replay.of(third, RunJournal.of("order", second.journal));

    assertThatThrownBy(replay::requireSame)
        .isInstanceOf(AssertionError.class)
        .message()
        .contains("the migration from version 2 failed: nobody has [redacted]")
        .doesNotContain(CARD);
    assertThat(replay.toString()).doesNotContain(CARD);
  }

  private static void refuse(Migrating run) {
    throw new StepException("nobody has " + run.get("number", String.class));
  }

  @Test
  void theTextsOfAJournalAreRedacted() {
    RunJournal journal = recorded();
    Flow<Order> flow = order(CARD, "#");

    assertThat(journal.narrative(flow))
        .contains("the run went to ask_holder", "paid from [redacted]")
        .doesNotContain(CARD, quoted("x1"));
    assertThat(journal.why(flow, "receipt").toString())
        .contains("paid from [redacted]")
        .doesNotContain(CARD);
    assertThat(journal.picture(flow).svg())
        .contains("card = &quot;[redacted]&quot;")
        .doesNotContain("card = &quot;4111");
    Narrative published = new Narrative();
    journal.publish(flow, published);
    assertThat(published.text()).doesNotContain(CARD);
    assertThat(journal.toString()).contains("order").doesNotContain(CARD);
    assertThat(journal.entries().toString()).doesNotContain(CARD);
  }

  @Test
  void whatSaysSoShowsThem() {
    RunJournal journal = recorded();
    Flow<Order> flow = order(CARD, "#");

    assertThat(journal.narrativeWithSecrets(flow)).contains("paid from " + CARD, quoted("x1"));
    assertThat(journal.whyWithSecrets(flow, "receipt").toString()).contains("paid from " + CARD);
    assertThat(journal.pictureWithSecrets(flow).svg()).contains("card = &quot;4111");
    assertThat(journal.state().data().path("card").asText()).isEqualTo(CARD);
  }

  private static String quoted(String text) {
    return '"' + text + '"';
  }
}
