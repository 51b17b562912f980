package io.fermata.agent.history;

import io.fermata.agent.state.ThreadEvent;
import java.util.List;

/** Takes the entries of a thread's journal from the last to the first, until it has enough. */
public interface BackwardReader {
  /** Takes the preceding entry. */
  void take(List<ThreadEvent> entry);

  /** Whether it needs no more. */
  boolean full();
}
