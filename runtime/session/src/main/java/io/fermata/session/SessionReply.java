package io.fermata.session;

import io.fermata.flow.Outcome;

/** What a session replies to a call. */
sealed interface SessionReply permits RunReply, ThreadReply {

  /** The reply of a session that could not handle the call. */
  static SessionReply failure(String entityId, Outcome.Failure why) {
    return SessionKey.agentOf(entityId) == null
        ? RunReply.of(Wire.body(why))
        : ThreadReply.refused(why);
  }
}
