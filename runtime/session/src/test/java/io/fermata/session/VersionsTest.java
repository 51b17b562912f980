package io.fermata.session;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.flow.Flow;
import io.fermata.flow.FlowBuilder;
import io.fermata.flow.Migration;
import io.fermata.flow.event.Verdict;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Limits;
import io.fermata.flow.schema.Computed;
import io.fermata.persistence.Store;
import io.fermata.session.TestHost.Client;
import io.fermata.session.admin.Settings;
import io.fermata.session.call.TaskRun;
import io.fermata.session.call.ToolReply;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Function;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Releases come and go, and runs go on: in their own version, or carried over to a newer one. */
@Tag("slow")
class VersionsTest {
  record Order(String dish, String table, @Computed String note) {}

  record Meal(String meal, String table, @Computed String note) {}

  @TempDir Path dir;

  private Store sqlite() {
    return Store.sqlite(dir.resolve("test.db"));
  }

  private static Flow<Order> first() {
    return Flow.of("order", Order.class)
        .description("Orders.")
        .ask("ask_dish", q -> q.question("dish", "Which dish?"))
        .ask("ask_table", q -> q.question("table", "Which table?"))
        .edge(START, "ask_dish")
        .edge("ask_dish", "ask_table")
        .edge("ask_table", END)
        .result(order -> order)
        .compile();
  }

  private static Flow<Meal> second(Consumer<Migration> changes) {
    return Flow.of("order", Meal.class)
        .description("Orders.")
        .version(2)
        .migrate(1, changes)
        .ask("ask_meal", q -> q.question("meal", "Which meal?"))
        .ask("ask_table", q -> q.question("table", "Where do you sit?"))
        .edge(START, "ask_meal")
        .edge("ask_meal", "ask_table")
        .edge("ask_table", END)
        .result(meal -> meal)
        .compile();
  }

  private static void renamed(Migration m) {
    m.node("ask_dish", "ask_meal").field("dish", "meal");
  }

  private static String text(ToolReply reply, String path) {
    return reply.structured().at(path).asText();
  }

  private static int version(ToolReply reply) {
    return reply.meta().at("/fermata~1run/version").asInt();
  }

  @Test
  void aRunIsCarriedOverOnceWhenItsVersionIsGone() {
    AtomicInteger migrated = new AtomicInteger();
    Flow<Meal> second =
        second(
            m -> {
              renamed(m);
              m.state(state -> state.set("note", "migrated " + migrated.incrementAndGet()));
            });
    try (TestHost host = new TestHost(sqlite(), first())) {
      Client client = host.client();
      client.start("dish", "soup");
      host.restart(second);
      assertThat(text(client.status(), "/question")).isEqualTo("Which table?");
      assertThat(migrated).hasValue(0);

      ToolReply open = client.proceed();
      assertThat(text(open, "/question")).isEqualTo("Where do you sit?");
      assertThat(version(open)).isEqualTo(2);
      int times = migrated.get();
      host.crash();
      ToolReply done = client.proceed("table", "7");

      assertThat(text(done, "/status")).isEqualTo("complete");
      assertThat(text(done, "/result/meal")).isEqualTo("soup");
      assertThat(text(done, "/result/note")).startsWith("migrated");
      assertThat(migrated).hasValue(times);
    }
  }

  @Test
  void theCallThatCarriesARunOverIsThenHandled() {
    try (TestHost host = new TestHost(sqlite(), first())) {
      Client client = host.client();
      client.start("dish", "soup");
      host.restart(second(VersionsTest::renamed));
      assertThat(text(client.proceed("table", "7"), "/result/table")).isEqualTo("7");
      Client cancelling = host.client();
      cancelling.start();
      assertThat(text(cancelling.cancel(), "/status")).isEqualTo("complete");
    }
  }

  @Test
  void aRunThatDoesNotFitIsLeftAsItWasForTheVersionItIsOn() {
    try (TestHost host = new TestHost(sqlite(), first())) {
      Client client = host.client();
      client.start();
      host.restart(second(m -> m.field("dish", "meal")));
      ToolReply refused = client.proceed("table", "7");
      assertThat(text(refused, "/code")).isEqualTo("migration_failed");
      assertThat(text(refused, "/error")).contains("ask_dish", "version 1", "version 2");
      assertThat(text(refused, "/question")).isEqualTo("Which dish?");
      host.restart(first());
      client.proceed("dish", "soup");
      assertThat(text(client.proceed("table", "7"), "/result/dish")).isEqualTo("soup");
    }
  }

