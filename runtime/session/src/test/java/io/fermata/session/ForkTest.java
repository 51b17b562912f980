package io.fermata.session;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Flow;
import io.fermata.flow.FlowBuilder;
import io.fermata.flow.action.StepException;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.ForkOrigin;
import io.fermata.flow.json.Json;
import io.fermata.flow.replay.ForkException;
import io.fermata.flow.replay.ForkOptions;
import io.fermata.flow.replay.JournalEntry;
import io.fermata.flow.replay.Replay;
import io.fermata.flow.replay.RunJournal;
import io.fermata.flow.schema.Computed;
import io.fermata.flow.schema.Secret;
import io.fermata.persistence.Store;
import io.fermata.session.admin.DataKeys;
import io.fermata.session.admin.Erasure;
import io.fermata.session.admin.Fork;
import io.fermata.session.admin.KeyProvider;
import io.fermata.session.admin.Retention;
import io.fermata.session.admin.RunInfo;
import io.fermata.session.admin.RunQuery;
import io.fermata.session.admin.Runs;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolReply;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** New runs from entries of other ones. */
class ForkTest {
  record Trip(
      String city,
      Integer nights,
      @Secret String card,
      Boolean sure,
      @Computed Integer price,
      @Computed String booking) {}

  private static final KeyProvider KEYS = DataKeys.parse(DataKeys.generate("k1"));

  @TempDir Path folder;

  /** What was done outside. */
  private final List<String> done = new CopyOnWriteArrayList<>();

  private final List<String> observed = new CopyOnWriteArrayList<>();
  private final AtomicInteger pricing = new AtomicInteger();
  private volatile @Nullable CountDownLatch gate;

  private Flow<Trip> trip() {
    return graph(Flow.of("trip", Trip.class)).compile();
  }

  private FlowBuilder<Trip> graph(FlowBuilder<Trip> flow) {
    return flow.description("Books a trip.")
        .ask("ask_card", q -> q.question("card", "Which card?"))
        .ask("ask_city", q -> q.question("city", "Where to?"))
        .act(
            "price",
            run -> {
              pricing.incrementAndGet();
              await();
              done.add("price of " + run.get("city", String.class));
              run.set("price", 10 * Objects.requireNonNull(run.get("city", String.class)).length());
            })
        .ask(
            "ask_sure", q -> q.question("sure", trip -> trip.city() + " for " + trip.price() + "?"))
        .act(
            "book",
            run -> {
              done.add("booked for " + run.get("price", Integer.class));
              run.set("booking", "B-" + run.get("price", Integer.class));
            },
            o -> o.once())
        .act("thank", run -> done.add("thanked"), o -> o.reads("booking"))
        .compensate("book", run -> done.add("undone"))
        .edge(START, "ask_card")
        .edge("ask_card", "ask_city")
        .edge("ask_city", "price")
        .edge("price", "ask_sure")
        .edge("ask_sure", "book")
        .edge("book", "thank")
        .edge("thank", END)
        .result(Trip::booking);
  }

  private void await() throws InterruptedException {
    CountDownLatch closed = gate;
    if (closed != null) {
      closed.await();
    }
  }

  private Fermata host(Flow<?>... flows) {
    HostBuilder builder =
        Fermata.host()
            .store(Store.sqlite(folder.resolve("runs.db")))
            .keys(KEYS)
            .retention(Retention.ofJournals(Duration.ofDays(1)))
            .recorder(
                new io.fermata.flow.observe.Recorder() {
                  @Override
                  public void onEvent(io.fermata.flow.observe.Observation event) {
                    observed.add(event.moment().run());
                  }
                });
    for (Flow<?> flow : flows) {
      builder.flow(flow);
    }
    return builder.start();
  }

  private static <T> T now(CompletionStage<T> stage) {
    try {
      return stage.toCompletableFuture().get(60, TimeUnit.SECONDS);
    } catch (Exception e) {
      if (e.getCause() instanceof RuntimeException cause) {
        throw cause;
      }
      throw new AssertionError(e);
    }
  }

