package io.fermata.testkit;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.route.Condition.gte;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.flow.Flow;
import io.fermata.flow.action.Action;
import io.fermata.flow.action.EffectOptions;
import io.fermata.flow.event.Input;
import io.fermata.flow.schema.Computed;
import io.fermata.persistence.Store;
import io.fermata.testkit.Orders.Order;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A script survives a kill of its host at every entry, and a defect that a kill shows is found. */
@Tag("slow")
@Tag("faults")
class CrashEverywhereTest {
  record Trip(
      String from,
      String to,
      @Computed Integer price,
      @Computed Integer seat,
      @Computed Integer hotel) {}

  private static Flow<Trip> trip(Action<Trip> book, Consumer<EffectOptions> options) {
    return Flow.of("trip", Trip.class)
        .description("Books a trip.")
        .ask("ask_from", q -> q.question("from", "Where from?"))
        .act("book", book, options)
        .ask("ask_to", q -> q.question("to", "Where to?"))
        .edge(START, "ask_from")
        .edge("ask_from", "book")
        .edge("book", "ask_to")
        .edge("ask_to", END)
        .result(t -> t)
        .compile();
  }

  private static void travels(SessionProbe probe) {
    probe.start("wants to travel").asks("from");
    probe.answer("from", "Ulm").asks("to");
    probe.answer("to", "Rome").completesWith("price", 1);
  }

  @TempDir Path directory;

  @Test
  void aScriptEndsAsWithoutACrashWhereverTheHostIsKilled() {
    Store store = Store.sqlite(directory.resolve("trips.db"));
    Map<String, Integer> attempts = new ConcurrentHashMap<>();
    Flow<Trip> trip =
        trip(
            run -> {
              attempts.merge(run.idempotencyKey(), 1, Integer::sum);
              run.set("price", 1);
            },
            o -> {});
    try (SessionProbe probe = SessionProbe.of(trip, store)) {
      probe.crashEverywhere(CrashEverywhereTest::travels);
    }
    assertThat(attempts).hasSizeGreaterThan(6);
    assertThat(attempts.values()).as("only a lost attempt is repeated").containsOnly(1, 2);
  }

  @Test
  void branchesRetriesAndSleepsSurviveAKillAnywhere() {
    Flow<Trip> trip =
        Flow.of("trip", Trip.class)
            .description("Books a trip.")
            .ask("ask_from", q -> q.question("from", "Where from?"))
            .fork("ask_from", f -> f.branch("fly").branch("sleep_well").join("wait"))
            .act(
                "fly",
                run -> {
                  if (run.attempt() == 1) {
                    throw new IllegalStateException("fog");
                  }
                  run.set("seat", 7);
                },
                o -> o.retry(5, Duration.ofSeconds(1)))
            .act("sleep_well", run -> run.set("hotel", 9), EffectOptions::idempotent)
            .sleep("wait", Duration.ofHours(1))
            .ask("ask_to", q -> q.question("to", "Where to?"))
            .edge(START, "ask_from")
            .edge("fly", "wait")
            .edge("sleep_well", "wait")
            .edge("wait", "ask_to")
            .edge("ask_to", END)
            .result(t -> t)
            .compile();
    try (SessionProbe probe = SessionProbe.of(trip).manualTime()) {
      probe.crashEverywhere(
          script -> {
            script.start("wants to travel").answer("from", "Ulm").waitsFor("time");
            script.passTime(Duration.ofHours(2)).again().asks("to");
            script.answer("to", "Rome").completesWith("seat", 7, "hotel", 9);
          });
    }
  }

  @Test
  void aScriptMayEndWithARefusalThatNamesNoRun() {
    Flow<Trip> trip = trip(run -> run.set("price", 1), o -> {});
    try (SessionProbe probe = SessionProbe.of(trip)) {
      probe.crashEverywhere(
          script -> {
            script.as("ann").start("wants to travel").asks("from");
            script.as("mallory").again().fails("unknown_run");
          });
    }
  }

