package io.fermata.session;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.route.Condition.eq;
import static io.fermata.flow.route.Condition.gt;
import static io.fermata.flow.route.Condition.lt;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Flow;
import io.fermata.flow.FlowBuilder;
import io.fermata.flow.Migrating;
import io.fermata.flow.action.StepException;
import io.fermata.flow.event.Verdict;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Limits;
import io.fermata.flow.replay.Change;
import io.fermata.flow.replay.Change.Kind;
import io.fermata.flow.replay.ForkOptions;
import io.fermata.flow.replay.Replay;
import io.fermata.flow.replay.RunJournal;
import io.fermata.flow.route.Condition;
import io.fermata.flow.schema.Computed;
import io.fermata.flow.schema.Secret;
import io.fermata.persistence.Store;
import io.fermata.persistence.directory.Directory;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.StoreException;
import io.fermata.session.admin.ArchiveException;
import io.fermata.session.admin.DataKeys;
import io.fermata.session.admin.KeyProvider;
import io.fermata.session.admin.Retention;
import io.fermata.session.admin.Settings;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolReply;
import io.fermata.session.key.SessionKey;
import io.fermata.session.runs.RunRow;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The runs of a store are decided again by other code. */
class WhatIfTest {
  record Order(Integer seats, @Secret String card) {}

  private static final KeyProvider KEYS = DataKeys.parse(DataKeys.generate("k1"));

  @TempDir Path folder;

  private final AtomicInteger charged = new AtomicInteger();

  private Flow<Order> order(int large) {
    return Flow.of("order", Order.class)
        .description("Sells seats.")
        .ask("ask_card", q -> q.question("card", "Which card?"))
        .ask("ask_seats", q -> q.question("seats", "How many seats?"))
        .act("charge", run -> charged.incrementAndGet())
        .act("call", run -> charged.incrementAndGet())
        .edge(START, "ask_card")
        .edge("ask_card", "ask_seats")
        .decide(
            "ask_seats", d -> d.when("large", gt("seats", large)).to("call").otherwise("charge"))
        .edge("charge", END)
        .edge("call", END)
        .compile();
  }

  private Store store() {
    return Store.sqlite(folder.resolve("runs.db"));
  }

  private Fermata host() {
    return Fermata.host()
        .store(store())
        .keys(KEYS)
        .retention(Retention.ofJournals(Duration.ofDays(1)))
        .flow(order(6))
        .start();
  }

