package io.fermata.session;

import static io.fermata.session.TestHost.code;
import static io.fermata.session.TestHost.got;
import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.flow.Flow;
import io.fermata.persistence.Store;
import io.fermata.persistence.spi.StoreProblem;
import io.fermata.session.call.Health;
import io.fermata.session.call.ToolReply;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A host whose callers cannot wait any longer, because it is about to close. */
@Timeout(60)
@Tag("slow")
class HandBackTest {
  private final CountDownLatch begun = new CountDownLatch(1);
  private final CountDownLatch goOn = new CountDownLatch(1);

  private final Flow<?> slow =
      TestFlows.trip(
              run -> {
                begun.countDown();
                goOn.await();
                run.set("price", run.attempt());
              },
              o -> {})
          .compile();

  private CompletableFuture<ToolReply> booking(TestHost.Client client) throws Exception {
    client.start();
    CompletableFuture<ToolReply> booking = client.proceedLater("from", "Berlin");
    assertThat(begun.await(60, TimeUnit.SECONDS)).isTrue();
    return booking;
  }

  @Test
  void callersLearnThatTheWorkContinuesAndItsOutcomeIsFetchedLater() throws Exception {
    try (TestHost host = new TestHost(Store.memory(), slow)) {
      TestHost.Client client = host.client();
      CompletableFuture<ToolReply> booking = booking(client);

      host.fermata().handBack();

      assertThat(code(got(booking))).isEqualTo("still_working");
      goOn.countDown();
      ToolReply fetched = client.proceed();
      assertThat(fetched.structured().path("field").asText()).isEqualTo("to");
    }
  }

  @Test
  void aHostThatClosesHandsBackWhatTakesLongerAndTheNextOneTakesItUp(@TempDir Path directory)
      throws Exception {
    Store store = Store.sqlite(directory.resolve("test.db"));
    try (TestHost host = new TestHost(store, slow)) {
      TestHost.Client client = host.client();
      CompletableFuture<ToolReply> booking = booking(client);

      host.fermata().close(Duration.ofMillis(50));

      assertThat(code(got(booking))).isEqualTo("still_working");
      goOn.countDown();
      host.restart();
      assertThat(client.proceed().structured().path("field").asText()).isEqualTo("to");
      assertThat(client.proceed("to", "Rome").structured().at("/result/price").asInt())
          .isEqualTo(2);
    }
  }

  @Test
  void aHostThatMayTakeForEverToCloseCloses(@TempDir Path directory) {
    Store store = Store.sqlite(directory.resolve("test.db"));
    TestHost host = new TestHost(store, slow);

    host.fermata().close(ChronoUnit.FOREVER.getDuration());

    store.open().close();
  }

  @Test
  void whoClosesAHostThatIsClosingReturnsWhenItHasClosed(@TempDir Path directory) throws Exception {
    Store store = Store.sqlite(directory.resolve("test.db"));
    TestHost host = new TestHost(store, slow);
    CompletableFuture<ToolReply> booking = booking(host.client());
    Thread first = new Thread(() -> host.fermata().close(Duration.ofHours(1)));
    first.start();
    while (health(host).accepts()) {
      Thread.onSpinWait();
    }
    CountDownLatch opened = new CountDownLatch(1);
    Thread second =
        new Thread(
            () -> {
              host.fermata().close(Duration.ofHours(1));
              store.open().close();
              opened.countDown();
            });
    second.start();
    while (second.getState() != Thread.State.TIMED_WAITING && second.isAlive()) {
      Thread.onSpinWait();
    }
    assertThat(second.isAlive()).as("waits").isTrue();
    goOn.countDown();
    assertThat(opened.await(60, TimeUnit.SECONDS)).as("the store is free").isTrue();
    assertThat(got(booking).error()).isFalse();
    first.join();
  }

  @Test
  void theMostImpatientOfThoseWhoCloseAHostDecides() throws Exception {
    TestHost host = new TestHost(Store.memory(), slow);
    CompletableFuture<ToolReply> booking = booking(host.client());
    Thread patient = new Thread(() -> host.fermata().close(Duration.ofHours(1)));
    patient.start();
    while (health(host).accepts()) {
      Thread.onSpinWait();
    }

    host.fermata().close(Duration.ofMillis(50));

    assertThat(code(got(booking))).isEqualTo("still_working");
    patient.join();
  }

  @Test
  void aHostIsReadyUntilItCloses() {
    TestHost host = new TestHost(Store.memory(), slow);
    assertThat(host.fermata().health().toCompletableFuture().join()).isEqualTo(Health.GOOD);

    host.close();

    Health closed = host.fermata().health().toCompletableFuture().join();
    assertThat(closed.accepts()).isFalse();
    assertThat(closed.ready()).isFalse();
  }

  @Test
  void aHostWhoseFileWasReplacedIsLostAndSaysSo(@TempDir Path directory) throws Exception {
    Path file = directory.resolve("test.db");
    try (TestHost host = new TestHost(Store.sqlite(file), slow)) {
      assertThat(health(host).ready()).isTrue();

      Files.move(file, directory.resolve("aside.db"));

      assertThat(host.fermata().lost().toCompletableFuture().get(60, TimeUnit.SECONDS))
          .contains("was deleted or replaced", "restart this host");
      assertThat(health(host).problem()).isEqualTo(StoreProblem.GONE.text());
    }
  }

  private static Health health(TestHost host) {
    return host.fermata().health().toCompletableFuture().join();
  }
}
