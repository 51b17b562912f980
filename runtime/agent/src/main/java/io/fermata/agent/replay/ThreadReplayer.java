package io.fermata.agent.replay;

import io.fermata.agent.Agent;
import io.fermata.agent.Agents;
import io.fermata.agent.engine.ThreadRedecision;
import io.fermata.agent.state.EarlierEntries;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadState;
import io.fermata.flow.event.JournalCheck;
import java.util.Collection;
import org.jspecify.annotations.Nullable;

/**
 * Decides the entries of a thread's journal again as they pass, and keeps none of them: a journal
 * may be longer than the memory. What is compared is in {@link ThreadReplay}.
 */
public final class ThreadReplayer {
  private final ThreadRedecision again;
  private @Nullable ThreadDivergence divergence;
  private int decided;

  /**
   * Begins with an empty thread.
   *
   * @param agents the present code of the thread's agents, and of those that they refer to
   * @param earlier the journal; it is asked for what code reads from entries that have passed
   */
  public ThreadReplayer(Collection<Agent> agents, EarlierEntries earlier) {
    again = new ThreadRedecision(new Agents(agents), earlier);
  }

  /** Decides the next entry, the first being the thread's first; nothing after a divergence. */
  public void decide(ThreadJournal.Entry entry) {
    if (divergence != null) {
      return;
    }
    JournalCheck.Difference<ThreadState, ThreadEvent> difference =
        again.decide(entry.seq(), entry.at(), entry.events());
    decided++;
    if (difference != null) {
      divergence = new ThreadDivergence(entry, difference);
    }
  }

  /** How many entries were decided again and compared. */
  public int decided() {
    return decided;
  }

  /** Where the code first decides otherwise; null if it has not yet. */
  public @Nullable ThreadDivergence divergence() {
    return divergence;
  }
}
