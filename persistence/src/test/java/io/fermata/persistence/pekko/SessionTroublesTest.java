package io.fermata.persistence.pekko;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.fermata.persistence.spi.StoreException;
import io.fermata.persistence.spi.StoreProblem;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

class SessionTroublesTest {
  private final AtomicLong nanos = new AtomicLong(Long.MAX_VALUE - 1);
  private final SessionTroubles unread =
      new SessionTroubles(nanos::get, "could not be read and is retried");
  private final Logger logger = (Logger) LoggerFactory.getLogger("unread");
  private final ListAppender<ILoggingEvent> appender = new ListAppender<>();

  SessionTroublesTest() {
    logger.setLevel(Level.WARN);
    logger.setAdditive(false);
    logger.addAppender(appender);
    appender.start();
  }

  @AfterEach
  void stop() {
    logger.detachAppender(appender);
  }

  private List<String> lines() {
    return appender.list.stream().map(ILoggingEvent::getFormattedMessage).toList();
  }

  private static Throwable away() {
    return new StoreException(StoreProblem.AWAY, "stopped", null);
  }

  @Test
  void oneLineStandsForTheSessionsOfAnOutage() {
    for (int i = 0; i < 1_000; i++) {
      unread.log(logger, "quote|ann|" + i, away());
    }
    assertThat(lines())
        .singleElement()
        .asString()
        .startsWith("Session quote|ann|0 could not be read and is retried: the store does not");

    nanos.addAndGet(Duration.ofSeconds(10).toNanos());
    unread.log(logger, "quote|ann|7", away());
    assertThat(lines())
        .last()
        .asString()
        .startsWith("Session quote|ann|7 and 999 more since the last such line could not be read");
  }

  @Test
  void theEndOfAnOutageIsLoggedOnceNothingHasFailedForAWhile() {
    unread.written(logger);
    unread.log(logger, "quote|ann|1", away());
    unread.log(logger, "quote|ann|2", away());
    unread.written(logger);
    assertThat(lines()).hasSize(1);

    nanos.addAndGet(Duration.ofSeconds(10).toNanos());
    unread.written(logger);
    unread.written(logger);
    assertThat(lines())
        .hasSize(2)
        .last()
        .isEqualTo("The store accepts writes again (1 more such failures since the last line)");

    unread.log(logger, "quote|ann|3", away());
    assertThat(lines()).last().asString().startsWith("Session quote|ann|3 could not be read");
  }

  @Test
  void aShardThatHasMovedIsNoOutage() {
    unread.log(logger, "quote|ann|1", new StoreException(StoreProblem.MOVED, "moved", null));
    nanos.addAndGet(Duration.ofSeconds(10).toNanos());
    unread.written(logger);
    assertThat(lines()).hasSize(1);
  }

  @Test
  void anotherProblemIsLoggedAtOnce() {
    unread.log(logger, "quote|ann|1", new StoreException(StoreProblem.MOVED, "moved", null));
    unread.log(logger, "quote|ann|2", away());
    unread.log(logger, "quote|ann|3", away());
    assertThat(lines()).hasSize(2).last().asString().contains("does not answer");
  }

  @Test
  void damageOfOneSessionIsNoOutageAndIsLoggedEachTime() {
    unread.log(logger, "quote|ann|1", new StoreException(StoreProblem.DAMAGED, "page 7", null));
    unread.log(logger, "quote|ann|2", new StoreException(StoreProblem.DAMAGED, "page 9", null));
    nanos.addAndGet(Duration.ofSeconds(10).toNanos());
    unread.written(logger);
    assertThat(lines()).hasSize(2).last().asString().startsWith("Session quote|ann|2");
  }

  @Test
  void whatNoOutageExplainsIsLoggedEachTime() {
    unread.log(logger, "quote|ann|1", away());
    unread.log(logger, "quote|ann|2", new IllegalStateException("a defect"));
    unread.log(logger, "quote|ann|3", new IllegalStateException("a defect"));
    assertThat(lines()).hasSize(3);
    assertThat(appender.list.get(2).getThrowableProxy()).isNotNull();
  }
}
