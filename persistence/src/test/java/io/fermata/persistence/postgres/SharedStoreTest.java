package io.fermata.persistence.postgres;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.persistence.PostgresProbe;
import io.fermata.persistence.Store;
import io.fermata.persistence.contract.Host;
import io.fermata.persistence.contract.Note.Appointment;
import io.fermata.persistence.contract.Note.Conclusion;
import io.fermata.persistence.contract.Note.Line;
import io.fermata.persistence.contract.Note.Plan;
import io.fermata.persistence.memory.DirectoryContract;
import io.fermata.persistence.spi.ClusterHost;
import io.fermata.persistence.spi.Due;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.Shard;
import io.fermata.persistence.spi.SharedStore;
import io.fermata.persistence.spi.StoreException;
import io.fermata.persistence.spi.StoreProblem;
import io.fermata.persistence.spi.Unfinished;
import io.fermata.persistence.spi.Written;
import io.fermata.postgres.PostgresServer;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Several hosts share a store, and each writes the sessions of the shards that it holds. */
@Tag("slow")
final class SharedStoreTest {

  private static final int HOSTS = 10;

  private final PostgresProbe database = PostgresProbe.fresh();

  /** A session of a shard. */
  static String in(int shard) {
    return in(shard, "session");
  }

  static String in(int shard, String beginning) {
    return IntStream.iterate(1, i -> i + 1)
        .mapToObj(i -> beginning + i)
        .filter(id -> Shard.of(id) == shard)
        .findFirst()
        .orElseThrow();
  }

  private Host host(Integer... shards) {
    return host(database, shards);
  }

  /** A host that holds these shards. */
  static Host host(PostgresProbe database, Integer... shards) {
    Host host = Host.over(database.store().openShared());
    acquire(host, shards);
    return host;
  }

  static void acquire(Host host, Integer... shards) {
    SharedStore shared = shared(host.store());
    for (int shard : shards) {
      Host.await(shared.acquire(shard, "a host"));
    }
  }

  static SharedStore shared(OpenStore store) {
    return store.shared().orElseThrow();
  }

  private static StoreProblem problem(CompletionStage<?> request) {
    return request
        .handle((done, failure) -> failure)
        .thenApply(failure -> failure == null ? null : StoreProblem.of(failure))
        .toCompletableFuture()
        .join();
  }

  private static boolean fails(CompletionStage<?> request) {
    return request.handle((done, failure) -> failure != null).toCompletableFuture().join();
  }

  private static CompletionStage<Long> tried(Host.Desk desk, String text) {
    return desk.attempt(new Line(text));
  }

  // --- the claim

  @Test
  void hostsThatShareAStoreWriteAndReadItTogether() {
    try (Host one = host(1);
        Host two = host(2)) {
      one.open(in(1)).write(new Line("by one"));
      two.open(in(2)).write(new Line("by two"));
      assertThat(two.read(in(1), 1, 10)).hasSize(1);
      assertThat(one.read(in(2), 1, 10)).hasSize(1);
      assertThat(one.store().serverKey()).isEqualTo(two.store().serverKey());
      assertThat(shared(one.store()).held()).containsExactly(1);
      assertThat(database.store().verify(line -> {}).damages()).isZero();
    }
  }

  @Test
  void aHostThatDoesNotShareIsRefusedBesideAClusterAndTheOtherWayRound() {
    try (OpenStore shared = database.store().openShared()) {
      assertThat(shared.shared()).isPresent();
      assertThatThrownBy(() -> database.store().open())
          .isInstanceOf(StoreException.class)
          .hasMessage(
              database.address()
                  + " is used by a cluster of hosts; start this host with cluster(), too, or"
                  + " stop them all");
    }
    try (OpenStore alone = database.store().open()) {
      assertThat(alone.shared()).isEmpty();
      assertThatThrownBy(() -> database.store().openShared())
          .isInstanceOf(StoreException.class)
          .hasMessageStartingWith(
              database.address()
                  + " is in use by process "
                  + ProcessHandle.current().pid()
                  + " on ")
          .hasMessageEndingWith(
              ", which does not share it; stop that host, and start it with cluster()");
    }
    database.store().openShared().close();
  }

