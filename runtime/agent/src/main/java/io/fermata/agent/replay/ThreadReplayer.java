package io.fermata.agent.replay;

import io.fermata.agent.Agent;
import io.fermata.agent.Agents;
import io.fermata.agent.engine.ThreadRedecision;
import io.fermata.agent.state.EarlierEntries;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadState;
import io.fermata.flow.Flow;
import io.fermata.flow.event.JournalCheck.Difference;
import io.fermata.flow.replay.JournalEntry;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Decides the entries of a thread's journal again as they pass, and keeps none of them: a journal
 * may be longer than the memory. What is compared is in {@link ThreadReplay}.
 */
public final class ThreadReplayer {
  private final Agents agents;
  private final ThreadRedecision again;
  private final ThreadSecrets secrets;
  private @Nullable ThreadDivergence request;
  private @Nullable ThreadDivergence decision;
  private int decided;

  /**
   * Begins with an empty thread.
   *
   * @param agents the present code of the thread's agents, and of those that they refer to
   * @param flows flows that the agents may call; values of their secret fields are in no text
   * @param earlier the journal; it is asked for what code reads from entries that have passed
   */
  public ThreadReplayer(
      Collection<Agent> agents, Collection<Flow<?>> flows, EarlierEntries earlier) {
    this.agents = new Agents(agents);
    again = new ThreadRedecision(this.agents, earlier);
    secrets = ThreadSecrets.of(agents, flows);
  }

  /**
   * Decides the next entry, the first being the thread's first; after another decision its secrets
   * count.
   *
   * @return the entry as if models had been asked what the present code asks; without what they
   *     were asked where that is not known, as it is not after another decision
   */
  public JournalEntry<ThreadEvent> decide(JournalEntry<ThreadEvent> entry) {
    entry.events().forEach(secrets::learn);
    if (decision != null) {
      return entry.with(unasked(entry.events()));
    }
    Difference<ThreadState, ThreadEvent> difference =
        again.decide(entry.seq(), entry.at(), entry.events());
    decided++;
    Difference<ThreadState, ThreadEvent> other = again.request();
    if (request == null && other != null) {
      request = new ThreadDivergence(entry, other, OtherRequest.of(other, agents), secrets);
    }
    if (difference != null) {
      difference.now().forEach(secrets::learn);
      decision = new ThreadDivergence(entry, difference, null, secrets);
      return entry.with(unasked(entry.events()));
    }
    return entry.with(again.asked(entry.events()));
  }

  private static List<ThreadEvent> unasked(List<ThreadEvent> events) {
    return events.stream()
        .map(event -> event instanceof ThreadEvent.StepEnded ended ? ended.asking(null) : event)
        .toList();
  }

  /** A text without the secrets that the entries so far have. */
  public String masked(String text) {
    return secrets.masked(text);
  }

  /** How many entries were decided again and compared. */
  public int decided() {
    return decided;
  }

  /**
   * Where the code first asks a model otherwise, and where it first decides otherwise, in their
   * order; empty if it has done neither yet.
   */
  public List<ThreadDivergence> divergences() {
    return Stream.of(Optional.ofNullable(request), Optional.ofNullable(decision))
        .flatMap(Optional::stream)
        .toList();
  }
}
