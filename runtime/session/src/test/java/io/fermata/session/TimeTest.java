package io.fermata.session;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.session.TestHost.code;
import static io.fermata.session.TestHost.field;
import static io.fermata.session.TestHost.got;
import static io.fermata.session.TestHost.status;
import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.flow.Flow;
import io.fermata.flow.FlowBuilder;
import io.fermata.flow.action.StepException;
import io.fermata.flow.json.Json;
import io.fermata.flow.route.Condition;
import io.fermata.flow.schema.Computed;
import io.fermata.persistence.Store;
import io.fermata.session.admin.Settings;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolReply;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Time is an event: what a run waits for comes, whatever happens to the host meanwhile. */
@Tag("slow")
public class TimeTest {
  record Parcel(
      String address, @Computed String paid, @Computed List<String> log, @Computed String note) {}

  @TempDir Path directory;
  private static final List<String> SEEN = new CopyOnWriteArrayList<>();

  private Store store() {
    return Store.sqlite(directory.resolve("time.db"));
  }

  private static FlowBuilder<Parcel> parcel() {
    return Flow.of("parcel", Parcel.class)
        .description("Sends a parcel.")
        .act("note", run -> run.append("log", "done"))
        .edge("note", END)
        .result(p -> p);
  }

  static Flow<Parcel> sleeping(Duration time) {
    return parcel().sleep("sleep", time).edge(START, "sleep").edge("sleep", "note").compile();
  }

  public static void eventually(BooleanSupplier condition) throws InterruptedException {
    boolean met = condition.getAsBoolean();
    for (int i = 0; i < 2_400 && !met; i++) {
      Thread.sleep(50);
      met = condition.getAsBoolean();
    }
    assertThat(met).isTrue();
  }

  @Test
  void aCallWaitsForAShortSleep() throws Exception {
    try (TestHost host =
        TestHost.manualTime(
            store(), s -> s.callDeadline(Duration.ofDays(1)), sleeping(Duration.ofSeconds(5)))) {
      CompletableFuture<ToolReply> reply = host.client().startLater();
      eventually(
          () -> {
            host.passTime(Duration.ofSeconds(5));
            return reply.isDone();
          });
      assertThat(status(got(reply))).isEqualTo("complete");
    }
  }

  @Test
  void aCallLearnsAtOnceThatARunSleepsForLong() {
    try (TestHost host = new TestHost(store(), sleeping(Duration.ofDays(1)))) {
      ToolReply reply = host.client().start();
      assertThat(status(reply)).isEqualTo("waiting");
      assertThat(reply.error()).isFalse();
      assertThat(reply.structured().path("waitsFor").asText()).isEqualTo("time");
      String until = reply.structured().path("until").asText();
      assertThat(reply.structured().path("description").asText()).endsWith("after " + until + ".");
    }
  }

  @Test
  void aRunThatWaitsForASignalSaysForWhichHowLongAndWhatToDoMeanwhile() {
    Flow<Parcel> flow =
        parcel()
            .waitFor("await_payment", "paid", "paid")
            .deadline("await_payment", Duration.ofDays(3), "note")
            .edge(START, "await_payment")
            .edge("await_payment", "note")
            .compile();
    try (TestHost host = new TestHost(store(), flow)) {
      ToolReply reply = host.client().start();
      assertThat(reply.error()).isFalse();
      assertThat(status(reply)).isEqualTo("waiting");
      assertThat(reply.structured().path("waitsFor").asText()).isEqualTo("signal paid");
      assertThat(Instant.parse(reply.structured().path("until").asText()))
          .isAfter(Instant.now().plus(Duration.ofDays(2)));
      assertThat(reply.structured().path("description").asText())
          .containsPattern("for the signal paid until \\d{4}-\\d{2}-\\d{2}T")
          .contains("Tell the user and end the turn", "Call again", "it has happened");
    }
  }

  @Test
  void aRunSleepsForLongerThanATimerCanBeSet() {
    try (TestHost host = new TestHost(store(), sleeping(Duration.ofDays(3650)))) {
      TestHost.Client client = host.client();
      assertThat(status(client.start())).isEqualTo("waiting");
      host.crash();
      assertThat(status(client.proceed())).isEqualTo("waiting");
      assertThat(client.cancel().structured().path("cancelled").asBoolean()).isTrue();
    }
  }

