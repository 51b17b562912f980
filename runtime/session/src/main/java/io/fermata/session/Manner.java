package io.fermata.session;

/** How long whoever calls waits for what comes of it. */
enum Manner {
  /** To the deadline; then it is told that the work goes on. */
  WAITS,
  /** To the deadline; then it takes the run as a task. */
  TAKES_A_TASK,
  /** Until there is work to do, which it takes as a task. */
  LEAVES;

  boolean takesTasks() {
    return this != WAITS;
  }
}
