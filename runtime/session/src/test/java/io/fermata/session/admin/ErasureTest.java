package io.fermata.session.admin;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.session.TestHost.eventually;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.agent.Agent;
import io.fermata.agent.FlowTool;
import io.fermata.agent.Prompt;
import io.fermata.agent.SubAgent;
import io.fermata.agent.message.Message;
import io.fermata.agent.model.Model;
import io.fermata.flow.Flow;
import io.fermata.flow.json.Json;
import io.fermata.flow.observe.Observation;
import io.fermata.flow.observe.Recorder;
import io.fermata.persistence.Store;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.StoreException;
import io.fermata.persistence.spi.StoreProblem;
import io.fermata.session.AlteredStore;
import io.fermata.session.Fermata;
import io.fermata.session.HostBuilder;
import io.fermata.session.ScriptedModels;
import io.fermata.session.TestHost;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolReply;
import io.fermata.session.journal.StoreFiles;
import io.fermata.session.key.HostError;
import io.fermata.session.key.SessionKey;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What was erased is gone: from the host, from the store, and from the bytes of its files. */
@Tag("slow")
class ErasureTest {
  private static final String MARKER = "Rumpelstiltskin";
  private static final Duration TIMEOUT = Duration.ofSeconds(30);

  record Order(String dish, @Nullable String drink) {}

  private final Path directory;
  private final StoreFiles files;
  private final CountDownLatch cooking = new CountDownLatch(1);
  private final CountDownLatch cooked = new CountDownLatch(1);

  ErasureTest(@TempDir Path directory) {
    this.directory = directory;
    this.files = new StoreFiles(directory);
  }

  private static Flow<Order> order(String id) {
    return Flow.of(id, Order.class)
        .description("Takes an order.")
        .ask("ask_dish", q -> q.question("dish", "Which dish?"))
        .ask("ask_drink", q -> q.question("drink", "Which drink?"))
        .edge(START, "ask_dish")
        .edge("ask_dish", "ask_drink")
        .edge("ask_drink", END)
        .compile();
  }

  private Flow<Order> cook() {
    return Flow.of("cook", Order.class)
        .description("Cooks.")
        .ask("ask_dish", q -> q.question("dish", "Which dish?"))
        .act(
            "cook",
            run -> {
              cooking.countDown();
              cooked.await();
            })
        .edge(START, "ask_dish")
        .edge("ask_dish", "cook")
        .edge("cook", END)
        .compile();
  }

  private Store store() {
    return Store.sqlite(directory.resolve("erased.db"));
  }

  private HostBuilder host(Flow<?>... flows) {
    return host(store(), flows);
  }

  private static HostBuilder host(Store store, Flow<?>... flows) {
    HostBuilder host = Fermata.host().store(store).settings(Settings.DEFAULT.snapshotEvery(2));
    List.of(flows).forEach(host::flow);
    return host;
  }

  private static <T> T now(CompletionStage<T> stage) {
    try {
      return stage.toCompletableFuture().get(60, TimeUnit.SECONDS);
    } catch (Exception e) {
      throw new AssertionError("It did not end well", e);
    }
  }

  private static CompletionStage<ToolReply> later(
      Fermata host, String flow, String principal, String session, String action, String... say) {
    var arguments = Json.object().put("action", action);
    if (action.equals("start")) {
      arguments.put("intent", "to eat " + MARKER);
    }
    for (int i = 0; i < say.length; i += 2) {
      arguments.withObject("stateUpdates").put(say[i], say[i + 1]);
    }
    var meta = Json.object().put("fermata/sessionId", session);
    return host.call(new ToolCall(flow, principal, arguments, meta, null), progress -> {});
  }

  private static ToolReply call(
      Fermata host, String flow, String principal, String session, String action, String... say) {
    return now(later(host, flow, principal, session, action, say));
  }

  /** A run that has said the marker and waits for more. */
  private static String talk(Fermata host, String flow, String principal, String session) {
    call(host, flow, principal, session, "start");
    ToolReply reply = call(host, flow, principal, session, "continue", "dish", MARKER.repeat(50));
    return reply.meta().path("fermata/run").path("runId").asText();
  }

  private List<String> marked() throws IOException {
    return files.with(MARKER);
  }

