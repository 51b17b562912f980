package io.fermata.session;

import static io.fermata.session.TestHost.eventually;
import static io.fermata.session.TestHost.got;
import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.persistence.Store;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.Shard;
import io.fermata.persistence.spi.SharedStore;
import io.fermata.postgres.Cable;
import io.fermata.postgres.PostgresServer;
import io.fermata.session.admin.Erased;
import io.fermata.session.admin.RunInfo;
import io.fermata.session.admin.RunQuery;
import io.fermata.session.admin.Runs;
import io.fermata.session.call.ClusterHealth;
import io.fermata.session.call.Health;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolReply;
import io.fermata.session.host.Upkeep;
import io.fermata.session.key.SessionKey;
import io.fermata.session.runs.RunRow;
import io.fermata.session.runs.SessionDirectory;
import io.fermata.session.telemetry.Meters;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** What operators see of a cluster; on real hosts that share a real PostgreSQL server. */
@Tag("slow")
@Tag("long")
class ClusterOperationsTest {
  private static final int RUNS = 20;
  private static final String NEWEST = "SELECT max(ordering) FROM event_journal";

  private final PostgresServer server = PostgresServer.shared();
  private final String database = server.newDatabase();
  private final Cable cable = Cable.to(server);
  private final List<Member> members = new ArrayList<>();

  /** A host with its own meters. */
  private record Member(Fermata host, SimpleMeterRegistry registry) {

    double gauge(String name, String... tags) {
      return registry.get("fermata.cluster." + name).tags(tags).gauge().value();
    }

    long timed(String name) {
      return registry.get("fermata.cluster." + name).timer().count();
    }

    double counted(String name) {
      return registry.get("fermata.cluster." + name).functionCounter().count();
    }

    ToolReply call(String session, String action, ObjectNode updates) {
      ObjectNode arguments = Json.object().put("action", action).put("intent", "to test");
      arguments.set("stateUpdates", updates);
      return got(
          host.call(
                  new ToolCall(
                      "trip", "ann", arguments, Json.object().put("threadId", session), null))
              .toCompletableFuture());
    }
  }

  private Member start(String address) {
    SimpleMeterRegistry registry = new SimpleMeterRegistry();
    Fermata host =
        Fermata.host()
            .store(Store.postgres(address))
            .cluster()
            .flow(TestFlows.trip())
            .telemetry(Meters.of(registry))
            .start();
    Member member = new Member(host, registry);
    members.add(member);
    return member;
  }

  private Member start() {
    return start(database);
  }

  @AfterEach
  void close() {
    cable.mend();
    members.forEach(member -> member.host().close(Duration.ofSeconds(5)));
    cable.close();
  }

  private double sum(String gauge) {
    return members.stream().mapToDouble(member -> member.gauge(gauge)).sum();
  }

  private void awaitAllHolding(int hosts) throws InterruptedException {
    eventually(
        () ->
            members.stream()
                    .allMatch(
                        each ->
                            each.gauge("members", "status", "up") == hosts
                                && each.gauge("shards") > 0)
                && sum("shards") == Shard.COUNT);
  }

  @Test
  void onAHostOfAClusterItCountsRunsOfOthersThatAreNotListedYet() throws Exception {
    Instant since = Instant.now();
    start();
    start();
    awaitAllHolding(2);
    for (int i = 0; i < RUNS; i++) {
      members.get(0).call(UUID.randomUUID().toString(), "start", Json.object());
    }
    Runs runs = members.get(0).host().runs();
    eventually(() -> runs.count(RunQuery.ALL, 100).toCompletableFuture().join() == RUNS);
    String name = PostgresServer.database(database);
    eventually(() -> number(name, "SELECT max(mark) FROM shard_mark") == number(name, NEWEST));
    // As if the hosts had not listed them yet.
    server.execute(name, "DELETE FROM directory", "UPDATE shard_mark SET mark = 0");

    for (Member member : members) {
      WhatIf changed = WhatIf.of(TestFlows.trip()).since(since);
      WhatIfResult result = member.host().journals().whatIf(changed).toCompletableFuture().join();
      assertThat(result.same() + result.otherwise()).isEqualTo(RUNS);
    }
  }

