package io.fermata.mcp;

import org.jspecify.annotations.Nullable;

/** What goes back for a message: over HTTP all of it, over a stream the body alone. */
final class Answer {
  static final Answer ACCEPTED = new Answer(202, null, null);

  final int status;
  final byte @Nullable [] body;

  /** The session that this answer opens, for the header {@code Mcp-Session-Id}. */
  final @Nullable String session;

  private Answer(int status, byte @Nullable [] body, @Nullable String session) {
    this.status = status;
    this.body = body;
    this.session = session;
  }

  static Answer of(int status, byte[] body) {
    return new Answer(status, body, null);
  }

  Answer opening(String newSession) {
    return new Answer(status, body, newSession);
  }
}
