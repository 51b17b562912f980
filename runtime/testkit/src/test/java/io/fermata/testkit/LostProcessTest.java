package io.fermata.testkit;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.route.Condition.eq;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.Flow;
import io.fermata.flow.action.EffectOptions;
import io.fermata.flow.event.ErrorCode;
import io.fermata.flow.json.Json;
import io.fermata.flow.schema.Computed;
import io.fermata.persistence.Store;
import io.fermata.session.admin.Settings;
import io.fermata.session.call.ToolReply;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is left of a process that dies: the promises about runs, each on a real SQLite file. */
@Tag("slow")
class LostProcessTest {
  record Trip(String from, String to, @Computed Integer price) {}

  record Talk(String word, @Computed List<String> said) {}

  record Bill(String name, String receipt) {}

  @TempDir Path directory;

  private SessionProbe probe(Flow<?> flow) {
    return SessionProbe.of(flow, Store.sqlite(directory.resolve("test.db")));
  }

  /** Its calls wait for a second at most. */
  private SessionProbe impatient(Flow<?> flow) {
    return SessionProbe.of(
        flow,
        Store.sqlite(directory.resolve("test.db")),
        host -> host.settings(Settings.DEFAULT.callDeadline(Duration.ofSeconds(1))));
  }

  private static Flow<Trip> trip(Consumer<EffectOptions> options) {
    return Flow.of("trip", Trip.class)
        .description("Books a trip.")
        .ask("ask_from", q -> q.question("from", "Where from?"))
        .act("book", run -> run.set("price", run.attempt()), options)
        .ask("ask_to", q -> q.question("to", "Where to?"))
        .edge(START, "ask_from")
        .edge("ask_from", "book")
        .edge("book", "ask_to")
        .edge("ask_to", END)
        .result(trip -> trip)
        .compile();
  }

  /** Asks for words until one of them is bye. */
  private static Flow<Talk> talk() {
    return Flow.of("talk", Talk.class)
        .description("Talks.")
        .ask("hear", q -> q.question("word", "And?"))
        .act("note", run -> run.append("said", run.state().word()), EffectOptions::idempotent)
        .edge(START, "hear")
        .edge("hear", "note")
        .decide("note", d -> d.when("bye", eq("word", "bye")).to(END).otherwise("hear"))
        .result(Talk::said)
        .compile();
  }

  @Test
  void everyAcknowledgedAnswerIsThereAfterACrash() {
    JsonNode booked = Json.tree(new Trip("Ulm", "Bonn", 1));
    try (SessionProbe probe = probe(trip(o -> {}))) {
      probe.start("to travel").answer("from", "Ulm");
      probe.crash().stateHas("from", "Ulm");
      probe.answer("to", "Bonn").completes(result -> assertThat(result).isEqualTo(booked));
    }
  }

  @Test
  void anActionCutOffByACrashRunsAgainByItselfWithTheSameKeyAndAHigherAttempt() {
    try (SessionProbe probe = impatient(trip(o -> {})).hangAt("book", 1)) {
      probe.start("to travel").answer("from", "Ulm").fails("still_working");
      probe.crash();
      TimeTest.eventually(() -> probe.effects().size() == 2);
      TimeTest.eventually(() -> probe.status().reply().structured().has("question"));
      probe.again().asks("to");
      assertThat(probe.effects()).extracting(AskedEffect::attempt).containsExactly(1, 2);
      assertThat(probe.effects())
          .extracting(AskedEffect::key)
          .allMatch(key -> key.endsWith("/book#1"))
          .containsOnly(probe.effects().get(0).key());
    }
  }

  @Test
  void anActionThatMayRunOnlyOnceIsNotRunAgainAfterACrashUntilSomebodyDecides() {
    try (SessionProbe probe = probe(trip(EffectOptions::once)).crashAt("book", 1)) {
      probe.start("to travel").answer("from", "Ulm").fails(ErrorCode.OUTCOME_UNKNOWN);
      probe.again().fails(ErrorCode.OUTCOME_UNKNOWN);
      probe.reset("from", "Bonn").fails(ErrorCode.OUTCOME_UNKNOWN);
      assertThat(probe.effects()).hasSize(1);
      probe.meta("fermata/resolve", "skip").again().asks("to");
      assertThat(probe.effects()).hasSize(1);
    }
  }

