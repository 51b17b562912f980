package io.fermata.bench.crash;

/**
 * An execution of an effect, as it is written into the file of the effects.
 *
 * @param key what identifies the effect in all its attempts
 * @param process the server that executed it
 */
record Execution(String key, int attempt, long process) {
  static Execution parse(String line) {
    String[] parts = line.split(" ", -1);
    return new Execution(parts[0], Integer.parseInt(parts[1]), Long.parseLong(parts[2]));
  }

  /** Whether its step must not run twice. */
  boolean isOnce() {
    return key.contains("/seal");
  }

  @Override
  public String toString() {
    return key + " " + attempt + " " + process;
  }
}
