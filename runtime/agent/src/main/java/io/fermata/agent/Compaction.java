package io.fermata.agent;

import io.fermata.agent.model.Model;

/**
 * Lets a model summarize the older part of a long conversation. Models are shown the summary in its
 * place; the thread keeps every message.
 *
 * @param after after how many messages since the last summary to make a new one
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
