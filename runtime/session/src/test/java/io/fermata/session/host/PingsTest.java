package io.fermata.session.host;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.fermata.persistence.spi.StoreException;
import io.fermata.persistence.spi.StoreProblem;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.slf4j.LoggerFactory;

/** How a store is asked whether it can be written. */
@Timeout(30)
class PingsTest {
  private static final Duration VALID = Duration.ofSeconds(3);

  private final List<CompletableFuture<String>> asked = new ArrayList<>();
  private final AtomicLong nanos = new AtomicLong(Long.MAX_VALUE - 1_000);

  private Pings pings(Duration timeout) {
    return new Pings(this::ping, timeout, VALID, nanos::get);
  }

  private CompletionStage<?> ping() {
    CompletableFuture<String> answer = new CompletableFuture<>();
    asked.add(answer);
    return answer;
  }

  private void pass(Duration time) {
    nanos.addAndGet(time.toNanos());
  }

  private static Optional<StoreProblem> got(CompletionStage<Optional<StoreProblem>> answer) {
    return answer.toCompletableFuture().join();
  }

  @Test
  void requestsShareAPingAndItsResultForAMomentAfterIt() {
    Pings pings = pings(Duration.ofMinutes(1));
    List<CompletionStage<Optional<StoreProblem>>> answers = new ArrayList<>();
    for (int i = 0; i < 50; i++) {
      answers.add(pings.problem());
    }
    assertThat(asked).hasSize(1);
    asked.get(0).complete("here");
    answers.forEach(answer -> assertThat(got(answer)).isEmpty());

    pass(VALID.minusNanos(1));
    assertThat(got(pings.problem())).isEmpty();
    assertThat(asked).hasSize(1);

    pass(Duration.ofNanos(1));
    CompletionStage<Optional<StoreProblem>> next = pings.problem();
    assertThat(asked).hasSize(2);
    asked
        .get(1)
        .completeExceptionally(
            new CompletionException(new StoreException(StoreProblem.FULL, "full", null)));
    assertThat(got(next)).contains(StoreProblem.FULL);
    assertThat(got(pings.problem())).contains(StoreProblem.FULL);
    assertThat(asked).hasSize(2);
  }

  @Test
  void nobodyWaitsForAPingThatDoesNotEndNorBeginsAnotherBesideIt() {
    // A slow machine must not take it for lost before this test ends.
    Pings pings = pings(Duration.ofSeconds(1));

    assertThat(got(pings.problem())).contains(StoreProblem.AWAY);
    pass(VALID);
    assertThat(got(pings.problem())).contains(StoreProblem.AWAY);
    assertThat(asked).hasSize(1);

    asked.get(0).complete("late");
    pass(VALID);
    pings.problem();
    assertThat(asked).hasSize(2);
  }

  @Test
  void aPingThatWasLostKeepsNobodyFromPingingForEver() throws Exception {
    Pings pings = pings(Duration.ofMillis(5));

    while (asked.size() < 2) {
      assertThat(got(pings.problem())).contains(StoreProblem.AWAY);
      pass(VALID);
      Thread.sleep(5);
    }
  }

  @Test
  void theLogHasOneLineForAStoreThatIsFullAndOneForItsEnd() {
    Logger logger = (Logger) LoggerFactory.getLogger(Pings.class);
    ListAppender<ILoggingEvent> lines = new ListAppender<>();
    lines.start();
    logger.setLevel(Level.WARN);
    logger.addAppender(lines);
    try {
      Pings pings = pings(Duration.ofMinutes(1));
      for (int i = 0; i < 3; i++) {
        pings.problem();
        asked.get(i).completeExceptionally(new StoreException(StoreProblem.FULL, "no room", null));
        pass(VALID);
      }
      pings.problem();
      asked.get(3).complete("here");
    } finally {
      logger.detachAppender(lines);
      logger.setLevel(null);
    }
    assertThat(lines.list).allMatch(line -> line.getThrowableProxy() == null);
    assertThat(lines.list.stream().map(ILoggingEvent::getFormattedMessage))
        .containsExactly(
            "The store cannot be written, so this host is not ready: the disk of the store is"
                + " full; free space on it (no room)",
            "The store can be written again");
  }

  @Test
  void aStoreThatCannotBePingedCannotBeWritten() {
    Pings pings =
        new Pings(
            () -> {
              throw new IllegalStateException("closed");
            },
            Duration.ofMinutes(1),
            VALID,
            nanos::get);

    assertThat(got(pings.problem())).contains(StoreProblem.REFUSES);
    assertThat(got(pings.problem())).contains(StoreProblem.REFUSES);
  }
}