  @Test
  void aClockThatIsSetBackLengthensNoDeadlineAndKeepsNoSessionAwake() throws Exception {
    AtomicReference<Instant> clock = new AtomicReference<>(Instant.parse("2026-06-01T12:00:00Z"));
    CompletableFuture<Void> gate = new CompletableFuture<>();
    Flow<Parcel> flow =
        parcel()
            .actAsync("wait", run -> gate)
            .ask("ask", q -> q.question("address", "Where to?"))
            .edge(START, "wait")
            .edge("wait", "ask")
            .edge("ask", "note")
            .compile();
    try (Fermata host =
        Fermata.host()
            .store(store())
            .flow(flow)
            .clock(clock::get)
            .settings(
                Settings.DEFAULT.callDeadline(Duration.ofMillis(200)).idle(Duration.ofMillis(200)))
            .start()) {
      ToolCall call =
          new ToolCall(
              "parcel",
              "ann",
              Json.object().put("action", "start").put("intent", "to send"),
              Json.object().put("fermata/sessionId", "s"),
              null);
      CompletableFuture<ToolReply> reply = host.call(call).toCompletableFuture();
      clock.set(Objects.requireNonNull(clock.get()).minus(Duration.ofHours(1)));
      assertThat(code(got(reply))).isEqualTo("still_working");
      gate.complete(null);
      clock.set(Objects.requireNonNull(clock.get()).minus(Duration.ofHours(1)));
      eventually(() -> host.awake().toCompletableFuture().join() == 0);
    }
  }

  @Test
  void aSleepEndsInItsTimeAlthoughTheHostWasLostMeanwhile() {
    try (TestHost host =
        TestHost.manualTime(
            store(),
            s -> s.callDeadline(Duration.ofMillis(100)),
            sleeping(Duration.ofMinutes(3)))) {
      TestHost.Client client = host.client();
      assertThat(status(client.start())).isEqualTo("waiting");
      host.crash();
      assertThat(status(client.status())).isEqualTo("waiting");
      host.passTime(Duration.ofMinutes(2));
      assertThat(status(client.status())).isEqualTo("waiting");
      host.passTimeUntil(() -> status(client.status()).equals("complete"));
      assertThat(status(client.proceed())).isEqualTo("complete");
    }
  }

  @Test
  void aRunThatIsWokenContinuesWithoutACallerHoweverMuchItHasToDo() {
    Flow<Parcel> flow =
        parcel()
            .sleep("sleep", Duration.ofMinutes(3))
            .act("count", run -> run.set("note", "" + run.visit()))
            .edge(START, "sleep")
            .edge("sleep", "count")
            .decide(
                "count",
                d ->
                    d.when("again", Condition.visits("count").lt(450))
                        .to("count")
                        .otherwise("note"))
            .compile();
    try (TestHost host = TestHost.manualTime(store(), settings -> settings, flow)) {
      TestHost.Client client = host.client();
      assertThat(status(client.start())).isEqualTo("waiting");
      host.passTimeUntil(() -> status(client.status()).equals("complete"));
      assertThat(client.status().structured().at("/result/note").asText()).isEqualTo("450");
    }
  }

  @Test
  void aRunSleepsWithoutMemoryAndIsWoken() {
    SEEN.clear();
    Flow<Parcel> flow =
        parcel()
            .sleep("sleep", Duration.ofHours(1))
            .act("tell", run -> SEEN.add(run.id()))
            .edge(START, "sleep")
            .edge("sleep", "tell")
            .edge("tell", "note")
            .compile();
    try (TestHost host = TestHost.manualTime(store(), s -> s.idle(Duration.ofMillis(200)), flow)) {
      assertThat(status(host.client().start())).isEqualTo("waiting");
      host.passTimeUntil(() -> host.fermata().awake().toCompletableFuture().join() == 0);
      assertThat(SEEN).isEmpty();
      host.passTime(Duration.ofHours(1));
      host.passTimeUntil(() -> SEEN.size() == 1);
    }
  }

  @Test
  void aQuestionThatNobodyAnswersIsAbandonedAtItsDeadline() {
    Flow<Parcel> flow =
        parcel()
            .ask("ask_address", q -> q.question("address", "Where to?"))
            .act("give_up", run -> run.set("note", "given up"))
            .deadline("ask_address", Duration.ofMinutes(4), "give_up")
            .edge(START, "ask_address")
            .edge("ask_address", "note")
            .edge("give_up", "note")
            .compile();
    try (TestHost host = TestHost.manualTime(store(), settings -> settings, flow)) {
      TestHost.Client client = host.client();
      assertThat(field(client.start())).isEqualTo("address");
      host.passTime(Duration.ofMinutes(3));
      assertThat(field(client.proceed())).isEqualTo("address");
      host.passTimeUntil(() -> status(client.proceed()).equals("complete"));
    }
  }

