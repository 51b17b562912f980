package io.fermata.agent.message;

/**
 * A part of a message while it streams; it is not journaled.
 *
 * @param messageId the message that it will be part of
 * @param kind {@code text}, {@code thinking}, or {@code void}: the parts published so far are
 *     invalid
 */
public record MessageDelta(String messageId, String kind, String text) {}
