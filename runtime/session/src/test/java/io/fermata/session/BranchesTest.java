package io.fermata.session;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.session.TestHost.code;
import static io.fermata.session.TestHost.field;
import static io.fermata.session.TestHost.got;
import static io.fermata.session.TestHost.status;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Flow;
import io.fermata.flow.FlowBuilder;
import io.fermata.flow.action.EffectOptions;
import io.fermata.flow.action.StepException;
import io.fermata.flow.event.Event;
import io.fermata.flow.json.Json;
import io.fermata.flow.replay.JournalEntry;
import io.fermata.flow.route.Reducer;
import io.fermata.flow.schema.Computed;
import io.fermata.persistence.Store;
import io.fermata.session.admin.Retention;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolProgress;
import io.fermata.session.call.ToolReply;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Branches of a run, its sub-flows and its compensations, on a real host that is lost meanwhile.
 */
@Tag("slow")
class BranchesTest {
  private static final Retention KEPT = Retention.ofJournals(Duration.ofDays(1));

  record Trip(String flight, String hotel, @Computed List<String> log) {}

  record Driver(String name, @Computed String licence) {}

  @TempDir Path directory;
  private final List<String> done = new CopyOnWriteArrayList<>();

  private Store store() {
    return Store.sqlite(directory.resolve("branches.db"));
  }

  private FlowBuilder<Trip> trip() {
    return Flow.of("trip", Trip.class)
        .description("Books a trip.")
        .reduce("log", Reducer.append())
        .act("plan", this::log)
        .act("book", this::log)
        .edge(START, "plan")
        .edge("book", END)
        .result(t -> t);
  }

  private void log(io.fermata.flow.action.Run<Trip> run) {
    done.add(run.idempotencyKey());
    run.append("log", "did");
  }

  private Flow<Trip> asking() {
    return trip()
        .ask("ask_flight", q -> q.question("flight", "Which flight?"))
        .ask("ask_hotel", q -> q.question("hotel", "Which hotel?"))
        .act("hold", this::log)
        .fork("plan", f -> f.branch("ask_flight").branch("ask_hotel").join("book"))
        .edge("ask_flight", "hold")
        .edge("hold", "book")
        .edge("ask_hotel", "book")
        .compile();
  }

  @Test
  void questionsOfSeveralBranchesAreAskedTogetherAndAnsweredInAnyOrderOverARestart() {
    try (TestHost host = new TestHost(store(), asking())) {
      TestHost.Client client = host.client();
      ToolReply reply = client.start();
      assertThat(reply.structured().path("questions").findValuesAsText("field"))
          .containsExactly("flight", "hotel");
      assertThat(field(client.proceed("hotel", "Ritz"))).isEqualTo("flight");
      host.crash();
      assertThat(field(client.proceed())).isEqualTo("flight");
      ToolReply end = client.proceed("flight", "LH1");
      assertThat(end.structured().at("/result/log")).hasSize(3);
      assertThat(done).doesNotHaveDuplicates().hasSize(3);
    }
  }

  @Test
  void anAnswerIsTakenWhileAnotherBranchIsAtWork() throws Exception {
    CountDownLatch release = new CountDownLatch(1);
    Flow<Trip> flow =
        trip()
            .ask("ask_flight", q -> q.question("flight", "Which flight?"))
            .act(
                "search",
                run -> {
                  release.await();
                  run.append("log", "found");
                })
            .fork("plan", f -> f.branch("ask_flight").branch("search").join("book"))
            .edge("ask_flight", "book")
            .edge("search", "book")
            .compile();
    try (TestHost host = new TestHost(store(), s -> s.callDeadline(Duration.ofMillis(300)), flow)) {
      TestHost.Client client = host.client();
      assertThat(code(client.start())).isEqualTo("still_working");
      // What can be answered meanwhile; a slow host may not be there yet when the deadline passes.
      TestHost.eventually(() -> field(client.proceed()).equals("flight"));
      ToolReply answered = client.proceed("flight", "LH1");
      assertThat(code(answered)).isEqualTo("still_working");
      release.countDown();
      ToolReply end = client.outcome(client.proceed());
      assertThat(status(end)).isEqualTo("complete");
      assertThat(end.structured().at("/result/flight").asText()).isEqualTo("LH1");
    }
  }

