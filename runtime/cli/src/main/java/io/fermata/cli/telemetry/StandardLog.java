package io.fermata.cli.telemetry;

import ch.qos.logback.classic.BasicConfigurator;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.joran.JoranConfigurator;
import ch.qos.logback.core.joran.spi.JoranException;
import java.net.URL;
import java.util.Objects;
import org.slf4j.LoggerFactory;

/**
 * How an application logs that configures nothing: Logback by itself prints everything, on standard
 * output, which is that of the protocol over stdio.
 */
public final class StandardLog {
  /** The configuration, in the form of Logback's {@code logback.xml}. */
  public static final URL CONFIGURATION =
      Objects.requireNonNull(StandardLog.class.getResource("logback.xml"));

  private static final String LOGBACK = "ch.qos.logback.classic.LoggerContext";

  private StandardLog() {}

  /** Nothing happens unless Logback logs and has found no configuration. */
  public static void configure() {
    if (isLogback()) {
      Logback.configure();
    }
  }

  static boolean isLogback() {
    return LoggerFactory.getILoggerFactory().getClass().getName().equals(LOGBACK);
  }

  /** Is loaded only if Logback is there. */
  private static final class Logback {
    static void configure() {
      LoggerContext context = (LoggerContext) LoggerFactory.getILoggerFactory();
      boolean unconfigured =
          context.getStatusManager().getCopyOfStatusList().stream()
              .anyMatch(status -> status.getOrigin() instanceof BasicConfigurator);
      if (unconfigured) {
        context.reset();
        JoranConfigurator standard = new JoranConfigurator();
        standard.setContext(context);
        try {
          standard.doConfigure(CONFIGURATION);
          // It is configured now, and is not again.
          context.getStatusManager().clear();
        } catch (JoranException e) {
          throw new IllegalStateException("The log cannot be configured", e);
        }
      }
    }
  }
}
