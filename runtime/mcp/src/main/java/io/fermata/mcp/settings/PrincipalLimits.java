package io.fermata.mcp.settings;

/**
 * What one principal may use over HTTP, so that it cannot crowd out the others.
 *
 * @param callsPerSecond requests per second in the long run
 * @param burst requests at once before that rate applies
 * @param callsInFlight calls in flight at a time, and as many handlers: one whose call is cancelled
 *     counts until it ends
 * @param arrivingBytes bytes of the bodies of requests that have not arrived completely; a longer
 *     body is never taken
 * @param openQuestions questions of handlers that wait for its clients of the revisions before
 *     2026-07-28
 * @param sessions sessions of those revisions whose choices (watched resources, the level of log
 *     messages) are remembered; beyond that, the least recently used of those with nothing open is
 *     gone
 * @param requestStates used request states that are remembered for half an hour; beyond that, the
 *     oldest are forgotten, and states issued before them expire
 */
public record PrincipalLimits(
    double callsPerSecond,
    int burst,
    int callsInFlight,
    int arrivingBytes,
    int openQuestions,
    int sessions,
    int requestStates) {
  /**
   * The defaults: one principal may use half of the connections that a server accepts by default.
   */
  public static final PrincipalLimits DEFAULT =
      new PrincipalLimits(1_000, 5_000, 2_048, 64 << 20, 1_000, 1_000, 20_000);

  public PrincipalLimits {
    if (!(callsPerSecond > 0)) {
      throw new IllegalArgumentException(
          "callsPerSecond must be more than 0, not " + callsPerSecond);
    }
    requirePositive("burst", burst);
    requirePositive("callsInFlight", callsInFlight);
    requirePositive("arrivingBytes", arrivingBytes);
    requirePositive("openQuestions", openQuestions);
    requirePositive("sessions", sessions);
    requirePositive("requestStates", requestStates);
  }

  private static void requirePositive(String name, int value) {
    if (value < 1) {
      throw new IllegalArgumentException(name + " must be at least 1, not " + value);
    }
  }

  /**
   * The same with this rate of requests per second, {@link Double#POSITIVE_INFINITY} for none, and
   * this many at once before the rate applies.
   */
  public PrincipalLimits callsPerSecond(double calls, int atOnce) {
    return new PrincipalLimits(
        calls, atOnce, callsInFlight, arrivingBytes, openQuestions, sessions, requestStates);
  }

  /** The same with this many calls in flight at a time. */
  public PrincipalLimits callsInFlight(int calls) {
    return new PrincipalLimits(
        callsPerSecond, burst, calls, arrivingBytes, openQuestions, sessions, requestStates);
  }

  /** The same with this many bytes of bodies that are arriving. */
  public PrincipalLimits arrivingBytes(int bytes) {
    return new PrincipalLimits(
        callsPerSecond, burst, callsInFlight, bytes, openQuestions, sessions, requestStates);
  }

  /** The same with this many open questions. */
  public PrincipalLimits openQuestions(int questions) {
    return new PrincipalLimits(
        callsPerSecond, burst, callsInFlight, arrivingBytes, questions, sessions, requestStates);
  }

  /** The same with this many sessions. */
  public PrincipalLimits sessions(int known) {
    return new PrincipalLimits(
        callsPerSecond, burst, callsInFlight, arrivingBytes, openQuestions, known, requestStates);
  }

  /** The same with this many used request states. */
  public PrincipalLimits requestStates(int known) {
    return new PrincipalLimits(
        callsPerSecond, burst, callsInFlight, arrivingBytes, openQuestions, sessions, known);
  }
}
