package io.fermata.session;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.session.TestHost.eventually;
import static io.fermata.session.TestHost.got;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Flow;
import io.fermata.flow.json.Json;
import io.fermata.persistence.spi.Shard;
import io.fermata.postgres.PostgresServer;
import io.fermata.session.admin.ClusterSettings;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolReply;
import java.sql.Connection;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Sessions whose host leaves, is replaced, or waits for the store. */
@Tag("slow")
@Tag("long")
class ClusterSessionsTest extends ClusterOfHosts {
  @Test
  void theSessionsOfAHostThatClosesContinueOnAnother() {
    Fermata first = host(TestFlows.trip());
    List<Client> clients = new ArrayList<>();
    for (int i = 0; i < 40; i++) {
      Client client = new Client("trip");
      client.call("start");
      clients.add(client);
    }
    host(TestFlows.trip());
    first.close();
    hosts.remove(first);
    for (Client client : clients) {
      assertThat(client.call("continue", "from", "Ulm").path("field").asText()).isEqualTo("to");
    }
  }

  @Test
  void stepsThatRunWhenTheirHostLeavesEndOnAnother() throws Exception {
    Map<String, Integer> attempts = new ConcurrentHashMap<>();
    CompletableFuture<Void> go = new CompletableFuture<>();
    Flow<TestFlows.Trip> flow =
        TestFlows.tripAsync(
                run -> {
                  attempts.merge(run.idempotencyKey(), 1, Integer::sum);
                  return go.thenApply(gone -> run.set("price", 3));
                },
                o -> {})
            .compile();
    Fermata first =
        host(builder -> builder.cluster(ClusterSettings.LOCAL.handOver(Duration.ZERO)).flow(flow));
    List<Client> clients = new ArrayList<>();
    List<CompletableFuture<ToolReply>> calls = new ArrayList<>();
    for (int i = 0; i < 10; i++) {
      Client client = new Client("trip");
      client.call("start");
      calls.add(client.sent(first, "continue", "from", "Ulm").toCompletableFuture());
      clients.add(client);
    }
    eventually(() -> attempts.size() == 10);
    host(builder -> builder.flow(flow));
    CompletableFuture.runAsync(() -> first.close(Duration.ofMillis(100))).get(60, TimeUnit.SECONDS);
    hosts.remove(first);
    go.complete(null);
    for (int i = 0; i < 10; i++) {
      assertThat(calls.get(i).get(30, TimeUnit.SECONDS).structured().path("code").asText())
          .isIn("moved", "still_working", "shutting_down", "none", "");
      Client client = clients.get(i);
      eventually(() -> client.persistently("continue").path("field").asText().equals("to"));
    }
  }

  @Test
  void aLongCallIsHandledOnceAlsoIfItsCallerCannotTakeProgress() throws InterruptedException {
    Map<String, Integer> attempts = new ConcurrentHashMap<>();
    AtomicInteger progressed = new AtomicInteger();
    Flow<TestFlows.Trip> flow =
        TestFlows.tripAsync(
                run -> {
                  attempts.merge(run.idempotencyKey(), 1, Integer::sum);
                  run.emit("begun", 1);
                  return CompletableFuture.supplyAsync(
                      () -> run.set("price", 3),
                      CompletableFuture.delayedExecutor(7, TimeUnit.SECONDS));
                },
                o -> {})
            .compile();
    host(flow);
    host(flow);
    // A shard that moves would end the work, and each host must call the other one.
    eventually(
        () ->
            hosts.stream()
                .allMatch(host -> host.cluster().orElseThrow().shards() == Shard.COUNT / 2));
    List<CompletableFuture<ToolReply>> replies = new ArrayList<>();
    for (int i = 0; i < 16; i++) {
      Client client = new Client("trip");
      client.call("start");
      ObjectNode arguments = client.arguments("continue", "from", "Ulm");
      replies.add(
          any()
              .call(
                  new ToolCall("trip", "ann", arguments, Json.object(), null),
                  progress -> {
                    progressed.incrementAndGet();
                    throw new IllegalStateException("The caller is gone");
                  })
              .toCompletableFuture());
    }

    for (CompletableFuture<ToolReply> reply : replies) {
      assertThat(got(reply).structured().path("field").asText()).isEqualTo("to");
    }
    assertThat(attempts).hasSize(16).allSatisfy((key, times) -> assertThat(times).isEqualTo(1));
    assertThat(progressed).hasValueGreaterThanOrEqualTo(16);
  }