  @Test
  void nothingOfAPrincipalIsLeftInTheBytesOfTheStoreInUse() throws IOException {
    try (Fermata host = host(order("lunch"), order("dinner")).start()) {
      talk(host, "lunch", "ann", "one");
      talk(host, "dinner", "ann", "one");
      talk(host, "dinner", "ann", "two");
      call(host, "dinner", "ann", "two", "continue", "drink", MARKER);
      assertThat(marked()).isNotEmpty();

      Erased erased = now(host.erase(Erasure.principal("ann")));

      assertThat(erased.journals()).isEqualTo(3);
      assertThat(erased.records()).isGreaterThanOrEqualTo(5);
      assertThat(marked()).isEmpty();
      assertThat(TestHost.code(call(host, "lunch", "ann", "one", "continue")))
          .isEqualTo("unknown_run");
      assertThat(now(host.erase(Erasure.principal("ann"))).nothing()).isTrue();
    }
    assertThat(marked()).isEmpty();
  }

  @Test
  void anErasureWithoutAServerRewritesTheFileAndOneOfAServerKeepsNoCallsWaitingForThat() {
    List<String> asked = new ArrayList<>();
    Store store =
        AlteredStore.of(
            store(),
            request -> {
              List.of("scrub", "rewrite").stream().filter(request::is).forEach(asked::add);
              return request.ask();
            });
    try (Fermata host = host(store, order("lunch")).start()) {
      talk(host, "lunch", "ann", "one");
      talk(host, "lunch", "bob", "one");
      now(host.erase(Erasure.principal("ann")));
      assertThat(asked).containsExactly("scrub");
    }
    asked.clear();
    try (Fermata host = host(store, order("lunch")).dormant().start()) {
      now(host.erase(Erasure.principal("bob")));
      assertThat(asked).containsExactly("rewrite");
    }
  }

  /** The store, which does something after each deletion. */
  private Store deleting(UnaryOperator<CompletionStage<?>> then) {
    return AlteredStore.of(
        store(),
        request -> {
          Object answer = request.ask();
          return request.is("delete") && answer != null
              ? then.apply((CompletionStage<?>) answer)
              : answer;
        });
  }

  @Test
  void aClientSeesHowMuchIsErasedAndNoNameOfAFileWhereAnErasureFailsHalfWay() {
    AtomicInteger portions = new AtomicInteger();
    Store store =
        AlteredStore.of(
            store(),
            request ->
                request.is("delete") && portions.incrementAndGet() == 2
                    ? CompletableFuture.failedFuture(
                        new StoreException(StoreProblem.FULL, "/data/erased.db is full", null))
                    : request.ask());
    try (Fermata host = host(store, order("lunch")).start()) {
      for (int i = 0; i < 70; i++) {
        call(host, "lunch", "service", "user " + i, "start");
      }
      assertThatThrownBy(() -> now(host.runs().erasePrincipal("service")))
          .hasRootCauseInstanceOf(ThreadException.class)
          .rootCause()
          .hasMessage(
              "50 of 70 journals are erased; repeat the erasure for the rest: the disk of the"
                  + " store is full; free space on it")
          .matches(failure -> ((ThreadException) failure).is(HostError.STORE_UNAVAILABLE));
      assertThat(now(host.runs().erasePrincipal("service")).journals()).isEqualTo(20);
    }
  }

  @Test
  void whileAPrincipalOfManyRunsIsErasedTheCallOfAnotherIsAnsweredBetweenTwoPortions() {
    int runs = 120;
    CompletableFuture<Void> began = new CompletableFuture<>();
    CompletableFuture<Void> answered = new CompletableFuture<>();
    Store store =
        deleting(
            deletion ->
                deletion.thenCompose(
                    deleted -> {
                      began.complete(null);
                      return answered.thenApply(nothing -> deleted);
                    }));
    try (Fermata host = host(store, order("lunch")).start()) {
      talk(host, "lunch", "bob", "s");
      for (int i = 0; i < runs; i++) {
        call(host, "lunch", "service", "user " + i, "start");
      }
      CompletionStage<Erased> erased = host.erase(Erasure.principal("service"));
      now(began);
      assertThat(TestHost.code(call(host, "lunch", "bob", "s", "continue", "drink", "tea")))
          .isEqualTo("none");
      assertThat(left(directory.resolve("erased.db"))).isBetween(1L + runs / 2, 1L + runs - 1);
      answered.complete(null);
      assertThat(now(erased).journals()).isEqualTo(runs);
    }
  }

  @Test
  void whatBelongsToOthersStays() {
    try (Fermata host = host(order("lunch"), order("dinner")).start()) {
      String run = talk(host, "lunch", "ann", "one");
      talk(host, "dinner", "ann", "one");
      talk(host, "lunch", "ann", "two");
      talk(host, "lunch", "bob", "one");

      assertThat(now(host.erase(Erasure.run("lunch", run))).journals()).isEqualTo(1);
      assertThat(now(host.erase(Erasure.session("ann", "one"))).journals()).isEqualTo(1);

      for (String principal : List.of("ann", "bob")) {
        String session = principal.equals("ann") ? "two" : "one";
        assertThat(TestHost.field(call(host, "lunch", principal, session, "continue")))
            .isEqualTo("drink");
      }
    }
  }

