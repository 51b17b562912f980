package io.fermata.agent.replay;

import java.util.List;

/**
 * Something that happened in a thread, with what led to it: a node of the tree that {@link
 * ThreadJournal#why} answers with.
 *
 * @param entry the number of the entry in which it happened
 * @param text what happened, in words
 * @param reasons what led to it, the earliest first; nothing for what came from outside
 */
public record ThreadCause(long entry, String text, List<ThreadCause> reasons) {
  public ThreadCause {
    reasons = List.copyOf(reasons);
  }

  /** The tree as indented lines. */
  public String text(String indent) {
    StringBuilder lines = new StringBuilder(indent).append(text).append('\n');
    reasons.forEach(reason -> lines.append(reason.text(indent + "  ")));
    return lines.toString();
  }

  @Override
  public String toString() {
    return text("");
  }
}