  @Test
  void aStepThatGivesAnotherResultTheSecondTimeIsFound() {
    AtomicInteger sold = new AtomicInteger();
    Flow<Trip> trip = trip(run -> run.set("price", sold.incrementAndGet()), o -> {});
    try (SessionProbe probe = SessionProbe.of(trip)) {
      assertThatThrownBy(
              () ->
                  probe.crashEverywhere(
                      script -> {
                        sold.set(0);
                        script.start("wants to travel", "from", "Ulm").asks("to");
                        script.answer("to", "Rome").completes();
                      }))
          .isInstanceOf(AssertionError.class)
          .message()
          .satisfies(
              message ->
                  assertThat(message)
                      .startsWith("Killed before entry 2 was stored (")
                      .contains("book#1 wrote price = 1")
                      .contains("the script ends otherwise")
                      .contains("undisturbed  it completed with {\"from\":\"Ulm\"")
                      .contains("\"price\":1")
                      .contains("\"price\":2")
                      .contains("steps        book attempt 1, ✗ killed, book attempt 2")
                      .contains("declare it once()"));
    }
  }

  @Test
  void aSessionThatTheClientNamesIsAnotherOneInEachRunOfTheScript() {
    AtomicInteger sold = new AtomicInteger();
    Flow<Trip> trip = trip(run -> run.set("price", sold.incrementAndGet()), o -> {});
    for (String name : new String[] {"fermata/sessionId", "threadId"}) {
      try (SessionProbe probe = SessionProbe.of(trip).meta(name, "s")) {
        assertThatThrownBy(
                () ->
                    probe.crashEverywhere(
                        script -> {
                          sold.set(0);
                          script.start("wants to travel", "from", "Ulm").asks("to");
                          script.answer("to", "Rome").completes();
                        }))
            .isInstanceOf(AssertionError.class)
            .hasMessageStartingWith("Killed before entry 2 was stored (");
      }
    }
    Flow<Trip> same = trip(run -> run.set("price", 1), o -> {});
    try (SessionProbe probe = SessionProbe.of(same).meta("fermata/sessionId", "s")) {
      probe.crashEverywhere(CrashEverywhereTest::travels);
      probe.crashEverywhere(script -> script.start("wants to travel").asks("from"));
    }
  }

  @Test
  void aScriptThatBeginsNoSessionTestsNothingAndFails() {
    Flow<Trip> trip = trip(run -> run.set("price", 1), o -> {});
    try (SessionProbe probe = SessionProbe.of(trip)) {
      String session = probe.start("wants to travel").handle();
      assertThatThrownBy(() -> probe.crashEverywhere(script -> script.resume(session).again()))
          .isInstanceOf(AssertionError.class)
          .hasMessageStartingWith("Nothing was tested");
    }
  }

  record Report(String city, @Computed String text, @Computed Integer number) {}

  private static Flow<Report> report(AtomicInteger written) {
    return Flow.of("report", Report.class)
        .description("Writes a report.")
        .ask("ask", q -> q.question("city", "About which city?"))
        .act(
            "write",
            run -> {
              run.set("text", "long ".repeat(100));
              run.set("number", written.incrementAndGet());
            })
        .widget("show", w -> w.data(r -> Map.of("text", r.text(), "pages", r.number())))
        .edge(START, "ask")
        .edge("ask", "write")
        .edge("write", "show")
        .edge("show", END)
        .result(r -> r)
        .compile();
  }

  @Test
  void waitsThatFollowEachOtherEndWithinOneTimeAlsoIfTheHostIsKilledMeanwhile() {
    Flow<Trip> trip =
        Flow.of("trip", Trip.class)
            .description("Waits for a flight day after day.")
            .ask("ask_from", q -> q.question("from", "Where from?"))
            .sleep("wait", Duration.ofDays(1))
            .act("look", run -> run.set("seat", run.visit()))
            .edge(START, "ask_from")
            .edge("ask_from", "wait")
            .edge("wait", "look")
            .decide("look", d -> d.when(gte("seat", 3)).to(END).otherwise("wait"))
            .result(Trip::seat)
            .compile();
    try (SessionProbe probe = SessionProbe.of(trip).manualTime()) {
      probe.crashEverywhere(
          script -> {
            script.start("wants to travel", "from", "Ulm").waitsFor("time");
            script.passTime(Duration.ofDays(4)).again().completes();
          });
    }
  }