  @Test
  void anAnswerIsTakenAtOnceWhileIdempotentStepsFollowEachOtherUnjournaled() throws Exception {
    CountDownLatch searched = new CountDownLatch(1);
    CountDownLatch compares = new CountDownLatch(1);
    CountDownLatch compared = new CountDownLatch(1);
    Flow<Trip> flow =
        trip()
            .ask("ask_flight", q -> q.question("flight", "Which flight?"))
            .act("search", run -> searched.await(), EffectOptions::idempotent)
            .act(
                "compare",
                run -> {
                  compares.countDown();
                  compared.await();
                },
                EffectOptions::idempotent)
            .fork("plan", f -> f.branch("ask_flight").branch("search").join("book"))
            .edge("ask_flight", "book")
            .edge("search", "compare")
            .edge("compare", "book")
            .compile();
    try (TestHost host = new TestHost(store(), s -> s.callDeadline(Duration.ofMillis(500)), flow)) {
      TestHost.Client client = host.client();
      client.start();
      TestHost.eventually(() -> field(client.proceed()).equals("flight"));
      searched.countDown();
      assertThat(compares.await(30, TimeUnit.SECONDS)).isTrue();
      assertThat(code(client.proceed("flight", "LH1"))).isEqualTo("still_working");
      compared.countDown();
      ToolReply end = client.outcome(client.proceed());
      assertThat(status(end)).isEqualTo("complete");
      assertThat(end.structured().at("/result/flight").asText()).isEqualTo("LH1");
    }
  }

  /** Asks for a flight while something else happens. */
  private Flow<Trip> beside(UnaryOperator<FlowBuilder<Trip>> search) {
    return search
        .apply(trip().ask("ask_flight", q -> q.question("flight", "Which flight?")))
        .fork("plan", f -> f.branch("ask_flight").branch("search").join("book"))
        .edge("ask_flight", "book")
        .edge("search", "book")
        .compile();
  }

  @Test
  void theStatusReportsAFailureAndTheQuestionsOfOtherBranchesAsTheCallDid() {
    Flow<Trip> flow =
        beside(
            trip ->
                trip.act(
                    "search",
                    run -> {
                      throw new StepException("No hotel is free.");
                    }));
    try (TestHost host = new TestHost(store(), flow)) {
      TestHost.Client client = host.client();
      ToolReply failed = client.start();
      ToolReply status = client.status();
      for (ToolReply reply : List.of(failed, status)) {
        assertThat(code(reply)).isEqualTo("step_failed");
        assertThat(reply.structured().path("error").asText()).contains("No hotel is free.");
        assertThat(field(reply)).isEqualTo("flight");
      }
    }
  }

  @Test
  void anAnswerIsTakenWhileTheOutcomeOfAnotherBranchIsUnknown() {
    Flow<Trip> flow =
        beside(
            trip ->
                trip.actAsync(
                    "search",
                    run -> new CompletableFuture<>(),
                    o -> o.once().timeout(Duration.ofMillis(100))));
    try (TestHost host = new TestHost(store(), flow)) {
      TestHost.Client client = host.client();
      ToolReply unknown = client.start();
      ToolReply status = client.status();
      for (ToolReply reply : List.of(unknown, status)) {
        assertThat(code(reply)).isEqualTo("outcome_unknown");
        assertThat(field(reply)).isEqualTo("flight");
      }
      assertThat(code(client.proceed("flight", "LH1"))).isEqualTo("outcome_unknown");
      host.crash();
      assertThat(code(client.proceed())).isEqualTo("outcome_unknown");
      assertThat(client.status().structured().has("field")).isFalse();
      client.meta("fermata/resolve", "skip");
      ToolReply end = client.proceed();
      assertThat(status(end)).isEqualTo("complete");
      assertThat(end.structured().at("/result/flight").asText()).isEqualTo("LH1");
    }
  }