  @Test
  void hostsThatStartAtOnceOnAnEmptySchemaAllShareIt() {
    ExecutorService threads = Executors.newFixedThreadPool(HOSTS);
    List<OpenStore> opened = new CopyOnWriteArrayList<>();
    try (PostgresServer server = PostgresServer.start("max_connections = 200")) {
      PostgresProbe fresh = PostgresProbe.of(server);
      Store store = Store.postgres(fresh.address() + "?currentSchema=new");
      List<CompletableFuture<Void>> starts =
          IntStream.range(0, HOSTS)
              .mapToObj(
                  host -> CompletableFuture.runAsync(() -> opened.add(store.openShared()), threads))
              .toList();
      starts.forEach(CompletableFuture::join);
      assertThat(opened.stream().map(OpenStore::serverKey).map(Arrays::toString).distinct())
          .hasSize(1);
      assertThat(fresh.number("SELECT count(*) FROM new.shard")).isEqualTo(Shard.COUNT);
      opened.forEach(OpenStore::close);
    } finally {
      threads.shutdownNow();
    }
  }

  @Test
  void theEpochsOfAClusterAreOverWhenAHostHadTheStoreAlone() {
    try (Host host = host(1)) {
      host.open(in(1)).write(new Line("one"));
    }
    long before = database.number("SELECT epoch FROM shard WHERE shard = 1");
    database.store().open().close();
    assertThat(database.number("SELECT epoch FROM shard WHERE shard = 1")).isEqualTo(before + 1);
  }

  @Test
  void storesOfOneHostRefuseToBeShared(@TempDir Path directory) {
    for (Store store : List.of(Store.memory(), Store.sqlite(directory.resolve("one-host.db")))) {
      assertThatThrownBy(store::openShared)
          .isInstanceOf(StoreException.class)
          .hasMessageContaining(
              store
                  + " cannot be shared by the hosts of a cluster, which need a PostgreSQL store; name"
                  + " one, such as postgres://user@host/database, or start one host without a"
                  + " cluster");
    }
  }

  // --- shards

  @Test
  void aHostThatDoesNotHoldAShardIsRefusedBeforeAnythingIsSent() {
    try (Host host = host(1)) {
      Host.Desk desk = host.open(in(2));
      assertThat(fails(tried(desk, "not mine"))).isTrue();
      host.open(in(1)).write(new Line("mine"));
      Host.Desk released = host.open(in(1));
      released.write(new Line("still"));
      shared(host.store()).release(1);
      assertThat(shared(host.store()).held()).isEmpty();
      assertThat(fails(tried(released, "given up"))).isTrue();
      assertThat(database.records(in(1))).hasSize(2);
      assertThat(database.records(in(2))).isEmpty();
    }
  }

  @Test
  void whatThePreviousHolderWritesIsRefused() {
    try (Host old = host(1, 2);
        Host next = host()) {
      Host.Desk desk = old.open(in(1)).write(new Line("by the old"));
      assertThat(Host.await(shared(next.store()).acquire(1, "the next"))).isZero();
      assertThat(fails(tried(desk, "late"))).isTrue();
      assertThat(next.open(in(1)).write(new Line("by the next")).lines())
          .containsExactly("by the old", "by the next");
      assertThat(shared(old.store()).held()).as("it noticed").containsExactly(2);
      assertThat(problem(old.store().delete(List.of(in(1))))).isEqualTo(StoreProblem.MOVED);
      assertThat(problem(old.store().directory().put(DirectoryContract.entry(in(1)))))
          .isEqualTo(StoreProblem.MOVED);
      assertThat(problem(old.store().importJournal(in(1, "import"), List.of())))
          .isEqualTo(StoreProblem.MOVED);
      old.open(in(2)).write(new Line("others go on"));
      assertThat(database.text("SELECT holder FROM shard WHERE shard = 1")).isEqualTo("the next");
    }
  }

  @Test
  void theDatabaseRefusesAChangeOfAHostThatHasNotNoticedItsLoss() {
    try (Host old = host(1, 2);
        Host next = host(1)) {
      assertThat(shared(old.store()).held()).containsExactly(1, 2);
      CompletionStage<?> lost = old.store().directory().put(DirectoryContract.entry(in(1)));
      CompletionStage<?> own = old.store().directory().put(DirectoryContract.entry(in(2)));
      assertThat(problem(lost)).isEqualTo(StoreProblem.MOVED);
      Host.await(own);
      assertThat(Host.await(next.store().directory().get(in(1)))).isEmpty();
      assertThat(Host.await(next.store().directory().get(in(2)))).isPresent();
    }
  }

