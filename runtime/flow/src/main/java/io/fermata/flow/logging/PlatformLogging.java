package io.fermata.flow.logging;

import io.fermata.flow.json.Failures;
import io.fermata.flow.json.Texts;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.slf4j.ILoggerFactory;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.Marker;
import org.slf4j.event.Level;
import org.slf4j.helpers.LegacyAbstractLogger;
import org.slf4j.helpers.MessageFormatter;
import org.slf4j.helpers.NOP_FallbackServiceProvider;
import org.slf4j.spi.SLF4JServiceProvider;

/**
 * Gives warnings and errors to the logger of the JDK, which prints them on standard error, where an
 * application has no SLF4J provider, so that no failure is lost in silence. SLF4J creates it by
 * name.
 */
public final class PlatformLogging extends NOP_FallbackServiceProvider {
  private static final String CHOICE = LoggerFactory.PROVIDER_PROPERTY_KEY;
  private static final String VERBOSITY = "slf4j.internal.verbosity";

  private final Map<String, Logger> loggers = new ConcurrentHashMap<>();

  /**
   * Takes over if there is no provider, and says so. It must run before the first logger exists.
   */
  public static void installIfMissing() {
    ClassLoader loader = LoggerFactory.class.getClassLoader();
    boolean chosen = System.getProperty(CHOICE) != null;
    if (chosen || ServiceLoader.load(SLF4JServiceProvider.class, loader).findFirst().isPresent()) {
      return;
    }
    System.setProperty(CHOICE, PlatformLogging.class.getName());
    if (System.getProperty(VERBOSITY) == null) {
      System.setProperty(VERBOSITY, "WARN");
    }
    boolean active = LoggerFactory.getILoggerFactory() instanceof Loggers;
    System.getLogger("io.fermata")
        .log(
            System.Logger.Level.WARNING,
            "There is no SLF4J provider on the class path, so "
                + (active ? "only warnings and errors are logged, here" : "nothing is logged")
                + "; add one, such as ch.qos.logback:logback-classic");
  }

  private record Loggers(Map<String, Logger> all) implements ILoggerFactory {
    @Override
    public Logger getLogger(String name) {
      return all.computeIfAbsent(name, Printing::new);
    }
  }

  @Override
  public ILoggerFactory getLoggerFactory() {
    return new Loggers(loggers);
  }

  private static final class Printing extends LegacyAbstractLogger {
    private static final long serialVersionUID = 1;

    Printing(String name) {
      this.name = name;
    }

    @Override
    protected @Nullable String getFullyQualifiedCallerName() {
      return null;
    }

    @Override
    protected void handleNormalizedLoggingCall(
        Level level,
        @Nullable Marker marker,
        String message,
        Object @Nullable [] arguments,
        @Nullable Throwable thrown) {
      StringBuilder text = new StringBuilder();
      text.append(Texts.inOneLine(MessageFormatter.basicArrayFormat(message, arguments)));
      String caused = "\n";
      for (Throwable each = thrown; each != null; each = each.getCause()) {
        text.append(caused).append(Texts.inOneLine(Failures.text(each)));
        for (StackTraceElement frame : each.getStackTrace()) {
          text.append("\n\tat ").append(frame);
        }
        caused = "\nCaused by: ";
      }
      System.getLogger(name)
          .log(
              level == Level.ERROR ? System.Logger.Level.ERROR : System.Logger.Level.WARNING,
              text.toString());
    }

    @Override
    public boolean isTraceEnabled() {
      return false;
    }

    @Override
    public boolean isDebugEnabled() {
      return false;
    }

    @Override
    public boolean isInfoEnabled() {
      return false;
    }

    @Override
    public boolean isWarnEnabled() {
      return true;
    }

    @Override
    public boolean isErrorEnabled() {
      return true;
    }
  }
}