  @Test
  void aDecisionToRetryRunsTheStepAgain() {
    try (SessionProbe probe = probe(trip(EffectOptions::once)).crashAt("book", 1)) {
      probe.start("to travel").answer("from", "Ulm").fails(ErrorCode.OUTCOME_UNKNOWN);
      probe.meta("fermata/resolve", "retry").again().asks("to");
      assertThat(probe.effects()).hasSize(2);
    }
  }

  @Test
  void aTimeoutOfAStepThatMayRunOnlyOnceLeavesItsOutcomeUnknown() {
    Flow<Trip> flow = trip(o -> o.once().timeout(Duration.ofMillis(100)));
    try (SessionProbe probe = probe(flow).hangAt("book", 1)) {
      probe.start("to travel").answer("from", "Ulm").fails(ErrorCode.OUTCOME_UNKNOWN);
    }
  }

  @Test
  void aJournaledResultIsNeverComputedAgain() {
    try (SessionProbe probe = probe(trip(o -> {}))) {
      probe.start("to travel", "from", "Ulm").crash().again().status();
      probe.crash().answer("to", "Bonn").completesWith("price", 1);
      assertThat(probe.effects()).hasSize(1);
    }
  }

  @Test
  void theResultOfAStepIsJournaledBeforeAnIdempotentStepBegins() {
    Flow<Bill> flow =
        Flow.of("bill", Bill.class)
            .description("Charges.")
            .ask("ask", q -> q.question("name", "Who?"))
            .act("charge", run -> {}, EffectOptions::once)
            .act("look", run -> {}, EffectOptions::idempotent)
            .ask("ask_receipt", q -> q.question("receipt", "Receipt?"))
            .edge(START, "ask")
            .edge("ask", "charge")
            .edge("charge", "look")
            .edge("look", "ask_receipt")
            .edge("ask_receipt", END)
            .compile();
    try (SessionProbe probe = probe(flow).crashAt("look", 1)) {
      probe.start("to pay").answer("name", "Ann").asks("receipt");
      assertThat(probe.effects())
          .extracting(AskedEffect::node)
          .containsExactly("charge", "look", "look");
    }
  }

  @Test
  void aFailedStepIsTriedAgainAsItsPolicySaysAndTheWaitSurvivesACrash() {
    Flow<Trip> flow = trip(o -> o.retry(3, Duration.ofSeconds(10)));
    try (SessionProbe probe = impatient(flow).manualTime().failAt("book", 1, 2)) {
      probe.start("to travel").answer("from", "Ulm").fails("still_working");
      assertThat(probe.effects()).hasSize(1);
      probe.crash();
      TimeTest.passTimeUntil(probe, () -> probe.effects().size() == 3);
      TimeTest.eventually(() -> probe.status().reply().structured().has("question"));
      probe.asks("to");
      assertThat(probe.effects()).extracting(AskedEffect::attempt).containsExactly(1, 2, 3);
    }
  }

  // --- calls that are sent again ----------------------------------------------------------------

  @Test
  void aCallThatIsSentAgainGetsTheRecordedReplyAndDrivesNothing() {
    try (SessionProbe probe = probe(talk())) {
      probe.start("to talk");
      ToolReply first = said(probe, "c1", "hello");
      said(probe, "c2", "world");
      assertThat(said(probe, "c1", "hello")).isEqualTo(first);
      probe.crash();
      assertThat(said(probe, "c1", "hello")).isEqualTo(first);
      said(probe, "c3", "bye");
      probe.completes(
          said -> assertThat(said).isEqualTo(Json.tree(List.of("hello", "world", "bye"))));
    }
  }

  private static ToolReply said(SessionProbe probe, String call, String word) {
    return probe.meta("fermata/callId", call).answer("word", word).reply();
  }

  @Test
  void theCallThatCompletedARunIsAnsweredAgainAfterACrash() {
    try (SessionProbe probe = probe(talk())) {
      ToolReply last = probe.start("to talk").answer("word", "bye").completes().reply();
      assertThat(probe.crash().repeat().reply()).isEqualTo(last);
      probe.again().fails(ErrorCode.RUN_COMPLETED);
    }
  }
}