  @Test
  void sessionsOfOtherShardsInTheSameBatchContinue() {
    Integer[] shards = IntStream.range(0, 20).boxed().toArray(Integer[]::new);
    try (Host old = host(shards);
        Host next = host()) {
      List<Host.Desk> desks =
          Arrays.stream(shards).map(shard -> old.open(in(shard)).write(new Line("one"))).toList();
      acquire(next, 7);
      List<CompletionStage<Long>> writes = desks.stream().map(desk -> tried(desk, "two")).toList();
      for (int shard = 0; shard < shards.length; shard++) {
        assertThat(fails(writes.get(shard))).as("shard %s", shard).isEqualTo(shard == 7);
        assertThat(database.records(in(shard))).hasSize(shard == 7 ? 1 : 2);
      }
    }
  }

  @Test
  void aShardIsTakenFromAHostThatWasStoppedInTheMiddleOfAWrite() throws SQLException {
    try (Host next = host();
        Connection stopped = asHost();
        Statement write = stopped.createStatement()) {
      stopped.setAutoCommit(false);
      write.execute("SELECT fermata_fence('{5}', '{0}')");
      Host.await(shared(next.store()).acquire(5, "the next"));
      assertThatThrownBy(() -> write.execute("SELECT 1")).isInstanceOf(SQLException.class);
      next.open(in(5)).write(new Line("one"));
    }
  }

  @Test
  void theServerEndsATransactionInWhichAHostWasStopped() throws SQLException {
    PostgresAddress address = PostgresAddress.parse(database.address(), Map.of());
    PostgresClaim claim = PostgresClaim.share(address);
    try (Connection connection = PostgresSource.of(address, claim).getConnection()) {
      assertThat(PostgresClaim.text(connection, "SHOW idle_in_transaction_session_timeout"))
          .isEqualTo("3s");
    } finally {
      claim.release();
    }
  }

  private Connection asHost() throws SQLException {
    PostgresAddress address = PostgresAddress.parse(database.address(), Map.of());
    return PostgresSource.forClaim(address).getConnection();
  }

  // --- upkeep

  @Test
  void eachHostFindsTheWorkOfItsShardsAlone() {
    try (Host one = host(1, 3);
        Host two = host(2)) {
      one.open(in(1)).write(new Appointment(7));
      one.open(in(3)).write(new Appointment(8));
      two.open(in(2)).write(new Appointment(9));
      one.open(in(1, "plan")).write(new Plan("to do"));
      one.open(in(3, "plan")).write(new Plan("to do"));
      two.open(in(2, "plan")).write(new Plan("to do"));

      assertThat(one.due(10, 10)).containsExactly(new Due(in(1), 7), new Due(in(3), 8));
      assertThat(two.due(10, 10)).containsExactly(new Due(in(2), 9));
      assertThat(one.working()).containsExactlyInAnyOrder(in(1, "plan"), in(3, "plan"));
      assertThat(two.working()).containsExactly(in(2, "plan"));
      assertThat(unfinished(one, 3)).containsExactly(in(3, "plan"));
      assertThat(unfinished(one, 2)).isEmpty();
      assertThat(written(one)).allMatch(id -> Shard.of(id) != 2).hasSize(4);
      assertThat(written(two)).allMatch(id -> Shard.of(id) == 2).hasSize(2);

      acquire(two, 3);
      assertThat(two.due(10, 10)).containsExactly(new Due(in(3), 8), new Due(in(2), 9));
      assertThat(unfinished(two, 3)).containsExactly(in(3, "plan"));
    }
  }

  private static List<String> unfinished(Host host, int shard) {
    return Host.await(shared(host.store()).unfinished(shard, "", 10)).stream()
        .map(Unfinished::persistenceId)
        .toList();
  }

  private static List<String> written(Host host) {
    return Host.await(host.store().written(0, 100)).stream().map(Written::persistenceId).toList();
  }

  private static void heartbeat(Host host, String id) {
    Host.await(shared(host.store()).heartbeat(new ClusterHost(id, "pekko://" + id, "{}")));
  }