  @Test
  void aChangedGraphUnderTheSameVersionIsNotTakenForTheOneThatIsMigrated() {
    Flow<Order> changed =
        Flow.of("order", Order.class)
            .description("Orders.")
            .ask("ask_dish", q -> q.question("dish", "Which dish?"))
            .edge(START, "ask_dish")
            .edge("ask_dish", END)
            .compile();
    try (TestHost host = new TestHost(sqlite(), first())) {
      Client client = host.client();
      client.start();
      host.restart(changed, second(VersionsTest::renamed));
      assertThat(text(client.proceed(), "/code")).isEqualTo("version_changed");
    }
  }

  /** A release that asks for the dish in these words, and for the table as every other one. */
  private static FlowBuilder<Order> menu(String question) {
    return menu(question, VersionsTest::judged);
  }

  private static FlowBuilder<Order> menu(String question, Function<String, Verdict> validator) {
    return Flow.of("order", Order.class)
        .description("Orders.")
        .ask(
            "ask",
            q ->
                q.question("dish", question, o -> o.validate(validator::apply))
                    .question("table", "Which table?"))
        .edge(START, "ask")
        .edge("ask", END)
        .result(order -> order);
  }

  private static Verdict judged(String dish) {
    if (dish.equals("jelly")) {
      throw new IllegalStateException("Nobody can judge that.");
    }
    return dish.equals("stone") ? Verdict.reject("Too hard.") : Verdict.accept();
  }

  private static TaskRun run(ToolReply reply) {
    String runId = reply.meta().at("/fermata~1run/runId").asText();
    return new TaskRun("local", "order", runId);
  }

  private static Map<String, String> keys(TestHost host, TaskRun run) {
    return host.fermata().tasks().view(run).toCompletableFuture().join().asked();
  }

  private static ToolReply answer(
      TestHost host, TaskRun run, Map<String, String> keys, String field, String value) {
    return host.fermata()
        .tasks()
        .answer(run, Json.object().put(field, value), keys)
        .toCompletableFuture()
        .join();
  }

  @Test
  void aKeyThatWasAnsweredIsNotUsedAgainInTheNextVersion() {
    try (TestHost host = new TestHost(sqlite(), menu("Which dish?").compile())) {
      TaskRun run = run(host.client().start());
      Map<String, String> first = keys(host, run);
      assertThat(text(answer(host, run, first, "dish", "stone"), "/code"))
          .isEqualTo("answer_rejected");
      Map<String, String> again = keys(host, run);
      assertThat(again.get("dish")).isNotEqualTo(first.get("dish"));

      host.restart(menu("Which dish?").version(2).migrate(1, m -> {}).compile());
      answer(host, run, again, "table", "7");

      assertThat(keys(host, run)).containsOnly(Map.entry("dish", again.get("dish")));
      ToolReply late = answer(host, run, first, "dish", "soup");
      assertThat(text(late, "/code")).isEqualTo("stale_call");
      assertThat(text(answer(host, run, again, "dish", "fish"), "/result/dish")).isEqualTo("fish");
    }
  }

  @Test
  void aKeyWhoseAnswerTheMigrationTakesBackIsNotUsedAgain() {
    try (TestHost host = new TestHost(sqlite(), menu("Which dish?").compile())) {
      Client client = host.client();
      TaskRun run = run(client.start());
      Map<String, String> first = keys(host, run);
      assertThat(text(answer(host, run, first, "dish", "jelly"), "/code"))
          .isEqualTo("validator_failed");

      host.restart(
          menu("Which dish?")
              .version(2)
              .migrate(1, m -> m.state(state -> state.delete("dish")))
              .compile());
      client.proceed();

      assertThat(keys(host, run).get("dish")).isNotNull().isNotEqualTo(first.get("dish"));
    }
  }

