package io.fermata.bench.crash;

/** What happens to one host of a cluster. */
enum Disturbance {
  /** SIGKILL. */
  KILL(5),
  /** SIGSTOP, until the other hosts have removed it. */
  STOP(1),
  /** SIGTERM, and a start again. */
  TERMINATE(1),
  /** It does not reach the database any more. */
  NO_DATABASE(1),
  /** It neither hears nor reaches the other hosts. */
  APART(1),
  /** It does not hear the others, or they do not hear it. */
  ONE_WAY(1),
  /** It and one other host do not hear each other; the third one hears both. */
  PAIR(1);

  /** How often it happens, compared with the others. */
  final int weight;

  Disturbance(int weight) {
    this.weight = weight;
  }
}