  private long number(String name, String sql) {
    try (Connection connection = server.connect(name);
        Statement select = connection.createStatement();
        ResultSet row = select.executeQuery(sql)) {
      row.next();
      return row.getLong(1);
    } catch (SQLException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void everyHostMetersItsPartOfTheCluster() throws InterruptedException {
    IntStream.range(0, 3).forEach(i -> start());
    awaitAllHolding(3);
    assertThat(sum("heartbeat")).isLessThan(180);
    for (Member member : members) {
      assertThat(member.gauge("members", "status", "unreachable")).isZero();
      // In this order, as shards still move.
      long shards = (long) member.gauge("shards");
      assertThat(member.timed("shards.acquire")).isGreaterThanOrEqualTo(shards);
      assertThat(member.counted("resends")).isNotNegative();
      assertThat(member.counted("refusals")).isZero();
    }

    Member first = members.get(0);
    // A host that has started takes shards slowly, so the first may still run nearly all sessions.
    eventually(
        () -> {
          first.call(UUID.randomUUID().toString(), "start", Json.object());
          return first.timed("calls") > 0;
        });

    first.host().close();
    members.remove(first);
    awaitAllHolding(2);
    assertThat(first.timed("shards.handover")).isEqualTo(first.timed("shards.acquire"));
    assertThat(first.registry().find("fermata.cluster.shards").gauge()).isNull();
  }

  /** The warnings of some loggers, until it is closed. */
  private record Warnings(List<Logger> loggers, ListAppender<ILoggingEvent> appender)
      implements AutoCloseable {
    static Warnings of(Class<?>... sources) {
      ListAppender<ILoggingEvent> appender = new ListAppender<>();
      appender.start();
      List<Logger> loggers = new ArrayList<>();
      for (Class<?> source : sources) {
        Logger logger = (Logger) LoggerFactory.getLogger(source);
        logger.setLevel(Level.WARN);
        logger.addAppender(appender);
        loggers.add(logger);
      }
      return new Warnings(loggers, appender);
    }

    List<String> texts() {
      return List.copyOf(appender.list).stream().map(ILoggingEvent::getFormattedMessage).toList();
    }

    @Override
    public void close() {
      loggers.forEach(
          logger -> {
            logger.detachAppender(appender);
            logger.setLevel(null);
          });
    }
  }

  private static Health health(Member member) {
    return member.host().health().toCompletableFuture().join();
  }

  @Test
  void anyHostOperatesTheRunsOfAll() throws InterruptedException {
    IntStream.range(0, 2).forEach(i -> start());
    awaitAllHolding(2);
    for (int i = 0; i < 8; i++) {
      String session = UUID.randomUUID().toString();
      String run =
          members
              .get(0)
              .call(session, "start", Json.object())
              .meta()
              .at("/fermata~1run/runId")
              .asText();
      Fermata other = members.get(i % 2).host();

      ToolReply now = got(other.runs().status("trip", run).toCompletableFuture());
      assertThat(now.structured().path("run").has("state")).as(now.toString()).isTrue();
      ToolReply ended = got(other.runs().cancel("trip", run, "ops").toCompletableFuture());
      assertThat(ended.structured().path("cancelled").asBoolean()).as(ended.toString()).isTrue();
      assertThat(other.runs().erase("trip", run).toCompletableFuture().join().journals())
          .isEqualTo(1);
      ToolReply gone = got(other.runs().status("trip", run).toCompletableFuture());
      assertThat(gone.structured().path("code").asText()).isEqualTo("unknown_run");
    }
  }

  @Test
  void anyHostErasesAPrincipalWhoseRunsAreOnAll() throws InterruptedException {
    IntStream.range(0, 2).forEach(i -> start());
    awaitAllHolding(2);
    for (int i = 0; i < 8; i++) {
      members.get(i % 2).call(UUID.randomUUID().toString(), "start", Json.object());
    }
    for (int journals : new int[] {8, 0}) {
      assertThat(members.get(1).host().runs().erasePrincipal("ann").toCompletableFuture().join())
          .returns(journals, Erased::journals);
    }
  }

  @Test
  void everyHostRebuildsTheListOfTheSessionsThatItRuns() throws InterruptedException {
    IntStream.range(0, 2).forEach(i -> start());
    awaitAllHolding(2);
    eventually(() -> members.stream().allMatch(each -> each.gauge("shards") == Shard.COUNT / 2.0));
    List<String> runs = new ArrayList<>();
    for (int i = 0; i < 12; i++) {
      String session = UUID.randomUUID().toString();
      ToolReply reply = members.get(0).call(session, "start", Json.object());
      runs.add(reply.meta().at("/fermata~1run/runId").asText());
    }
    eventually(() -> listed().size() == 12);
    String gone = runs.remove(0);
    server.execute(
        PostgresServer.database(database),
        "DELETE FROM event_journal WHERE persistence_id = '%s'"
            .formatted(SessionKey.entityOf("trip", gone)),
        "DELETE FROM directory WHERE persistence_id <> '%s'".formatted(RunRow.id("trip", gone)));
    assertThat(listed()).containsExactly(gone);

    long read = 0;
    long removed = 0;
    for (Member member : members) {
      Runs.Rebuilt rebuilt = member.host().runs().rebuild().toCompletableFuture().join();
      read += rebuilt.journals();
      removed += rebuilt.removed();
    }
    assertThat(read).isEqualTo(11);
    assertThat(removed).isEqualTo(1);
    assertThat(listed()).hasSameElementsAs(runs);
  }

  private List<String> listed() {
    return members
        .get(1)
        .host()
        .runs()
        .list(RunQuery.ALL)
        .toCompletableFuture()
        .join()
        .runs()
        .stream()
        .map(RunInfo::runId)
        .toList();
  }

  @Test
  void everyHostSeesTheSameMembers() throws InterruptedException {
    IntStream.range(0, 3).forEach(i -> start());
    awaitAllHolding(3);
    for (Member member : members) {
      ClusterHealth seen = member.host().cluster().orElseThrow();
      ClusterHealth first = members.get(0).host().cluster().orElseThrow();
      assertThat(health(member).ready()).isTrue();
      assertThat(seen.id()).isNotNull().isEqualTo(first.id());
      assertThat(seen.members()).hasSize(3).hasSameElementsAs(first.members());
      assertThat(seen.members())
          .contains(new ClusterHealth.Member(seen.address(), ClusterHealth.Status.UP));
      assertThat(seen.address()).matches("127\\.0\\.0\\.1:\\d+");
      assertThat(seen.shards()).isPositive();
    }
  }

  @Test
  void aHostWhoseClusterHasGoneOnWithoutItIsNotReady() throws InterruptedException {
    Member cutOff = start(cable.through(database));
    assertThat(health(cutOff).ready()).isTrue();
    cable.halt();
    eventually(() -> cutOff.host().cluster().orElseThrow().problem() != null);
    assertThat(cutOff.host().cluster().orElseThrow().problem())
        .startsWith("the store has not renewed this host's place in the cluster for ");
    // Until then others would still join it.
    eventually(() -> cutOff.gauge("heartbeat") > 12);
    Member other = start();
    cable.mend();
    eventually(() -> cutOff.host().lost().toCompletableFuture().isDone());
    assertThat(cutOff.host().cluster().orElseThrow().problem())
        .isEqualTo(cutOff.host().lost().toCompletableFuture().join())
        .contains("Another cluster of hosts has formed");
    assertThat(health(cutOff).ready()).isFalse();
    assertThat(health(other).ready()).isTrue();
    assertThat(
            cutOff
                .call(UUID.randomUUID().toString(), "start", Json.object())
                .structured()
                .path("code")
                .asText())
        .isEqualTo("moved");
  }

  @Test
  void whatTheStoreRefusesAHostIsCounted() throws InterruptedException {
    Member only = start();
    awaitAllHolding(1);
    String session = UUID.randomUUID().toString();
    only.call(session, "start", Json.object());
    try (Warnings warnings = Warnings.of(Upkeep.class, SessionDirectory.class)) {
      eventually(
          () -> {
            server.execute(PostgresServer.database(database), "UPDATE shard SET epoch = epoch + 1");
            only.call(session, "continue", Json.object().put("from", "Ulm"));
            return only.counted("refusals") > 0;
          });
      assertThat(warnings.texts()).as("the store is there").isEmpty();
    }
  }

  private static void takeAll(OpenStore intruder) {
    SharedStore shared = intruder.shared().orElseThrow();
    // Each waits until nothing counts any more that the store confirmed to the holder.
    CompletableFuture.allOf(
            Shard.all()
                .mapToObj(shard -> shared.acquire(shard, "intruder").toCompletableFuture())
                .toArray(CompletableFuture[]::new))
        .join();
  }

  @Test
  void shardsThatWereTakenInTheStoreAreMeteredAsLostAndTakenAgain() throws InterruptedException {
    Member only = start();
    awaitAllHolding(1);
    String session = UUID.randomUUID().toString();
    only.call(session, "start", Json.object());
    try (OpenStore intruder = Store.postgres(database).openShared()) {
      eventually(
          () -> {
            takeAll(intruder);
            return only.gauge("shards") < Shard.COUNT;
          });
    }
    awaitAllHolding(1);
    eventually(() -> !only.call(session, "status", Json.object()).structured().has("code"));
    assertThat(
            only.call(session, "continue", Json.object().put("from", "Ulm"))
                .structured()
                .path("status")
                .asText())
        .isEqualTo("interrupt");
  }

  @Test
  void aHostThatCannotReachTheDatabaseShowsForHowLong() throws InterruptedException {
    start();
    Member cutOff = start(cable.through(database));
    awaitAllHolding(2);
    cable.cut();
    eventually(() -> cutOff.gauge("heartbeat") > 3);
    assertThat(cutOff.registry().get("fermata.cluster.heartbeat").gauge().getId().getBaseUnit())
        .isEqualTo("seconds");
    cable.mend();
    eventually(() -> cutOff.gauge("heartbeat") < 3);
  }
}
