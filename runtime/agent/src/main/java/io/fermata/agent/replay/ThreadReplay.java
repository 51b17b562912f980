package io.fermata.agent.replay;

import io.fermata.agent.Agent;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.flow.Flow;
import io.fermata.flow.replay.JournalEntry;
import java.util.Collection;
import java.util.List;
import java.util.stream.Collectors;
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
 * <p>What models are asked is made again, too, and compared with a digest in the journal: the
 * instructions, the messages after windows and hooks, and the tools that are offered. Where that is
 * something else, the thread is decided further with the replies that there were, so a request that
 * is meant to be another one hides no decision. The comparison ends at the first other decision:
 * from there on the thread is not the one in the journal.
 *
 * <p>Not compared are which model is asked, and requests that were not answered or ask for a
 * summary. Variables of the host are left out of instructions, and what a hook makes that has seen
 * one is not compared: the journal has none. Times are not compared, and neither are the delays of
 * retries and of scheduled work. Hooks see the thread, its files and its environment as they were,
 * but no variable of the host; an entry whose hooks invoke a tool is taken as it is, and so are the
 * hooks for messages that tools themselves add. A hook that acts on the world outside acts again,
 * and one that reads a clock reads another time: let it read {@link
 * io.fermata.agent.message.Message#createdAt} of the latest message.
 *
 * @param decided how many entries were decided again and compared
 * @param divergences where the code first {@linkplain ThreadDivergence#ofRequest asks a model
 *     otherwise}, and where it first decides otherwise, in their order
 */
public record ThreadReplay(ThreadJournal journal, int decided, List<ThreadDivergence> divergences) {
  public ThreadReplay {
    divergences = List.copyOf(divergences);
  }

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
    for (JournalEntry<ThreadEvent> entry : journal.entries()) {
      replayer.decide(entry);
    }
    return new ThreadReplay(journal, replayer.decided(), replayer.divergences());
  }

  /** Where the code first asks or decides otherwise; null if it never does. */
  public @Nullable ThreadDivergence divergence() {
    return divergences.isEmpty() ? null : divergences.get(0);
  }

  public boolean same() {
    return divergences.isEmpty();
  }

  /**
   * Fails if the code asks or decides otherwise, with what was recorded and what comes now.
   *
   * @throws AssertionError if it does, or if nothing was compared
   */
  public ThreadReplay requireSame() {
    if (!same()) {
      throw new AssertionError(
          divergences.stream().map(ThreadDivergence::text).collect(Collectors.joining("\n")));
    } else if (decided == 0) {
      throw new AssertionError(
          "Nothing of thread %s was decided again: its journal has no entry"
              .formatted(journal.threadId()));
    }
    return this;
  }
}
