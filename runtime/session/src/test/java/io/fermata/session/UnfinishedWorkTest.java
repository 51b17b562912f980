package io.fermata.session;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.flow.Flow;
import io.fermata.persistence.Store;
import io.fermata.persistence.spi.OpenStore;
import java.nio.file.Path;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A host that starts continues the work that another one left unfinished. */
@Tag("slow")
final class UnfinishedWorkTest {
  /** Two pages, and one more. */
  private static final int SESSIONS = 2 * OpenStore.MAX_ENTRIES + 1;

  /** Calls that begin at a time: more would wait beyond their deadline on a slow machine. */
  private final Semaphore room = new Semaphore(100);

  private final CountDownLatch begun = new CountDownLatch(SESSIONS);
  private final CountDownLatch continued = new CountDownLatch(SESSIONS);
  private final Queue<String> places = new ConcurrentLinkedQueue<>();

  @TempDir Path directory;

  /** Its first attempt to act never ends. */
  private Flow<TestFlows.Trip> trip() {
    return TestFlows.tripAsync(
            run -> {
              if (run.attempt() == 1) {
                begun.countDown();
                room.release();
                return new CompletableFuture<>();
              }
              places.add(run.state().from());
              continued.countDown();
              return CompletableFuture.completedFuture(run.set("price", 3));
            },
            options -> {})
        .compile();
  }

  @Test
  void allSessionsContinueWhenAHostStartsHoweverManyThereAre() throws Exception {
    try (TestHost host = new TestHost(Store.sqlite(directory.resolve("many.db")), trip())) {
      for (int i = 0; i < SESSIONS; i++) {
        assertThat(room.tryAcquire(2, TimeUnit.MINUTES)).as("place %s may begin", i).isTrue();
        TestHost.Client client = host.client();
        // The host is killed before it replies.
        Future<?> unused =
            client.sendLater(
                client.arguments("start").put("intent", "to test"), "from", "place " + i);
      }
      awaitAll(begun);

      host.crash();

      awaitAll(continued);
      assertThat(places).hasSize(SESSIONS).doesNotHaveDuplicates();
    }
  }

  /** However slow the machine is, as long as there are more and more. */
  private static void awaitAll(CountDownLatch sessions) throws InterruptedException {
    long missing = sessions.getCount();
    while (!sessions.await(2, TimeUnit.MINUTES)) {
      assertThat(sessions.getCount())
          .as("of %s sessions are missing", SESSIONS)
          .isLessThan(missing);
      missing = sessions.getCount();
    }
  }
}