  @Test
  void aQuestionThatComesUpWhileAnotherBranchWorksIsKnownAtOnce() throws Exception {
    CountDownLatch found = new CountDownLatch(1);
    CountDownLatch searched = new CountDownLatch(1);
    Flow<Trip> flow =
        trip()
            .act("search", run -> searched.await())
            .act("find", run -> found.await(), EffectOptions::idempotent)
            .ask("ask_flight", q -> q.question("flight", "Which flight?"))
            .fork("plan", f -> f.branch("search").branch("find").join("book"))
            .edge("search", "book")
            .edge("find", "ask_flight")
            .edge("ask_flight", "book")
            .compile();
    try (TestHost host = new TestHost(store(), s -> s.callDeadline(Duration.ofMillis(300)), flow)) {
      TestHost.Client client = host.client();
      assertThat(code(client.start())).isEqualTo("still_working");
      found.countDown();
      TestHost.eventually(() -> "flight".equals(field(client.status())));
      host.crash();
      assertThat(field(client.status())).as("what is journaled").isEqualTo("flight");
      searched.countDown();
      client.outcome(client.proceed());
      assertThat(status(client.outcome(client.proceed("flight", "LH1")))).isEqualTo("complete");
    }
  }

  /** One branch searches for so long, while another waits for a signal. */
  private Flow<Trip> signalled(CountDownLatch searched, List<String> runs) {
    return trip()
        .act("search", run -> searched.await())
        .act("begin", run -> runs.add(run.id()))
        .waitFor("await_hotel", "booked", "hotel")
        .fork("plan", f -> f.branch("search").branch("begin").join("book"))
        .edge("search", "book")
        .edge("begin", "await_hotel")
        .edge("await_hotel", "book")
        .compile();
  }

  @Test
  void aSignalIsTakenWhileACallWaitsForTheWorkOfAnotherBranch() throws Exception {
    CountDownLatch searched = new CountDownLatch(1);
    List<String> runs = new CopyOnWriteArrayList<>();
    Flow<Trip> flow = signalled(searched, runs);
    try (TestHost host = new TestHost(store(), flow)) {
      CompletableFuture<ToolReply> driving = host.client().startLater();
      TestHost.eventually(() -> runs.size() == 1);
      ToolReply taken =
          got(
              host.fermata()
                  .signal("trip", runs.get(0), "booked", "Ritz", "one")
                  .toCompletableFuture());
      assertThat(code(taken)).isEqualTo("still_working");
      assertThat(driving).as("the call that waits for the search").isNotDone();
      searched.countDown();
      assertThat(got(driving).structured().at("/result/hotel").asText()).isEqualTo("Ritz");
    }
  }

  private List<JournalEntry<Event>> entries(TestHost host, String runId) {
    return host.fermata()
        .journals()
        .run("trip", runId)
        .readWithSecrets()
        .toCompletableFuture()
        .join()
        .entries();
  }

  @Test
  void whatACallDoesAfterASignalWasTakenIsJournaledAsCausedByTheCall() throws Exception {
    CountDownLatch searched = new CountDownLatch(1);
    List<String> runs = new CopyOnWriteArrayList<>();
    Flow<Trip> flow = signalled(searched, runs);
    try (TestHost host = new TestHost(store(), KEPT, flow)) {
      CompletableFuture<ToolReply> driving = host.client().startLater();
      TestHost.eventually(() -> runs.size() == 1);
      got(
          host.fermata()
              .signal("trip", runs.get(0), "booked", "Ritz", "one")
              .toCompletableFuture());
      searched.countDown();
      assertThat(status(got(driving))).isEqualTo("complete");

      List<JournalEntry<Event>> entries = entries(host, runs.get(0));
      assertThat(entries).extracting(JournalEntry::by).containsOnlyOnce("signal");
      assertThat(entries.get(entries.size() - 1))
          .extracting(JournalEntry::by, JournalEntry::principal)
          .containsExactly("caller", "local");
    }
  }