  @Test
  void theRunsOfAFlowThatIsNotRegisteredAnyMoreAreErasedToo() throws IOException {
    try (Fermata host = host(order("lunch"), order("dinner")).start()) {
      talk(host, "dinner", "ann", "one");
    }
    assertThat(marked()).isNotEmpty();
    try (Fermata host = host(order("lunch")).start()) {
      assertThat(now(host.erase(Erasure.principal("ann"))).journals()).isEqualTo(1);
      assertThat(marked()).isEmpty();
    }
  }

  @Test
  void whatIsInFlightIsAbandonedAndItsCallerNotifiedAndItDoesNotComeBack() throws Exception {
    try (Fermata host = host(cook()).start()) {
      call(host, "cook", "ann", "s", "start");
      CompletionStage<ToolReply> waiting =
          later(host, "cook", "ann", "s", "continue", "dish", MARKER);
      assertThat(cooking.await(60, TimeUnit.SECONDS)).isTrue();
      assertThat(marked()).isNotEmpty();

      now(host.erase(Erasure.session("ann", "s")));

      assertThat(TestHost.code(now(waiting))).isEqualTo("erased");
      cooked.countDown();
      assertThat(TestHost.code(call(host, "cook", "ann", "s", "continue")))
          .isEqualTo("unknown_run");
      assertThat(marked()).isEmpty();
    }
    try (OpenStore open = store().open()) {
      assertThat(now(open.journals(SessionKey.ownerOf("ann")))).isEmpty();
    }
  }

  @Test
  void aDormantHostErasesAndExportsAndTakesNothingUp() throws Exception {
    Fermata lost = host(cook(), order("lunch")).start();
    talk(lost, "lunch", "bob", "s");
    String run = call(lost, "cook", "ann", "s", "start").meta().at("/fermata~1run/runId").asText();
    later(lost, "cook", "ann", "s", "continue", "dish", MARKER);
    assertThat(cooking.await(60, TimeUnit.SECONDS)).isTrue();
    lost.crash();
    cooked.countDown();

    CountDownLatch again = new CountDownLatch(1);
    Flow<Order> cook =
        Flow.of("cook", Order.class)
            .description("Cooks.")
            .ask("ask_dish", q -> q.question("dish", "Which dish?"))
            .act("cook", going -> again.countDown())
            .edge(START, "ask_dish")
            .edge("ask_dish", "cook")
            .edge("cook", END)
            .compile();
    try (Fermata host = host(cook, order("lunch")).dormant().start()) {
      assertThat(now(host.erase(Erasure.principal("bob"))).journals()).isEqualTo(1);
      assertThat(now(host.journals().run("cook", run).export(OutputStream.nullOutputStream())))
          .isPositive();
      assertThat(host.awake()).isZero();
    }
    assertThat(again.getCount()).isEqualTo(1);
    try (Fermata host = host(cook, order("lunch")).start()) {
      assertThat(host.tools()).isNotEmpty();
      assertThat(again.await(60, TimeUnit.SECONDS)).isTrue();
    }
  }

  @Test
  void whoCallsWhileASessionIsErasedIsNotifiedOrBeginsAgain() throws Exception {
    try (Fermata host = host(order("lunch")).start()) {
      for (int i = 0; i < 20; i++) {
        talk(host, "lunch", "ann", "s");
        CompletionStage<Erased> erased = host.erase(Erasure.principal("ann"));
        CompletionStage<ToolReply> during = later(host, "lunch", "ann", "s", "continue");
        now(erased);
        assertThat(TestHost.code(now(during))).isIn("erased", "unknown_run", "none");
      }
      assertThat(TestHost.code(call(host, "lunch", "ann", "s", "continue")))
          .isEqualTo("unknown_run");
    }
  }

  @Test
  void whatARecorderHasNotReceivedYetItNeverReceives() throws Exception {
    CountDownLatch slow = new CountDownLatch(1);
    List<String> observed = new ArrayList<>();
    Recorder recorder =
        new Recorder() {
          @Override
          public void onEvent(Observation event) {
            try {
              slow.await();
            } catch (InterruptedException e) {
              Thread.currentThread().interrupt();
            }
            observed.add(event.moment().session());
          }
        };
    String bob = new SessionKey("bob", "lunch", "hint\ns").entityId();
    try (Fermata host = host(order("lunch")).recorder(recorder).start()) {
      call(host, "lunch", "bob", "s", "start");
      talk(host, "lunch", "ann", "s");
      Erased erased = now(host.erase(Erasure.principal("ann")));
      assertThat(erased.undelivered()).isPositive();
      slow.countDown();
    }
    assertThat(observed).isNotEmpty().containsOnly(bob);
  }

