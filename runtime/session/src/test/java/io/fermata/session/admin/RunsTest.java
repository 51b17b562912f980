package io.fermata.session.admin;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.route.Condition.visits;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.flow.Flow;
import io.fermata.flow.action.StepException;
import io.fermata.flow.event.Retry;
import io.fermata.flow.json.Json;
import io.fermata.persistence.Store;
import io.fermata.persistence.directory.Directory;
import io.fermata.persistence.directory.DirectoryEntry;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.session.Fermata;
import io.fermata.session.TestFlows;
import io.fermata.session.TestHost;
import io.fermata.session.admin.RunInfo.Status;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolReply;
import io.fermata.session.journal.Encryption;
import io.fermata.session.key.SessionKey;
import io.fermata.session.runs.DirectoryWrites;
import io.fermata.session.runs.RunEntryWriter;
import io.fermata.session.runs.RunJournals;
import io.fermata.session.runs.RunRow;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The list of runs follows their journals, and is found in them again. */
@Tag("slow")
class RunsTest {
  record Order(String item, String size) {}

  private static final Flow<Order> ORDER =
      Flow.of("order", Order.class)
          .description("Takes an order.")
          .version(3)
          .ask("ask_item", q -> q.question("item", "What?"))
          .act(
              "mark",
              run -> {
                if ("nothing".equals(run.state().item())) {
                  run.tag("never");
                  throw new StepException("There is no such thing.");
                }
                run.tag("vip").tag(run.state().item());
              })
          .ask("ask_size", q -> q.question("size", "How big?"))
          .edge(START, "ask_item")
          .edge("ask_item", "mark")
          .edge("mark", "ask_size")
          .edge("ask_size", END)
          .result(Order::item)
          .compile();

  @TempDir Path folder = Path.of("");

  private Store file() {
    return Store.sqlite(folder.resolve("fermata.db"));
  }

  private static <T> T now(CompletionStage<T> stage) {
    try {
      return stage.toCompletableFuture().get(60, TimeUnit.SECONDS);
    } catch (Exception e) {
      throw new AssertionError("It did not come to an end", e);
    }
  }

  private static List<RunInfo> list(Runs runs, RunQuery query) {
    List<RunInfo> all = new ArrayList<>();
    @Nullable String cursor = null;
    do {
      Runs.Page page = now(runs.list(query.cursor(cursor)));
      all.addAll(page.runs());
      cursor = page.cursor();
    } while (cursor != null);
    return all;
  }

  /** The list follows within a second; what is asserted here is only that it follows. */
  private static void soon(Runnable assertion) {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
    while (true) {
      try {
        assertion.run();
        return;
      } catch (AssertionError | RuntimeException e) {
        if (System.nanoTime() > end) {
          throw e;
        }
      }
      try {
        Thread.sleep(20);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new AssertionError(e);
      }
    }
  }

  private static String runId(ToolReply reply) {
    return reply.meta().path("fermata/run").path("runId").textValue();
  }

  @Test
  void aRunIsListedWithWhatItWaitsForAndSinceWhen() {
    try (TestHost host = new TestHost(Store.memory(), ORDER)) {
      TestHost.Client ann = host.client();
      ann.principal = "ann";
      String id = runId(ann.start());
      soon(
          () -> {
            RunInfo run = list(host.fermata().runs(), RunQuery.ALL).get(0);
            assertThat(run.runId()).isEqualTo(id);
            assertThat(run.flow()).isEqualTo("order");
            assertThat(run.version()).isEqualTo(3);
            assertThat(run.principal()).isEqualTo("ann");
            assertThat(run.session()).isEqualTo(ann.sessionId);
            assertThat(run.status()).isEqualTo(Status.WAITING);
            assertThat(run.since()).isGreaterThanOrEqualTo(run.startedAt());
            assertThat(run.waitsFor())
                .containsExactly(new RunInfo.Wait("ask_item", RunInfo.Wait.Kind.ANSWER, "item"));
          });
      ann.proceed("item", "chair");
      soon(
          () -> {
            RunInfo run = now(host.fermata().runs().get("order", id)).orElseThrow();
            assertThat(run.tags()).containsExactly("chair", "vip");
            assertThat(run.waitsFor()).extracting(RunInfo.Wait::what).containsExactly("size");
          });
      assertThat(ann.status().structured().path("run").path("tags").toString())
          .isEqualTo("[\"vip\",\"chair\"]");
      ann.proceed("size", "big");
      soon(() -> assertThat(list(host.fermata().runs(), RunQuery.ALL)).isEmpty());
    }
  }

