package io.fermata.persistence.pekko;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.fermata.persistence.spi.StoreException;
import io.fermata.persistence.spi.StoreProblem;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

class StoreTroublesTest {
  private static ILoggingEvent logged(Throwable thrown) {
    Logger logger = (Logger) LoggerFactory.getLogger("troubles");
    logger.setLevel(Level.WARN);
    logger.setAdditive(false);
    ListAppender<ILoggingEvent> appender = new ListAppender<>();
    appender.start();
    logger.addAppender(appender);
    StoreTroubles.warn(logger, "Nothing was read; retrying", thrown);
    logger.detachAppender(appender);
    assertThat(appender.list).hasSize(1);
    return appender.list.get(0);
  }

  @Test
  void aStoreThatIsAwayIsLoggedInOneLine() {
    Throwable away =
        new StoreException(
            StoreProblem.AWAY, "The server was stopped\nby its operator", new Exception());
    ILoggingEvent event = logged(new CompletionException(away));
    assertThat(event.getFormattedMessage())
        .startsWith(
            "Nothing was read; retrying: the store does not answer; check that it runs and can be"
                + " reached (The server was stopped")
        .hasLineCount(1);
    assertThat(event.getThrowableProxy()).isNull();
  }

  @Test
  void whatTheStoreSaysItselfIsLoggedWithoutWhereItWasThrown() {
    ILoggingEvent event = logged(new StoreException("The journal was swept; retry"));
    assertThat(event.getFormattedMessage())
        .isEqualTo("Nothing was read; retrying: The journal was swept; retry");
    assertThat(event.getThrowableProxy()).isNull();
  }

  @Test
  void aFailureThatNobodyKnowsIsLoggedWithWhereItWasThrown() {
    ILoggingEvent event = logged(new IllegalStateException("a defect"));
    assertThat(event.getFormattedMessage()).isEqualTo("Nothing was read; retrying");
    assertThat(event.getThrowableProxy()).isNotNull();
  }
}
