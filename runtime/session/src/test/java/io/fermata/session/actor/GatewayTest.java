package io.fermata.session.actor;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.flow.SecretFields;
import io.fermata.flow.json.Json;
import io.fermata.session.admin.Settings;
import io.fermata.session.call.CallAction;
import io.fermata.session.call.Request;
import io.fermata.session.call.TaskRun;
import io.fermata.session.call.ToolReply;
import io.fermata.session.key.Handles;
import io.fermata.session.key.HostError;
import io.fermata.session.observe.HostGauges;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** The calls in flight of a host. */
final class GatewayTest {

  private static final int LOST = 20;

  private final Gateway gateway =
      new Gateway(
          Settings.DEFAULT.callsInFlight(Integer.MAX_VALUE),
          System::nanoTime,
          new Handles(new byte[32]),
          Runnable::run,
          new HostGauges(List.of()),
          flow -> SecretFields.NONE,
          Placement.SINGLE);

  private final List<CompletableFuture<ToolReply>> calls = new ArrayList<>();

  private static TaskRun run(String kind, int number) {
    return new TaskRun("ann", "order", kind + number);
  }

  private void call(TaskRun run) {
    calls.add(
        gateway
            .command(run, Request.OfRun.of(CallAction.CONTINUE, Json.object(), null))
            .toCompletableFuture());
  }

  private void lose(TaskRun run, long lastCall) {
    gateway.lost(run.entityId(), lastCall, HostError.STORE_UNAVAILABLE.failure());
  }

  @Test
  void aLostSessionEndsItsOwnCallsUpToTheLastThatReachedIt() {
    call(run("a", 1));
    call(run("b", 1));
    call(run("a", 1));
    call(run("a", 1));
    lose(run("a", 1), 3);
    assertThat(calls)
        .extracting(CompletableFuture::isDone)
        .containsExactly(true, false, true, false);
    assertThat(calls.get(0).join().structured().path("code").asText())
        .isEqualTo("store_unavailable");
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
    long begin = System.nanoTime();
    IntStream.range(0, LOST).forEach(number -> lose(run("lost", number), Long.MAX_VALUE));
    return System.nanoTime() - begin;
  }
}