  private static Flow<Order> failing(Retry retry) {
    return Flow.of("order", Order.class)
        .description("Takes an order.")
        .act(
            "deliver",
            run -> {
              throw new IllegalStateException("The road is closed.");
            },
            options -> options.retry(retry))
        .waitFor("wait", "paid")
        .edge(START, "deliver")
        .edge("deliver", "wait")
        .edge("wait", END)
        .compile();
  }

  @Test
  void runsAreNotCountedUpToLessThanNone() {
    try (TestHost host = new TestHost(Store.memory(), ORDER)) {
      host.client().start();
      Runs runs = host.fermata().runs();
      assertThat(runs.count(RunQuery.ALL, 0).toCompletableFuture().join()).isZero();
      assertThatThrownBy(() -> runs.count(RunQuery.ALL, -1))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessage("Runs are counted up to -1; give 0 or more");
    }
  }

  @Test
  void aRunThatRetriesIsWorkingSinceItsFirstAttempt() {
    Duration soon = Duration.ofMillis(50);
    try (TestHost host = new TestHost(Store.memory(), failing(new Retry(10_000, soon, soon)))) {
      CompletableFuture<ToolReply> call = host.client().startLater();
      Runs runs = host.fermata().runs();
      RunQuery working = RunQuery.ALL.statuses(Set.of(Status.WORKING));
      soon(() -> assertThat(list(runs, working)).hasSize(1));
      RunInfo first = list(runs, working).get(0);

      soon(
          () ->
              assertThat(list(runs, working).get(0).changedAt()).isGreaterThan(first.changedAt()));

      assertThat(list(runs, working).get(0).since()).isEqualTo(first.since());
      now(runs.cancel("order", first.runId(), "ops"));
      assertThat(TestHost.code(now(call))).isEqualTo("run_cancelled");
    }
  }

  @Test
  void aQuestionIsAsOldAsItIsWhateverAnotherBranchDoesMeanwhile() {
    Flow<Order> polling =
        Flow.of("order", Order.class)
            .description("Takes an order.")
            .ask("ask_item", q -> q.question("item", "What?"))
            .act("poll", run -> {})
            .waitFor("wait", "poll")
            .fork(START, f -> f.branch("ask_item").branch("poll").join("meet"))
            .edge("ask_item", "meet")
            .edge("poll", "wait")
            .decide(
                "wait", d -> d.when("enough", visits("poll").gte(9)).to("meet").otherwise("poll"))
            .edge("meet", END)
            .act("meet", run -> {})
            .compile();
    try (TestHost host = new TestHost(Store.memory(), polling)) {
      TestHost.Client client = host.client();
      String id = runId(client.start());
      Runs runs = host.fermata().runs();
      RunQuery waiting = RunQuery.ALL.statuses(Set.of(Status.WAITING));
      soon(() -> assertFound(runs, waiting, id));
      RunInfo before = list(runs, waiting).get(0);

      now(host.fermata().signal("order", id, "poll", null, null));
      soon(
          () ->
              assertThat(list(runs, waiting).get(0).changedAt()).isGreaterThan(before.changedAt()));

      assertThat(list(runs, waiting).get(0).since()).isEqualTo(before.since());
      assertThat(since(client.status())).isEqualTo(before.since());
    }
  }

  @Test
  void aSignalToAStoppedRunDoesNotMakeItsStopYounger() {
    try (TestHost host = new TestHost(Store.memory(), failing(Retry.NEVER))) {
      TestHost.Client client = host.client();
      String id = runId(client.start());
      Runs runs = host.fermata().runs();
      RunQuery stopped = RunQuery.ALL.statuses(Set.of(Status.STOPPED));
      soon(() -> assertFound(runs, stopped, id));
      RunInfo before = list(runs, stopped).get(0);

      now(host.fermata().signal("order", id, "paid", null, null));
      soon(
          () ->
              assertThat(list(runs, stopped).get(0).changedAt()).isGreaterThan(before.changedAt()));

      assertThat(list(runs, stopped).get(0).since()).isEqualTo(before.since());
      assertThat(since(client.status())).isEqualTo(before.since());
    }
  }

  private static long since(ToolReply status) {
    return Instant.parse(status.structured().at("/run/since").asText()).toEpochMilli();
  }

