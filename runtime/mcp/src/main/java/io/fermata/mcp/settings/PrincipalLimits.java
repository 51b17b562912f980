package io.fermata.mcp.settings;

/**
 * What one principal may take up over HTTP, so that there is room for the others.
 *
 * @param callsPerSecond how many requests it may send per second in the long run; infinite unless
 *     said otherwise
 * @param burst how many it may send at once before that counts
 * @param callsUnderWay how many calls may be under way at a time
 * @param openQuestions how many questions of handlers may wait for its clients, of the revisions
 *     before 2026-07-28
 * @param sessions of how many sessions of those revisions it is known what their clients can do;
 *     beyond that the one longest unheard of is forgotten
 * @param requestStates how many states that were used once are known in half an hour; beyond that
 *     the oldest are forgotten, and those given before them expire
 */
public record PrincipalLimits(
    double callsPerSecond,
    int burst,
    int callsUnderWay,
    int openQuestions,
    int sessions,
    int requestStates) {
  /** What holds unless said otherwise: half of the connections that a server takes by itself. */
  public static final PrincipalLimits DEFAULT =
      new PrincipalLimits(Double.POSITIVE_INFINITY, 100, 2_048, 1_000, 1_000, 20_000);

  public PrincipalLimits {
    if (!(callsPerSecond > 0)) {
      throw new IllegalArgumentException(
          "callsPerSecond must be more than 0, not " + callsPerSecond);
    }
    requirePositive("burst", burst);
    requirePositive("callsUnderWay", callsUnderWay);
    requirePositive("openQuestions", openQuestions);
    requirePositive("sessions", sessions);
    requirePositive("requestStates", requestStates);
  }

  private static void requirePositive(String name, int value) {
    if (value < 1) {
      throw new IllegalArgumentException(name + " must be at least 1, not " + value);
    }
  }

  /** The same with so many requests per second, and so many at once before that counts. */
  public PrincipalLimits callsPerSecond(double calls, int atOnce) {
    return new PrincipalLimits(
        calls, atOnce, callsUnderWay, openQuestions, sessions, requestStates);
  }

  /** The same with so many calls under way at a time. */
  public PrincipalLimits callsUnderWay(int calls) {
    return new PrincipalLimits(
        callsPerSecond, burst, calls, openQuestions, sessions, requestStates);
  }

  /** The same with so many open questions. */
  public PrincipalLimits openQuestions(int questions) {
    return new PrincipalLimits(
        callsPerSecond, burst, callsUnderWay, questions, sessions, requestStates);
  }

  /** The same with so many sessions. */
  public PrincipalLimits sessions(int known) {
    return new PrincipalLimits(
        callsPerSecond, burst, callsUnderWay, openQuestions, known, requestStates);
  }

  /** The same with so many used states. */
  public PrincipalLimits requestStates(int known) {
    return new PrincipalLimits(
        callsPerSecond, burst, callsUnderWay, openQuestions, sessions, known);
  }
}
