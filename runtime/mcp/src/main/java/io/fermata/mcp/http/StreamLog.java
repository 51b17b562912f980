package io.fermata.mcp.http;

import io.vertx.core.Context;

/** Keeps the events of a response, for a client that reconnects and resumes. */
public interface StreamLog {
  /**
   * The event that opens a stream; it carries only the client's position.
   *
   * @param after the number of the last event that the client has
   */
  byte[] opening(long after);

  /**
   * Keeps a message, and returns it as an event with its id.
   *
   * @param live whether the event is also written to the original response
   */
  byte[] append(byte[] message, boolean live);

  /** Marks the end: no event follows. */
  void end();

  /** Whether another event can be kept without dropping one that the client has not received. */
  boolean hasRoom();

  /** Whether the client has resumed. */
  boolean resumed();

  /** What to do each time the client resumes. */
  void onResume(Runnable todo);

  /** Ends the response of a client that has resumed; it may resume again. */
  void release();

  /** Whether the client did not resume in time. */
  boolean expired();

  /** Begins the time in which a client that has disconnected may resume. */
  void await(Context context);
}
