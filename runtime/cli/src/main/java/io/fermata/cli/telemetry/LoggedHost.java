package io.fermata.cli.telemetry;

import ch.qos.logback.classic.LoggerContext;
import org.jspecify.annotations.Nullable;
import org.slf4j.LoggerFactory;

/**
 * The name of this server in its log lines, a property of the whole process: threads of actors, of
 * the server and of drivers log, and none of them would know a name that is bound to a thread.
 */
public final class LoggedHost {
  /** What logback.xml prints; JSON has it among the properties of the context. */
  public static final String PROPERTY = "host";

  private static final String VARIABLE = "FERMATA_HOST";

  private LoggedHost() {}

  /**
   * Names the server as FERMATA_HOST does. Nothing happens unless Logback logs.
   *
   * @param otherwise the name without that variable; null for none
   */
  public static void name(@Nullable String otherwise) {
    String chosen = System.getenv(VARIABLE);
    String name = chosen == null || chosen.isBlank() ? otherwise : chosen;
    if (name != null && StandardLog.isLogback()) {
      Logback.name(name);
    }
  }

  /** Is loaded only if Logback is there. */
  private static final class Logback {
    static void name(String name) {
      ((LoggerContext) LoggerFactory.getILoggerFactory()).putProperty(PROPERTY, name);
    }
  }
}
