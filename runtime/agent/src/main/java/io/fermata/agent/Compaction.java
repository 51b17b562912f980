package io.fermata.agent;

import io.fermata.agent.model.Model;

/**
 * Lets a model tell the older part of a long conversation in short. The summary takes its place in
 * what models are shown; the thread keeps every message.
 *
 * @param after how many messages since the last summary make a new one
 * @param keep how many of the latest messages are left as they are
 */
public record Compaction(Model model, int after, int keep, String instruction) {
  private static final String INSTRUCTION =
      "Summarize the conversation so far for a colleague who continues it: what each side wants,"
          + " what was agreed, decided and found out, names and numbers, and what is still open."
          + " Be brief and leave out nothing that matters.";

  public Compaction {
    if (keep < 1 || after <= keep) {
      throw new IllegalArgumentException(
          "A compaction after %d messages that keeps %d leaves nothing to sum up"
              .formatted(after, keep));
    }
  }

  public static Compaction by(Model model, int after, int keep) {
    return new Compaction(model, after, keep, INSTRUCTION);
  }

  public Compaction instruction(String text) {
    return new Compaction(model, after, keep, text);
  }
}