  private static <T> T now(CompletionStage<T> stage) {
    try {
      return stage.toCompletableFuture().get(60, TimeUnit.SECONDS);
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  private static String bought(Fermata host, String session, int seats) {
    ObjectNode start = Json.object().put("action", "start").put("intent", "to buy");
    start.putObject("stateUpdates").put("card", "4111-1111").put("seats", seats);
    ObjectNode meta = Json.object().put("fermata/sessionId", session);
    ToolReply reply =
        now(host.call(new ToolCall("order", "ann", start, meta, null), progress -> {}));
    assertThat(TestHost.status(reply)).isEqualTo("complete");
    return reply.meta().at("/fermata~1run/runId").asText();
  }

  private List<String> recorded() {
    try (Fermata host = host()) {
      return List.of(bought(host, "a", 3), bought(host, "b", 8), bought(host, "c", 9));
    }
  }

  private WhatIf trying(int large) {
    return WhatIf.of(order(large)).keys(KEYS);
  }

  @Test
  void itCountsWhatOtherCodeWouldDecideOtherwiseAndShowsOneRunOfEachKind() {
    List<String> runs = recorded();

    WhatIfResult same = trying(6).over(store());
    WhatIfResult other = trying(10).over(store());

    assertThat(same).isEqualTo(new WhatIfResult(3, 0, List.of(), List.of(), List.of(), List.of()));
    assertThat(other.same()).isEqualTo(1);
    assertThat(other.otherwise()).isEqualTo(2);
    assertThat(other.changes())
        .extracting(WhatIfResult.Count::change, WhatIfResult.Count::runs)
        .containsExactly(
            tuple(
                new Change(
                    Kind.DECISION, "ask_seats", "to charge (no rule) instead of to call (large)"),
                2),
            tuple(new Change(Kind.EFFECT_ADDED, "charge", "once"), 2),
            tuple(new Change(Kind.EFFECT_DROPPED, "call", "once"), 2),
            tuple(new Change(Kind.OUTCOME, "", "still at charge instead of completed"), 2));
    assertThat(other.examples()).hasSize(1);
    WhatIfResult.Example example = other.examples().get(0);
    assertThat(example.node()).isEqualTo("ask_seats");
    assertThat(example.runs()).isEqualTo(2);
    assertThat(runs.subList(1, 3)).contains(example.run());
    assertThat(other.text())
        .contains("3 run(s): 1 are decided as they were, 2 otherwise", "2 run(s) of order at")
        .contains("     2  order charge: effect in addition, once")
        .contains("the run went to call", "the run went to charge")
        .doesNotContain("4111-1111");
    assertThat(Objects.requireNonNull(example.now()).svg())
        .contains("charge")
        .doesNotContain("4111-1111");
    assertThat(other.json().at("/changes/0/kind").asText()).isEqualTo("decision");
    assertThat(other.json().toString()).doesNotContain("4111-1111");
    assertThat(charged).hasValue(3);
  }

  @Test
  void anotherDecisionIsCountedPerRuleAndTheFirstRunsSayOnWhichValues() {
    List<String> runs = recorded();
    Flow<Order> other =
        Flow.of("order", Order.class)
            .description("Sells seats.")
            .ask("ask_card", q -> q.question("card", "Which card?"))
            .ask("ask_seats", q -> q.question("seats", "How many seats?"))
            .act("charge", run -> {})
            .act("call", run -> {})
            .edge(START, "ask_card")
            .edge("ask_card", "ask_seats")
            .decide(
                "ask_seats",
                d ->
                    d.when("vip", Condition.and(eq("card", "4111-1111"), eq("seats", 9)))
                        .to("charge")
                        .when("huge", gt("seats", 99))
                        .to("call")
                        .otherwise("charge"))
            .edge("charge", END)
            .edge("call", END)
            .compile();

    WhatIfResult result = WhatIf.of(other).keys(KEYS).over(store());

    assertThat(result.changes())
        .filteredOn(count -> count.change().kind() == Kind.DECISION)
        .extracting(count -> count.change().text(), WhatIfResult.Count::runs)
        .containsExactlyInAnyOrder(
            tuple("to charge (no rule) instead of to call (large)", 1),
            tuple("to charge (vip) instead of to call (large)", 1));
    assertThat(result.text())
        .contains("        in " + runs.get(2) + " it looked at seats gt 6: 9 (true); now at card")
        .doesNotContain("4111-1111");
    JsonNode vip =
        StreamSupport.stream(result.json().path("changes").spliterator(), false)
            .filter(change -> change.path("text").asText().contains("vip"))
            .findFirst()
            .orElseThrow();
    assertThat(vip.at("/decisions/0/run").asText()).isEqualTo(runs.get(2));
    assertThat(vip.at("/decisions/0/recorded").toString())
        .isEqualTo(
            "{\"rules\":[\"large\"],\"targets\":[\"call\"],\"lookedAt\":[\"seats gt 6: 9 (true)\"]}");
    assertThat(vip.at("/decisions/0/now/rules/0").asText()).isEqualTo("vip");
    assertThat(vip.at("/decisions/0/now/lookedAt").toString())
        .contains("seats eq 9: 9 (true)", "[redacted]")
        .doesNotContain("4111-1111");
  }

  @Test
  void onlyTheFirstRunsSayOnWhichValuesTheyDecideOtherwise() {
    try (Fermata host = host()) {
      for (int seats = 7; seats <= 11; seats++) {
        bought(host, "s" + seats, seats);
      }
    }

    WhatIfResult result = trying(20).over(store());

    assertThat(result.changes().get(0).runs()).isEqualTo(5);
    assertThat(result.changes().get(0).decisions())
        .hasSize(3)
        .extracting(WhatIfResult.DecidedOtherwise::run)
        .doesNotHaveDuplicates();
  }

  @Test
  void runsWhoseFlowIsNotGivenAreSkippedAndCounted() {
    recorded();

    WhatIfResult result = WhatIf.of().keys(KEYS).over(store());

    assertThat(result)
        .isEqualTo(new WhatIfResult(0, 3, List.of(), List.of(), List.of(), List.of()));
    assertThat(result.complete()).isTrue();
  }

  @Test
  void sessionsThatCannotBeReadAreCountedApartWithTheReason() {
    recorded();
    KeyProvider others = DataKeys.parse(DataKeys.generate("k2"));

    WhatIfResult result = WhatIf.of(order(6)).keys(others).over(store());

    assertThat(result.complete()).isFalse();
    assertThat(result.skipped()).isZero();
    assertThat(result.unread()).hasSize(1);
    assertThat(result.unread().get(0).sessions()).isEqualTo(3);
    assertThat(result.unread().get(0).reason()).contains("k1");
    assertThat(result.text())
        .contains("3 session(s) could not be read, so nothing is known of them, for example order|")
        .doesNotContain("skipped");
    assertThat(result.json().path("unread").asInt()).isEqualTo(3);
    assertThat(result.json().at("/unreadable/0/sessions").asInt()).isEqualTo(3);
  }

  record Stay(Integer nights, String guest) {}

  private static Flow<Stay> stay(int version, int many, String last) {
    FlowBuilder<Stay> flow = Flow.of("stay", Stay.class).version(version).description("Stays.");
    if (version == 2) {
      flow.migrate(1, m -> m.node("ask_guest", last));
    }
    return flow.ask("ask_nights", q -> q.question("nights", "How many nights?"))
        .ask(last, q -> q.question("guest", "Who?"))
        .act("group", run -> {})
        .edge(START, "ask_nights")
        .edge("ask_nights", last)
        .decide(last, d -> d.when("many", gt("nights", many)).to("group").otherwise(END))
        .edge("group", END)
        .compile();
  }

  private void stayed(Flow<Stay> first, Flow<Stay> second) {
    ObjectNode meta = Json.object().put("fermata/sessionId", "a");
    ObjectNode start = Json.object().put("action", "start").put("intent", "to stay");
    start.putObject("stateUpdates").put("nights", 8);
    ObjectNode answer = Json.object().put("action", "continue");
    answer.putObject("stateUpdates").put("guest", "Ann");
    for (Flow<Stay> flow : List.of(first, second)) {
      ObjectNode call = flow == first ? start : answer;
      try (Fermata host =
          Fermata.host()
              .store(store())
              .keys(KEYS)
              .retention(Retention.ofJournals(Duration.ofDays(1)))
              .flow(flow)
              .start()) {
        now(host.call(new ToolCall("stay", "ann", call, meta, null), progress -> {}));
      }
    }
  }

  @Test
  void aRunThatWasCarriedOverIsComparedBeyondThatByAFurtherVersion() {
    stayed(stay(1, 6, "ask_guest"), stay(2, 6, "ask_guest"));

    assertThat(WhatIf.of(stay(3, 6, "ask_guest")).keys(KEYS).over(store()).same()).isEqualTo(1);
    assertThat(WhatIf.of(stay(3, 10, "ask_guest")).keys(KEYS).over(store()).changes())
        .extracting(WhatIfResult.Count::change)
        .contains(new Change(Kind.EFFECT_DROPPED, "group", "once"));
  }

  @Test
  void aRunWhoseRestCannotBeComparedCountsNeitherAsTheSameNorAsOtherwise() {
    stayed(stay(1, 6, "ask_guest"), stay(2, 6, "ask_name"));

    WhatIfResult result = WhatIf.of(stay(3, 10, "ask_guest")).keys(KEYS).over(store());

    assertThat(result.same() + result.otherwise()).isZero();
    assertThat(result.complete()).isFalse();
    assertThat(result.uncompared()).hasSize(1);
    assertThat(result.uncompared().get(0).runs()).isEqualTo(1);
    assertThat(result.text())
        .contains("1 run(s): 0 are decided as they were, 0 otherwise, 1 are not compared to their")
        .contains("     1  stay: the rest of a run, because it is at ask_name", "from entry 2 on");
    assertThat(result.json().path("runs").asInt()).isEqualTo(1);
    assertThat(result.json().path("inPart").asInt()).isEqualTo(1);
    assertThat(result.json().at("/uncompared/0/entry").asInt()).isEqualTo(2);
  }

  /** Asks for a card, and in its third version refuses to go on with one. */
  private static Flow<Order> seat(int version) {
    FlowBuilder<Order> flow = Flow.of("order", Order.class).version(version).description("Sells.");
    if (version > 1) {
      flow.migrate(version - 1, m -> m.state(run -> refuse(version, run)));
    }
    return flow.ask("ask_card", q -> q.question("card", "Which card?"))
        .ask("ask_seats", q -> q.question("seats", "How many seats?"))
        .edge(START, "ask_card")
        .edge("ask_card", "ask_seats")
        .edge("ask_seats", END)
        .compile();
  }

  private static void refuse(int version, Migrating run) {
    if (version == 3) {
      throw new StepException("there is no card " + run.get("card", String.class));
    }
  }

  @Test
  void theReasonWhyARestIsNotComparedQuotesNoSecretAndCountsOncePerMigration() {
    List<String> cards = List.of("4111-1111", "4222-2222", "4333-3333");
    for (int version : List.of(1, 2)) {
      try (Fermata host =
          Fermata.host()
              .store(store())
              .keys(KEYS)
              .retention(Retention.ofJournals(Duration.ofDays(1)))
              .flow(seat(version))
              .start()) {
        for (String card : cards) {
          ObjectNode call = Json.object().put("action", version == 1 ? "start" : "continue");
          if (version == 1) {
            call.put("intent", "to sit").putObject("stateUpdates").put("card", card);
          } else {
            call.putObject("stateUpdates").put("seats", 2);
          }
          ObjectNode meta = Json.object().put("fermata/sessionId", card);
          now(host.call(new ToolCall("order", "ann", call, meta, null), progress -> {}));
        }
      }
    }

    WhatIfResult result = WhatIf.of(seat(3)).keys(KEYS).over(store());

    assertThat(result.uncompared()).extracting(WhatIfResult.Uncompared::runs).containsExactly(3);
    assertThat(result.text())
        .contains("     3  order: the rest of a run, because the migration from version 2 failed")
        .contains("there is no card [redacted]")
        .doesNotContain(cards);
    assertThat(result.json().toString()).doesNotContain(cards);
  }

  record Pass(Integer rounds, @Computed Integer round) {}

  /** Passes a node once per round, within one call. */
  private static Flow<Pass> passing(String question) {
    return Flow.of("pass", Pass.class)
        .description("Passes.")
        .ask("ask", q -> q.question("rounds", question))
        .computes("round", "round", pass -> pass.round() == null ? 1 : pass.round() + 1)
        .edge(START, "ask")
        .edge("ask", "round")
        .decide(
            "round",
            d -> d.when("again", lt("round", Condition.field("rounds"))).to("round").otherwise(END))
        .compile();
  }

  @Test
  void runsAreDecidedWithinTheLimitsOfTheHostThatRanThem() {
    Limits limits = new Limits(100_000, 2_000, 1_000, 10);
    ObjectNode start = Json.object().put("action", "start").put("intent", "to pass");
    start.putObject("stateUpdates").put("rounds", 500);
    ObjectNode meta = Json.object().put("fermata/sessionId", "a");
    try (Fermata host =
        Fermata.host()
            .store(store())
            .retention(Retention.ofJournals(Duration.ofDays(1)))
            .settings(Settings.DEFAULT.limits(limits))
            .flow(passing("How many?"))
            .start()) {
      ToolReply reply =
          now(host.call(new ToolCall("pass", "ann", start, meta, null), progress -> {}));
      assertThat(TestHost.status(reply)).isEqualTo("complete");
      assertThat(now(host.journals().whatIf(WhatIf.of(passing("How many?")))).same()).isEqualTo(1);
    }
    WhatIf whatIf = WhatIf.of(passing("How many?"));

    assertThat(whatIf.over(store()).otherwise()).isEqualTo(1);
    assertThat(whatIf.limits(limits).over(store()).same()).isEqualTo(1);
  }

  @Test
  void anUnfinishedRunThatTheNewVersionCannotTakeOverIsCounted() {
    try (Fermata host = host()) {
      ObjectNode start = Json.object().put("action", "start").put("intent", "to buy");
      ObjectNode meta = Json.object().put("fermata/sessionId", "a");
      now(host.call(new ToolCall("order", "ann", start, meta, null), progress -> {}));
    }
    Flow<Order> next =
        Flow.of("order", Order.class)
            .version(2)
            .description("Sells seats.")
            .ask("ask_card", q -> q.question("card", "Which card?"))
            .edge(START, "ask_card")
            .edge("ask_card", END)
            .compile();

    WhatIfResult result = WhatIf.of(next).keys(KEYS).over(store());

    assertThat(result.otherwise()).isEqualTo(1);
    assertThat(result.changes())
        .extracting(WhatIfResult.Count::change)
        .containsExactly(new Change(Kind.MIGRATION, "", "from version 1"));
    assertThat(result.text()).contains("this server has version 2");
  }

  @Test
  void onlyRunsThatHaveChangedSinceAreReadAndTheyAreFoundInTheDirectory() throws Exception {
    recorded();
    Instant since;
    String late;
    try (Fermata host = host()) {
      since = Instant.now();
      late = bought(host, "d", 9);
    }
    List<String> read = Collections.synchronizedList(new ArrayList<>());
    try (OpenStore store = store().open()) {
      WhatIfResult result = trying(10).since(since).over(noting(store, read));
      assertThat(result.same()).isZero();
      assertThat(result.examples()).extracting(WhatIfResult.Example::run).containsExactly(late);
      assertThat(read).containsExactly(SessionKey.entityOf("order", late));
      assertThat(trying(10).since(Instant.now()).over(store).otherwise()).isZero();
    }
  }

  @Test
  void aRunningHostIsAskedAboutItsOwnRunsWithItsKeys() {
    WhatIfResult asked;
    try (Fermata host = host()) {
      bought(host, "a", 3);
      bought(host, "b", 8);
      assertThatThrownBy(() -> trying(10).over(store())).isInstanceOf(StoreException.class);
      asked = now(host.journals().whatIf(WhatIf.of(order(10))));
      assertThat(asked.otherwise()).isEqualTo(1);

      Instant since = Instant.now();
      bought(host, "c", 9);
      WhatIfResult late = now(host.journals().whatIf(WhatIf.of(order(10)).since(since)));
      assertThat(late.same() + late.otherwise()).isEqualTo(1);
      assertThat(charged).hasValue(3);
      assertThat(now(host.journals().whatIf(WhatIf.of(order(10)))).json().path("runs").asInt())
          .isEqualTo(3);
    }
    assertThat(asked.same()).isEqualTo(1);
  }

  /** Decides again only when it may. */
  private Flow<Order> waiting(CountDownLatch until) {
    return Flow.of("order", Order.class)
        .description("Sells seats.")
        .ask("ask_card", q -> q.question("card", "Which card?"))
        .ask(
            "ask_seats",
            q ->
                q.question(
                    "seats",
                    "How many seats?",
                    o ->
                        o.validate(
                            (Integer seats) -> {
                              awaited(until);
                              return Verdict.accept();
                            })))
        .edge(START, "ask_card")
        .edge("ask_card", "ask_seats")
        .edge("ask_seats", END)
        .compile();
  }

  private static void awaited(CountDownLatch until) {
    try {
      assertThat(until.await(60, TimeUnit.SECONDS)).isTrue();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void aHostIsAskedOnceAtATime() {
    CountDownLatch go = new CountDownLatch(1);
    try (Fermata host = host()) {
      bought(host, "a", 8);
      CompletionStage<WhatIfResult> first = host.journals().whatIf(WhatIf.of(waiting(go)));
      assertThatThrownBy(() -> now(host.journals().whatIf(WhatIf.of(order(6)))))
          .hasStackTraceContaining("Another what-if of this host is under way");
      go.countDown();
      assertThat(now(first).otherwise()).isEqualTo(1);
      assertThat(now(host.journals().whatIf(WhatIf.of(order(6)))).same()).isEqualTo(1);
    }
  }

  @Test
  void aClosedHostFailsTheStagesOfItsJournals() {
    Fermata host = host();
    host.close();
    Journals journals = host.journals();
    List<CompletionStage<?>> asked =
        List.of(
            journals.check(order(6)),
            journals.whatIf(WhatIf.of(order(6))),
            journals.importFrom(InputStream.nullInputStream()),
            journals.run("order", "none").readWithSecrets(),
            host.fork("order", "none", 1, ForkOptions.sandbox()));
    for (CompletionStage<?> stage : asked) {
      assertThatThrownBy(() -> now(stage))
          .hasRootCauseInstanceOf(IllegalStateException.class)
          .hasStackTraceContaining("The host is closed; start another one");
    }
  }

  @Test
  void aHostThatClosesEndsWhatItIsAsked() {
    CountDownLatch go = new CountDownLatch(1);
    CompletionStage<WhatIfResult> asked;
    try (Fermata host = host()) {
      bought(host, "a", 8);
      bought(host, "b", 8);
      asked = host.journals().whatIf(WhatIf.of(waiting(go)));
    }
    go.countDown();
    assertThatThrownBy(() -> now(asked)).hasStackTraceContaining("The host is closed");
  }

  /** What was written after the mark of the directory is found without it. */
  @Test
  void runsThatTheDirectoryHasNotYetAreFound() {
    Instant since = Instant.now();
    String run;
    try (Fermata host = host()) {
      run = bought(host, "a", 9);
    }
    try (OpenStore store = store().open()) {
      now(store.directory().remove(RunRow.id("order", run)));
      now(store.directory().mark(0));
      assertThat(trying(10).since(since).over(store).otherwise()).isEqualTo(1);
    }
  }

  @Test
  void runsThatAreEnteredWhileTheDirectoryIsReadAreFound() {
    Instant since = Instant.now();
    String run;
    try (Fermata host = host()) {
      run = bought(host, "a", 9);
    }
    try (OpenStore store = store().open()) {
      now(store.directory().remove(RunRow.id("order", run)));
      now(store.directory().mark(0));
      OpenStore meanwhile = marking(store, now(store.newest()));
      assertThat(trying(10).since(since).over(meanwhile).otherwise()).isEqualTo(1);
    }
  }

  /** The store, whose directory is complete up to a number only once it has been listed. */
  private static OpenStore marking(OpenStore store, long number) {
    Directory real = store.directory();
    Directory directory =
        proxy(
            Directory.class,
            (self, method, arguments) -> {
              Object result = method.invoke(real, arguments);
              if (method.getName().equals("list")) {
                now(real.mark(number));
              }
              return result;
            });
    return proxy(
        OpenStore.class,
        (self, method, arguments) ->
            method.getName().equals("directory") ? directory : method.invoke(store, arguments));
  }

  /** The store, which notes the journals that are read. */
  private static OpenStore noting(OpenStore store, List<String> read) {
    return proxy(
        OpenStore.class,
        (self, method, arguments) -> {
          if (method.getName().equals("read")) {
            read.add((String) arguments[0]);
          }
          return method.invoke(store, arguments);
        });
  }

  private static <T> T proxy(Class<T> type, InvocationHandler handler) {
    return type.cast(
        Proxy.newProxyInstance(OpenStore.class.getClassLoader(), new Class<?>[] {type}, handler));
  }

  @Test
  void allRunsOfALongSessionAreDecidedOneAfterTheOther() {
    try (Fermata host = host()) {
      for (int seats = 1; seats <= 30; seats++) {
        bought(host, "a", seats);
      }
    }
    WhatIfResult result = trying(10).over(store());
    assertThat(result.same()).isEqualTo(6 + 20);
    assertThat(result.otherwise()).isEqualTo(4);
  }

  record Talk(String word) {}

  /** Of which the second version can take over runs of the first. */
  private static Flow<Talk> talk(int version, String last) {
    FlowBuilder<Talk> flow = Flow.of("talk", Talk.class).version(version).description("Talks.");
    if (version == 2) {
      flow.migrate(1, m -> {});
    }
    return flow.ask("hear", q -> q.question("word", "And?"))
        .edge(START, "hear")
        .decide("hear", d -> d.when("last", eq("word", last)).to(END).otherwise("hear"))
        .compile();
  }

  private static ToolReply say(Fermata host, String word) {
    ObjectNode said = Json.object().put("action", "continue");
    said.putObject("stateUpdates").put("word", word);
    ObjectNode meta = Json.object().put("fermata/sessionId", "a");
    return now(host.call(new ToolCall("talk", "ann", said, meta, null), progress -> {}));
  }

  /** A run of more entries than are read at once, and of more than are kept. */
  private static String talked(Store store, int words) {
    try (Fermata host = Fermata.host().store(store).flow(talk(1, "bye")).start()) {
      ObjectNode start = Json.object().put("action", "start").put("intent", "to talk");
      ObjectNode meta = Json.object().put("fermata/sessionId", "a");
      ToolReply reply =
          now(host.call(new ToolCall("talk", "ann", start, meta, null), progress -> {}));
      for (int i = 0; i < words; i++) {
        say(host, i % 2 == 0 ? "hello" : "well");
      }
      return reply.meta().at("/fermata~1run/runId").asText();
    }
  }

  @Test
  void aLongRunIsReadOnceAndAgainOnlyIfItParts() {
    int words = 1_600;
    Store store = Store.memory();
    String run = talked(store, words);
    try (OpenStore open = store.open()) {
      List<String> read = Collections.synchronizedList(new ArrayList<>());
      assertThat(WhatIf.of(talk(1, "bye")).over(noting(open, read)))
          .isEqualTo(new WhatIfResult(1, 0, List.of(), List.of(), List.of(), List.of()));
      assertThat(read).hasSize(pages(words));

      for (String last : List.of("hello", "well")) {
        read.clear();
        WhatIfResult parted = WhatIf.of(talk(1, last)).over(noting(open, read));

        assertThat(read).hasSize(2 * pages(words));
        assertThat(parted.text()).isEqualTo(ofExport(store, run, talk(1, last)).text());
        assertThat(parted.json()).isEqualTo(ofExport(store, run, talk(1, last)).json());
        assertThat(parted.changes())
            .extracting(WhatIfResult.Count::change)
            .contains(
                new Change(
                    Kind.DECISION, "hear", "to __end__ (last) instead of to hear (no rule)"));
      }
    }
  }

  /** How many pages a run of so many small entries has: a short one, which shows their size. */
  private static int pages(int entries) {
    return 1 + entries / 100;
  }

  /** What is said of the journal as a value. */
  private static WhatIfResult ofExport(Store store, String run, Flow<?> flow) {
    try (Fermata host = Fermata.host().store(store).flow(talk(1, "bye")).dormant().start()) {
      RunJournal journal = now(host.journals().run("talk", run).readWithSecrets());
      return WhatIf.of(flow)
          .over(List.<ExportedJournal>of(new ExportedJournal.OfRun(journal)).iterator());
    }
  }

  @Test
  void aLongRunThatWasCarriedOverIsDecidedFromThereOnAndOneThatCannotBeIsCounted() {
    Store store = Store.memory();
    talked(store, 1_200);
    assertThat(WhatIf.of(talk(3, "bye")).over(store).changes())
        .extracting(WhatIfResult.Count::change)
        .containsExactly(new Change(Kind.MIGRATION, "", "from version 1"));
    try (Fermata host = Fermata.host().store(store).flow(talk(2, "well")).start()) {
      say(host, "hello");
      say(host, "hello");
    }
    try (OpenStore open = store.open()) {
      List<String> read = Collections.synchronizedList(new ArrayList<>());
      assertThat(WhatIf.of(talk(2, "well")).over(noting(open, read)).same()).isEqualTo(1);
      assertThat(read).hasSize(pages(1_200));
    }
    assertThat(WhatIf.of(talk(2, "hello")).over(store).otherwise()).isEqualTo(1);
  }

  @Test
  void aRunIsReadFromAHostOrFromAnExportAndDecidedAgain() throws Exception {
    String run = recorded().get(1);
    Path export = folder.resolve("run.jsonl");
    RunJournal live;
    try (Fermata host = host();
        OutputStream to = Files.newOutputStream(export)) {
      live = now(host.journals().run("order", run).readWithSecrets());
      now(host.journals().run("order", run).export(to));
    }
    RunJournal read = ExportedJournal.read(export, KEYS).run();

    assertThat(read).isEqualTo(live);
    assertThat(read.entries().get(0).principal()).isEqualTo("ann");
    assertThat(Replay.of(order(6), read).requireSame().decided()).isPositive();
    assertThat(Replay.of(order(10), read).same()).isFalse();
    assertThat(charged).hasValue(3);
  }

  @Test
  void anExportOfARunThatIsNotInItsJournalIsRefused() throws Exception {
    String run = recorded().get(0);
    Path export = folder.resolve("run.jsonl");
    try (Fermata host = host();
        OutputStream to = Files.newOutputStream(export)) {
      now(host.journals().run("order", run + "x").export(to));
    }
    assertThatThrownBy(() -> ExportedJournal.read(export, KEYS).run())
        .isInstanceOf(ArchiveException.class)
        .hasMessageContaining("has no entry of the run " + run + "x");
  }

  @Test
  void anExportThatWasCutOrIsAnotherThingIsRefused() throws Exception {
    String run = recorded().get(0);
    Path export = folder.resolve("run.jsonl");
    try (Fermata host = host();
        OutputStream to = Files.newOutputStream(export)) {
      now(host.journals().run("order", run).exportWithSecrets(to));
    }
    List<String> lines = Files.readAllLines(export);
    Files.write(export, lines.subList(0, lines.size() - 2));
    assertThatThrownBy(() -> ExportedJournal.read(export).run())
        .isInstanceOf(ArchiveException.class)
        .hasMessageContaining("truncated");
  }
}