  @Test
  void aHeartbeatFindsAllShardsThatAnotherHostHasTaken() {
    try (Host old = host(1, 2, 3);
        Host next = host()) {
      SharedStore store = shared(old.store());
      assertThat(store.isConfirmed(2)).as("before a heartbeat").isFalse();
      acquire(next, 1, 3);
      assertThat(store.held()).containsExactly(1, 2, 3);
      heartbeat(old, "a host");
      assertThat(store.held()).containsExactly(2);
      assertThat(Host.await(store.confirm(1))).isFalse();
      assertThat(Host.await(store.confirm(2))).isTrue();
      acquire(next, 2);
      assertThat(Host.await(store.confirm(2))).isFalse();
      assertThat(store.held()).isEmpty();
    }
  }

  @Test
  void aShardIsTakenWhenItsFormerHolderNoLongerCountsOnIt() {
    try (Host old = host();
        Host next = host()) {
      heartbeat(old, "the old");
      Host.await(shared(old.store()).acquire(1, "the old"));
      heartbeat(old, "the old");
      Host.await(shared(next.store()).acquire(1, "the next"));
      assertThat(shared(old.store()).isConfirmed(1)).isFalse();
      assertThat(Host.await(shared(old.store()).confirm(1))).isFalse();
    }
  }

  /** A host that holds shard 1, and counts on it for as long as the store has confirmed it. */
  private Host holding(String id) {
    Host old = host();
    heartbeat(old, id);
    Host.await(shared(old.store()).acquire(1, id));
    heartbeat(old, id);
    return old;
  }

  @Test
  void aShardIsNotHeldAsLongAsItsFormerHolderCountsOnIt() {
    try (Host old = holding("the old");
        Host next = host()) {
      SharedStore before = shared(old.store());
      SharedStore after = shared(next.store());
      CompletableFuture<Long> acquired = after.acquire(1, "the next").toCompletableFuture();
      while (!acquired.isDone()) {
        boolean held = after.held().contains(1);
        assertThat(held && before.isConfirmed(1)).as("both").isFalse();
        Thread.onSpinWait();
      }
      assertThat(after.held()).containsExactly(1);
      assertThat(before.isConfirmed(1)).isFalse();
    }
  }

  @Test
  void anAcquisitionThatIsRepeatedAsItsReplyWasLostWaitsForTheFormerHolder() {
    try (Host old = holding("the old");
        Host next = host()) {
      database.text("SELECT epoch FROM fermata_acquire(1, 'the next')");
      Host.await(shared(next.store()).acquire(1, "the next"));
      assertThat(shared(old.store()).isConfirmed(1)).isFalse();
    }
  }

  @Test
  void aShardThatIsTakenTwiceInARowWaitsForWhoHeldItLast() {
    try (Host old = holding("the old");
        Host next = host()) {
      database.text("SELECT epoch FROM fermata_acquire(1, 'a host that ended')");
      Host.await(shared(next.store()).acquire(1, "the next"));
      assertThat(shared(old.store()).isConfirmed(1)).isFalse();
      assertThat(database.text("SELECT holder FROM shard WHERE shard = 1")).isEqualTo("the next");
    }
  }

  @Test
  void anAcquisitionThatWaitsTakesNothingOnceItsHostHasGivenTheShardUp() throws SQLException {
    try (Host late = host();
        Host other = host();
        Connection blocking = PostgresServer.shared().connect(database.database());
        Statement lock = blocking.createStatement()) {
      blocking.setAutoCommit(false);
      lock.execute("SELECT FROM shard WHERE shard = 2 FOR UPDATE");
      CompletionStage<Long> first = shared(late.store()).acquire(2, "late");
      CompletionStage<Long> theft = shared(late.store()).acquire(1, "late");
      Host.await(shared(late.store()).release(1));
      Host.await(shared(other.store()).acquire(1, "other"));
      blocking.rollback();
      Host.await(first);
      assertThat(fails(theft)).isTrue();
      assertThat(Host.await(shared(other.store()).confirm(1))).isTrue();
      assertThat(shared(late.store()).held()).containsExactly(2);
      other.open(in(1)).write(new Line("one"));
    }
  }

  @Test
  void anAcquisitionThatIsGivenUpInTheSilenceHoldsNothing() {
    try (Host old = holding("the old");
        Host next = host()) {
      CompletionStage<Long> given = shared(next.store()).acquire(1, "the next");
      Host.await(shared(next.store()).release(1));
      assertThat(fails(given)).isTrue();
      assertThat(shared(next.store()).held()).isEmpty();
      Host.await(shared(old.store()).acquire(1, "the old"));
      old.open(in(1)).write(new Line("one"));
    }
  }

