package io.fermata.session.actor;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.SecretFields;
import io.fermata.flow.json.Json;
import io.fermata.session.admin.Settings;
import io.fermata.session.call.CallAction;
import io.fermata.session.call.ReplyMode;
import io.fermata.session.call.Request;
import io.fermata.session.call.TaskRun;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolProgress;
import io.fermata.session.call.ToolReply;
import io.fermata.session.journal.Entry;
import io.fermata.session.journal.RunReply;
import io.fermata.session.journal.SessionReply;
import io.fermata.session.key.Handles;
import io.fermata.session.key.HostError;
import io.fermata.session.key.SessionKey;
import io.fermata.session.key.TraceContext;
import io.fermata.session.observe.Congestion;
import io.fermata.session.observe.HostGauges;
import io.fermata.session.observe.Meter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** The calls in flight of a host. */
final class GatewayTest {

  private static final int LOST = 20;

  private final AtomicLong now = new AtomicLong();
  private final Congestion congestion = new Congestion(Duration.ofSeconds(5), now::get);
  private final HostGauges gauges = new HostGauges(List.of(), congestion);

  private final Gateway gateway = gateway(Settings.DEFAULT.callsInFlight(Integer.MAX_VALUE));

  private final List<CompletableFuture<ToolReply>> calls = new ArrayList<>();

  private Gateway gateway(Settings settings) {
    return new Gateway(
        settings,
        System::nanoTime,
        new Handles(new byte[32]),
        Runnable::run,
        gauges,
        flow -> SecretFields.NONE,
        Placement.SINGLE,
        Gateway.Carrier.DIRECT);
  }

  private static TaskRun run(String kind, int number) {
    return new TaskRun("ann", "order", kind + number);
  }

  private void call(TaskRun run) {
    calls.add(
        gateway
            .command(run, Request.OfRun.of(CallAction.CONTINUE, Json.object(), null))
            .toCompletableFuture());
  }

  private void lose(TaskRun run) {
    gateway.lost(run.entityId(), HostError.STORE_UNAVAILABLE.failure());
  }

  @Test
  void aLostSessionEndsTheCallsThatItGot() {
    call(run("a", 1));
    call(run("b", 1));
    call(run("a", 1));
    call(run("a", 1));
    List.of(1L, 2L, 4L).forEach(gateway::delivered);
    lose(run("a", 1));
    assertThat(calls)
        .extracting(CompletableFuture::isDone)
        .as("the third call has not reached it, although a later one has")
        .containsExactly(true, false, false, true);
    assertThat(calls.get(0).join().structured().path("code").asText())
        .isEqualTo("store_unavailable");
  }

  @Test
  void aSessionWhoseQueueHasNoBoundTakesCalls() {
    Request.OfRun request = Request.OfRun.of(CallAction.CONTINUE, Json.object(), null);

    assertThat(
            gateway(Settings.DEFAULT.waitingCalls(Integer.MAX_VALUE))
                .command(run("a", 1), request)
                .toCompletableFuture())
        .as("it waits for its session")
        .isNotDone();
  }

  @Test
  void aRefusedClientOfATransportSessionGetsTheHandleOfItsSession() {
    Gateway full = gateway(Settings.DEFAULT.callsInFlight(1));
    ToolCall call =
        new ToolCall(
            "order", "ann", Json.object().put("action", "continue"), Json.object(), "transport");
    full.call(call, ReplyMode.WAITS, progress -> {}, TraceContext.NONE);

    ToolReply refused =
        full.call(call, ReplyMode.WAITS, progress -> {}, TraceContext.NONE)
            .toCompletableFuture()
            .join();

    assertThat(refused.structured().path("code").asText()).isEqualTo("overloaded");
    assertThat(refused.structured().path("sessionId").asText())
        .isEqualTo(new Handles(new byte[32]).derive("ann\ntransport"));
  }

  @Test
  void aHostThatHasEndedRepliesToItsCallsAndToAllThatCome() {
    call(run("a", 1));
    gateway.end(HostError.MOVED);
    call(run("b", 1));
    assertThat(calls)
        .allSatisfy(
            call -> assertThat(call.join().structured().path("code").asText()).isEqualTo("moved"));
  }

  @Test
  void aCallThatReachedItsSessionLateCountsOnceAndHowLateItWas() {
    for (int i = 1; i <= 5; i++) {
      call(run("a", i));
    }
    now.addAndGet(Duration.ofSeconds(6).toNanos());
    for (int i = 1; i <= 5; i++) {
      gateway.reached(i);
      gateway.reached(i);
    }
    congestion.look();
    assertThat(congestion.isCongested()).isTrue();
    now.addAndGet(Duration.ofSeconds(1).toNanos());
    gateway.reached(5);
    congestion.look();
    assertThat(congestion.isCongested()).as("it was reached before").isFalse();
  }

