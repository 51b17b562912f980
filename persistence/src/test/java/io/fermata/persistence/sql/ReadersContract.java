package io.fermata.persistence.sql;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.persistence.contract.Host;
import io.fermata.persistence.directory.DirectoryQuery;
import io.fermata.persistence.spi.OpenStore;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** Who waits for whom when operators read much. */
public abstract class ReadersContract {

  private static final DirectoryQuery RUNS = DirectoryQuery.of("run");

  /** A new store with its connections. */
  public record Opened(OpenSqlStore store, SqlBackend backend) {}

  protected abstract Opened open();

  @Test
  void timersAndRecoveryDoNotWaitForSearches() {
    whileSearchesHoldTheirConnections(
        store -> {
          assertThat(Host.await(store.due(0, 1))).isEmpty();
          assertThat(Host.await(store.unfinished("", 1))).isEmpty();
          assertThat(Host.await(store.newest())).isZero();
        });
  }

  @Test
  void whatUsersAndAgentsReadDoesNotWaitForSearches() {
    whileSearchesHoldTheirConnections(
        store -> {
          assertThat(Host.await(store.read("thread|a", 1, OpenStore.MAX_ENTRIES))).isEmpty();
          assertThat(Host.await(store.readBack("thread|a", Long.MAX_VALUE, 1))).isEmpty();
          assertThat(Host.await(store.directory().get("thread|a"))).isEmpty();
          assertThat(Host.await(store.journals("a"))).isEmpty();
          DirectoryQuery quota = RUNS.belongingTo("ann").statuses(Set.of("waiting", "working"));
          assertThat(Host.await(store.directory().count(quota, 10_000))).isZero();
        });
  }

  private void whileSearchesHoldTheirConnections(Consumer<OpenStore> others) {
    CountDownLatch released = new CountDownLatch(1);
    Opened opened = open();
    try (OpenSqlStore store = opened.store()) {
      List<CompletableFuture<?>> searches = new ArrayList<>();
      try {
        for (int i = 0; i < 6; i++) {
          searches.add(opened.backend().searches().query(connection -> held(released)));
        }
        searches.add(store.directory().list(RUNS).toCompletableFuture());
        searches.add(store.directory().count(RUNS, 1).toCompletableFuture());
        searches.add(store.journals("", 1).toCompletableFuture());

        others.accept(store);
        assertThat(searches)
            .as("operators wait for each other")
            .noneMatch(CompletableFuture::isDone);
      } finally {
        released.countDown();
      }
      searches.forEach(Host::await);
    }
  }

  private static String held(CountDownLatch released) {
    try {
      released.await();
      return "";
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return "";
    }
  }
}
