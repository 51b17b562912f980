package io.fermata.bench.crash;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

/**
 * How often effects were executed, counted by the lines that they wrote.
 *
 * @param repeated how many executions were further attempts
 */
record Executions(int all, int repeated) {

  /**
   * Compares the lines with the journal: attempts of an effect have increasing numbers, the last
   * one is the one whose result is in the journal, and none was executed after its result was
   * acknowledged.
   *
   * @param acknowledgedAt how long the file was when a result was acknowledged, by its key
   * @param journaled the attempt whose result is in the journal, by its key
   * @throws IllegalStateException if an effect was executed after its result had been journaled
   */
  static Executions check(
      Path effects, Map<String, Long> acknowledgedAt, Map<String, Integer> journaled)
      throws IOException {
    Map<String, Integer> latest = new HashMap<>();
    int all = 0;
    long offset = 0;
    for (String line : Files.readAllLines(effects)) {
      String key = line.substring(0, line.indexOf(' '));
      int attempt = Integer.parseInt(line.substring(key.length() + 1));
      if (offset >= acknowledgedAt.getOrDefault(key, Long.MAX_VALUE)) {
        throw new IllegalStateException(
            "The effect " + line + " was executed after its result had been acknowledged");
      }
      Integer before = latest.put(key, attempt);
      if (before != null && before >= attempt) {
        throw new IllegalStateException(
            "The effect " + line + " was executed although attempt " + before + " came before it");
      }
      all++;
      offset += line.getBytes(StandardCharsets.UTF_8).length + 1;
    }
    if (!latest.equals(journaled)) {
      latest.entrySet().removeAll(journaled.entrySet());
      throw new IllegalStateException(
          "The latest attempts "
              + latest
              + " are not those whose results are in the journal, or their results are not there");
    }
    return new Executions(all, all - latest.size());
  }
}