  @Test
  void aDeadlineOfOneBranchIsJournaledAsItsOwnCauseWhileACallDrivesAnother() throws Exception {
    CountDownLatch late = new CountDownLatch(1);
    List<String> runs = new CopyOnWriteArrayList<>();
    Flow<Trip> flow =
        trip()
            .ask("ask_flight", q -> q.question("flight", "Which flight?"))
            .ask("ask_hotel", q -> q.question("hotel", "Which hotel?"))
            .act(
                "hold",
                run -> {
                  runs.add(run.id());
                  late.await();
                },
                EffectOptions::idempotent)
            .act("stay", run -> late.countDown(), EffectOptions::idempotent)
            .fork("plan", f -> f.branch("ask_flight").branch("ask_hotel").join("book"))
            .deadline("ask_flight", Duration.ofSeconds(2), "stay")
            .edge("ask_flight", "book")
            .edge("stay", "book")
            .edge("ask_hotel", "hold")
            .edge("hold", "book")
            .compile();
    try (TestHost host = new TestHost(store(), KEPT, flow)) {
      TestHost.Client client = host.client();
      client.start();
      assertThat(status(client.proceed("hotel", "Ritz"))).isEqualTo("complete");

      List<JournalEntry<Event>> entries = entries(host, runs.get(0));
      assertThat(entries)
          .filteredOn(entry -> moves(entry, "stay"))
          .extracting(JournalEntry::by, JournalEntry::principal)
          .containsExactly(tuple("timer", null));
      assertThat(entries)
          .filteredOn(entry -> moves(entry, "hold"))
          .extracting(JournalEntry::by, JournalEntry::principal)
          .containsExactly(tuple("caller", "local"));
    }
  }

  private static boolean moves(JournalEntry<Event> entry, String to) {
    return entry.events().stream()
        .anyMatch(event -> event instanceof Event.Moved moved && moved.to().node().equals(to));
  }

  @Test
  void aSecondCancellationDoesNotUndoASecondTime() throws Exception {
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch undone = new CountDownLatch(1);
    Flow<Trip> flow =
        trip()
            .ask("ask_hotel", q -> q.question("hotel", "Which hotel?"))
            .compensate(
                "plan",
                run -> {
                  done.add("undo");
                  begun.countDown();
                  undone.await();
                })
            .edge("plan", "ask_hotel")
            .edge("ask_hotel", "book")
            .compile();
    try (TestHost host = new TestHost(store(), flow)) {
      TestHost.Client client = host.client();
      client.start();
      CompletableFuture<ToolReply> first = client.cancelLater();
      assertThat(begun.await(60, TimeUnit.SECONDS)).isTrue();
      CompletableFuture<ToolReply> second = client.cancelLater();
      assertThat(status(client.status())).as("what comes after the second").isEqualTo("error");
      undone.countDown();
      for (CompletableFuture<ToolReply> cancelled : List.of(first, second)) {
        assertThat(got(cancelled).structured().path("cancelled").asBoolean()).isTrue();
      }
      assertThat(done).filteredOn("undo"::equals).hasSize(1);
    }
  }

  @Test
  void aCallLearnsThatItsRunWasCancelledOnlyWhenItIs() throws Exception {
    CountDownLatch begun = new CountDownLatch(1);
    Flow<Trip> flow =
        trip()
            .act(
                "search",
                run -> {
                  begun.countDown();
                  Thread.sleep(60_000);
                })
            .compensate(
                "plan",
                run -> {
                  throw new StepException("The bank is closed.");
                })
            .ask("ask_hotel", q -> q.question("hotel", "Which hotel?"))
            .edge("plan", "ask_hotel")
            .edge("ask_hotel", "search")
            .edge("search", "book")
            .compile();
    try (TestHost host = new TestHost(store(), flow)) {
      TestHost.Client client = host.client();
      client.start();
      CompletableFuture<ToolReply> driving = client.proceedLater("hotel", "Ritz");
      assertThat(begun.await(60, TimeUnit.SECONDS)).isTrue();
      assertThat(code(client.cancel())).isEqualTo("compensation_failed");
      assertThat(code(got(driving))).isEqualTo("compensation_failed");
    }
  }

  @Test
  void whatWasDoneIsUndoneInReverseOrderWhenTheRunIsCancelled() {
    Flow<Trip> flow =
        trip()
            .act("pay", this::log)
            .ask("ask_hotel", q -> q.question("hotel", "Which hotel?"))
            .compensate("plan", run -> done.add("undo " + run.undoes()))
            .compensate("pay", run -> done.add("undo " + run.undoes()))
            .edge("plan", "pay")
            .edge("pay", "ask_hotel")
            .edge("ask_hotel", "book")
            .compile();
    try (TestHost host = new TestHost(store(), flow)) {
      TestHost.Client client = host.client();
      client.start();
      host.crash();
      List<String> did = new ArrayList<>(done);
      ToolReply cancelled = client.cancel();
      assertThat(cancelled.structured().path("cancelled").asBoolean()).isTrue();
      assertThat(done.subList(2, 4)).containsExactly("undo " + did.get(1), "undo " + did.get(0));
      assertThat(code(client.proceed())).isEqualTo("run_cancelled");
    }
  }

