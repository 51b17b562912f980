package io.fermata.session.admin;

import io.fermata.session.call.ToolReply;

/**
 * A run that was forked from another one. It belongs to the owner of that run, in a session of its
 * own.
 *
 * @param principal its owner
 * @param sessionId the handle of its session, with which calls of its owner reach it
 * @param reply its first reply: what it asks, what it waits for, or its outcome
 */
public record Fork(String flow, String runId, String principal, String sessionId, ToolReply reply) {

  public Fork replying(ToolReply other) {
    return new Fork(flow, runId, principal, sessionId, other);
  }
}