  @Test
  void aDifferenceAtTheEndOfALongResultIsFound() {
    AtomicInteger written = new AtomicInteger();
    try (SessionProbe probe = SessionProbe.of(report(written))) {
      assertThatThrownBy(
              () ->
                  probe.crashEverywhere(
                      script -> {
                        written.set(0);
                        script.start("reads", "city", "Ulm").shows("show");
                        script.again().completes();
                      }))
          .isInstanceOf(AssertionError.class)
          .hasMessageContaining("undisturbed  …")
          .hasMessageContaining("long \",\"number\":1}")
          .hasMessageContaining("long \",\"number\":2}");
    }
  }

  @Test
  void aDifferenceAtTheEndOfTheDataOfALongWidgetIsFound() {
    AtomicInteger written = new AtomicInteger();
    try (SessionProbe probe = SessionProbe.of(report(written))) {
      assertThatThrownBy(
              () ->
                  probe.crashEverywhere(
                      script -> {
                        written.set(0);
                        script.start("reads", "city", "Ulm").shows("show");
                      }))
          .isInstanceOf(AssertionError.class)
          .hasMessageContaining("\"pages\":1")
          .hasMessageContaining("\"pages\":2");
    }
  }

  @Test
  void aStepThatMayRunOnlyOnceNeedsAPersonsDecision() {
    AtomicInteger sold = new AtomicInteger();
    Flow<Trip> trip =
        trip(
            run -> {
              sold.incrementAndGet();
              run.set("price", 1);
            },
            EffectOptions::once);
    try (SessionProbe probe = SessionProbe.of(trip)) {
      assertThatThrownBy(() -> probe.crashEverywhere(CrashEverywhereTest::travels))
          .isInstanceOf(AssertionError.class)
          .hasMessageContaining("the script fails. Expected the run to ask for to")
          .hasMessageContaining("but it failed with outcome_unknown")
          .hasMessageContaining("whenUnknown(…)");
      sold.set(0);
      probe.whenUnknown(Input.Resolution.RETRY).crashEverywhere(CrashEverywhereTest::travels);
    }
  }

  @Test
  void anAnswerThatAStoreLosesIsFound() {
    Flow<Order> order = Orders.flow(run -> CompletableFuture.completedStage(null));
    try (SessionProbe probe = SessionProbe.of(order, ForgetfulStore.of(Store.memory()))) {
      assertThatThrownBy(
              () ->
                  probe.crashEverywhere(
                      script -> {
                        script.start("is hungry").asks("dish", "servings");
                        script.answer("dish", "soup").asks("servings");
                        script.answer("servings", 2).completes();
                      }))
          .isInstanceOf(AssertionError.class)
          .hasMessageContaining("Killed before entry")
          .hasMessageContaining("the script fails. Expected the run to complete,")
          .hasMessageContaining("but it asks dish");
    }
  }

  @Test
  void aStepThatIsPerformedAgainAfterItsResultWasStoredIsFound() {
    Flow<Trip> trip = trip(run -> run.set("price", 1), o -> {});
    try (SessionProbe probe = SessionProbe.of(trip, ForgetfulStore.of(Store.memory()))) {
      assertThatThrownBy(
              () ->
                  probe.crashEverywhere(
                      script -> {
                        script.start("wants to travel", "from", "Ulm");
                        script.again();
                        script.answer("to", "Rome");
                      }))
          .isInstanceOf(AssertionError.class)
          .hasMessageContaining("book was performed again, although entry 2 has its result.");
    }
  }

  @Test
  void anExpectationThatFailsWithoutACrashIsNotBlamedOnOne() {
    Flow<Trip> trip = trip(run -> run.set("price", 1), o -> {});
    try (SessionProbe probe = SessionProbe.of(trip)) {
      assertThatThrownBy(
              () -> probe.crashEverywhere(script -> script.start("wants to travel").asks("to")))
          .isInstanceOf(AssertionError.class)
          .hasMessageStartingWith("Expected the run to ask for to and no other field,");
      assertThat(probe.effects()).isEmpty();
      assertThat(Set.of(probe.handle())).hasSize(1);
    }
  }
}
