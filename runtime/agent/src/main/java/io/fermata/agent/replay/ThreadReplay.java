package io.fermata.agent.replay;

import io.fermata.agent.Agent;
import io.fermata.flow.Flow;
import java.util.Collection;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A thread that was decided again by the present code of its agents. Messages, answers, time, the
 * replies of models, and what tools, flows, other agents, code of a side and scheduled work
 * returned and changed come from the journal; none of them is called. Hooks are called again with
 * the same, and everything else is decided again: budgets, bounds, stop conditions, sides,
 * approvals, hand-overs, sub-prompts, retries, compaction, and which calls are made in which order.
 * The resulting events are compared one by one.
 *
 * <pre>{@code
 * ThreadReplay.of(agents, journal).requireSame();
 * }</pre>
 *
 * <p>The comparison ends at the first difference: from there on models would be asked something
 * else, and what they would say is in no journal.
 *
 * <p>What models are asked is not journaled, so instructions, windows, models and the descriptions
 * of tools may change without a difference. Hooks that change the request are called and are
 * compared in what they do to the thread, and in whether they block. Times are not compared, and
 * neither are the delays of retries and of scheduled work. Hooks see the thread, its files and its
 * environment as they were, but no variable of the host; an entry whose hooks invoke a tool is
 * taken as it is, and so are the hooks for messages that tools themselves add. A hook that acts on
 * the world outside acts again.
 *
 * @param decided how many entries were decided again and compared
 * @param divergence where the code first decides otherwise; null if it never does
 */
public record ThreadReplay(
    ThreadJournal journal, int decided, @Nullable ThreadDivergence divergence) {

  /**
   * Decides a journal again.
   *
   * @param agents the present code of the thread's agents, and of those that they refer to
   */
  public static ThreadReplay of(Collection<Agent> agents, ThreadJournal journal) {
    return of(agents, List.of(), journal);
  }

  /**
   * As {@link #of(Collection, ThreadJournal)}.
   *
   * @param flows flows that the agents may call; values of their secret fields are in no text
   * @throws IllegalStateException if the journal is {@linkplain ThreadJournal#redacted redacted}
   */
  public static ThreadReplay of(
      Collection<Agent> agents, Collection<Flow<?>> flows, ThreadJournal journal) {
    journal.whole();
    ThreadReplayer replayer = new ThreadReplayer(agents, flows, journal.earlier());
    for (ThreadJournal.Entry entry : journal.entries()) {
      replayer.decide(entry);
    }
    return new ThreadReplay(journal, replayer.decided(), replayer.divergence());
  }

  public boolean same() {
    return divergence == null;
  }

  /**
   * Fails if the code decides otherwise, with what was recorded and what comes now.
   *
   * @throws AssertionError if it does, or if nothing was compared
   */
  public ThreadReplay requireSame() {
    if (divergence != null) {
      throw new AssertionError(divergence.text());
    } else if (decided == 0) {
      throw new AssertionError(
          "Nothing of thread %s was decided again: its journal has no entry"
              .formatted(journal.threadId()));
    }
    return this;
  }
}
