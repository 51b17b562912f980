package io.fermata.session;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.flow.Flow;
import io.fermata.flow.FlowBuilder;
import io.fermata.flow.Migration;
import io.fermata.flow.json.Limits;
import io.fermata.flow.schema.Computed;
import io.fermata.persistence.Store;
import io.fermata.session.Rollout.Verdict;
import io.fermata.session.TestHost.Client;
import io.fermata.session.admin.Settings;
import io.fermata.session.call.ToolReply;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
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
    assertThat(now.of(Verdict.MIGRATES))
        .extracting(Rollout.RunResult::flow)
        .containsExactly("order");
    assertThat(now.of(Verdict.CONTINUES))
        .extracting(Rollout.RunResult::flow)
        .containsExactly("trip");
    assertThat(now.of(Verdict.STRANDED))
        .extracting(Rollout.RunResult::flow)
        .containsExactly("talk");
    assertThat(now.text()).contains("3 run(s)", "no flow talk is registered");

    Rollout closed = Rollout.check(store, second(m -> {}), TestFlows.trip(), TestFlows.talk());
    assertThat(closed.of(Verdict.CONTINUES)).hasSize(2);
    assertThat(closed.of(Verdict.STRANDED).get(0).why()).contains("dish");
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

    assertThat(Rollout.check(store, second).of(Verdict.MIGRATES)).hasSize(1);
    HostBuilder host =
        Fermata.host().store(store).flow(second).settings(Settings.DEFAULT.limits(small));
    assertThat(Rollout.check(host).of(Verdict.STRANDED))
        .singleElement()
        .satisfies(run -> assertThat(run.why()).contains("larger than 1000 bytes"));
  }
}
