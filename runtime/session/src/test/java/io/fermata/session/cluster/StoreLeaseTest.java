package io.fermata.session.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import com.typesafe.config.ConfigFactory;
import io.fermata.persistence.Store;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.SharedStore;
import io.fermata.persistence.spi.StoreException;
import io.fermata.postgres.PostgresServer;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.apache.pekko.coordination.lease.LeaseSettings;
import org.apache.pekko.coordination.lease.TimeoutSettings;
import org.junit.jupiter.api.Test;

class StoreLeaseTest {
  private final AtomicBoolean over = new AtomicBoolean();

  private StoreLease of(String owner, SharedStore store) {
    TimeoutSettings times =
        TimeoutSettings.apply(
                ConfigFactory.parseResources("fermata-cluster.conf").getConfig("fermata-lease"))
            .withHeartbeatTimeout(Duration.ofHours(1))
            .withHeartbeatInterval(Duration.ofMillis(1));
    return new StoreLease(
        new LeaseSettings("survivors", owner, times, ConfigFactory.empty()), store, over::get);
  }

  /** A store that gives leases, or fails. */
  private static SharedStore store(Supplier<CompletionStage<Boolean>> lease) {
    return (SharedStore)
        Proxy.newProxyInstance(
            SharedStore.class.getClassLoader(),
            new Class<?>[] {SharedStore.class},
            (proxy, method, arguments) -> lease.get());
  }

  @Test
  void aStoreThatIsAwayIsAskedAgainAsItHasNotRefusedTheLease() {
    AtomicInteger asked = new AtomicInteger();
    SharedStore away =
        store(
            () ->
                asked.incrementAndGet() < 5
                    ? CompletableFuture.failedFuture(new StoreException("it is away"))
                    : CompletableFuture.completedFuture(true));
    assertThat(now(of("one", away).acquire())).isTrue();
    assertThat(asked).hasValue(5);
  }

  @Test
  void nobodyAsksForALeaseThatNobodyWaitsForAnyMore() {
    over.set(true);
    SharedStore closed =
        store(() -> CompletableFuture.failedFuture(new StoreException("it is closed")));
    assertThat(of("one", closed).acquire()).isCompletedExceptionally();
  }

  private static boolean now(CompletionStage<Boolean> taken) {
    return taken.toCompletableFuture().join();
  }

  @Test
  void aSideThatDecidedDoesNotTrustItsLeaseWhenAnotherMayHaveIt() {
    PostgresServer server = PostgresServer.shared();
    String database = server.newDatabase();
    try (OpenStore open = Store.postgres(database).openShared()) {
      SharedStore store = open.shared().orElseThrow();
      StoreLease one = of("one", store);
      StoreLease other = of("other", store);
      assertThat(now(one.acquire())).isTrue();
      assertThat(now(one.release())).isTrue();
      assertThat(now(other.acquire())).as("the other side decides a moment later").isFalse();
      server.execute(
          PostgresServer.database(database),
          "UPDATE cluster_lease SET expires_at = clock_timestamp()");
      assertThat(now(other.acquire())).isTrue();
      assertThat(one.checkLease()).isFalse();
      assertThat(now(one.acquire())).isFalse();
    }
  }
}