  @Test
  void runsAreFoundByWhatIsKnownOfThem() {
    try (TestHost host = new TestHost(Store.memory(), ORDER, TestFlows.trip())) {
      TestHost.Client ann = host.client();
      ann.principal = "ann";
      String chair = runId(ann.start("item", "chair"));
      TestHost.Client bob = host.client();
      bob.principal = "bob";
      String stopped = runId(bob.start("item", "nothing"));
      TestHost.Client trip = host.client("trip");
      trip.principal = "bob";
      String away = runId(trip.meta("sessionId", "my trip").start());
      Runs runs = host.fermata().runs();
      soon(() -> assertThat(list(runs, RunQuery.ALL)).hasSize(3));
      RunQuery all = RunQuery.ALL;
      assertFound(runs, all.principal("ann"), chair);
      assertFound(runs, all.flow("trip"), away);
      assertFound(runs, all.session("my trip"), away);
      assertFound(runs, all.session("my trip").principal("ann"));
      assertFound(runs, all.tags(Set.of("vip")), chair);
      assertFound(runs, all.tags(Set.of("never")));
      assertFound(runs, all.statuses(Set.of(Status.STOPPED)), stopped);
      assertFound(runs, all.statuses(Set.of(Status.WAITING)).flow("order"), chair);
      assertFound(runs, all.version(3).principal("bob"), stopped);
      assertFound(runs, all.text("STEP_FAILED"), stopped);
      Instant then = Instant.now().minus(Duration.ofHours(1));
      assertFound(runs, all.before(then));
      assertFound(runs, all.started(null, then));
      assertThat(list(runs, all.started(then, null))).hasSize(3);
      RunQuery longest = all.order(RunQuery.Order.LONGEST).before(Instant.now().plusSeconds(60));
      assertThat(list(runs, longest)).extracting(RunInfo::since).hasSize(3).isSorted();
      assertThatThrownBy(() -> runs.list(all.limit(0)))
          .isInstanceOf(IllegalArgumentException.class);
    }
  }

  @Test
  void aRunIsListedWithItsPrincipalAndErasedByItHoweverLongTheNameIs() {
    try (TestHost host = new TestHost(Store.memory(), ORDER)) {
      TestHost.Client subject = host.client();
      subject.principal = "https://issuer.example#" + "p".repeat(277);
      String id = runId(subject.start("item", "chair"));
      Runs runs = host.fermata().runs();
      soon(() -> assertFound(runs, RunQuery.ALL.principal(subject.principal), id));

      String listed = now(runs.get("order", id)).orElseThrow().principal();

      assertThat(listed).isEqualTo(subject.principal);
      assertThat(now(runs.erasePrincipal(listed)).journals()).isEqualTo(1);
    }
  }

  private static void assertFound(Runs runs, RunQuery query, String... ids) {
    assertThat(list(runs, query))
        .as(query.toString())
        .extracting(RunInfo::runId)
        .containsExactlyInAnyOrder(ids);
  }

  @Test
  void whatACrashKeptFromTheListIsFoundAtTheNextStartAndNobodyIsWoken() {
    try (TestHost host = new TestHost(file(), ORDER)) {
      TestHost.Client over = host.client();
      over.start("item", "table");
      soon(() -> assertThat(list(host.fermata().runs(), RunQuery.ALL)).hasSize(1));
      String id = runId(host.client().start("item", "chair"));
      over.proceed("size", "big");
      host.crash();
      soon(() -> assertFound(host.fermata().runs(), RunQuery.ALL, id));
      RunInfo run = now(host.fermata().runs().get("order", id)).orElseThrow();
      assertThat(run.tags()).contains("chair");
      assertThat(host.fermata().awake()).isZero();
    }
  }

  @Test
  void aHostThatWasClosedInPeaceHasNothingToCatchUpWith() {
    Store store = file();
    try (TestHost host = new TestHost(store, ORDER)) {
      host.client().start();
    }
    try (OpenStore open = store.open()) {
      assertThat(now(open.directory().marked())).isEqualTo(now(open.newest())).isPositive();
    }
    try (Runs.Opened runs = Fermata.openRuns(store)) {
      assertThat(list(runs, RunQuery.ALL)).hasSize(1);
    }
  }

