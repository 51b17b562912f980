package io.fermata.session.call;

import com.fasterxml.jackson.databind.node.ObjectNode;
import org.jspecify.annotations.Nullable;

/**
 * A call of a flow's tool, however it arrived.
 *
 * @param tool the flow's id
 * @param principal who calls; sessions of different principals never meet
 * @param arguments what the caller gave, unchecked
 * @param meta the call's {@code _meta}: hints, never an authority
 * @param transportSession the session of the transport, for clients that name no other
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
