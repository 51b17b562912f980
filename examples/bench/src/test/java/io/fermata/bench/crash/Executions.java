package io.fermata.bench.crash;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * How often effects were executed, counted by the lines that they wrote.
 *
 * @param repeated how many executions were further attempts
 */
record Executions(int all, int repeated) {

  /**
   * Compares the lines with the journal. No attempt of an effect is executed twice, its latest
   * attempt is the one whose result is in the journal, and none is executed after its result was
   * acknowledged. A step that must not run twice has one line.
   *
   * <p>A process that was stopped or cut off in the middle of an attempt may write its line at any
   * time later, as nobody can hinder it; it must be an earlier attempt than the one that counts.
   *
   * @param acknowledgedAt how long the file was when a result was acknowledged, by its key
   * @param journaled the attempt whose result is in the journal, by its key
   * @param suspended the processes that were stopped or cut off at some time
   * @throws IllegalStateException if an effect was executed after its result had been journaled
   */
  static Executions check(
      Path effects,
      Map<String, Long> acknowledgedAt,
      Map<String, Integer> journaled,
      Set<Long> suspended)
      throws IOException {
    Map<String, Execution> latest = new HashMap<>();
    Set<String> once = new HashSet<>();
    Set<String> attempts = new HashSet<>();
    int all = 0;
    long offset = 0;
    try (BufferedReader lines = Files.newBufferedReader(effects)) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        Execution execution = Execution.parse(line);
        String key = execution.key();
        all++;
        if (execution.isOnce()) {
          if (!once.add(key)) {
            throw new IllegalStateException(
                "The effect " + line + " was executed before, although it must not run twice");
          }
        } else {
          if (!attempts.add(key + " " + execution.attempt())) {
            throw new IllegalStateException("The attempt " + line + " was executed twice");
          }
          boolean late = suspended.contains(execution.process());
          Execution before = latest.get(key);
          if (before != null && before.attempt() > execution.attempt() && !late) {
            throw new IllegalStateException(
                "The effect " + line + " was executed although " + before + " came before it");
          }
          boolean counts = execution.attempt() >= journaled.getOrDefault(key, 0);
          if (offset >= acknowledgedAt.getOrDefault(key, Long.MAX_VALUE) && (counts || !late)) {
            throw new IllegalStateException(
                "The effect " + line + " was executed after its result had been acknowledged");
          }
          if (before == null || before.attempt() < execution.attempt()) {
            latest.put(key, execution);
          }
        }
        offset += line.getBytes(StandardCharsets.UTF_8).length + 1;
      }
    }
    Map<String, Integer> counted = new HashMap<>();
    latest.forEach((key, execution) -> counted.put(key, execution.attempt()));
    if (!counted.equals(journaled)) {
      counted.entrySet().removeAll(journaled.entrySet());
      throw new IllegalStateException(
          "The latest attempts "
              + counted
              + " are not those whose results are in the journal, or their results are not there");
    }
    return new Executions(all, attempts.size() - latest.size());
  }
}