  private static ToolReply call(
      Fermata host, String flow, String session, String action, Object... updates) {
    ObjectNode arguments = Json.object().put("action", action);
    if (action.equals("start")) {
      arguments.put("intent", "travels");
    }
    ObjectNode values = arguments.putObject("stateUpdates");
    for (int i = 0; i < updates.length; i += 2) {
      values.set((String) updates[i], Json.tree(updates[i + 1]));
    }
    ObjectNode meta = Json.object();
    if (session.length() == 43) {
      arguments.put("sessionId", session);
    } else {
      meta.put("fermata/sessionId", session);
    }
    return now(host.call(new ToolCall(flow, "ann", arguments, meta, null), progress -> {}));
  }

  /** A run that has ended, of whose entries 2 asks for the city and 5 whether ann is sure. */
  private static String travelled(Fermata host) {
    call(host, "trip", "s", "start");
    call(host, "trip", "s", "continue", "card", "4111-1111");
    call(host, "trip", "s", "continue", "city", "Rome");
    ToolReply end = call(host, "trip", "s", "continue", "sure", true);
    assertThat(end.structured().path("result").asText()).isEqualTo("B-40");
    return end.meta().path("fermata/run").path("runId").asText();
  }

  /** The entry after which a field is asked for. */
  private static long asks(Fermata host, String runId, String field) {
    for (JournalEntry<Event> entry :
        now(host.journals().run("trip", runId).readWithSecrets()).entries()) {
      for (Event event : entry.events()) {
        if (event instanceof Event.Asked asked && asked.questions().get(0).field().equals(field)) {
          return entry.seq();
        }
      }
    }
    throw new AssertionError("Nothing asks for " + field);
  }

  private static String asked(ToolReply reply) {
    return reply.structured().path("question").asText();
  }

  @Test
  void aLiveForkOfAnEndedRunIsARunOfItsOwnThatRepeatsNothing() {
    try (Fermata host = host(trip())) {
      String source = travelled(host);
      done.clear();

      Fork fork =
          now(host.fork("trip", source, asks(host, source, "sure"), ForkOptions.live().by("ops")));

      assertThat(asked(fork.reply())).isEqualTo("Rome for 40?");
      assertThat(done).isEmpty();
      assertThat(fork.runId()).isNotEqualTo(source);
      assertThat(fork.principal()).isEqualTo("ann");
      ToolReply end = call(host, "trip", fork.sessionId(), "continue", "sure", true);
      assertThat(end.structured().path("result").asText()).isEqualTo("B-40");
      assertThat(done).containsExactly("booked for 40", "thanked");
      RunJournal journal = now(host.journals().run("trip", fork.runId()).readWithSecrets());
      assertThat(journal.events())
          .filteredOn(Event.ForkedFrom.class::isInstance)
          .extracting(event -> ((Event.ForkedFrom) event).origin())
          .singleElement()
          .satisfies(
              origin -> {
                assertThat(origin.runId()).isEqualTo(source);
                assertThat(origin.entry()).isEqualTo(asks(host, source, "sure"));
                assertThat(origin.mode()).isEqualTo(ForkOrigin.Mode.LIVE);
                assertThat(origin.by()).isEqualTo("ops");
              });
      assertThat(journal.narrative(trip())).contains("This is a fork of run " + source);
      Replay.of(trip(), journal).requireSame();
      assertThat(observed).contains(fork.runId());
    }
  }

  @Test
  void whoForksARunIsNamedAsTheCauseOfItsFirstEntryAndTheOwnerOfTheSourceOwnsIt() {
    try (Fermata host = host(trip())) {
      String source = travelled(host);
      ForkOptions options = ForkOptions.live().by("ops").answer("city", "Rome");

      Fork fork = now(host.fork("trip", source, asks(host, source, "city"), options));
      call(host, "trip", fork.sessionId(), "continue", "sure", true);

      assertThat(now(host.runs().entries("trip", fork.runId(), 0, 100)))
          .filteredOn(entry -> entry.by().equals("caller"))
          .extracting(Runs.Entry::principal)
          .startsWith("ops")
          .endsWith("ann");
      assertThat(now(host.fork("trip", fork.runId(), 1, ForkOptions.live())).principal())
          .isEqualTo("ann");
    }
  }