  @Test
  void aCallIsInFlightOnTheHostThatItsCallerCalledAlone() {
    call(run("a", 1));
    List<String> codes = new ArrayList<>();
    receive(1, Entry.Origin.caller("ann"), otherHost(codes), true);
    assertThat(inFlight()).isEqualTo(1);
    gateway.end(HostError.MOVED);
    assertThat(codes).as("it was in flight here, too").containsExactly("moved");
    assertThat(inFlight()).isZero();
  }

  private double inFlight() {
    return gauges.all().stream()
        .filter(gauge -> gauge.meter() == Meter.IN_FLIGHT)
        .mapToDouble(gauge -> gauge.value().getAsDouble())
        .sum();
  }

  private void congest() {
    for (int i = 0; i < 5; i++) {
      congestion.appended(Duration.ofSeconds(6).toNanos());
    }
    now.addAndGet(Duration.ofSeconds(1).toNanos());
    congestion.look();
    assertThat(congestion.isCongested()).isTrue();
  }

  private static void isRefused(CompletableFuture<ToolReply> call) {
    assertThat(call).isDone();
    assertThat(call.join().structured().path("code").asText()).isEqualTo("overloaded");
  }

  @Test
  void aHostThatRunsAllSessionsTakesTheFirstKeyForAFork() {
    AtomicLong made = new AtomicLong();
    assertThat(gateway.keyOfFork(made::incrementAndGet, key -> "order|" + key)).isOne();
    assertThat(made).hasValue(1);
  }

  @Test
  void aCongestedHostRefusesWhatBeginsAndTakesWhatContinues() {
    congest();
    isRefused(send("start", Json.object()));
    isRefused(
        gateway
            .fork(
                new SessionKey("ann", "order", "s1"),
                "ops",
                Request.OfRun.fork(new Request.Fork(List.of(), null), Json.object()))
            .toCompletableFuture());
    assertThat(send("continue", Json.object())).isNotDone();
    assertThat(send("start", Json.object().put("fermata/callId", "c1")))
        .as("it may fetch what it began before")
        .isNotDone();
  }

  @Test
  void aCongestedHostRefusesWhatBeginsForAnotherHostToo() {
    congest();
    List<String> codes = new ArrayList<>();
    SessionCommand.ReplyTo other = otherHost(codes);
    receive(1, Entry.Origin.caller("ann"), other, true);
    assertThat(codes).as("it was admitted where it was received").isEmpty();
    receive(2, Entry.Origin.HOST, other, false);
    assertThat(codes).isEmpty();
    receive(3, Entry.Origin.caller("ann"), other, false);
    assertThat(codes).containsExactly("overloaded");
  }

  /** Another host, and the codes of the replies that it gets. */
  private static SessionCommand.ReplyTo otherHost(List<String> codes) {
    return new SessionCommand.ReplyTo() {
      @Override
      public void reply(long id, SessionReply reply) {
        codes.add(((RunReply) reply).body().path("code").asText());
      }

      @Override
      public void progress(long id, ToolProgress progress) {}
    };
  }

  private void receive(
      long id, Entry.Origin origin, SessionCommand.ReplyTo other, boolean admitted) {
    gateway.receive(
        run("a", 1).entityId(),
        new SessionCommand.Call(
            id,
            origin,
            null,
            true,
            Request.OfRun.of(CallAction.START, Json.object(), null),
            ReplyMode.WAITS,
            TraceContext.NONE,
            other),
        Duration.ofSeconds(5),
        admitted);
  }

  private CompletableFuture<ToolReply> send(String action, ObjectNode meta) {
    ObjectNode arguments = Json.object().put("action", action).put("intent", "to order");
    return gateway
        .call(
            new ToolCall("order", "ann", arguments, meta.put("threadId", "t1"), null),
            ReplyMode.WAITS,
            progress -> {},
            TraceContext.NONE)
        .toCompletableFuture();
  }

  @Test
  void losingASessionCostsTheSameHoweverManyCallsOfOthersAreInFlight() {
    IntStream.range(0, 50).forEach(warmUp -> timeToLoseSome());
    long few = least();
    IntStream.range(0, 20_000).forEach(number -> call(run("other", number)));
    assertThat(least()).isLessThan(20 * few);
  }

  private long least() {
    return IntStream.range(0, 5).mapToLong(again -> timeToLoseSome()).min().orElseThrow();
  }

  private long timeToLoseSome() {
    IntStream.range(0, LOST).forEach(number -> call(run("lost", number)));
    LongStream.range(0, calls.size() + 1).forEach(gateway::delivered);
    long begin = System.nanoTime();
    IntStream.range(0, LOST).forEach(number -> lose(run("lost", number)));
    return System.nanoTime() - begin;
  }
}
