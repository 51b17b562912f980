package io.fermata.session;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.route.Condition.visits;
import static io.fermata.session.TestHost.eventually;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Flow;
import io.fermata.flow.json.Json;
import io.fermata.flow.replay.ForkOptions;
import io.fermata.flow.schema.Computed;
import io.fermata.persistence.Store;
import io.fermata.persistence.spi.Shard;
import io.fermata.persistence.spi.StoreException;
import io.fermata.postgres.PostgresServer;
import io.fermata.session.admin.ClusterSettings;
import io.fermata.session.admin.Erasure;
import io.fermata.session.admin.Fork;
import io.fermata.session.admin.RunInfo;
import io.fermata.session.admin.RunQuery;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolReply;
import io.fermata.session.observe.Meter;
import io.fermata.session.observe.Telemetry;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Hosts that share a store take each other's calls. */
@Tag("slow")
class ClusterTest extends ClusterOfHosts {
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
          return hosts.stream().allMatch(host -> host.awake() > 0);
        });
  }

  @Test
  void aCallOfAnotherHostsSessionIsInFlightOnce() throws InterruptedException {
    CountDownLatch held = new CountDownLatch(10);
    Flow<Book> holding =
        Flow.of("book", Book.class)
            .description("Holds its calls.")
            .actAsync(
                "hold",
                run -> {
                  held.countDown();
                  return new CompletableFuture<>();
                })
            .edge(START, "hold")
            .edge("hold", END)
            .compile();
    List<Telemetry.Gauge> inFlight = new CopyOnWriteArrayList<>();
    Telemetry gauging =
        new Telemetry() {
          @Override
          public void opened(List<Gauge> gauges) {
            gauges.stream()
                .filter(gauge -> gauge.meter() == Meter.IN_FLIGHT)
                .forEach(inFlight::add);
          }
        };
    IntStream.range(0, 2).forEach(i -> host(builder -> builder.flow(holding).telemetry(gauging)));
    eventually(
        () ->
            hosts.stream()
                .allMatch(host -> host.cluster().orElseThrow().shards() == Shard.COUNT / 2));
    List<CompletionStage<ToolReply>> calls = new ArrayList<>();
    for (int i = 0; i < 10; i++) {
      calls.add(new Client("book").sent(hosts.get(0), "start"));
    }
    assertThat(held.await(60, TimeUnit.SECONDS)).isTrue();
    assertThat(calls).allSatisfy(call -> assertThat(call.toCompletableFuture()).isNotDone());
    assertThat(inFlight.stream().mapToDouble(gauge -> gauge.value().getAsDouble()).sum())
        .isEqualTo(calls.size());
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

  record Book(@Computed String page, Boolean enough) {}

  /** Its journal has all pages when it asks, more than 4 MiB, and its state the last one. */
  private static Flow<Book> book() {
    return Flow.of("book", Book.class)
        .description("Reads.")
        .act("read", run -> run.set("page", run.visit() + "x".repeat(200 * 1024)))
        .ask("asks", q -> q.question("enough", "Enough?"))
        .edge(START, "read")
        .decide("read", d -> d.when("all", visits("read").gte(20)).to("asks").otherwise("read"))
        .edge("asks", END)
        .result(Book::enough)
        .compile();
  }

  @Test
  void aRunThatIsLargerThanACallBetweenHostsIsForkedOnAnyHost() throws InterruptedException {
    IntStream.range(0, 2).forEach(i -> host(book()));
    eventually(
        () ->
            hosts.stream()
                .allMatch(host -> host.cluster().orElseThrow().shards() == Shard.COUNT / 2));
    ObjectNode start = new Client("book").arguments("start");
    JsonNode run = run(sent(hosts.get(0), start));
    List<Fork> forks = IntStream.range(0, 12).mapToObj(i -> fork(hosts.get(0), run)).toList();
    assertThat(forks)
        .extracting(fork -> fork.reply().structured().path("question").asText())
        .containsOnly("Enough?");
    Fork fork = forks.get(0);
    ObjectNode status = Json.object().put("action", "status").put("sessionId", fork.sessionId());
    assertThat(run(sent(hosts.get(1), status)).path("runId").asText()).isEqualTo(fork.runId());
  }

  private static Fork fork(Fermata host, JsonNode run) {
    String runId = run.path("runId").asText();
    return now(host.fork("book", runId, run.path("seq").asLong(), ForkOptions.sandbox()));
  }

  private static ToolReply sent(Fermata host, ObjectNode arguments) {
    return now(host.call(new ToolCall("book", "ann", arguments, Json.object(), null)));
  }

  private static JsonNode run(ToolReply reply) {
    return reply.meta().path("fermata/run");
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
  void anAddressThatCannotBeListenedOnIsNamed() throws IOException {
    try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      int port = taken.getLocalPort();
      refuses(
          ClusterSettings.LOCAL.port(port),
          "cannot listen at 127.0.0.1:" + port,
          "(Address already in use",
          "choose another port");
    }
    refuses(
        ClusterSettings.at("192.0.2.7").inPlaintext().port(7400),
        "cannot listen at 192.0.2.7:7400",
        "an address of this machine");
    refuses(
        ClusterSettings.at("nowhere.invalid").inPlaintext(),
        "cannot listen at nowhere.invalid:0",
        "an address of this machine");
  }

  private void refuses(ClusterSettings settings, String... reasons) {
    assertThatThrownBy(() -> host(builder -> builder.flow(TestFlows.trip()).cluster(settings)))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContainingAll(reasons);
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