  @Test
  void somebodyIsRemindedAsOftenAsDeclared() {
    SEEN.clear();
    Flow<Parcel> flow =
        parcel()
            .ask("ask_address", q -> q.question("address", "Where to?"))
            .remind("ask_address", Duration.ofSeconds(10), 3, run -> SEEN.add(run.idempotencyKey()))
            .edge(START, "ask_address")
            .edge("ask_address", "note")
            .compile();
    try (TestHost host = TestHost.manualTime(store(), settings -> settings, flow)) {
      TestHost.Client client = host.client();
      client.start();
      host.passTimeUntil(() -> SEEN.size() == 3);
      host.passTime(Duration.ofMinutes(1));
      assertThat(SEEN).hasSize(3).doesNotHaveDuplicates();
      assertThat(status(client.proceed("address", "here"))).isEqualTo("complete");
    }
  }

  @Test
  void aSignalFromOutsideGoesToTheRunThatWaitsForIt() {
    SEEN.clear();
    Flow<Parcel> flow =
        parcel()
            .act("order", run -> SEEN.add(run.id()))
            .waitFor("await_payment", "paid", "paid")
            .edge(START, "order")
            .edge("order", "await_payment")
            .edge("await_payment", "note")
            .compile();
    try (TestHost host = new TestHost(store(), flow)) {
      TestHost.Client client = host.client();
      assertThat(status(client.start())).isEqualTo("waiting");
      String run = SEEN.get(0);
      host.crash();
      assertThat(code(signal(host, run, "payd", "x"))).isEqualTo("unknown_signal");
      assertThat(code(signal(host, run, "paid", List.of(1)))).isEqualTo("invalid_signal");
      assertThat(code(signal(host, run + "x", "paid", "x"))).isEqualTo("unknown_run");
      ToolReply reply = signal(host, run, "paid", "by card");
      assertThat(reply.structured().at("/result/paid").asText()).isEqualTo("by card");
      assertThat(code(signal(host, run, "paid", "twice"))).isEqualTo("run_completed");
      assertThat(client.proceed().structured().at("/result/paid").asText())
          .as("what the client gets that was not there")
          .isEqualTo("by card");
      assertThat(code(client.proceed())).isEqualTo("run_completed");
    }
  }

  @Test
  void whyARunFailedIsReportedToTheClientThatWasNotThere() {
    Flow<Parcel> flow =
        parcel()
            .endOnFailure()
            .waitFor("await_payment", "paid", "paid")
            .deadline("await_payment", Duration.ofMinutes(3), "give_up")
            .act(
                "give_up",
                run -> {
                  throw new StepException("Nobody has paid.");
                })
            .edge(START, "await_payment")
            .edge("await_payment", "note")
            .edge("give_up", END)
            .compile();
    try (TestHost host = TestHost.manualTime(store(), settings -> settings, flow)) {
      TestHost.Client client = host.client();
      assertThat(status(client.start())).isEqualTo("waiting");
      host.passTime(Duration.ofMinutes(3));
      host.passTimeUntil(() -> code(client.status()).equals("run_failed"));
      host.crash();
      assertThat(client.status().structured().path("error").asText()).contains("Nobody has paid.");
      ToolReply failed = client.proceed();
      assertThat(code(failed)).isEqualTo("run_failed");
      assertThat(failed.structured().path("error").asText()).contains("Nobody has paid.");
      ToolReply again = client.proceed();
      assertThat(code(again)).isEqualTo("run_failed");
      assertThat(again.structured().path("error").asText())
          .as("what is kept once it was reported")
          .doesNotContain("Nobody");
    }
  }

  @Test
  void aSignalIsAcceptedWhileACallWaitsForTheTime() throws Exception {
    SEEN.clear();
    Flow<Parcel> flow =
        parcel()
            .act("order", run -> SEEN.add(run.id()))
            .waitFor("await_payment", "paid", "paid")
            .sleep("patience", Duration.ofSeconds(11))
            .edge(START, "order")
            .fork("order", f -> f.branch("await_payment").branch("patience").join("note").first())
            .edge("patience", "note")
            .edge("await_payment", "note")
            .compile();
    try (TestHost host = TestHost.manualTime(store(), settings -> settings, flow)) {
      CompletableFuture<ToolReply> waiting = CompletableFuture.supplyAsync(host.client()::start);
      eventually(() -> SEEN.size() == 1);
      String run = SEEN.get(0);
      assertThat(code(signal(host, run, "payd", "x"))).isEqualTo("unknown_signal");
      assertThat(waiting).isNotDone();
      ToolReply signalled = signal(host, run, "paid", "by card");
      assertThat(signalled.structured().at("/result/paid").asText()).isEqualTo("by card");
      assertThat(got(waiting).structured().at("/result/paid").asText()).isEqualTo("by card");
    }
  }

  private static ToolReply signal(TestHost host, String run, String name, Object payload) {
    return got(host.fermata().signal("parcel", run, name, payload, null).toCompletableFuture());
  }
}
