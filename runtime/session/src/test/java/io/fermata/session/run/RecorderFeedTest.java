package io.fermata.session.run;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.FlowTool;
import io.fermata.flow.Flow;
import io.fermata.flow.FlowBuilder;
import io.fermata.flow.event.Fact;
import io.fermata.flow.event.RunState;
import io.fermata.flow.json.Json;
import io.fermata.flow.observe.Observation;
import io.fermata.flow.observe.ObservedEntry;
import io.fermata.flow.observe.Occurrence;
import io.fermata.flow.observe.Recorder;
import io.fermata.flow.record.Narrative;
import io.fermata.flow.schema.Computed;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import io.fermata.session.HostBuilder;
import io.fermata.session.admin.Settings;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolReply;
import io.fermata.session.call.ToolUse;
import io.fermata.session.observe.Delivery;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What recorders hear of the runs of a host. */
@Tag("slow")
class RecorderFeedTest {
  record Order(String dish, String drink, @Computed String bill) {}

  @TempDir Path directory;

  /** Writes down what it observes. */
  private static final class Listener implements Recorder {
    final List<Observation> observed = new CopyOnWriteArrayList<>();

    @Override
    public void onEvent(Observation event) {
      observed.add(event);
    }

    List<Observation> all(Class<? extends Fact> kind) {
      return observed.stream().filter(event -> kind.isInstance(event.fact())).toList();
    }
  }

  private Store store() {
    return Store.sqlite(directory.resolve("watch.db"));
  }

  private static FlowBuilder<Order> order() {
    return Flow.of("order", Order.class)
        .description("Takes an order.")
        .ask("ask_dish", q -> q.question("dish", "Which dish?"))
        .ask("ask_drink", q -> q.question("drink", "Which drink?"))
        .act("bill", run -> run.set("bill", run.state().dish() + " and " + run.state().drink()))
        .edge(START, "ask_dish")
        .edge("ask_dish", "ask_drink")
        .edge("ask_drink", "bill")
        .edge("bill", END);
  }

  private HostBuilder host(Recorder... recorders) {
    HostBuilder host = Fermata.host().store(store()).flow(order().compile());
    List.of(recorders).forEach(host::recorder);
    return host;
  }

  private static ToolReply call(Fermata host, String session, String action, String... updates) {
    var arguments = Json.object().put("action", action);
    if (action.equals("start")) {
      arguments.put("intent", "to eat");
    }
    for (int i = 0; i < updates.length; i += 2) {
      arguments.withObject("stateUpdates").put(updates[i], updates[i + 1]);
    }
    var meta = Json.object().put("fermata/sessionId", session);
    try {
      return host.call(new ToolCall("order", "local", arguments, meta, null), progress -> {})
          .toCompletableFuture()
          .get(60, TimeUnit.SECONDS);
    } catch (Exception e) {
      throw new AssertionError("No reply came", e);
    }
  }

  private static void dine(Fermata host, String session) {
    call(host, session, "start");
    call(host, session, "continue", "dish", "soup");
    call(host, session, "continue", "drink", "tea");
  }

  private static List<Observation> replayed(Fermata host, String run) {
    Listener listener = new Listener();
    host.journals().run("order", run).replay(listener).toCompletableFuture().join();
    return listener.observed;
  }

  @Test
  void aRecorderOfTheHostReceivesARunFromItsStartToItsEnd() {
    Listener listener = new Listener();
    try (Fermata host = host(listener).start()) {
      dine(host, "s");
    }
    assertThat(listener.observed.get(0).fact()).isInstanceOf(Observation.RunStart.class);
    assertThat(listener.all(Observation.Pause.class))
        .extracting(pause -> pause.moment().node())
        .containsExactly("ask_dish", "ask_drink");
    assertThat(listener.observed.get(listener.observed.size() - 1).fact())
        .isInstanceOfSatisfying(
            Observation.RunEnd.class,
            end -> assertThat(end.status()).isEqualTo(RunState.Status.COMPLETED));
  }

  /** Equal to every other one that has seen the same. */
  private record Seen(List<Observation> events) implements Recorder {
    @Override
    public void onEvent(Observation event) {
      events.add(event);
    }
  }

  @Test
  void recordersThatAreEqualReceiveEachTheirOwn() {
    Seen one = new Seen(new CopyOnWriteArrayList<>());
    Seen other = new Seen(new CopyOnWriteArrayList<>());
    try (Fermata host = host(one, other).start()) {
      dine(host, "s");
    }
    assertThat(one.events()).isNotEmpty().isEqualTo(other.events());
  }