  @Test
  void timersFireOnTheHostThatIsLeft() throws InterruptedException {
    Map<String, Integer> woken = new ConcurrentHashMap<>();
    Flow<TestFlows.Trip> flow =
        Flow.of("sleepy", TestFlows.Trip.class)
            .description("Sleeps.")
            .sleep("nap", Duration.ofSeconds(15))
            .act(
                "wake",
                run -> {
                  woken.merge(run.idempotencyKey(), 1, Integer::sum);
                  run.set("price", 3);
                })
            .edge(START, "nap")
            .edge("nap", "wake")
            .edge("wake", END)
            .compile();
    Fermata first = host(flow);
    List<CompletableFuture<ToolReply>> naps =
        Stream.generate(() -> new Client("sleepy").sent(first, "start").toCompletableFuture())
            .limit(20)
            .toList();
    // It waits for no pause that is longer than half of its time.
    naps.forEach(
        nap -> assertThat(got(nap).structured().path("status").asText()).isEqualTo("waiting"));
    host(flow);
    first.close(Duration.ofMillis(100));
    hosts.remove(first);
    // A step whose host leaves meanwhile may be attempted again.
    eventually(() -> woken.size() == 20);
  }

  @Test
  void aReplyThatIsStillToBeConfirmedIsNotLostWithASessionThatHasNothingLeftToDo()
      throws Exception {
    Fermata host = host(TestFlows.trip());
    Client client = new Client("trip");
    client.call("start");
    client.call("continue", "from", "Ulm");
    assertThat(client.call("continue", "to", "Bonn").path("status").asText()).isEqualTo("complete");
    try (Connection store = PostgresServer.shared().connect(PostgresServer.database(database));
        Statement lock = store.createStatement()) {
      store.setAutoCommit(false);
      lock.execute("LOCK TABLE shard IN ACCESS EXCLUSIVE MODE");
      // What the store has confirmed counts for two seconds.
      Thread.sleep(2_500);
      CompletableFuture<ToolReply> reply = client.sent(host, "continue").toCompletableFuture();
      Thread.sleep(500);
      assertThat(reply).as("it is not confirmed").isNotDone();
      store.rollback();
      assertThat(got(reply).structured().path("code").asText()).isEqualTo("run_completed");
    }
    eventually(() -> host.awake() == 0);
  }

  @Test
  void aCallWhoseSessionWasTakenByAnotherHostIsToldSo() throws InterruptedException {
    Fermata host = host(TestFlows.trip());
    List<Client> clients = new ArrayList<>();
    Set<String> codes = new HashSet<>();
    // A heartbeat may notice it before the calls come, which then wait until the host has it again.
    eventually(
        () -> {
          List<Client> begun = Stream.generate(() -> new Client("trip")).limit(50).toList();
          begun.forEach(client -> client.persistently("start"));
          clients.addAll(begun);
          codes.addAll(codesWhenTaken(host, begun));
          return codes.contains("moved");
        });
    assertThat(codes).isSubsetOf("moved", "");
    for (Client client : clients) {
      eventually(
          () -> client.persistently("continue", "from", "Ulm").path("field").asText().equals("to"));
    }
  }

  /** What clients get whose sessions another host takes right before they answer. */
  private List<String> codesWhenTaken(Fermata host, List<Client> clients) {
    PostgresServer.shared()
        .execute(
            PostgresServer.database(database),
            "UPDATE shard SET epoch = epoch + 1, holder = 'another'");
    List<CompletableFuture<ToolReply>> calls =
        clients.stream()
            .map(client -> client.sent(host, "continue", "from", "Ulm").toCompletableFuture())
            .toList();
    return calls.stream().map(call -> got(call).structured().path("code").asText()).toList();
  }
}