  @Test
  void nothingIsWaitedForWhenAShardWasReleased() {
    try (Host old = host(1)) {
      assertThat(database.text("SELECT holder FROM shard WHERE shard = 1")).isEqualTo("a host");
      Host.await(shared(old.store()).release(1));
      assertThat(database.text("SELECT holder FROM shard WHERE shard = 1")).isEmpty();
      assertThat(shared(old.store()).isConfirmed(1)).isFalse();
    }
  }

  @Test
  void aHostThatFellSilentTakesNoShardUntilItsNextHeartbeat() {
    try (Host late = host();
        Host other = host()) {
      heartbeat(late, "late");
      database.text(
          "UPDATE cluster_host SET heartbeat_at = clock_timestamp() - INTERVAL '6 seconds'"
              + " RETURNING id");
      Host.await(shared(other.store()).acquire(1, "other"));
      CompletionStage<Long> theft = shared(late.store()).acquire(1, "late");
      assertThat(fails(theft)).isTrue();
      assertThat(Host.await(shared(other.store()).confirm(1))).isTrue();
      heartbeat(late, "late");
      Host.await(shared(late.store()).acquire(1, "late"));
      assertThat(shared(late.store()).held()).containsExactly(1);
    }
  }

  @Test
  void aHostSweepsTheEndsOfItsShardsAlone() {
    try (Host one = host(1, 2);
        Host two = host()) {
      for (int shard : List.of(1, 2)) {
        one.open(in(shard)).write(new Line("one")).write(new Conclusion("over"));
      }
      acquire(two, 2);
      assertThat(shared(one.store()).held()).containsExactly(1, 2);
      assertThat(one.sweep()).isEqualTo(1);
      assertThat(database.records(in(1))).containsExactly(2L);
      assertThat(database.records(in(2))).containsExactly(1L, 2L);
      assertThat(shared(one.store()).held()).as("it noticed").containsExactly(1);
      assertThat(two.sweep()).isEqualTo(1);
      assertThat(database.records(in(2))).containsExactly(2L);
    }
  }

  @Test
  void aSweepForgetsTheWorkThatTheFormerHolderLeftBehind() {
    try (Host one = host(1);
        Host two = host(2)) {
      one.open(in(1)).write(new Plan("to do")).write(new Line("done"));
      assertThat(two.sweep()).isZero();
      acquire(two, 1);
      assertThat(two.sweep()).isZero();
      assertThat(database.number("SELECT count(*) FROM event_tag")).isZero();
    }
  }

  @Test
  void noShardStarvesBehindAFullOne() {
    try (Host host = host(1, 2, 3)) {
      for (int shard : List.of(1, 2, 3)) {
        for (int each = 0; each < 4; each++) {
          host.open(in(shard, "due" + each + "-")).write(new Appointment(1));
        }
      }
      List<Integer> found = new ArrayList<>();
      for (int turn = 0; turn < 3; turn++) {
        found.add(Shard.of(host.due(9, 2).get(0).persistenceId()));
      }
      assertThat(found).containsExactlyInAnyOrder(1, 2, 3);
    }
  }

  @Test
  void theMarkOfAShardGoesWithItToTheNextHolderAndToAHostThatHasTheStoreAlone() {
    try (Host one = host(1, 2);
        Host two = host()) {
      Host.await(shared(one.store()).mark(List.of(1, 2), 70));
      assertThat(Host.await(shared(two.store()).acquire(2, "two"))).isEqualTo(70);
      Host.await(shared(one.store()).mark(List.of(1, 2, 3), 90));
      assertThat(database.numbers("SELECT mark FROM shard_mark WHERE shard < 4 ORDER BY shard"))
          .containsExactly(0L, 90L, 70L, 0L);
      assertThat(Host.await(two.store().directory().marked())).isZero();
    }
    try (OpenStore alone = database.store().open()) {
      assertThat(Host.await(alone.directory().marked())).isZero();
      Host.await(alone.directory().mark(100));
      assertThat(Host.await(alone.directory().marked())).isEqualTo(100);
    }
    try (Host one = host()) {
      assertThat(Host.await(shared(one.store()).acquire(3, "one"))).isEqualTo(100);
    }
  }

