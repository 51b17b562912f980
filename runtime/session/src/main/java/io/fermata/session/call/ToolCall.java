package io.fermata.session.call;

import com.fasterxml.jackson.databind.node.ObjectNode;
import org.jspecify.annotations.Nullable;

/**
 * A call of a flow's tool, over any transport.
 *
 * @param tool the flow's id
 * @param principal the caller; sessions of different principals are isolated
 * @param arguments the arguments, not validated
 * @param meta the call's {@code _meta}: hints, never an authority
 * @param transportSession the session of the transport, if the client names no other
 */
public record ToolCall(
    String tool,
    String principal,
    ObjectNode arguments,
    ObjectNode meta,
    @Nullable String transportSession) {
  /** The conversation that {@code _meta} names; null if it names none. */
  public @Nullable String conversation() {
    return Conversation.hint(this);
  }
}