  @Test
  void anAnswerThatCouldNotBeCheckedIsNotLostWhenTheNextOneBringsTheNextVersion() {
    for (String table : List.of("7", "8")) {
      try (TestHost host = new TestHost(sqlite(), menu("Which dish?").compile())) {
        TaskRun run = run(host.client().start());
        Map<String, String> first = keys(host, run);
        assertThat(text(answer(host, run, first, "dish", "jelly"), "/code"))
            .isEqualTo("validator_failed");
        Verdict verdict = table.equals("7") ? Verdict.accept() : Verdict.reject("No jelly.");

        host.restart(menu("Which dish?", dish -> verdict).version(2).migrate(1, m -> {}).compile());
        ToolReply reply = answer(host, run, first, "table", table);

        if (table.equals("7")) {
          assertThat(text(reply, "/result/dish")).isEqualTo("jelly");
        } else {
          assertThat(text(reply, "/field")).isEqualTo("dish");
          assertThat(keys(host, run)).containsOnlyKeys("dish");
        }
      }
    }
  }

  @Test
  void aKeyIsNotUsedAgainUnderANewNameWhileItsAnswerCannotBeChecked() {
    Flow<Order> renamed =
        Flow.of("order", Order.class)
            .description("Orders.")
            .version(2)
            .migrate(1, m -> m.node("ask", "ask_all"))
            .ask(
                "ask_all",
                q ->
                    q.question("dish", "Which dish?", o -> o.validate(VersionsTest::judged))
                        .question("table", "Which table?"))
            .edge(START, "ask_all")
            .edge("ask_all", END)
            .result(order -> order)
            .compile();
    try (TestHost host = new TestHost(sqlite(), menu("Which dish?").compile())) {
      Client client = host.client();
      TaskRun run = run(client.start());
      Map<String, String> first = keys(host, run);
      answer(host, run, first, "dish", "jelly");

      host.restart(renamed);
      assertThat(text(client.proceed(), "/code")).isEqualTo("validator_failed");

      assertThat(text(answer(host, run, first, "dish", "soup"), "/code")).isEqualTo("stale_call");
      assertThat(text(client.proceed("dish", "fish"), "/field")).isEqualTo("table");
    }
  }

  @Test
  void aCallThatOnlyContinuesBringsTheVersionThatCanCheckAnAnswer() {
    try (TestHost host = new TestHost(sqlite(), menu("Which dish?").compile())) {
      Client client = host.client();
      client.start("table", "7");
      client.proceed("dish", "jelly");

      host.restart(
          menu("Which dish?", dish -> Verdict.accept("cake"))
              .version(2)
              .migrate(1, m -> {})
              .compile());

      assertThat(text(client.proceed(), "/result/dish")).isEqualTo("cake");
    }
  }

  @Test
  void anAnswerIsForTheQuestionAsItWasAskedAndNotForOtherWordsOfTheNextVersion() {
    try (TestHost host = new TestHost(sqlite(), menu("Pay 100?").compile())) {
      TaskRun run = run(host.client().start());
      Map<String, String> first = keys(host, run);

      host.restart(menu("Pay 120?").version(2).migrate(1, m -> {}).compile());
      ToolReply late = answer(host, run, first, "dish", "yes");

      assertThat(text(late, "/code")).isEqualTo("stale_call");
      assertThat(text(late, "/questions/0/question")).isEqualTo("Pay 120?");
      Map<String, String> now = keys(host, run);
      assertThat(now.get("dish")).isNotEqualTo(first.get("dish"));
      assertThat(text(answer(host, run, first, "table", "7"), "/field")).isEqualTo("dish");
      assertThat(text(answer(host, run, now, "dish", "no"), "/result/dish")).isEqualTo("no");
    }
  }

  @Test
  void anAnswerToAQuestionThatTheNextVersionAsksAlikeIsTakenByTheCallThatCarriesTheRunOver() {
    try (TestHost host = new TestHost(sqlite(), menu("Which dish?").compile())) {
      Client client = host.client();
      TaskRun run = run(client.start());
      Map<String, String> first = keys(host, run);

      host.restart(menu("Which dish?").version(2).migrate(1, m -> {}).compile());

      assertThat(text(answer(host, run, first, "dish", "soup"), "/field")).isEqualTo("table");
      assertThat(version(client.status())).isEqualTo(2);
    }
  }

