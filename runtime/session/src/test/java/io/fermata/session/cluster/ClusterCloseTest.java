package io.fermata.session.cluster;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.session.TestHost.eventually;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import io.fermata.flow.Flow;
import io.fermata.flow.json.Json;
import io.fermata.flow.schema.Computed;
import io.fermata.persistence.Store;
import io.fermata.persistence.spi.Shard;
import io.fermata.postgres.PostgresServer;
import io.fermata.session.Fermata;
import io.fermata.session.HostBuilder;
import io.fermata.session.admin.ClusterSettings;
import io.fermata.session.admin.Settings;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolReply;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A host of a cluster hands its sessions over when it closes, whatever they do. */
@Tag("long")
class ClusterCloseTest {
  /** So many sessions that each of two hosts has some of them. */
  private static final int SESSIONS = 24;

  private final String database = PostgresServer.shared().newDatabase();
  private final Semaphore begun = new Semaphore(0);
  private final CountDownLatch released = new CountDownLatch(1);

  /** What its step has done. */
  public record Work(@Computed Boolean done) {}

  private Flow<Work> patient() {
    return Flow.of("patient", Work.class)
        .description("Works until it is released.")
        .act(
            "work",
            run -> {
              begun.release();
              released.await();
              run.set("done", true);
            },
            options -> options.timeout(Duration.ofHours(1)))
        .edge(START, "work")
        .edge("work", END)
        .result(work -> work)
        .compile();
  }

  private Fermata host() {
    return started(Duration.ofMillis(200), host -> host);
  }

  private Fermata started(Duration handOver, UnaryOperator<HostBuilder> what) {
    return what.apply(
            Fermata.host()
                .store(Store.postgres(database))
                .cluster(ClusterSettings.LOCAL.handOver(handOver))
                .settings(Settings.DEFAULT.callDeadline(Duration.ofHours(1)))
                .flow(patient()))
        .start();
  }

  private static CompletionStage<ToolReply> begin(Fermata host, int session) {
    return begin("patient", host, session);
  }

  private static CompletionStage<ToolReply> begin(String flow, Fermata host, int session) {
    ObjectNode start = Json.object().put("action", "start").put("intent", "t");
    ObjectNode meta = Json.object().put("sessionId", "s" + session);
    return host.call(new ToolCall(flow, "ann", start, meta, null));
  }

  @Test
  void itDoesNotWaitForCallsThatOtherHostsSendToItsSessions() throws Exception {
    Fermata leaves = host();
    Fermata stays = host();
    List<CompletableFuture<ToolReply>> calls = new ArrayList<>();
    for (int i = 0; i < SESSIONS; i++) {
      calls.add(begin(stays, i).toCompletableFuture());
    }
    begun.acquire(SESSIONS);
    CompletableFuture.runAsync(() -> leaves.close(Duration.ofHours(1))).get(2, TimeUnit.MINUTES);
    released.countDown();
    for (CompletableFuture<ToolReply> call : calls) {
      assertThat(call.get(2, TimeUnit.MINUTES).structured().path("status").asText())
          .isIn("complete", "error");
    }
    assertThat(begun.availablePermits()).as("steps that the other host attempts").isPositive();
    stays.close(Duration.ofSeconds(5));
  }

  @Test
  void itDoesNotWaitForCallsWhoseStepsAreToBeTriedAgainLater() throws Exception {
    Flow<Work> failing =
        Flow.of("failing", Work.class)
            .description("Fails, and is tried again after the move.")
            .act(
                "work",
                run -> {
                  begun.release();
                  throw new IllegalStateException("not now");
                },
                options -> options.retry(2, Duration.ofSeconds(48)))
            .edge(START, "work")
            .edge("work", END)
            .result(work -> work)
            .compile();
    Fermata leaves = started(Duration.ofSeconds(50), host -> host.flow(failing));
    Fermata stays = started(Duration.ofSeconds(50), host -> host.flow(failing));
    eventually(() -> shards(leaves) == Shard.COUNT / 2 && shards(stays) == Shard.COUNT / 2);
    List<CompletableFuture<ToolReply>> calls = new ArrayList<>();
    for (int i = 0; i < SESSIONS; i++) {
      calls.add(begin("failing", stays, i).toCompletableFuture());
    }
    begun.acquire(SESSIONS);
    CompletableFuture.runAsync(() -> leaves.close(Duration.ofHours(1))).get(40, TimeUnit.SECONDS);
    stays.close(Duration.ofSeconds(5));
    for (CompletableFuture<ToolReply> call : calls) {
      assertThat(call.get(2, TimeUnit.MINUTES).structured().path("status").asText())
          .isEqualTo("error");
    }
  }

  @Test
  void hostsThatAllCloseAtOnceDoNotWaitForOneAnotherToConfirmIt() throws Exception {
    Config confirms =
        ConfigFactory.parseString(
            "pekko.coordinated-shutdown.phases.cluster-exiting.timeout = 60 s");
    Fermata[] hosts =
        Stream.generate(() -> started(Duration.ofSeconds(50), host -> host.config(confirms)))
            .limit(3)
            .toArray(Fermata[]::new);
    eventually(() -> Stream.of(hosts).allMatch(host -> shards(host) > Shard.COUNT / 4));
    ExecutorService together = Executors.newFixedThreadPool(hosts.length);
    List<CompletableFuture<Void>> closing =
        Stream.of(hosts).map(host -> CompletableFuture.runAsync(host::close, together)).toList();
    for (CompletableFuture<Void> each : closing) {
      each.get(50, TimeUnit.SECONDS);
    }
    together.shutdown();
    assertThat(leases()).as("so the next host need not wait to form a cluster").isZero();
  }

  private int leases() throws SQLException {
    try (Connection store = PostgresServer.shared().connect(PostgresServer.database(database));
        Statement statement = store.createStatement();
        ResultSet rows =
            statement.executeQuery("SELECT name FROM cluster_lease WHERE name = 'cluster'")) {
      int leases = 0;
      while (rows.next()) {
        leases++;
      }
      return leases;
    }
  }

  private static int shards(Fermata... hosts) {
    return Stream.of(hosts).mapToInt(host -> host.cluster().orElseThrow().shards()).sum();
  }

  @Test
  void itsShardsMoveAFewAtATimeSoThatMostAreOpenAllTheTime() throws Exception {
    Fermata leaves = host();
    Fermata stays = host();
    eventually(() -> shards(leaves) == Shard.COUNT / 2 && shards(stays) == Shard.COUNT / 2);
    CompletableFuture<Void> closing = CompletableFuture.runAsync(leaves::close);
    int fewest = Shard.COUNT;
    while (!closing.isDone()) {
      // Read in the order in which they move: one that moves meanwhile counts twice, not never.
      fewest = Math.min(fewest, shards(leaves, stays));
      Thread.sleep(1);
    }
    closing.get();
    assertThat(fewest).as("not only those of the other host").isGreaterThan(Shard.COUNT * 5 / 8);
    eventually(() -> shards(stays) == Shard.COUNT);
    stays.close();
  }
}