  @Test
  void everyEventNamesItsRunAndItsPlaceInTheJournal() {
    Listener listener = new Listener();
    try (Fermata host = host(listener).start()) {
      dine(host, "s");
    }
    assertThat(listener.observed.stream().map(e -> e.moment().run()).distinct()).hasSize(1);
    assertThat(listener.observed).isSortedAccordingTo(RecorderFeedTest::byCursor);
    assertThat(listener.observed.stream().map(e -> e.moment().seq() + "/" + e.moment().index()))
        .doesNotHaveDuplicates();
    assertThat(listener.observed).allMatch(e -> e.moment().session().startsWith("order|"));
  }

  private static int byCursor(Observation one, Observation other) {
    int seq = Long.compare(one.moment().seq(), other.moment().seq());
    return seq != 0 ? seq : Integer.compare(one.moment().index(), other.moment().index());
  }

  @Test
  void aReplayedJournalReportsWhatWasReportedLive() {
    Listener live = new Listener();
    Fermata host = host(live).start();
    call(host, "s", "start");
    call(host, "s", "continue", "dish", "soup");
    String run = live(live, Observation.RunStart.class).moment().run();
    List<Observation> replayed = replayed(host, run);
    host.close();
    assertThat(replayed).isNotEmpty().isEqualTo(new ArrayList<>(live.observed));
  }

  /** A hook and its moment, but for how long it took: of what began unwatched that is not known. */
  private static String timeless(Observation event) {
    Occurrence at = event.moment();
    return event.fact().getClass().getSimpleName()
        + List.of(at.flow(), at.session(), at.run(), at.seq(), at.index(), at.at(), at.kind())
        + at.step();
  }

  private static Observation live(Listener listener, Class<? extends Fact> kind) {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
    while (System.nanoTime() < end) {
      List<Observation> all = listener.all(kind);
      if (!all.isEmpty()) {
        return all.get(0);
      }
      Thread.onSpinWait();
    }
    throw new AssertionError("Not notified of a " + kind.getSimpleName());
  }

  @Test
  void aRunIsReportedFromWhereItWasWhenTheHostCameBack() {
    Listener before = new Listener();
    Fermata first = host(before).start();
    call(first, "s", "start");
    first.close();
    Listener after = new Listener();
    Fermata second = host(after).start();
    call(second, "s", "continue", "dish", "soup");
    String run = live(after, Observation.Answer.class).moment().run();
    List<Observation> replayed = replayed(second, run);
    second.close();
    List<Observation> both = new ArrayList<>(before.observed);
    both.addAll(after.observed);
    assertThat(both)
        .extracting(RecorderFeedTest::timeless)
        .isEqualTo(replayed.stream().map(RecorderFeedTest::timeless).toList());
  }

  @Test
  void aRecorderThatThrowsDisturbsNobodyAndTheOthersAreReported() {
    Recorder broken =
        new Recorder() {
          @Override
          public String id() {
            return "broken";
          }

          @Override
          public void onAnswer(Occurrence at, Observation.Answer event) {
            throw new IllegalStateException("The disk is full");
          }
        };
    Listener listener = new Listener();
    try (Fermata host = host(broken, listener).start()) {
      dine(host, "s");
      assertThat(call(host, "s", "continue").structured().path("status").asText())
          .isEqualTo("error");
    }
    assertThat(listener.all(Observation.RunEnd.class)).hasSize(1);
    assertThat(listener.all(Observation.Failure.class))
        .hasSizeGreaterThanOrEqualTo(2)
        .allSatisfy(
            observed -> {
              Observation.Failure failure = (Observation.Failure) observed.fact();
              assertThat(failure.recorder()).isEqualTo("broken");
              assertThat(failure.message()).isEqualTo("The disk is full");
            });
  }