  @Test
  void aNodeThatTakesTheNameOfAnotherTakesNoneOfItsKeys() {
    FlowBuilder<Order> twice =
        Flow.of("order", Order.class)
            .description("Orders.")
            .ask("first", q -> q.question("dish", "Which dish?"))
            .act("clear", run -> run.delete("dish"))
            .ask("second", q -> q.question("dish", "Really?"))
            .edge(START, "first")
            .edge("first", "clear")
            .edge("clear", "second")
            .edge("second", END);
    FlowBuilder<Order> once =
        Flow.of("order", Order.class)
            .description("Orders.")
            .version(2)
            .migrate(1, m -> m.node("second", "first"))
            .ask("first", q -> q.question("dish", "Really?"))
            .edge(START, "first")
            .edge("first", END);
    try (TestHost host = new TestHost(sqlite(), twice.compile())) {
      Client client = host.client();
      TaskRun run = run(client.start());
      Map<String, String> first = keys(host, run);
      answer(host, run, first, "dish", "soup");

      host.restart(once.compile());
      client.proceed();

      assertThat(keys(host, run)).containsOnlyKeys("dish").isNotEqualTo(first);
    }
  }

  private static FlowBuilder<Order> paid(int version) {
    return Flow.of("paid", Order.class)
        .description("Orders, and takes the money.")
        .version(version)
        .ask("ask_dish", q -> q.question("dish", "Which dish?"))
        .ask("ask_table", q -> q.question("table", "Which table?"))
        .edge(START, "ask_dish")
        .edge("charge", "ask_table")
        .edge("ask_table", END);
  }

  /** A release that has only this version, with another way to the money. */
  private static Flow<Order> paidOtherwise() {
    return paid(2)
        .migrate(1, m -> {})
        .act("check", run -> {})
        .act("charge", run -> {})
        .compensate("charge", run -> {})
        .edge("ask_dish", "check")
        .edge("check", "charge")
        .compile();
  }

  private static void isCancelledOnlyByItsVersion(Client client, String why, Runnable itsVersion) {
    ToolReply refused = client.cancel();
    assertThat(text(refused, "/code")).isEqualTo("migration_failed");
    assertThat(text(refused, "/error")).contains(why);
    itsVersion.run();
    assertThat(text(client.cancel(), "/status")).isEqualTo("complete");
  }

  @Test
  @SuppressWarnings("FutureReturnValueIgnored") // its host is lost
  void aRunWhoseActionWasAtWorkIsCancelledOnlyByTheVersionThatCanUndoIt() throws Exception {
    CountDownLatch charging = new CountDownLatch(1);
    AtomicInteger refunds = new AtomicInteger();
    Flow<Order> first =
        paid(1)
            .act(
                "charge",
                run -> {
                  charging.countDown();
                  new CountDownLatch(1).await();
                })
            .compensate("charge", run -> refunds.incrementAndGet())
            .edge("ask_dish", "charge")
            .compile();
    try (TestHost host = new TestHost(sqlite(), first)) {
      Client client = host.client();
      client.start();
      client.proceedLater("dish", "soup");
      assertThat(charging.await(30, TimeUnit.SECONDS)).isTrue();
      host.crash(paidOtherwise());
      isCancelledOnlyByItsVersion(client, "charge is at work", () -> host.restart(first));
      TestHost.eventually(() -> refunds.get() == 1);
    }
  }

  @Test
  @SuppressWarnings("FutureReturnValueIgnored") // its host is lost
  void aRunWhoseCorrectionIsStillUndoingIsCancelledOnlyByTheVersionThatCanUndoIt()
      throws Exception {
    CountDownLatch refunding = new CountDownLatch(1);
    AtomicInteger refunds = new AtomicInteger();
    Flow<Order> first =
        paid(1)
            .act("charge", run -> {})
            .compensate(
                "charge",
                run -> {
                  refunding.countDown();
                  if (refunds.incrementAndGet() == 1) {
                    new CountDownLatch(1).await();
                  }
                })
            .edge("ask_dish", "charge")
            .compile();
    try (TestHost host = new TestHost(sqlite(), first)) {
      Client client = host.client();
      client.start();
      assertThat(text(client.proceed("dish", "soup"), "/question")).isEqualTo("Which table?");
      client.sendLater(client.arguments("reset"), "dish", "fish");
      assertThat(refunding.await(30, TimeUnit.SECONDS)).isTrue();
      host.crash(paidOtherwise());
      isCancelledOnlyByItsVersion(client, "being undone", () -> host.restart(first));
      TestHost.eventually(() -> refunds.get() == 2);
    }
  }