  @Test
  void aCompensationThatFailsIsTriedAgainWhenTheClientContinues() {
    List<Boolean> fails = new CopyOnWriteArrayList<>(List.of(true));
    Flow<Trip> flow =
        trip()
            .ask("ask_hotel", q -> q.question("hotel", "Which hotel?"))
            .compensate(
                "plan",
                run -> {
                  if (!fails.isEmpty()) {
                    throw new StepException("The bank is closed.");
                  }
                  done.add("undone");
                })
            .edge("plan", "ask_hotel")
            .edge("ask_hotel", "book")
            .compile();
    try (TestHost host = new TestHost(store(), flow)) {
      TestHost.Client client = host.client();
      client.start();
      ToolReply failed = client.cancel();
      assertThat(code(failed)).isEqualTo("compensation_failed");
      assertThat(failed.structured().path("error").asText()).contains("The bank is closed.");
      assertThat(code(client.proceed("hotel", "Ritz"))).isEqualTo("run_ending");
      host.crash();
      fails.clear();
      assertThat(code(client.proceed())).isEqualTo("run_cancelled");
      assertThat(done).contains("undone");
    }
  }

  @Test
  void theItemsOfAListAreAskedForTogetherUnderTheirIndex() {
    record Fleet(List<String> cars, @Computed List<String> licences) {}
    Flow<Driver> driver =
        Flow.of("driver", Driver.class)
            .description("Finds a driver.")
            .ask("ask_name", q -> q.question("name", "Who drives?"))
            .act("check", run -> run.set("licence", run.state().name() + "-ok"))
            .edge(START, "ask_name")
            .edge("ask_name", "check")
            .edge("check", END)
            .result(Driver::licence)
            .compile();
    Flow<Fleet> fleet =
        Flow.of("fleet", Fleet.class)
            .description("Finds drivers.")
            .<Driver, String>forEach(
                "drivers", driver, each -> each.items(Fleet::cars).atMost(5).into("licences"))
            .edge(START, "drivers")
            .edge("drivers", END)
            .result(f -> f)
            .compile();
    try (TestHost host = new TestHost(store(), fleet)) {
      TestHost.Client client = host.client();
      ToolReply asked = client.start("cars", List.of("red", "blue"));
      assertThat(asked.structured().path("questions").findValuesAsText("field"))
          .containsExactly("drivers.0.name", "drivers.1.name");
      host.crash();
      ObjectNode nested = Json.object();
      nested.putObject("1").put("name", "Bob");
      assertThat(field(client.proceed("drivers", nested))).isEqualTo("drivers.0.name");
      ToolReply end = client.proceed("drivers.0.name", "Ann");
      assertThat(end.structured().at("/result/licences")).hasToString("[\"Ann-ok\",\"Bob-ok\"]");
    }
  }

  @Test
  void whatANodeEmitsArrivesBeforeTheReply() throws Exception {
    Flow<Trip> flow =
        trip()
            .act("tell", run -> run.emit("found", 3).stream("Loo").stream("king"))
            .edge("plan", "tell")
            .edge("tell", "book")
            .compile();
    try (TestHost host = new TestHost(store(), flow)) {
      List<ToolProgress> received = new CopyOnWriteArrayList<>();
      ObjectNode arguments = Json.object().put("action", "start").put("intent", "to test");
      host.fermata()
          .call(new ToolCall("trip", "local", arguments, Json.object(), null), received::add)
          .thenAccept(reply -> received.add(ToolProgress.text("end", status(reply))))
          .toCompletableFuture()
          .get();
      assertThat(received)
          .containsExactly(
              new ToolProgress("tell", "found", Json.tree(3)),
              ToolProgress.text("tell", "Loo"),
              ToolProgress.text("tell", "king"),
              ToolProgress.text("end", "complete"));
    }
  }
}
