package io.fermata.session.journal;

import io.fermata.flow.event.Outcome;
import io.fermata.session.call.OutcomeJson;
import io.fermata.session.key.SessionKey;

/** What a session replies to a call. */
public sealed interface SessionReply permits RunReply, ThreadReply {

  /** The reply of a session that could not handle the call. */
  static SessionReply failure(String entityId, Outcome.Failure why) {
    return SessionKey.agentOf(entityId) == null
        ? RunReply.of(OutcomeJson.body(why))
        : ThreadReply.refused(why);
  }
}