  @Test
  void aSlowRecorderDelaysNobodyAndLearnsHowMuchItLost() throws InterruptedException {
    CountDownLatch free = new CountDownLatch(1);
    List<String> runs = new CopyOnWriteArrayList<>();
    List<Long> lost = new CopyOnWriteArrayList<>();
    Recorder slow =
        new Recorder() {
          @Override
          public void onEntry(ObservedEntry entry) {
            try {
              assertThat(free.await(60, TimeUnit.SECONDS)).isTrue();
            } catch (InterruptedException e) {
              Thread.currentThread().interrupt();
            }
          }

          @Override
          public void onRunStart(Occurrence at, Observation.RunStart event) {
            runs.add(at.run());
          }

          @Override
          public void onDropped(long records) {
            lost.add(records);
          }
        };
    Listener quick = new Listener();
    try (Fermata host = host(slow, quick).settings(Settings.DEFAULT.recorderBacklog(3)).start()) {
      for (int i = 0; i < 10; i++) {
        call(host, "s" + i, "start");
        awaitRuns(quick, i + 1);
      }
      free.countDown();
    }
    // One was being delivered and three waited.
    assertThat(runs).hasSize(4);
    assertThat(lost.stream().mapToLong(Long::longValue).sum()).isEqualTo(6);
  }

  @Test
  void aRecorderMayLagBehindWithoutBound() throws InterruptedException {
    Listener listener = new Listener();
    Settings settings = Settings.DEFAULT.recorderBacklog(Integer.MAX_VALUE);
    try (Fermata host = host(listener).settings(settings).start()) {
      call(host, "s", "start");
      awaitRuns(listener, 1);
    }
  }

  /** How long it takes to close a host with a recorder that hangs. */
  private long nanosToClose(Duration timeout) throws InterruptedException {
    CountDownLatch hangs = new CountDownLatch(1);
    CountDownLatch free = new CountDownLatch(1);
    Recorder stuck =
        new Recorder() {
          @Override
          public void onEntry(ObservedEntry entry) {
            hangs.countDown();
            try {
              free.await();
            } catch (InterruptedException e) {
              Thread.currentThread().interrupt();
            }
          }
        };
    Fermata host = host(stuck).start();
    call(host, "closed within " + timeout, "start");
    assertThat(hangs.await(60, TimeUnit.SECONDS)).isTrue();
    long began = System.nanoTime();
    host.close(timeout);
    long took = System.nanoTime() - began;
    free.countDown();
    return took;
  }

  @Test
  void aHostThatIsClosedWithinASecondDoesNotWaitForARecorderThatHangs()
      throws InterruptedException {
    assertThat(2 * nanosToClose(Duration.ofSeconds(1)))
        .isLessThan(nanosToClose(Duration.ofSeconds(10)));
  }

  @Test
  void aRecorderLearnsOfAGapBeforeASessionThatIsErased() throws InterruptedException {
    List<String> heard = new CopyOnWriteArrayList<>();
    Recorder recorder =
        new Recorder() {
          @Override
          public void onDropped(long records) {
            heard.add("dropped " + records);
          }
        };
    CountDownLatch begun = new CountDownLatch(2);
    Semaphore free = new Semaphore(0);
    Runnable blocked =
        () -> {
          begun.countDown();
          free.acquireUninterruptibly();
        };
    Delivery delivery = new Delivery(recorder, "slow", 1);
    delivery.later("b", blocked);
    delivery.later("b", blocked);
    delivery.later("b", () -> heard.add("lost"));
    free.release();
    assertThat(begun.await(60, TimeUnit.SECONDS)).isTrue();
    delivery.later("a", () -> heard.add("a"));
    assertThat(delivery.forget("a"::equals)).isEqualTo(1);
    assertThat(delivery.forget("a"::equals)).isZero();
    free.release();
    CountDownLatch last = new CountDownLatch(1);
    while (last.getCount() > 0) {
      // Until there is room for it.
      delivery.later("b", last::countDown);
      last.await(10, TimeUnit.MILLISECONDS);
    }
    delivery.end();
    assertThat(delivery.deliveredWithin(60_000)).isTrue();
    assertThat(heard.get(0)).isEqualTo("dropped 1");
    assertThat(heard).doesNotContain("a", "lost");
  }

  private static void awaitRuns(Listener listener, int runs) throws InterruptedException {
    for (int i = 0; i < 3000 && listener.all(Observation.RunStart.class).size() < runs; i++) {
      Thread.sleep(10);
    }
    assertThat(listener.all(Observation.RunStart.class)).hasSize(runs);
  }

