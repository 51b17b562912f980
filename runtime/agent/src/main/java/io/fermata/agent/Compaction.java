package io.fermata.agent;

import io.fermata.agent.model.Model;

/**
 * Lets a model summarize the older part of a long conversation. Models get the summary instead; the
 * thread keeps every message.
 *
 * @param after the number of messages since the last summary after which a new one is made
 * @param keep the number of latest messages that are not summarized
 */
public record Compaction(Model model, int after, int keep, String instruction) {
  private static final String INSTRUCTION =
      "Summarize the conversation so far for a colleague who continues it: what each side wants,"
          + " what was agreed, decided and found out, names and numbers, and what is still open."
          + " Be brief and leave out nothing that matters.";

  public Compaction {
    if (keep < 1 || after <= keep) {
      throw new IllegalArgumentException(
          "A compaction after %s messages that keeps %s leaves nothing to summarize; keep fewer"
              .formatted(after, keep));
    }
  }

  public static Compaction by(Model model, int after, int keep) {
    return new Compaction(model, after, keep, INSTRUCTION);
  }

  /** The number of messages without a summary at which one is due. */
  public int due() {
    return (int) Math.min(Integer.MAX_VALUE, (long) after + keep);
  }

  public Compaction instruction(String text) {
    return new Compaction(model, after, keep, text);
  }
}