  private static FlowBuilder<Order> sleeping(String node) {
    return Flow.of("nap", Order.class)
        .description("Sleeps.")
        .sleep(node, Duration.ofSeconds(2))
        .act("note", run -> run.set("note", node))
        .ask("ask_dish", q -> q.question("dish", "Which dish?"))
        .edge(START, node)
        .edge(node, "note")
        .edge("note", "ask_dish")
        .edge("ask_dish", END)
        .result(order -> order);
  }

  @Test
  void aRunThatSleepsIsCarriedOverWhenItsTimeComes() throws Exception {
    // A call waits for no pause that is longer than half of its time.
    try (TestHost host =
        new TestHost(
            sqlite(), s -> s.callDeadline(Duration.ofSeconds(3)), sleeping("nap").compile())) {
      Client client = host.client();
      assertThat(text(client.start(), "/status")).isEqualTo("waiting");
      host.restart(sleeping("rest").version(2).migrate(1, m -> m.node("nap", "rest")).compile());
      TestHost.eventually(() -> text(client.status(), "/question").equals("Which dish?"));
      ToolReply done = client.proceed("dish", "soup");
      assertThat(text(done, "/result/note")).isEqualTo("rest");
      assertThat(version(done)).isEqualTo(2);
    }
  }

  @Test
  void aCheckBeforeARolloutDescribesTheFateOfEveryRun() throws Exception {
    Store store = sqlite();
    Rollout now;
    try (TestHost host = new TestHost(store, first(), TestFlows.trip(), TestFlows.talk())) {
      host.client("order").start("dish", "soup");
      host.client("trip").start();
      host.client("talk").start();
      Client ended = host.client("talk");
      ended.start("word", "bye");
      now =
          host.fermata()
              .journals()
              .check(second(VersionsTest::renamed), TestFlows.trip())
              .toCompletableFuture()
              .get();
    }
    assertThat(now.runs()).hasSize(3);
    assertThat(now.complete()).isFalse();
    assertThat(now.of(Rollout.Verdict.MIGRATES))
        .extracting(Rollout.RunResult::flow)
        .containsExactly("order");
    assertThat(now.of(Rollout.Verdict.CONTINUES))
        .extracting(Rollout.RunResult::flow)
        .containsExactly("trip");
    assertThat(now.of(Rollout.Verdict.STRANDED))
        .extracting(Rollout.RunResult::flow)
        .containsExactly("talk");
    assertThat(now.text()).contains("3 run(s)", "no flow talk is registered");

    Rollout closed = Rollout.check(store, second(m -> {}), TestFlows.trip(), TestFlows.talk());
    assertThat(closed.of(Rollout.Verdict.CONTINUES)).hasSize(2);
    assertThat(closed.of(Rollout.Verdict.STRANDED).get(0).why()).contains("dish");
  }

  @Test
  void aReleaseIsCheckedWithinTheLimitsOfTheHostThatContinuesTheRuns() {
    Store store = sqlite();
    try (TestHost host = new TestHost(store, first())) {
      host.client().start("dish", "soup");
    }
    Flow<Meal> second =
        second(
            m -> {
              renamed(m);
              m.state(state -> state.set("note", "x".repeat(1_000)));
            });
    Limits small = new Limits(1_000, 2_000, 1_000, 10);

    assertThat(Rollout.check(store, second).of(Rollout.Verdict.MIGRATES)).hasSize(1);
    HostBuilder host =
        Fermata.host().store(store).flow(second).settings(Settings.DEFAULT.limits(small));
    assertThat(Rollout.check(host).of(Rollout.Verdict.STRANDED))
        .singleElement()
        .satisfies(run -> assertThat(run.why()).contains("larger than 1000 bytes"));
  }
}
