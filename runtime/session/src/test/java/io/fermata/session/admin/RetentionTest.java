package io.fermata.session.admin;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.session.TestHost.eventually;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.agent.Agent;
import io.fermata.agent.Prompt;
import io.fermata.agent.replay.ThreadJournal;
import io.fermata.agent.replay.ThreadReplay;
import io.fermata.flow.Flow;
import io.fermata.flow.FlowBuilder;
import io.fermata.flow.event.RunState;
import io.fermata.flow.json.Json;
import io.fermata.flow.observe.Observation;
import io.fermata.flow.observe.Recorder;
import io.fermata.flow.schema.Computed;
import io.fermata.persistence.Store;
import io.fermata.persistence.spi.Due;
import io.fermata.session.AlteredStore;
import io.fermata.session.Fermata;
import io.fermata.session.HostBuilder;
import io.fermata.session.ScriptedModels;
import io.fermata.session.TestHost;
import io.fermata.session.actor.SessionRegion;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolReply;
import io.fermata.session.journal.StoreFiles;
import io.fermata.session.key.ThreadKey;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** How long the store keeps what is over, and what becomes of runs that nobody touches. */
@Tag("slow")
class RetentionTest {
  record Order(String dish) {}

  private static final Retention A_WEEK =
      Retention.ofJournals(Duration.ofDays(7)).knowingEndsFor(Duration.ofDays(30));

  private static final Threads.Query ALL_THREADS =
      new Threads.Query("ann", null, Set.of(), null, null, true, 10, null);

  @TempDir Path directory;
  private final AtomicLong passed = new AtomicLong();
  private final List<String> hooks = new CopyOnWriteArrayList<>();

  private Flow<Order> order() {
    return order(1, flow -> flow.expireAfter(Duration.ofDays(3)));
  }

  private Flow<Order> order(int version, UnaryOperator<FlowBuilder<Order>> more) {
    return more.apply(taking(version).onExpire(run -> hooks.add(run.id()))).compile();
  }

  private static FlowBuilder<Order> taking(int version) {
    return Flow.of("order", Order.class)
        .version(version)
        .description("Takes an order.")
        .ask("ask_dish", q -> q.question("dish", "Which dish?"))
        .edge(START, "ask_dish")
        .edge("ask_dish", END)
        .result(order -> order);
  }

  /** Ends at once, and its journal is swept as soon as the store is. */
  private static Flow<Order> glance() {
    return Flow.of("glance", Order.class)
        .description("Looks.")
        .act("look", run -> {})
        .edge(START, "look")
        .edge("look", END)
        .compile();
  }

  private Fermata host(Retention retention) {
    return host(retention, order());
  }

  private Fermata host(Retention retention, Flow<Order> order) {
    return builder(retention, order).start();
  }

  private HostBuilder builder(Retention retention, Flow<Order> order) {
    return Fermata.host()
        .store(Store.sqlite(directory.resolve("kept.db")))
        .flow(order)
        .flow(glance())
        .retention("order", retention)
        .clock(() -> Instant.ofEpochMilli(System.currentTimeMillis() + passed.get()));
  }

  private void pass(Duration time) {
    passed.addAndGet(time.toMillis());
  }

  private static ToolReply call(Fermata host, String action, String... updates) {
    return call(host, "order", action, updates);
  }

  private static ToolReply call(Fermata host, String flow, String action, String[] updates) {
    var arguments = Json.object().put("action", action);
    if (action.equals("start")) {
      arguments.put("intent", "to eat");
    }
    for (int i = 0; i < updates.length; i += 2) {
      arguments.withObject("stateUpdates").put(updates[i], updates[i + 1]);
    }
    var meta = Json.object().put("fermata/sessionId", "s");
    try {
      return host.call(new ToolCall(flow, "ann", arguments, meta, null), progress -> {})
          .toCompletableFuture()
          .get(60, TimeUnit.SECONDS);
    } catch (Exception e) {
      throw new AssertionError("No reply came", e);
    }
  }