  @Test
  void whatNoHostWouldFindIsDamage() {
    try (Host host = host(1)) {
      host.open(in(1)).write(new Appointment(7)).write(new Line("one"));
    }
    database.execute(
        "UPDATE event_tag SET slice = slice + 1",
        "DELETE FROM shard WHERE shard = 5",
        "DELETE FROM shard_mark WHERE shard > 5");
    List<String> damages = new ArrayList<>();
    assertThat(database.store().verify(damages::add).damages()).isEqualTo(3);
    assertThat(damages.get(0)).isEqualTo("The table shard has 127 of 128 shards");
    assertThat(damages.get(1)).isEqualTo("The table shard_mark has 6 of 128 shards");
    assertThat(damages.get(2)).contains(in(1), "entry 1 is in another slice than ");
  }

  // --- hosts and leases

  @Test
  void hostsAreListedInTheOrderOfTheirStartWhileTheyLive() {
    ClusterHost one = new ClusterHost("one", "10.0.0.1:1", "{}");
    ClusterHost two = new ClusterHost("two", "10.0.0.2:1", "{}");
    try (OpenStore store = database.store().openShared()) {
      SharedStore shared = shared(store);
      assertThat(Host.await(shared.heartbeat(one))).containsExactly(one);
      assertThat(Host.await(shared.heartbeat(two))).containsExactly(one, two);
      ClusterHost moved = new ClusterHost("one", "10.0.0.1:2", "{\"a\":1}");
      assertThat(Host.await(shared.heartbeat(moved))).containsExactly(moved, two);
      database.execute(
          "UPDATE cluster_host SET heartbeat_at = heartbeat_at - INTERVAL '11 s' WHERE id = 'one'");
      assertThat(Host.await(shared.heartbeat(two))).containsExactly(two);
      assertThat(Host.await(shared.heartbeat(one))).containsExactly(one, two);
      database.execute(
          "UPDATE cluster_host SET heartbeat_at = heartbeat_at - INTERVAL '2 d' WHERE id = 'two'");
      assertThat(Host.await(shared.heartbeat(one))).containsExactly(one);
      assertThat(database.number("SELECT count(*) FROM cluster_host")).isEqualTo(1);
      Host.await(shared.leave("one"));
      assertThat(database.number("SELECT count(*) FROM cluster_host")).isZero();
    }
  }

  @Test
  void aLeaseHasOneOwnerUntilItExpires() {
    Duration minute = Duration.ofMinutes(1);
    try (OpenStore first = database.store().openShared();
        OpenStore second = database.store().openShared()) {
      SharedStore one = shared(first);
      SharedStore two = shared(second);
      assertThat(Host.await(one.lease("l", "one", minute))).isTrue();
      assertThat(Host.await(two.lease("l", "two", minute))).isFalse();
      Host.await(two.endLease("l", "two"));
      assertThat(Host.await(two.lease("l", "two", minute))).as("still that of the other").isFalse();
      expire();
      assertThat(Host.await(one.lease("l", "one", minute))).as("renewed").isTrue();
      assertThat(Host.await(two.lease("l", "two", minute))).isFalse();
      expire();
      assertThat(Host.await(two.lease("l", "two", minute))).isTrue();
      assertThat(Host.await(one.lease("l", "one", minute))).isFalse();
      Host.await(two.endLease("l", "two"));
      assertThat(Host.await(one.lease("l", "one", minute))).isTrue();
    }
  }

  @Test
  void theLeaseOfAllHostsEndsWithTheLastOneThatLeavesOnceNoOtherHoldsAShard() {
    try (OpenStore first = database.store().openShared();
        OpenStore second = database.store().openShared()) {
      SharedStore one = shared(first);
      SharedStore two = shared(second);
      Host.await(one.heartbeat(new ClusterHost("one", "a", "{}")));
      Host.await(two.heartbeat(new ClusterHost("two", "b", "{}")));
      Host.await(one.acquire(1, "one"));
      Host.await(two.acquire(2, "two"));
      Host.await(one.lease("l", "all", Duration.ofMinutes(1)));
      Host.await(one.leave("one"));

      Host.await(one.endLeaseOfLast("l", "all", "one"));
      assertThat(leases()).as("the other stays").isEqualTo(1);

      Host.await(two.leave("two"));
      Host.await(one.endLeaseOfLast("l", "all", "one"));
      assertThat(leases()).as("the other stops its sessions").isEqualTo(1);
      Host.await(two.endLeaseOfLast("l", "all", "two"));
      assertThat(leases()).as("this one does").isEqualTo(1);

      Host.await(one.release(1));
      Host.await(two.endLeaseOfLast("l", "another", "two"));
      assertThat(leases()).as("of another owner").isEqualTo(1);
      Host.await(two.endLeaseOfLast("l", "all", "two"));
      assertThat(leases()).isZero();
    }
  }

