package io.fermata.persistence.sqlite;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.persistence.contract.Host;
import io.fermata.persistence.directory.DirectoryQuery;
import io.fermata.persistence.sql.OpenSqlStore;
import io.fermata.persistence.sql.SqlBackend;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Who waits for whom when operators read much. */
final class SqliteReadersTest {
  @TempDir private Path directory = Path.of("");

  @Test
  void timersAndRecoveryDoNotWaitForSearches() {
    SqliteFile file = SqliteFile.locate(directory.resolve("busy.db"));
    FileClaim claim = FileClaim.take(file);
    file.createPrivately();
    InodeClaim inode = InodeClaim.take(file);
    byte[] key = SqliteSchema.prepare(file);
    SqlBackend backend = SqliteBackend.connect(file, claim, inode, later -> {});
    CountDownLatch released = new CountDownLatch(1);
    try (OpenSqlStore store = new OpenSqlStore("busy", key, backend)) {
      List<CompletableFuture<String>> searches = new ArrayList<>();
      for (int i = 0; i < 6; i++) {
        searches.add(backend.reader().query(connection -> held(released)));
      }

      assertThat(Host.await(store.due(0, 1))).isEmpty();
      assertThat(Host.await(store.unfinished("", 1))).isEmpty();
      assertThat(Host.await(store.newest())).isZero();
      CompletableFuture<Integer> list =
          store.directory().count(DirectoryQuery.of("run"), 1).toCompletableFuture();
      assertThat(list).as("operators wait for each other").isNotDone();

      released.countDown();
      assertThat(Host.await(list)).isZero();
      searches.forEach(Host::await);
    } finally {
      released.countDown();
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