  private static String dine(Fermata host, String dish) {
    call(host, "start");
    return run(call(host, "continue", "dish", dish));
  }

  private static String run(ToolReply reply) {
    return reply.meta().path("fermata/run").path("runId").asText();
  }

  private static List<Observation> replayed(Fermata host, String run) {
    return replayed(host, "order", run);
  }

  private static List<Observation> replayed(Fermata host, String flow, String run) {
    List<Observation> observed = new ArrayList<>();
    host.journals()
        .run(flow, run)
        .replay(
            new Recorder() {
              @Override
              public void onEvent(Observation event) {
                observed.add(event);
              }
            })
        .toCompletableFuture()
        .join();
    return observed;
  }

  /** Waits until the store has been swept. */
  private static void awaitSweep(Fermata host) throws InterruptedException {
    String run = run(call(host, "glance", "start", new String[0]));
    eventually(() -> !known(host, "glance", run));
  }

  private static boolean known(Fermata host, String run) {
    return known(host, "order", run);
  }

  private static boolean known(Fermata host, String flow, String run) {
    try {
      return !replayed(host, flow, run).isEmpty();
    } catch (RuntimeException unknown) {
      return false;
    }
  }

  @Test
  void theJournalOfARunThatHasEndedIsReplayedUntilItsTimeHasCome() throws Exception {
    String run;
    try (Fermata host = host(A_WEEK)) {
      run = dine(host, "soup");
    }
    pass(Duration.ofDays(6));
    try (Fermata host = host(A_WEEK)) {
      awaitSweep(host);
      List<Observation> kept = replayed(host, run);
      assertThat(kept.get(0).fact()).isInstanceOf(Observation.RunStart.class);
      assertThat(kept.get(kept.size() - 1).fact()).isInstanceOf(Observation.RunEnd.class);
      assertThat(TestHost.code(call(host, "continue"))).isEqualTo("run_completed");

      pass(Duration.ofDays(2));
      eventually(() -> !known(host, run));
      assertThat(TestHost.code(call(host, "continue"))).isEqualTo("run_completed");

      pass(Duration.ofDays(30));
      eventually(() -> TestHost.code(call(host, "continue")).equals("unknown_run"));
    }
  }

  private static ToolReply named(Fermata host, String callId, String dish) {
    var arguments = Json.object().put("action", "continue");
    arguments.putObject("stateUpdates").put("dish", dish);
    var meta = Json.object().put("fermata/sessionId", "s").put("fermata/callId", callId);
    return host.call(new ToolCall("order", "ann", arguments, meta, null))
        .toCompletableFuture()
        .join();
  }