  @Test
  void aRebuildFindsWhatIsMissingAndTakesOutWhatIsNoRun() {
    Store store = file();
    String id;
    try (TestHost host = new TestHost(store, ORDER)) {
      id = runId(host.client().start("item", "chair"));
      host.client().start("item", "table", "size", "big");
    }
    try (OpenStore open = store.open()) {
      Directory directory = open.directory();
      DirectoryEntry there = now(directory.get("order|" + id)).orElseThrow();
      now(directory.put(status(there.persistenceId(), there.seq(), "failed")));
      String stranger = "order|" + id.substring(0, id.indexOf('.')) + ".none";
      now(directory.put(status(stranger, 1, "waiting")));
    }
    try (TestHost host = new TestHost(store, ORDER)) {
      Runs runs = host.fermata().runs();
      assertThat(list(runs, RunQuery.ALL)).hasSize(2);
      Runs.Rebuilt rebuilt = now(runs.rebuild());
      assertThat(rebuilt).isEqualTo(new Runs.Rebuilt(2, 1, 1));
      assertFound(runs, RunQuery.ALL, id);
      assertThat(now(runs.get("order", id)).orElseThrow().status()).isEqualTo(Status.WAITING);
    }
    try (OpenStore open = store.open()) {
      now(open.directory().remove("order|" + id));
    }
    try (Runs.Opened runs = Fermata.openRuns(store)) {
      assertThat(list(runs, RunQuery.ALL)).isEmpty();
      assertThat(now(runs.rebuild())).isEqualTo(new Runs.Rebuilt(2, 1, 0));
      assertFound(runs, RunQuery.ALL, id);
    }
  }

  private static DirectoryEntry status(String name, long seq, String how) {
    return new DirectoryEntry(name, RunRow.KIND, "", "order", seq, 1, 1, Set.of(), Map.of())
        .in("", how, 1);
  }

  @Test
  void aRebuildWhileRunsComeAndGoLeavesNoneThatHasEnded() {
    try (TestHost host = new TestHost(file(), ORDER)) {
      Runs runs = host.fermata().runs();
      Set<String> live = new HashSet<>();
      List<CompletionStage<Runs.Rebuilt>> rebuilds = new ArrayList<>();
      for (int i = 0; i < 60; i++) {
        TestHost.Client client = host.client();
        String id = runId(client.start("item", "chair"));
        if (i % 3 == 0) {
          live.add(id);
        }
        if (i % 10 == 0) {
          rebuilds.add(runs.rebuild());
        }
        if (i % 3 != 0) {
          client.proceed("size", "big");
        }
      }
      rebuilds.forEach(RunsTest::now);
      soon(() -> assertFound(runs, RunQuery.ALL, live.toArray(String[]::new)));
    }
  }

  @Test
  void aRunThatIsErasedWhileTheListCatchesUpDoesNotReturn() {
    Store store = file();
    String id;
    try (TestHost host = new TestHost(store, ORDER)) {
      id = runId(host.client().start("item", "chair"));
    }
    String journal = SessionKey.entityOf("order", id);
    try (OpenStore open = store.open()) {
      Directory erasing = erasing(open, journal);
      DirectoryWrites caught =
          new DirectoryWrites(
              new RunJournals(open, Encryption.ofEnvironment()),
              erasing,
              new RunEntryWriter(erasing),
              InstantSource.system(),
              () -> {});
      caught.accept(List.of(journal));
      assertThat(now(open.directory().get(RunRow.id("order", id)))).isEmpty();
      caught.settle();
      assertThat(now(open.directory().get(RunRow.id("order", id)))).isEmpty();
    }
  }

  /** A directory whose store has just forgotten a journal when the first entry comes. */
  private static Directory erasing(OpenStore store, String journal) {
    AtomicBoolean erased = new AtomicBoolean();
    return (Directory)
        Proxy.newProxyInstance(
            Directory.class.getClassLoader(),
            new Class<?>[] {Directory.class},
            (proxy, method, arguments) -> {
              if (method.getName().equals("put") && erased.compareAndSet(false, true)) {
                now(store.delete(List.of(journal)));
              }
              return method.invoke(store.directory(), arguments);
            });
  }

