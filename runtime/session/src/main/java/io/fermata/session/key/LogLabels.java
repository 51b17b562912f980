package io.fermata.session.key;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.MDC;

/**
 * What every line that is logged on this thread is about, until it is closed: keys in SLF4J's MDC.
 * They are set where authors' handlers run, and for what the host itself logs of a session.
 */
public final class LogLabels implements AutoCloseable {
  /** The flow, in every line about a run. */
  public static final String FLOW = "fermata.flow";

  /** The run's name, as {@link io.fermata.flow.action.Run#id} tells it. */
  public static final String RUN = "fermata.run";

  /** The node that is at work. */
  public static final String NODE = "fermata.node";

  /** Which attempt of the node's it is. */
  public static final String ATTEMPT = "fermata.attempt";

  /** The agent, in every line about a thread. */
  public static final String AGENT = "fermata.agent";

  /** The thread's name. */
  public static final String THREAD = "fermata.thread";

  /** The plain tool that is called. */
  public static final String TOOL = "fermata.tool";

  /** Who calls, as a digest: the same for the same principal, also in other hosts. */
  public static final String PRINCIPAL = "fermata.principal";

  private final List<String> keys = new ArrayList<>(4);

  private LogLabels() {}

  /** Labels for nothing yet. */
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

  /** Adds the digest of who calls. */
  public LogLabels caller(String principal) {
    return with(PRINCIPAL, SessionKey.ownerOf(principal));
  }

  /** Adds what the name of a session tells: of a run, whose it is. */
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