  private long leases() {
    return database.number("SELECT count(*) FROM cluster_lease");
  }

  @Test
  void leasesThatExpiredAreForgotten() {
    try (OpenStore first = database.store().openShared()) {
      SharedStore one = shared(first);
      for (String name : List.of("old", "just now", "held")) {
        Host.await(one.lease(name, "one", Duration.ofMinutes(1)));
      }
      database.execute(
          "UPDATE cluster_lease SET expires_at = expires_at - INTERVAL '1 hour' WHERE name = 'old'");
      database.execute(
          "UPDATE cluster_lease SET expires_at = clock_timestamp() WHERE name = 'just now'");

      Host.await(one.heartbeat(new ClusterHost("h", "a", "{}")));

      assertThat(database.number("SELECT count(*) FROM cluster_lease")).isEqualTo(2);
      assertThat(database.number("SELECT count(*) FROM cluster_lease WHERE name = 'old'")).isZero();
    }
  }

  @Test
  void claimsHoldUpNeitherLeasesNorHeartbeats() throws SQLException {
    Duration minute = Duration.ofMinutes(1);
    try (OpenStore store = database.store().openShared();
        Connection other = PostgresServer.shared().connect(database.database())) {
      SharedStore shared = shared(store);
      assertThat(Host.await(shared.claim("reply", "one", minute))).isTrue();
      assertThat(Host.await(shared.lease("reply", "two", minute))).as("apart").isTrue();
      other.setAutoCommit(false);
      try (Statement lock = other.createStatement()) {
        lock.execute("SELECT * FROM cluster_lease WHERE name = 'claim reply' FOR UPDATE");
      }
      CompletableFuture<Boolean> waiting =
          shared.claim("reply", "two", minute).toCompletableFuture();
      assertThat(Host.await(shared.lease("l", "two", minute))).isTrue();
      assertThat(Host.await(shared.heartbeat(new ClusterHost("h", "a", "{}")))).hasSize(1);
      assertThat(waiting).isNotDone();
      other.rollback();
      assertThat(Host.await(waiting)).isFalse();
      Host.await(shared.endClaim("reply", "one"));
      assertThat(Host.await(shared.claim("reply", "two", minute))).isTrue();
    }
  }

  @Test
  void aHostThatTakesAShardHoldsUpNeitherHeartbeatsNorLeasesNorOtherMarksOfItsHolder()
      throws SQLException {
    try (Host host = host(1, 2);
        Connection taking = PostgresServer.shared().connect(database.database());
        Statement lock = taking.createStatement()) {
      SharedStore shared = shared(host.store());
      taking.setAutoCommit(false);
      lock.execute("SELECT FROM shard WHERE shard = 1 FOR UPDATE");
      Host.await(shared.mark(List.of(1, 2), 70));
      assertThat(
              database.numbers("SELECT mark FROM shard_mark WHERE shard IN (1, 2) ORDER BY shard"))
          .containsExactly(0L, 70L);
      CompletableFuture<?> released = shared.release(1).toCompletableFuture();
      heartbeat(host, "a host");
      assertThat(Host.await(shared.lease("l", "a host", Duration.ofMinutes(1)))).isTrue();
      assertThat(Host.await(shared.confirm(2))).isTrue();
      assertThat(released).isNotDone();
      taking.rollback();
      Host.await(released);
      assertThat(database.text("SELECT holder FROM shard WHERE shard = 1")).isEmpty();
      acquire(host, 1);
      Host.await(shared.mark(List.of(1, 2), 90));
      assertThat(
              database.numbers("SELECT mark FROM shard_mark WHERE shard IN (1, 2) ORDER BY shard"))
          .containsExactly(90L, 90L);
    }
  }

