package io.fermata.session.call;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Objects;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * A call of a flow's tool, over any transport.
 *
 * @param tool the flow's id
 * @param principal the caller; sessions of different principals are isolated
 * @param arguments the arguments, not validated
 * @param meta the call's {@code _meta}: hints, never an authority
 * @param transportSession the session of the transport, if the client names no other
 * @param mayReach whether the caller may use an agent, which matters where the conversation was
 *     handed over to another one than the tool's; it must not block
 * @param takesTask whether its caller accepts a task if the run still works or waits: the outcome
 *     of the run is kept for it. Depending on the flow, that reply leaves as soon as the run has
 *     work to do; everything it reflects is journaled
 */
public record ToolCall(
    String tool,
    String principal,
    ObjectNode arguments,
    ObjectNode meta,
    @Nullable String transportSession,
    Predicate<String> mayReach,
    boolean takesTask) {
  public ToolCall {
    Objects.requireNonNull(tool, "tool");
    Objects.requireNonNull(principal, "principal");
    Objects.requireNonNull(arguments, "arguments");
    Objects.requireNonNull(meta, "meta");
    Objects.requireNonNull(mayReach, "mayReach");
  }

  /** A call of somebody who may use all agents, and waits for the reply. */
  public ToolCall(
      String tool,
      String principal,
      ObjectNode arguments,
      ObjectNode meta,
      @Nullable String transportSession) {
    this(tool, principal, arguments, meta, transportSession, ToolCall::any, false);
  }

  private static boolean any(String agent) {
    return true;
  }

  /** The same call with other arguments. */
  public ToolCall with(ObjectNode others, ObjectNode otherMeta) {
    return new ToolCall(tool, principal, others, otherMeta, transportSession, mayReach, takesTask);
  }

  /** The same call of somebody who may use these agents only. */
  public ToolCall reaching(Predicate<String> agents) {
    return new ToolCall(tool, principal, arguments, meta, transportSession, agents, takesTask);
  }

  /** The same call of somebody who accepts a task, or does not. */
  public ToolCall takingTask(boolean takes) {
    return takes == takesTask
        ? this
        : new ToolCall(tool, principal, arguments, meta, transportSession, mayReach, takes);
  }

  /** The conversation that {@code _meta} names; null if it names none. */
  public @Nullable String conversation() {
    return FlowCall.conversation(this);
  }
}
