package io.fermata.session.key;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.MDC;

/**
 * Labels of the log lines of this thread, until closed: keys in SLF4J's MDC. They are set while
 * handlers run, and when the host logs about a session.
 */
public final class LogLabels implements AutoCloseable {
  /** The flow, in every line about a run. */
  public static final String FLOW = "fermata.flow";

  /** The run's name, as {@link io.fermata.flow.action.Run#id} returns it. */
  public static final String RUN = "fermata.run";

  /** The node whose handler runs. */
  public static final String NODE = "fermata.node";

  /** The number of the attempt. */
  public static final String ATTEMPT = "fermata.attempt";

  /** The agent, in every line about a thread. */
  public static final String AGENT = "fermata.agent";

  /** The thread's name. */
  public static final String THREAD = "fermata.thread";

  /** The plain tool that is called. */
  public static final String TOOL = "fermata.tool";

  /** The digest of the caller's principal, the same on all hosts. */
  public static final String PRINCIPAL = "fermata.principal";

  private final List<String> keys = new ArrayList<>(4);

  private LogLabels() {}

  /** No labels yet. */
  public static LogLabels on() {
    return new LogLabels();
  }

  /** Adds a label; one without a value is left out. */
  public LogLabels with(String key, @Nullable String value) {
    if (value != null && !value.isEmpty()) {
      MDC.put(key, value);
      keys.add(key);
    }
    return this;
  }

  /** Adds the digest of the caller's principal. */
  public LogLabels caller(String principal) {
    return with(PRINCIPAL, SessionKey.ownerOf(principal));
  }

  /** Adds the labels that the name of a session contains. */
  public LogLabels session(String entityId) {
    String agent = SessionKey.agentOf(entityId);
    String place = SessionKey.placeOf(entityId);
    if (place.length() >= SessionKey.BRIEF) {
      with(PRINCIPAL, place.substring(0, SessionKey.BRIEF));
    }
    return agent == null ? with(FLOW, SessionKey.flowOf(entityId)) : with(AGENT, agent);
  }

  @Override
  public void close() {
    keys.forEach(MDC::remove);
  }
}