  @Test
  void aReplayingForkPerformsNothingUntilItDivergesAndThenEverything() {
    try (Fermata host = host(trip())) {
      String source = travelled(host);
      done.clear();
      long asksCity = asks(host, source, "city");

      Fork same =
          now(
              host.fork(
                  "trip",
                  source,
                  asksCity,
                  ForkOptions.replayEffects().answer("city", "Rome").answer("sure", true)));

      assertThat(same.reply().structured().path("result").asText()).isEqualTo("B-40");
      assertThat(done).isEmpty();

      Fork other =
          now(
              host.fork(
                  "trip",
                  source,
                  asksCity,
                  ForkOptions.replayEffects().answer("city", "Paris").answer("sure", true)));

      assertThat(other.reply().structured().path("result").asText()).isEqualTo("B-50");
      assertThat(done).containsExactly("price of Paris", "booked for 50", "thanked");
    }
  }

  @Test
  void anEarlierAnswerThatIsChangedLeadsBackToWhereItWasAsked() {
    try (Fermata host = host(trip())) {
      String source = travelled(host);
      done.clear();

      Fork fork =
          now(
              host.fork(
                  "trip",
                  source,
                  asks(host, source, "sure"),
                  ForkOptions.live().answer("city", "Paris")));

      assertThat(asked(fork.reply())).isEqualTo("Paris for 50?");
      assertThat(done).containsExactly("price of Paris");
    }
  }

  @Test
  @SuppressWarnings("try") // a host that closes delivers what its recorders still wait for
  void aSandboxPerformsNothingAndConcernsNobody() {
    try (Fermata host = host(trip())) {
      String source = travelled(host);
      done.clear();
      long asksCity = asks(host, source, "city");

      Fork asks = now(host.fork("trip", source, asksCity, ForkOptions.sandbox()));
      Fork same =
          now(
              host.fork(
                  "trip",
                  source,
                  asksCity,
                  ForkOptions.sandbox().answer("city", "Rome").answer("sure", true)));
      Fork other =
          now(host.fork("trip", source, asksCity, ForkOptions.sandbox().answer("city", "Paris")));

      assertThat(asked(asks.reply())).isEqualTo("Where to?");
      assertThat(same.reply().structured().path("result").asText()).isEqualTo("B-40");
      Fork onward =
          now(
              host.fork(
                  "trip",
                  now(host.fork(
                          "trip", source, asksCity, ForkOptions.sandbox().answer("city", "Rome")))
                      .runId(),
                  1,
                  ForkOptions.sandbox().answer("sure", true)));
      assertThat(onward.reply().structured().path("result").asText()).isEqualTo("B-40");
      JsonNode stopped = other.reply().structured();
      assertThat(stopped.path("code").asText()).isEqualTo("sandboxed");
      assertThat(stopped.path("error").asText())
          .contains("price", "Paris", "was not performed")
          .doesNotContain("4111-1111");
      assertThat(
              call(host, "trip", other.sessionId(), "cancel")
                  .structured()
                  .path("cancelled")
                  .asBoolean())
          .isTrue();
      assertThat(done).isEmpty();
      assertThat(listed(host, RunQuery.ALL)).containsExactly(source);
      assertThat(listed(host, RunQuery.ALL.sandboxed(true)))
          .contains(asks.runId(), same.runId(), other.runId(), onward.runId());
      RunInfo info = now(host.runs().get("trip", asks.runId())).orElseThrow();
      assertThat(Objects.requireNonNull(info.fork()).runId()).isEqualTo(source);
      assertThat(now(host.runs().rebuild()).removed()).isZero();
      String next =
          call(host, "trip", asks.sessionId(), "start")
              .meta()
              .path("fermata/run")
              .path("runId")
              .asText();
      host.close();
      assertThat(observed).contains(source, next).doesNotContain(asks.runId(), same.runId());
    }
  }