  @Test
  void pagesListEveryRunOnceWhileOthersComeAndGo() {
    try (TestHost host = new TestHost(Store.memory(), ORDER)) {
      Runs runs = host.fermata().runs();
      Set<String> stay = new HashSet<>();
      List<TestHost.Client> leave = new ArrayList<>();
      for (int i = 0; i < 20; i++) {
        stay.add(runId(host.client().start()));
        TestHost.Client client = host.client();
        client.start("item", "chair");
        leave.add(client);
      }
      soon(() -> assertThat(list(runs, RunQuery.ALL)).hasSize(40));
      List<String> listed = new ArrayList<>();
      @Nullable String cursor = null;
      do {
        Runs.Page page = now(runs.list(RunQuery.ALL.limit(5).cursor(cursor)));
        page.runs().forEach(run -> listed.add(run.runId()));
        cursor = page.cursor();
        leave.remove(0).proceed("size", "big");
        host.client().start();
      } while (cursor != null);
      assertThat(listed).doesNotHaveDuplicates().containsAll(stay);
    }
  }

  @Test
  void anotherRunInTheSessionTakesThePlaceOfTheOneThatItEnds() {
    try (TestHost host = new TestHost(Store.memory(), ORDER)) {
      TestHost.Client client = host.client();
      String first = runId(client.start());
      Runs runs = host.fermata().runs();
      soon(() -> assertFound(runs, RunQuery.ALL, first));
      String second = runId(client.start());
      soon(() -> assertFound(runs, RunQuery.ALL, second));
    }
  }

  @Test
  void aRunThatHasEndedIsListedForAsLongAsItsJournalIsKept() throws Exception {
    Store store = file();
    String id;
    try (Fermata host = keeping(store, Duration.ofDays(1))) {
      id = ended(host, "ann");
      soon(
          () -> {
            RunInfo run = now(host.runs().get("order", id)).orElseThrow();
            assertThat(run.status()).isEqualTo(Status.COMPLETED);
            assertThat(run.changedAt()).isGreaterThanOrEqualTo(run.startedAt());
            assertThat(run.tags()).containsExactly("chair", "vip");
            assertThat(run.principal()).isEqualTo("ann");
          });
      assertFound(host.runs(), RunQuery.ALL.statuses(Set.of(Status.COMPLETED)), id);
      assertFound(host.runs(), RunQuery.ALL.order(RunQuery.Order.LONGEST));
    }
    try (OpenStore open = store.open()) {
      now(open.directory().remove("order|" + id));
    }
    try (Fermata host = keeping(store, Duration.ofDays(1))) {
      assertThat(now(host.runs().rebuild())).isEqualTo(new Runs.Rebuilt(1, 1, 0));
      assertFound(host.runs(), RunQuery.ALL, id);
    }
    try (OpenStore open = store.open()) {
      now(open.sweep(Instant.now().plus(Duration.ofDays(2)).toEpochMilli()));
      assertThat(now(open.directory().get("order|" + id))).isEmpty();
    }
  }

  private static Fermata keeping(Store store, Duration time) {
    return Fermata.host().store(store).flow(ORDER).retention(Retention.ofJournals(time)).start();
  }

  private static String ended(Fermata host, String principal) {
    var updates = Json.object().put("item", "chair").put("size", "big");
    var start = Json.object().put("action", "start").put("intent", "to test");
    start.set("stateUpdates", updates);
    return runId(now(host.call(new ToolCall("order", principal, start, Json.object(), null))));
  }

  @Test
  void whatIsErasedIsListedNoMore() {
    try (TestHost host = new TestHost(Store.memory(), ORDER)) {
      TestHost.Client ann = host.client();
      ann.principal = "ann";
      String erased = runId(ann.start());
      String stays = runId(host.client().start());
      now(host.fermata().erase(new Erasure.Run("order", erased)));
      soon(() -> assertFound(host.fermata().runs(), RunQuery.ALL, stays));
      assertThat(now(host.fermata().runs().rebuild()).entered()).isEqualTo(1);
      now(host.fermata().erase(new Erasure.Principal("local")));
      soon(() -> assertFound(host.fermata().runs(), RunQuery.ALL));
    }
  }

  @Test
  void aSessionWhoseNameTheDirectoryRefusesIsListedAndFoundByIt() {
    String name = "a\0b";
    String id;
    try (TestHost host = new TestHost(file(), ORDER)) {
      id = runId(host.client().meta("sessionId", name).start());
      soon(() -> assertFound(host.fermata().runs(), RunQuery.ALL.session(name), id));
      assertThat(now(host.fermata().runs().rebuild())).isEqualTo(new Runs.Rebuilt(1, 1, 0));
      RunInfo run = now(host.fermata().runs().get("order", id)).orElseThrow();
      assertThat(run.session()).isEqualTo("a\uFFFDb");
    }
  }
}
