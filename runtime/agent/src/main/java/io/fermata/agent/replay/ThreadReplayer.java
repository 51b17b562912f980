package io.fermata.agent.replay;

import io.fermata.agent.Agent;
import io.fermata.agent.Agents;
import io.fermata.agent.engine.ThreadRedecision;
import io.fermata.agent.state.EarlierEntries;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadState;
import io.fermata.flow.Flow;
import io.fermata.flow.event.JournalCheck;
import java.util.Collection;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Decides the entries of a thread's journal again as they pass, and keeps none of them: a journal
 * may be longer than the memory. What is compared is in {@link ThreadReplay}.
 */
public final class ThreadReplayer {
  private final ThreadRedecision again;
  private final ThreadSecrets secrets;
  private @Nullable ThreadDivergence divergence;
  private int decided;

  /**
   * Begins with an empty thread.
   *
   * @param agents the present code of the thread's agents, and of those that they refer to
   * @param earlier the journal; it is asked for what code reads from entries that have passed
   */
  public ThreadReplayer(Collection<Agent> agents, EarlierEntries earlier) {
    this(agents, List.of(), earlier);
  }

  /**
   * As the other.
   *
   * @param flows flows that the agents may call; values of their secret fields are in no text
   */
  public ThreadReplayer(
      Collection<Agent> agents, Collection<Flow<?>> flows, EarlierEntries earlier) {
    again = new ThreadRedecision(new Agents(agents), earlier);
    secrets = ThreadSecrets.of(agents, flows);
  }

  /**
   * Decides the next entry, the first being the thread's first; after a divergence its secrets
   * count.
   */
  public void decide(ThreadJournal.Entry entry) {
    entry.events().forEach(secrets::learn);
    if (divergence != null) {
      return;
    }
    JournalCheck.Difference<ThreadState, ThreadEvent> difference =
        again.decide(entry.seq(), entry.at(), entry.events());
    decided++;
    if (difference != null) {
      difference.now().forEach(secrets::learn);
      divergence = new ThreadDivergence(entry, difference, secrets);
    }
  }

  /** A text without the secrets that the entries so far have. */
  public String masked(String text) {
    return secrets.masked(text);
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