  @Test
  void appendsAndMarksReadAsFewPagesAfterAThousandMarksWhileAnOldTransactionIsOpen()
      throws SQLException {
    String fence = "SELECT fermata_fence('{1}', '{1}')";
    String mark = inlined(PostgresShared.MARK, "1001", "'{1}'", "'{1}'");
    String alone = inlined(PostgresJournal.MARK_ALL, "1002");
    try (Host host = host(1);
        Connection connection = asHost();
        Connection old = PostgresServer.shared().connect(database.database());
        Statement backup = old.createStatement()) {
      assertThat(shared(host.store()).held()).containsExactly(1);
      List<Long> before = pages(connection, fence, mark, alone);
      old.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
      old.setAutoCommit(false);
      backup.execute("SELECT FROM shard");
      for (int number = 1; number <= 1_000; number++) {
        Host.await(shared(host.store()).mark(List.of(1), number));
      }
      List<Long> after = pages(connection, fence, mark, alone);
      for (int each = 0; each < before.size(); each++) {
        assertThat(after.get(each)).isLessThan(2 * before.get(each));
      }
      old.rollback();
    }
  }

  private static String inlined(String sql, String... parameters) {
    String inlined = sql;
    for (String parameter : parameters) {
      inlined = inlined.replaceFirst("\\?", parameter);
    }
    return inlined;
  }

  /** How many pages statements read that a connection has sent before. */
  private static List<Long> pages(Connection connection, String... statements) throws SQLException {
    List<Long> pages = new ArrayList<>();
    connection.setAutoCommit(false);
    try (Statement statement = connection.createStatement()) {
      for (String sql : statements) {
        statement.execute(sql);
        connection.rollback();
        StringBuilder plan = new StringBuilder();
        try (ResultSet rows = statement.executeQuery("EXPLAIN (ANALYZE, BUFFERS) " + sql)) {
          while (rows.next()) {
            plan.append(rows.getString(1)).append('\n');
          }
        }
        connection.rollback();
        pages.add(PlansContract.pages(plan.toString()));
      }
    }
    return pages;
  }

  private void expire() {
    database.execute("UPDATE cluster_lease SET expires_at = clock_timestamp() - INTERVAL '1 s'");
  }

  @Test
  void ofOwnersThatTakeALeaseAtOnceOneGetsIt() {
    try (OpenStore first = database.store().openShared();
        OpenStore second = database.store().openShared()) {
      List<SharedStore> hosts = List.of(shared(first), shared(second));
      for (int round = 0; round < 50; round++) {
        String name = "l" + round % 5;
        expire();
        List<CompletionStage<Boolean>> attempts =
            IntStream.range(0, 2)
                .mapToObj(
                    host -> hosts.get(host).lease(name, "host " + host, Duration.ofMinutes(1)))
                .toList();
        assertThat(attempts.stream().filter(Host::await).count()).isEqualTo(1);
      }
    }
  }

  // --- the server

  @Test
  @Tag("faults")
  void aClusterContinuesWhenItsConnectionsWereCut() {
    try (Host one = host(1);
        Host two = host(2)) {
      one.open(in(1)).write(new Line("one"));
      database.server().cut(database.database());
      PostgresClaimTest.untilWritten(one, in(1));
      PostgresClaimTest.untilWritten(two, in(2));
      assertThatThrownBy(() -> database.store().open())
          .hasMessageContaining("is used by a cluster of hosts");
      acquire(two, 1);
      two.open(in(1)).write(new Line("more"));
    }
  }

  @Test
  @Tag("faults")
  void epochsStayWhatTheyAreWhenTheServerWasKilledAndCameBack() {
    try (PostgresServer server = PostgresServer.start()) {
      PostgresProbe own = PostgresProbe.of(server);
      try (Host one = host(own, 1, 2);
          Host two = host(own, 2)) {
        one.open(in(1)).write(new Line("one"));
        two.open(in(2)).write(new Line("two"));
        server.kill();
        server.restart();
        PostgresClaimTest.untilWritten(one, in(1));
        PostgresClaimTest.untilWritten(two, in(2));
        assertThat(problem(one.store().directory().put(DirectoryContract.entry(in(2)))))
            .isEqualTo(StoreProblem.MOVED);
        assertThat(shared(two.store()).held()).containsExactly(2);
      }
    }
  }
}
