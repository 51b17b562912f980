package io.fermata.session;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.session.TestHost.eventually;
import static io.fermata.session.TestHost.got;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import io.fermata.agent.Agent;
import io.fermata.agent.Prompt;
import io.fermata.agent.engine.Outside;
import io.fermata.agent.message.Attachment;
import io.fermata.agent.message.Message;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.flow.Flow;
import io.fermata.flow.json.Json;
import io.fermata.persistence.Store;
import io.fermata.persistence.spi.Shard;
import io.fermata.persistence.spi.StoreException;
import io.fermata.postgres.PostgresServer;
import io.fermata.session.admin.ClusterSettings;
import io.fermata.session.admin.Erasure;
import io.fermata.session.admin.RunInfo;
import io.fermata.session.admin.RunQuery;
import io.fermata.session.admin.Threads;
import io.fermata.session.call.HostBus;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolReply;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Several hosts in this process that share a schema of a real PostgreSQL server. */
@Tag("slow")
class ClusterTest {
  private final String database = PostgresServer.shared().newDatabase();
  private final List<Fermata> hosts = new ArrayList<>();
  private final Random random = new Random(17);

  private Fermata host(UnaryOperator<HostBuilder> what) {
    Fermata host = what.apply(Fermata.host().store(Store.postgres(database)).cluster()).start();
    hosts.add(host);
    return host;
  }

  private Fermata host(Flow<?> flow) {
    return host(builder -> builder.flow(flow));
  }

  @AfterEach
  void close() {
    hosts.forEach(host -> host.close(Duration.ofSeconds(5)));
  }

  private Fermata any() {
    return hosts.get(random.nextInt(hosts.size()));
  }

  /** A client that calls another host each time. */
  private final class Client {
    private final String flow;
    private @Nullable String session;

    Client(String flow) {
      this.flow = flow;
    }

    ObjectNode arguments(String action, Object... updates) {
      ObjectNode arguments = Json.object().put("action", action);
      if (action.equals("start")) {
        arguments.put("intent", "to test");
      } else {
        arguments.put("sessionId", session);
      }
      for (int i = 0; i < updates.length; i += 2) {
        arguments.withObject("/stateUpdates").set((String) updates[i], Json.tree(updates[i + 1]));
      }
      return arguments;
    }

    CompletionStage<ToolReply> sent(Fermata by, String action, Object... updates) {
      return by.call(new ToolCall(flow, "ann", arguments(action, updates), Json.object(), null));
    }

    JsonNode call(String action, Object... updates) {
      ToolReply reply = got(sent(any(), action, updates).toCompletableFuture());
      JsonNode handle = reply.structured().path("sessionId");
      if (handle.isTextual()) {
        session = handle.textValue();
      }
      return reply.structured();
    }

    /** Calls again as long as the reply says so, as a client does. */
    JsonNode persistently(String action, Object... updates) {
      long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
      while (true) {
        JsonNode reply = call(action, updates);
        boolean again = Set.of("moved", "store_unavailable").contains(reply.path("code").asText());
        if (!again || System.nanoTime() - end > 0) {
          return reply;
        }
      }
    }
  }

  @Test
  void anyHostTakesAnyCall() throws InterruptedException {
    IntStream.range(0, 3).forEach(i -> host(TestFlows.trip()));
    for (int i = 0; i < 60; i++) {
      Client client = new Client("trip");
      assertThat(client.call("start").path("field").asText()).isEqualTo("from");
      JsonNode next = client.call("continue", "from", "Ulm");
      assertThat(next.path("field").asText()).as(next.toString()).isEqualTo("to");
      assertThat(client.call("status").path("run").path("state").path("from").asText())
          .isEqualTo("Ulm");
      JsonNode end = client.call("continue", "to", "Bonn");
      assertThat(end.path("status").asText())
          .as(() -> end + "\n" + PostgresServer.shared().log())
          .isEqualTo("complete");
    }
    Client sleeper = new Client("trip");
    eventually(
        () -> {
          sleeper.call("start");
          return hosts.stream().allMatch(host -> host.awake().toCompletableFuture().join() > 0);
        });
  }