  @Test
  void aLateCallOfAnEarlierRunIsNotGivenTheResultOfTheLastOne() {
    try (Fermata host = host(A_WEEK)) {
      call(host, "start");
      assertThat(named(host, "c1", "soup").structured().has("result")).isTrue();
      call(host, "start");
      assertThat(named(host, "c2", "pizza").structured().has("result")).isTrue();

      ToolReply late = named(host, "c1", "soup");
      assertThat(TestHost.code(late)).isEqualTo("run_completed");
      assertThat(late.structured().toString()).doesNotContain("pizza");
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void theReplyOfAnEndedRunIsGoneWhenItsTimeHasComeAlthoughAnotherRunOfItsSessionContinues(
      boolean awake) throws Exception {
    String dish = "Rumpelsuppe";
    HostBuilder builder =
        builder(A_WEEK, order(1, flow -> flow.expireAfter(Duration.ofDays(99))))
            .settings(Settings.DEFAULT.snapshotEvery(1));
    StoreFiles files = new StoreFiles(directory);
    String next;
    try (Fermata host = builder.start()) {
      call(host, "start");
      ToolReply first = named(host, "c1", dish);
      next = run(call(host, "start"));
      assertThat(named(host, "c1", dish).structured()).isEqualTo(first.structured());

      pass(Duration.ofDays(31));
      eventually(() -> records(files).noneMatch(record -> record.contains(dish)));
      if (awake) {
        assertThat(run(named(host, "c1", dish))).isEqualTo(next);
      }
    }
    if (!awake) {
      try (Fermata host = builder.store(Store.sqlite(directory.resolve("kept.db"))).start()) {
        assertThat(run(named(host, "c1", dish))).isEqualTo(next);
      }
    }
  }

  private static Stream<String> records(StoreFiles files) {
    try {
      return files.records().stream();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Test
  void theResultOfACompletedRunIsGivenAgainAsLongAsItsEndIsKept() throws Exception {
    try (Fermata host = host(A_WEEK)) {
      call(host, "start");
      ToolReply ended = call(host, "continue", "dish", "soup");
      JsonNode result = ended.structured().path("result");
      assertThat(result.path("dish").asText()).isEqualTo("soup");

      ToolReply repeated = call(host, "continue", "dish", "soup");
      assertThat(TestHost.code(repeated)).isEqualTo("run_completed");
      assertThat(repeated.structured().get("result")).isEqualTo(result);
      assertThat(repeated.structured().path("error").asText()).doesNotContain("Start a new run");
      assertThat(call(host, "continue").structured().get("result")).isEqualTo(result);
    }
    try (Fermata host = host(A_WEEK)) {
      ToolReply status = call(host, "status");
      assertThat(status.structured().path("status").asText()).isEqualTo("complete");
      assertThat(status.structured().path("result").path("dish").asText()).isEqualTo("soup");
    }
  }

  record Letter(@Computed String got) {}

  private static Flow<Letter> letter() {
    return Flow.of("letter", Letter.class)
        .description("Waits for a letter.")
        .waitFor("wait", "letter", "got")
        .edge(START, "wait")
        .edge("wait", END)
        .result(Letter::got)
        .compile();
  }

  private static boolean completed(ToolReply reply) {
    return TestHost.status(reply).equals("complete");
  }

  @Test
  void aCallThatComesAfterARunHasCompletedByItselfGetsItsResult() throws Exception {
    try (Fermata host = Fermata.host().store(Store.memory()).flow(letter()).start()) {
      String run = run(call(host, "letter", "start", new String[0]));
      host.signal("letter", run, "letter", "good news", null).toCompletableFuture().join();
      eventually(() -> completed(call(host, "letter", "status", new String[0])));

      String[] corrected = {"got", "bad news"};
      for (ToolReply late :
          List.of(
              call(host, "letter", "cancel", new String[0]),
              call(host, "letter", "reset", corrected),
              host.signal("letter", run, "letter", "bad news", null).toCompletableFuture().join(),
              host.runs().cancel("letter", run, "an operator").toCompletableFuture().join())) {
        assertThat(TestHost.code(late)).isEqualTo("run_completed");
        assertThat(late.structured().path("result").asText()).isEqualTo("good news");
      }
      ToolReply status = call(host, "letter", "status", new String[0]);
      assertThat(status.structured().path("result").asText()).isEqualTo("good news");
      ToolReply fetched = call(host, "letter", "continue", new String[0]);
      assertThat(completed(fetched)).isTrue();
      assertThat(fetched.structured().path("result").asText()).isEqualTo("good news");
    }
  }

  @Test
  void aRunIsItsOwnersStillWhenItsResultIsFetched() throws Exception {
    try (Fermata host =
        Fermata.host().store(Store.memory()).flow(letter()).retention(A_WEEK).start()) {
      String run = run(call(host, "letter", "start", new String[0]));
      host.signal("letter", run, "letter", "good news", null).toCompletableFuture().join();
      eventually(() -> ended(host, run).isPresent());
      RunInfo before = ended(host, run).orElseThrow();
      assertThat(before.principal()).isEqualTo("ann");

      ToolReply fetched = call(host, "letter", "continue", new String[0]);
      assertThat(fetched.structured().path("result").asText()).isEqualTo("good news");
      host.runs().rebuild().toCompletableFuture().join();
      assertThat(ended(host, run)).contains(before);
      ToolReply again = call(host, "letter", "continue", new String[0]);
      assertThat(TestHost.code(again)).isEqualTo("run_completed");
      assertThat(again.structured().path("result").asText()).isEqualTo("good news");
    }
  }

  private static Optional<RunInfo> ended(Fermata host, String run) {
    return host.runs()
        .get("letter", run)
        .toCompletableFuture()
        .join()
        .filter(info -> info.status() == RunInfo.Status.COMPLETED);
  }

  @Test
  void aRunThatFollowsInTheSameSessionLeavesTheOneBeforeItAsItWas() throws Exception {
    try (Fermata host = host(A_WEEK)) {
      String first = dine(host, "soup");
      List<Observation> before = replayed(host, first);
      String left = run(call(host, "start"));
      String last = run(call(host, "start"));

      assertThat(replayed(host, first)).isEqualTo(before);
      assertThat(replayed(host, left))
          .allMatch(event -> event.moment().run().equals(left))
          .last()
          .extracting(Observation::fact)
          .isInstanceOfSatisfying(
              Observation.RunEnd.class,
              end -> assertThat(end.status()).isEqualTo(RunState.Status.ABANDONED));
      assertThat(replayed(host, last)).allMatch(event -> event.moment().run().equals(last));

      pass(Duration.ofDays(2));
      call(host, "status");
      assertThat(TestHost.status(call(host, "continue"))).isEqualTo("interrupt");
      pass(Duration.ofDays(2));
    }
    try (Fermata host = host(A_WEEK)) {
      assertThat(TestHost.code(call(host, "status"))).isIn("none", "run_expired");
    }
  }

  @Test
  void aRunThatBeganBeforeTheOneBeforeItIsSweptContinuesWhenThatIsGone() throws Exception {
    try (Fermata host = host(Retention.ofJournals(Duration.ofDays(1)))) {
      String first = dine(host, "soup");
      call(host, "start");

      pass(Duration.ofDays(2));
      eventually(() -> !known(host, first));
    }
    try (Fermata host = host(Retention.DEFAULT)) {
      assertThat(TestHost.status(call(host, "continue", "dish", "fish"))).isEqualTo("complete");
    }
  }

  @Test
  void aRunThatNobodyTouchesEndsByItselfAndItsHookRunsOnce() throws Exception {
    String run;
    try (Fermata host = host(A_WEEK)) {
      run = run(call(host, "start"));
    }
    pass(Duration.ofDays(4));
    try (Fermata host = host(A_WEEK)) {
      eventually(() -> hooks.equals(List.of(run)));
      eventually(() -> expired(host, run));
      assertThat(TestHost.code(call(host, "continue", "dish", "soup"))).isEqualTo("run_expired");
      assertThat(hooks).containsExactly(run);
      assertThat(TestHost.status(call(host, "start"))).isEqualTo("interrupt");
    }
  }

  private static boolean expired(Fermata host, String run) {
    return replayed(host, run).stream()
        .anyMatch(
            event ->
                event.fact() instanceof Observation.RunEnd end
                    && end.status() == RunState.Status.EXPIRED);
  }

  @Test
  void aRunThatMayLiveLongerThanItsJournalSaysIsDueWhenItExpiresNow() throws Exception {
    String run;
    try (Fermata host = host(A_WEEK)) {
      run = run(call(host, "start"));
    }
    pass(Duration.ofDays(4));
    AtomicBoolean overdue = new AtomicBoolean(true);
    Flow<Order> longer = order(1, flow -> flow.expireAfter(Duration.ofDays(9)));
    try (Fermata host = watched(builder(A_WEEK, longer), overdue)) {
      eventually(() -> !overdue.get());
      assertThat(hooks).isEmpty();

      pass(Duration.ofDays(6));
      eventually(() -> expired(host, run));
      assertThat(hooks).containsExactly(run);
    }
  }

  @Test
  void aRunThatDoesNotExpireAnyMoreIsNotDue() throws Exception {
    try (Fermata host = host(A_WEEK)) {
      call(host, "start");
    }
    pass(Duration.ofDays(4));
    AtomicBoolean overdue = new AtomicBoolean(true);
    Flow<Order> lasting = taking(1).neverExpire().compile();
    try (Fermata host = watched(builder(A_WEEK, lasting), overdue)) {
      eventually(() -> !overdue.get());
      assertThat(TestHost.status(call(host, "continue", "dish", "soup"))).isEqualTo("complete");
    }
  }

  @Test
  void aThreadThatMayLiveLongerThanItsJournalSaysIsDueWhenItExpiresNow() throws Exception {
    Agent desk = Agent.aiHuman("desk", Prompt.of("desk", ScriptedModels.saying("Hi.")));
    String id;
    try (Fermata host =
        builder(A_WEEK, order()).agent(desk.expireAfter(Duration.ofDays(3))).start()) {
      id =
          host.threads()
              .create(new Threads.NewThread("ann", "desk", null, Set.of(), Map.of(), List.of()))
              .toCompletableFuture()
              .join()
              .threadId();
    }
    pass(Duration.ofDays(4));
    AtomicBoolean overdue = new AtomicBoolean(true);
    Agent longer = desk.expireAfter(Duration.ofDays(9));
    try (Fermata host = watched(builder(A_WEEK, order()).agent(longer), overdue)) {
      long active = active(host, id);
      eventually(() -> !overdue.get());
      assertThat(active(host, id)).as("nobody did anything").isEqualTo(active);
      ThreadJournal journal =
          host.journals().thread(id).readWithSecrets().toCompletableFuture().join();
      ThreadReplay.of(List.of(longer), journal).requireSame();

      pass(Duration.ofDays(6));
      eventually(() -> threads(host).isEmpty());
    }
  }

  @Test
  void aThreadThatIsWokenAlthoughItIsNotDueWritesNothing() {
    writesNothingWhenWokenEarly(Settings.DEFAULT);
  }

  @Test
  void aThreadWhoseEntriesASnapshotReplacesWritesNothingEither() {
    writesNothingWhenWokenEarly(Settings.DEFAULT.snapshotEvery(1));
  }

  private void writesNothingWhenWokenEarly(Settings settings) {
    Agent desk = Agent.aiHuman("desk", Prompt.of("desk", ScriptedModels.saying("Hi.")));
    Threads.NewThread wanted =
        new Threads.NewThread("ann", "desk", null, Set.of(), Map.of(), List.of());
    String id;
    try (Fermata host = builder(A_WEEK, order()).settings(settings).agent(desk).start()) {
      id = host.threads().create(wanted).toCompletableFuture().join().threadId();
    }
    try (Fermata host = builder(A_WEEK, order()).settings(settings).agent(desk).start()) {
      int written = written(host, id);
      String entityId = Objects.requireNonNull(ThreadKey.of(id)).entityId();
      host.system().unsafeUpcast().tell(new SessionRegion.WakeUp(List.of(entityId)));
      host.threads().get("ann", id).toCompletableFuture().join();
      assertThat(written(host, id)).isEqualTo(written);
    }
  }

  private static int written(Fermata host, String thread) {
    return host.journals()
        .thread(thread)
        .readWithSecrets()
        .toCompletableFuture()
        .join()
        .entries()
        .size();
  }

  private static List<Threads.Listed> threads(Fermata host) {
    return host.threads().list(ALL_THREADS).toCompletableFuture().join().threads();
  }

  private static long active(Fermata host, String thread) {
    assertThat(threads(host)).extracting(Threads.Listed::threadId).containsExactly(thread);
    return threads(host).get(0).activeAt();
  }

  /** A host that says whether its latest look at what is due has found something overdue. */
  private Fermata watched(HostBuilder builder, AtomicBoolean overdue) {
    Store kept = Store.sqlite(directory.resolve("kept.db"));
    Store watched =
        AlteredStore.of(
            kept,
            request ->
                request.is("due")
                    ? ((CompletionStage<?>) Objects.requireNonNull(request.ask()))
                        .whenComplete(
                            (due, failed) ->
                                overdue.set(
                                    failed != null
                                        || ((List<?>) due).stream().anyMatch(this::isOver)))
                    : request.ask());
    return builder.store(watched).start();
  }

  private boolean isOver(Object due) {
    return ((Due) due).at() <= System.currentTimeMillis() + passed.get();
  }

  @Test
  void aRunOfAVersionThatIsGoneExpiresInTheOneThatTakesItOver() throws Exception {
    String run;
    try (Fermata host = host(A_WEEK)) {
      run = run(call(host, "start"));
    }
    pass(Duration.ofDays(4));
    Flow<Order> next = order(2, flow -> flow.migrate(1, m -> {}).expireAfter(Duration.ofDays(3)));
    try (Fermata host = host(A_WEEK, next)) {
      // While its hook is called, the run still works.
      eventually(() -> TestHost.code(call(host, "status")).equals("run_expired"));
      eventually(() -> expired(host, run));
      assertThat(hooks).containsExactly(run);
      assertThat(TestHost.code(call(host, "continue", "dish", "soup"))).isEqualTo("run_expired");
    }
  }

  @Test
  void aRunThatWouldHaveLivedLongerExpiresInTheVersionThatTakesItOverWhenSomebodyCalls()
      throws Exception {
    String run;
    Flow<Order> old = order(1, flow -> flow.expireAfter(Duration.ofDays(99)));
    try (Fermata host = host(A_WEEK, old)) {
      run = run(call(host, "start"));
    }
    pass(Duration.ofDays(40));
    Flow<Order> next = order(2, flow -> flow.migrate(1, m -> {}));
    try (Fermata host = host(A_WEEK, next)) {
      assertThat(TestHost.code(call(host, "continue", "dish", "soup"))).isEqualTo("run_expired");
      eventually(() -> expired(host, run));
      assertThat(hooks).containsExactly(run);
    }
  }

  @Test
  void aRunWhoseVersionIsGoneLivesAsLongAsTheOneThatTakesItOverSays() throws Exception {
    String run;
    try (Fermata host = host(A_WEEK)) {
      run = run(call(host, "start"));
    }
    pass(Duration.ofDays(4));
    Flow<Order> next = order(2, flow -> flow.migrate(1, m -> {}).expireAfter(Duration.ofDays(9)));
    try (Fermata host = host(A_WEEK, next)) {
      JsonNode expires = call(host, "status").structured().at("/run/expiresAt");
      assertThat(expires.isTextual()).isTrue();
      eventually(() -> version(host, run) == 2);
      assertThat(hooks).isEmpty();
      assertThat(TestHost.status(call(host, "continue", "dish", "soup"))).isEqualTo("complete");
    }
  }

  private static int version(Fermata host, String run) {
    return host.runs()
        .get("order", run)
        .toCompletableFuture()
        .join()
        .map(RunInfo::version)
        .orElse(0);
  }

  @Test
  void aRetentionIsOfAFlowThatThereIs() {
    assertThatThrownBy(
            () ->
                Fermata.host()
                    .store(Store.memory())
                    .flow(order())
                    .retention("ordre", A_WEEK)
                    .start())
        .hasMessageContaining("ordre");
    assertThatThrownBy(() -> new Retention(Duration.ofDays(-1), Duration.ZERO))
        .hasMessageContaining("must not be negative");
    assertThat(new Retention(Duration.ofDays(9), Duration.ofDays(1)).end())
        .isEqualTo(Duration.ofDays(9));
  }
}