  // --- threads --------------------------------------------------------------------------------

  private static Model calling(String tool, String arguments) {
    return ScriptedModels.calling(tool, arguments, result -> "done " + MARKER);
  }

  private Fermata family() {
    return family(store());
  }

  private static Fermata family(Store store) {
    Flow<Order> paint =
        Flow.of("paint", Order.class)
            .description("Paints.")
            .ask("ask", a -> a.question("dish", "Which colour for " + MARKER + "?"))
            .edge(START, "ask")
            .edge("ask", END)
            .compile();
    return Fermata.host()
        .store(store)
        .agent(
            Agent.aiHuman(
                "desk",
                Prompt.of("p", calling("painter", "{\"message\":\"" + MARKER + "\"}"))
                    .tools(SubAgent.of("painter", "Paints").asBlocking())))
        .agent(
            Agent.aiHuman(
                "painter",
                Prompt.of("p", calling("paint", "{}"))
                    .tools(FlowTool.of("paint", "Paints.", paint))))
        .start();
  }

  /** A thread whose child's flow asks. */
  private static String asking(Fermata host) {
    String id =
        now(host.threads()
                .create(
                    new Threads.NewThread(
                        "ann", "desk", null, Set.of(MARKER), Map.of(), List.of())))
            .threadId();
    now(
        host.threads()
            .post("ann", id, new Threads.NewMessage(Message.user(MARKER), List.of(), null)));
    assertThat(now(host.threads().settled("ann", id, TIMEOUT)).status())
        .isEqualTo(Threads.Status.ASKING);
    return id;
  }

  @Test
  void aThreadIsErasedWithItsChildrenAndTheRunsThatTheyCalled() throws Exception {
    try (Fermata host = family()) {
      String id = asking(host);
      assertThat(marked()).isNotEmpty();

      Erased erased = now(host.erase(Erasure.thread(id)));

      assertThat(erased.journals()).isEqualTo(3);
      assertThat(marked()).isEmpty();
      boolean there = now(host.threads().get("ann", id).handle((view, gone) -> gone == null));
      assertThat(there).isFalse();
      assertThat(now(host.erase(Erasure.thread(id))).nothing()).isTrue();
    }
    try (OpenStore open = store().open()) {
      assertThat(now(open.journals(SessionKey.ownerOf("ann")))).isEmpty();
    }
  }

  @Test
  void aPrincipalIsErasedWithItsThreads() throws Exception {
    try (Fermata host = family()) {
      asking(host);
      assertThat(marked()).isNotEmpty();
      assertThat(now(host.erase(Erasure.principal("ann"))).journals()).isEqualTo(3);
      assertThat(marked()).isEmpty();
    }
  }

  @Test
  void aThreadThatIsDeletedTakesTheRunsWithItThatItsFamilyCalled() throws Exception {
    Path file = directory.resolve("erased.db");
    try (Fermata host = family()) {
      String id = asking(host);
      assertThat(marked()).isNotEmpty();
      now(host.threads().delete("ann", id));
      eventually(() -> left(file) == 0);
      now(host.erase(Erasure.thread(id)));
      assertThat(marked()).isEmpty();
    }
  }

  @Test
  void whatAnErasureThatFailsHasLeftIsFoundByTheNextOne() throws IOException {
    AtomicInteger left = new AtomicInteger();
    Store store =
        AlteredStore.of(
            store(),
            request ->
                request.is("delete") && left.decrementAndGet() < 0
                    ? AlteredStore.away()
                    : request.ask());
    try (Fermata host = family(store)) {
      for (int portions = 1; portions < 3; portions++) {
        String id = asking(host);
        left.set(portions);
        assertThatThrownBy(() -> now(host.erase(Erasure.thread(id))))
            .hasStackTraceContaining("The store is away");
        left.set(Integer.MAX_VALUE);
        now(host.erase(Erasure.thread(id)));
        assertThat(marked()).as("after %s portions", portions).isEmpty();
        assertThat(left(directory.resolve("erased.db"))).isZero();
      }
    }
  }

  /** How many journals there are in the file. */
  private static long left(Path file) {
    try (var connection = java.sql.DriverManager.getConnection("jdbc:sqlite:" + file);
        var statement = connection.createStatement();
        var row =
            statement.executeQuery("SELECT count(DISTINCT persistence_id) FROM event_journal")) {
      return row.getLong(1);
    } catch (java.sql.SQLException e) {
      throw new AssertionError(e);
    }
  }
}