  @Test
  void aCrowdThatStartsAtOnceIsOneCluster() {
    List<CompletableFuture<Fermata>> crowd =
        IntStream.range(0, 4)
            .mapToObj(
                i ->
                    CompletableFuture.supplyAsync(
                        () ->
                            Fermata.host()
                                .store(Store.postgres(database))
                                .cluster()
                                .flow(TestFlows.trip())
                                .start(),
                        task -> new Thread(task).start()))
            .toList();
    crowd.forEach(each -> hosts.add(each.join()));
    for (int i = 0; i < 20; i++) {
      Client client = new Client("trip");
      client.call("start");
      assertThat(client.call("continue", "from", "Ulm").path("field").asText()).isEqualTo("to");
    }
  }

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
            .sleep("nap", Duration.ofSeconds(8))
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
    for (int i = 0; i < 20; i++) {
      new Client("sleepy").sent(first, "start");
    }
    eventually(() -> first.awake().toCompletableFuture().join() == 20);
    host(flow);
    first.close(Duration.ofMillis(100));
    hosts.remove(first);
    // A step whose host leaves meanwhile may be attempted again.
    eventually(() -> woken.size() == 20);
  }

  @Test
  void listsShowTheRunsOfAllHosts() throws InterruptedException {
    IntStream.range(0, 2).forEach(i -> host(TestFlows.trip()));
    for (int i = 0; i < 30; i++) {
      new Client("trip").call("start");
    }
    for (Fermata host : hosts) {
      eventually(
          () ->
              host.runs().list(RunQuery.ALL).toCompletableFuture().join().runs().stream()
                      .filter(run -> run.status() == RunInfo.Status.WAITING)
                      .count()
                  == 30);
    }
  }

  @Test
  void anErasureReachesTheSessionsOfAllHosts() {
    IntStream.range(0, 3).forEach(i -> host(TestFlows.trip()));
    List<Client> clients = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      Client client = new Client("trip");
      client.call("start");
      clients.add(client);
    }
    assertThat(any().erase(new Erasure.Principal("ann")).toCompletableFuture().join().journals())
        .isEqualTo(20);
    for (Client client : clients) {
      assertThat(client.persistently("continue", "from", "Ulm").path("code").asText())
          .isEqualTo("unknown_run");
    }
  }

  @Test
  void aThreadIsFollowedFromAnyHost() throws InterruptedException {
    Agent agent = Agent.aiHuman("echo", Prompt.of("p", ScriptedModels.saying("Heard.")));
    IntStream.range(0, 3).forEach(i -> host(builder -> builder.agent(agent)));
    for (int i = 0; i < 6; i++) {
      Threads.View thread =
          any()
              .threads()
              .create(new Threads.NewThread("ann", "echo", null, Set.of(), Map.of(), List.of()))
              .toCompletableFuture()
              .join();
      ConcurrentLinkedQueue<ThreadEvent> seen = new ConcurrentLinkedQueue<>();
      Threads.Feed feed =
          any()
              .threads()
              .follow("ann", thread.threadId(), 0, -1, listener(seen))
              .toCompletableFuture()
              .join();
      feed.request(1_000);
      any()
          .threads()
          .post(
              "ann",
              thread.threadId(),
              new Threads.NewMessage(Message.user("Hello"), List.<Attachment>of(), null))
          .toCompletableFuture()
          .join();
      eventually(() -> seen.stream().anyMatch(ThreadEvent.StepEnded.class::isInstance));
      feed.close();
    }
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
    eventually(() -> host.awake().toCompletableFuture().join() == 0);
  }

  @Test
  void aCallWhoseSessionWasTakenByAnotherHostIsToldSo() throws InterruptedException {
    Fermata host = host(TestFlows.trip());
    List<Client> clients = new ArrayList<>();
    List<CompletableFuture<ToolReply>> calls = new ArrayList<>();
    for (int i = 0; i < 50; i++) {
      Client client = new Client("trip");
      client.call("start");
      clients.add(client);
    }
    PostgresServer.shared()
        .execute(
            PostgresServer.database(database),
            "UPDATE shard SET epoch = epoch + 1, holder = 'another'");
    for (Client client : clients) {
      calls.add(client.sent(host, "continue", "from", "Ulm").toCompletableFuture());
    }
    List<String> codes =
        calls.stream().map(call -> got(call).structured().path("code").asText()).toList();
    assertThat(codes).contains("moved").isSubsetOf("moved", "");
    for (Client client : clients) {
      eventually(
          () -> client.persistently("continue", "from", "Ulm").path("field").asText().equals("to"));
    }
  }

  @Test
  void aCallThatIsTooLargeForAnotherHostIsRefusedAtOnce() {
    IntStream.range(0, 2).forEach(i -> host(TestFlows.trip()));
    String large = "x".repeat(4 * 1024 * 1024);
    List<JsonNode> refused =
        IntStream.range(0, 12)
            .mapToObj(i -> new Client("trip").call("start", "from", large))
            .filter(reply -> reply.path("code").asText().equals("call_too_large"))
            .toList();
    assertThat(refused).isNotEmpty();
    assertThat(refused.get(0).path("error").asText()).contains("nothing was done", "Send less");
  }

  @Test
  void aThreadWithMoreTextThanFitsIntoAMessageIsReadAndDrivenFromAnyHost() {
    Agent agent = Agent.aiHuman("echo", Prompt.of("p", ScriptedModels.saying("Heard.")));
    IntStream.range(0, 2).forEach(i -> host(builder -> builder.agent(agent)));
    List<Message> texts =
        IntStream.range(0, 24).mapToObj(i -> Message.user("x".repeat(256 * 1024))).toList();
    Threads.NewThread wanted =
        new Threads.NewThread("ann", "echo", null, Set.of("a"), Map.of(), List.of());
    String id = now(any().threads().create(wanted)).threadId();
    for (Message message : texts) {
      now(any().threads().post("ann", id, new Threads.NewMessage(message, List.of(), null)));
    }
    Threads.View settled = now(any().threads().settled("ann", id, Duration.ofSeconds(30)));
    assertThat(settled.messages()).isGreaterThan(texts.size());
    for (Fermata host : hosts) {
      assertThat(now(host.threads().get("ann", id))).isEqualTo(settled);
      Threads.NewMessage more = new Threads.NewMessage(Message.user("more"), List.of(), "k");
      String posted = now(host.threads().post("ann", id, more)).messageId();
      assertThat(posted).isEqualTo("m-u" + (texts.size() + 1));
      settled = now(host.threads().settled("ann", id, Duration.ofSeconds(30)));
    }
  }

  private static Threads.Listener listener(ConcurrentLinkedQueue<ThreadEvent> seen) {
    return new Threads.Listener() {
      @Override
      public void happened(long seq, int index, long at, ThreadEvent event) {
        seen.add(event);
      }

      @Override
      public void streamed(Outside.Delta delta) {}

      @Override
      public void ended(@Nullable Throwable why) {}
    };
  }

  @Test
  void aMessageReachesEveryOtherHostOnceAlsoOneThatIsKnownOnlyAfterwards()
      throws InterruptedException {
    HostBus one = host(TestFlows.trip()).bus();
    HostBus other = host(TestFlows.trip()).bus();
    List<String> received = new CopyOnWriteArrayList<>();
    other.subscribe(message -> received.add(message.asText()));

    one.publish(TextNode.valueOf("early"));
    eventually(() -> received.contains("early"));
    HostBus late = host(TestFlows.trip()).bus();
    List<String> receivedLate = new CopyOnWriteArrayList<>();
    late.subscribe(message -> receivedLate.add(message.asText()));
    one.publish(TextNode.valueOf("late"));
    eventually(() -> receivedLate.contains("late") && received.contains("late"));

    assertThat(received).containsExactly("early", "late");
    assertThat(receivedLate).endsWith("late").doesNotHaveDuplicates();
  }

  @Test
  void aNameIsClaimedByOneHostUntilItGivesItUpOrTheClaimExpires() throws InterruptedException {
    Duration minute = Duration.ofMinutes(1);
    HostBus one = host(TestFlows.trip()).bus();
    HostBus other = host(TestFlows.trip()).bus();
    assertThat(now(one.claim("reply", minute))).isTrue();
    assertThat(now(one.claim("reply", minute))).as("kept for longer").isTrue();
    assertThat(now(other.claim("reply", minute))).isFalse();
    assertThat(now(other.giveUp("reply"))).isTrue();
    assertThat(now(other.claim("reply", minute))).as("still the other's").isFalse();

    assertThat(now(one.giveUp("reply"))).isTrue();

    assertThat(now(other.claim("reply", minute))).isTrue();
    assertThat(now(one.claim("reply", minute))).isFalse();
    assertThat(now(one.claim("soon over", Duration.ofMillis(1)))).isTrue();
    eventually(() -> now(other.claim("soon over", minute)));
  }

  @Test
  void claimsBeyondWhatTheStoreTakesAreRefusedAtOnce() {
    HostBus bus = host(TestFlows.trip()).bus();
    List<CompletableFuture<Boolean>> claims =
        IntStream.range(0, 20_000)
            .mapToObj(i -> bus.claim("c" + i, Duration.ofMinutes(1)).toCompletableFuture())
            .toList();
    Map<Boolean, Long> refused =
        claims.stream()
            .map(claim -> claim.handle((claimed, thrown) -> thrown).join())
            .collect(
                Collectors.partitioningBy(
                    thrown -> thrown instanceof RejectedExecutionException, Collectors.counting()));
    assertThat(refused.get(false)).isGreaterThanOrEqualTo(1_000);
    assertThat(refused.get(true)).isPositive();
    assertThat(claims.stream().filter(each -> !each.isCompletedExceptionally()).count())
        .isEqualTo(refused.get(false));
  }

  private static <T> T now(CompletionStage<T> stage) {
    return stage.toCompletableFuture().orTimeout(60, TimeUnit.SECONDS).join();
  }

  @Test
  void anUnencryptedAddressThatOthersReachIsRefused() {
    assertThatThrownBy(
            () ->
                host(
                    builder ->
                        builder.flow(TestFlows.trip()).cluster(ClusterSettings.at("10.0.0.1"))))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("would talk unencrypted at 10.0.0.1");
  }

  @Test
  void anEmbeddedStoreIsRefused(@TempDir Path folder) {
    assertThatThrownBy(
            () ->
                Fermata.host()
                    .store(Store.sqlite(folder.resolve("a.db")))
                    .cluster()
                    .flow(TestFlows.trip())
                    .start())
        .isInstanceOf(StoreException.class)
        .hasMessageContaining(
            "a.db cannot be shared by the hosts of a cluster, which need a PostgreSQL store");
  }

  @Test
  void sessionsAreSpreadOverAllShards() {
    assertThat(
            IntStream.range(0, 20_000)
                .map(i -> Shard.of("trip|" + UUID.randomUUID()))
                .distinct()
                .count())
        .isEqualTo(Shard.COUNT);
  }
}