  @Test
  void theRecorderOfAToolReceivesTheRunsOfThatToolAndDistinguishesThem() {
    Listener listener = new Listener();
    ObjectNode meal = Json.object().put("type", "object");
    for (String field : List.of("dish", "drink")) {
      meal.withObjectProperty("properties").putObject(field).put("type", "string");
    }
    FlowTool cook =
        FlowTool.of("cook", "Cooks.", order().compile()).arguments(meal).recorders(listener);
    FlowTool serve = FlowTool.of("serve", "Serves.", order().compile()).arguments(meal);
    try (Fermata host = Fermata.host().store(store()).tool(cook).tool(serve).start()) {
      for (String tool : List.of("cook", "serve", "cook")) {
        ToolUse use = new ToolUse(tool, "thread", tool + listener.observed.size());
        var given = Json.object().put("dish", "soup").put("drink", "tea");
        host.use(use, given).toCompletableFuture().join();
        if (tool.equals("cook")) {
          live(listener, Observation.RunEnd.class);
        }
      }
    }
    assertThat(listener.all(Observation.RunStart.class))
        .hasSize(2)
        .extracting(start -> start.moment().flow())
        .containsOnly("cook");
    assertThat(listener.all(Observation.RunEnd.class))
        .extracting(end -> end.moment().run())
        .doesNotHaveDuplicates()
        .containsExactlyInAnyOrderElementsOf(
            listener.all(Observation.RunStart.class).stream().map(s -> s.moment().run()).toList());
  }

  @Test
  void theRecordersOfAToolReceiveTheRunsOfTheVersionOfItsFlow() {
    Listener before = new Listener();
    Listener after = new Listener();
    FlowTool old = FlowTool.of("cook", "Cooks.", order().compile()).recorders(before);
    FlowTool now = FlowTool.of("cook", "Cooks.", order().version(2).compile()).recorders(after);
    ToolUse open = new ToolUse("cook", "thread", "1");
    Fermata host = Fermata.host().store(store()).tool(old).start();
    host.use(open, Json.object()).toCompletableFuture().join();
    live(before, Observation.RunStart.class);
    host.crash();
    try (Fermata next = Fermata.host().store(store()).tool(now).tool(old).start()) {
      next.withdraw(open).toCompletableFuture().join();
      live(before, Observation.RunEnd.class);
      next.use(new ToolUse("cook", "thread", "2"), Json.object()).toCompletableFuture().join();
      live(after, Observation.RunStart.class);
    }
    assertThat(after.all(Observation.RunEnd.class)).isEmpty();
  }

  @Test
  void aRecorderOfTheFlowItselfReceivesItWhereverItIsOffered() {
    Narrative narrative = new Narrative();
    Flow<Order> flow = order().recorder(narrative).compile();
    try (Fermata host = Fermata.host().store(store()).flow(flow).start()) {
      dine(host, "s");
    }
    assertThat(narrative.text()).contains("soup").contains("Which drink?");
  }

  @Test
  void aRunThatTheStoreKnowsNothingOfCannotBeReplayed() {
    try (Fermata host = host().start()) {
      assertThatThrownBy(() -> replayed(host, "nobody.x"))
          .hasRootCauseInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("no journal of a run nobody.x of order");
      assertThatThrownBy(() -> host.journals().run("other", "nobody.x").replay())
          .hasMessage("There is no flow other; did you mean order?");
    }
  }

  @Test
  void aReplayWhoseRecorderThrowsFailsWhenTheOthersHaveReceivedItAll() {
    Listener listener = new Listener();
    Recorder broken =
        new Recorder() {
          @Override
          public void onEvent(Observation event) {
            throw new IllegalStateException("broken");
          }
        };
    try (Fermata host = host().start()) {
      ToolReply asked = call(host, "s", "start");
      String run = asked.meta().at("/fermata~1run/runId").asText();
      assertThatThrownBy(
              () ->
                  host.journals()
                      .run("order", run)
                      .replay(broken, listener)
                      .toCompletableFuture()
                      .join())
          .hasRootCauseInstanceOf(IllegalStateException.class)
          .hasMessageContaining(run);
      assertThat(listener.all(Observation.Pause.class)).hasSize(1);
      assertThat(listener.all(Observation.Failure.class)).isNotEmpty();
    }
  }

  @Test
  void aClosedHostRefusesSignalsAndReplays() throws Exception {
    Fermata host = host().start();
    String run = call(host, "s", "start").meta().at("/fermata~1run/runId").asText();
    host.close();
    ToolReply refused =
        host.signal("order", run, "paid", null, null)
            .toCompletableFuture()
            .get(60, TimeUnit.SECONDS);
    assertThat(refused.structured().path("code").asText()).isEqualTo("shutting_down");
    assertThatThrownBy(
            () ->
                host.journals()
                    .run("order", run)
                    .replay(new Listener())
                    .toCompletableFuture()
                    .get(60, TimeUnit.SECONDS))
        .hasMessageContaining("The host is closed");
  }
}