  private static List<String> listed(Fermata host, RunQuery query) {
    // the list follows within a second
    for (int i = 0; i < 1_200; i++) {
      List<RunInfo> runs = now(host.runs().list(query)).runs();
      if (runs.size() == (query.sandboxed() ? 5 : 1)) {
        return runs.stream().map(RunInfo::runId).toList();
      }
      try {
        Thread.sleep(50);
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
    }
    return now(host.runs().list(query)).runs().stream().map(RunInfo::runId).toList();
  }

  @Test
  void whatTheSourceWasDoingIsBegunAgainAndTheForkSurvivesACrash() throws Exception {
    CountDownLatch priced = new CountDownLatch(1);
    gate = priced;
    String fork;
    String session;
    try (Fermata host = host(trip())) {
      call(host, "trip", "s", "start");
      call(host, "trip", "s", "continue", "card", "4111-1111");
      CompletionStage<ToolReply> driving =
          host.call(
              new ToolCall(
                  "trip",
                  "ann",
                  (ObjectNode)
                      Json.parse("{\"action\":\"continue\",\"stateUpdates\":{\"city\":\"Rome\"}}"),
                  Json.object().put("fermata/sessionId", "s"),
                  null),
              progress -> {});
      String source =
          call(host, "trip", "s", "status").meta().path("fermata/run").path("runId").asText();
      TestHost.eventually(() -> pricing.get() == 1);
      CompletionStage<Fork> forking = host.fork("trip", source, 3, ForkOptions.live());
      TestHost.eventually(() -> pricing.get() == 2);
      priced.countDown();
      Fork forked = now(forking);
      now(driving);
      assertThat(asked(forked.reply())).isEqualTo("Rome for 40?");
      assertThat(done).containsExactly("price of Rome", "price of Rome");
      fork = forked.runId();
      session = forked.sessionId();
      host.crash();
    }
    gate = null;
    try (Fermata host = host(trip())) {
      ToolReply status = call(host, "trip", session, "status");
      assertThat(status.meta().path("fermata/run").path("runId").asText()).isEqualTo(fork);
      ToolReply end = call(host, "trip", session, "continue", "sure", true);
      assertThat(end.structured().path("result").asText()).isEqualTo("B-40");
    }
  }

  @Test
  void itsSecretsAreEncryptedAndItGoesWithTheOwnerOfItsSource() throws Exception {
    try (Fermata host = host(trip())) {
      String source = travelled(host);
      Fork fork =
          now(host.fork("trip", source, asks(host, source, "city"), ForkOptions.replayEffects()));
      assertThat(now(host.journals().run("trip", fork.runId()).readWithSecrets()).state().answers())
          .containsEntry("card", Json.tree("4111-1111"));
      for (Path file : filesIn(folder)) {
        assertThat(new String(Files.readAllBytes(file), StandardCharsets.ISO_8859_1))
            .doesNotContain("4111-1111");
      }

      now(host.erase(Erasure.principal("ann")));

      assertThatThrownBy(() -> now(host.journals().run("trip", fork.runId()).readWithSecrets()))
          .isInstanceOf(IllegalArgumentException.class);
      assertThat(refusal(host, source, 2, ForkOptions.live())).isEqualTo("unknown_run");
    }
  }

  private static List<Path> filesIn(Path folder) throws Exception {
    try (var files = Files.list(folder)) {
      return files.filter(Files::isRegularFile).toList();
    }
  }

  @Test
  void aJournalWhoseKeyIsMissingIsNotForked() {
    String source;
    try (Fermata host = host(trip())) {
      source = travelled(host);
    }
    try (Fermata host =
        Fermata.host()
            .store(Store.sqlite(folder.resolve("runs.db")))
            .keys(DataKeys.parse(DataKeys.generate("k2")))
            .flow(trip())
            .start()) {
      assertThat(refusal(host, source, 3, ForkOptions.live())).isEqualTo("key_missing");
    }
  }

  @Test
  void theForkOfAnOlderVersionIsCarriedOverLikeAnyRunOrRefused() {
    String source;
    try (Fermata host = host(trip())) {
      call(host, "trip", "s", "start");
      source =
          call(host, "trip", "s", "continue", "card", "4111-1111")
              .meta()
              .path("fermata/run")
              .path("runId")
              .asText();
    }
    Flow<Trip> next = graph(Flow.of("trip", Trip.class).version(2).migrate(1, m -> {})).compile();
    try (Fermata host = host(trip(), next)) {
      Fork stays = now(host.fork("trip", source, 2, ForkOptions.live()));
      Fork carried = now(host.fork("trip", source, 2, ForkOptions.live().onNewestVersion()));

      assertThat(version(stays)).isEqualTo(1);
      assertThat(version(carried)).isEqualTo(2);
      assertThat(asked(carried.reply())).isEqualTo("Where to?");
      Replay.of(next, now(host.journals().run("trip", carried.runId()).readWithSecrets()))
          .requireSame();
    }
    try (Fermata host = host(graph(Flow.of("trip", Trip.class).version(3)).compile())) {
      assertThat(refusal(host, source, 2, ForkOptions.live())).isEqualTo("version_changed");
    }
  }

  @Test
  void aForkIsCarriedOverToTheVersionThatIsNamed() {
    Flow<Trip> second = graph(Flow.of("trip", Trip.class).version(2).migrate(1, m -> {})).compile();
    Flow<Trip> third =
        graph(Flow.of("trip", Trip.class).version(3).migrate(1, m -> {}).migrate(2, m -> {}))
            .compile();
    String source;
    try (Fermata host = host(trip())) {
      call(host, "trip", "s", "start");
      source =
          call(host, "trip", "s", "continue", "card", "4111-1111")
              .meta()
              .path("fermata/run")
              .path("runId")
              .asText();
    }
    try (Fermata host = host(trip(), second, third)) {
      Fork carried = now(host.fork("trip", source, 2, ForkOptions.live().onVersion(2)));

      assertThat(version(carried)).isEqualTo(2);
      assertThat(asked(carried.reply())).isEqualTo("Where to?");
      Replay.of(second, now(host.journals().run("trip", carried.runId()).readWithSecrets()))
          .requireSame();
      assertThat(version(now(host.fork("trip", source, 2, ForkOptions.live().onVersion(1)))))
          .isEqualTo(1);
      assertThatThrownBy(() -> now(host.fork("trip", source, 2, ForkOptions.live().onVersion(7))))
          .hasMessageContaining("on version 1, and the host has no version 7 of its flow")
          .hasMessageContaining("[1, 2, 3]");
      assertThatThrownBy(
              () -> now(host.fork("trip", carried.runId(), 1, ForkOptions.live().onVersion(1))))
          .hasMessageContaining("on version 2, and version 1 has no migration from that");
    }
  }

  @Test
  void anOperatorWhoseForkIsRefusedSeesNoSecretOfItsSource() {
    String source;
    try (Fermata host = host(trip())) {
      source = travelled(host);
      call(host, "trip", "s", "start");
    }
    Flow<Trip> next =
        graph(
                Flow.of("trip", Trip.class)
                    .version(2)
                    .migrate(
                        1,
                        m ->
                            m.state(
                                before -> {
                                  throw new StepException(
                                      "no bank knows " + before.get("card", String.class));
                                })))
            .compile();
    try (Fermata host = host(next)) {
      assertThatThrownBy(() -> now(host.fork("trip", source, 4, ForkOptions.live())))
          .as("code that has the host sees all")
          .hasMessageContaining("no bank knows 4111-1111");
      assertThatThrownBy(() -> now(host.runs().fork("trip", source, 4, ForkOptions.live())))
          .isInstanceOfSatisfying(
              ForkException.class, e -> assertThat(e.code()).isEqualTo("migration_failed"))
          .hasMessageContaining("no bank knows [redacted]")
          .hasMessageNotContaining("4111-1111");
    }
  }

  private static int version(Fork fork) {
    return fork.reply().meta().path("fermata/run").path("version").asInt();
  }

  @Test
  void whatCannotBeForkedIsRefusedWithTheReasonAndTheNextStep() {
    try (Fermata host = host(trip())) {
      String source = travelled(host);
      call(host, "trip", "s", "start");
      String second =
          call(host, "trip", "s", "status").meta().path("fermata/run").path("runId").asText();

      assertThatThrownBy(() -> now(host.fork("trip", source, 99, ForkOptions.live())))
          .hasMessage("Run " + source + " of trip has no entry 99; its entries are 1 to 7");
      assertThatThrownBy(() -> now(host.fork("trip", source, 7, ForkOptions.live())))
          .hasMessage(
              "Run " + source + " of trip had ended by entry 7: fork it at entry 6 or before");
      assertThat(refusal(host, second, 1, ForkOptions.live())).isEqualTo("unknown_entry");
      assertThat(refusal(host, source + "x", 1, ForkOptions.live())).isEqualTo("unknown_run");
      assertThat(refusal(host, source, 2, ForkOptions.live().answer("nights", "many")))
          .isEqualTo("invalid_updates");
      assertThatThrownBy(() -> now(host.fork("desk", "desk.x", 2, ForkOptions.live())))
          .hasMessage("The host has no flow desk; register it to fork its runs");
      assertThat(asked(now(host.fork("trip", source, 2, ForkOptions.live())).reply()))
          .isEqualTo("Where to?");
    }
  }

  private static String refusal(Fermata host, String runId, long entry, ForkOptions options) {
    try {
      now(host.fork("trip", runId, entry, options));
    } catch (ForkException e) {
      return e.code();
    }
    throw new AssertionError("It was forked");
  }

  record Group(String name) {}

  record Guest(String meal, @Computed Integer seat) {}

  @Test
  void aForkInABranchOrASubflowResumesThereAndRepeatsNothingBefore() {
    Flow<Guest> guest =
        Flow.of("guest", Guest.class)
            .description("Seats a guest.")
            .act(
                "seat",
                run -> {
                  done.add("seated");
                  run.set("seat", 7);
                })
            .ask("ask_meal", q -> q.question("meal", "Which meal?"))
            .act("cook", run -> done.add("cooked " + run.get("meal", String.class)))
            .edge(START, "seat")
            .edge("seat", "ask_meal")
            .edge("ask_meal", "cook")
            .edge("cook", END)
            .compile();
    Flow<Group> group =
        Flow.of("group", Group.class)
            .description("Seats a group.")
            .act("open", run -> done.add("opened"))
            .act("heat", run -> done.add("heated"))
            .subflow("guest", guest, m -> {})
            .act("close", run -> done.add("closed"))
            .edge(START, "open")
            .fork("open", f -> f.branch("heat").branch("guest").join("close"))
            .edge("heat", "close")
            .edge("guest", "close")
            .edge("close", END)
            .compile();
    try (Fermata host = host(group)) {
      ToolReply start = call(host, "group", "s", "start");
      JsonNode run = start.meta().path("fermata/run");
      List<String> before = new ArrayList<>(done);
      assertThat(before).containsExactlyInAnyOrder("opened", "heated", "seated");
      done.clear();

      Fork fork =
          now(
              host.fork(
                  "group",
                  run.path("runId").asText(),
                  run.path("seq").asLong(),
                  ForkOptions.live().answer("guest.meal", "soup")));

      assertThat(fork.reply().structured().path("status").asText()).isEqualTo("complete");
      assertThat(done).containsExactly("cooked soup", "closed");
    }
  }
}
