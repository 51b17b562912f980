package io.fermata.flow.replay;

import io.fermata.flow.Flow;
import io.fermata.flow.engine.Redecision;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.RunState;
import io.fermata.flow.json.Limits;
import org.jspecify.annotations.Nullable;

/**
 * Decides the entries of a run's journal again as they pass, and keeps none of them: a journal may
 * be longer than the memory. What is otherwise in a run that parts from its journal depends on all
 * that follows, so {@link Replay} says it, of the whole journal.
 */
public final class RunReplayer {
  private final Flow<?> flow;
  private final Limits limits;

  /** Null while nothing is compared: the run has parted from its journal, or cannot continue. */
  private @Nullable Redecision again;

  private RunState state = RunState.NONE;
  private boolean same = true;
  private boolean foldable = true;

  /**
   * Begins with a run that has not started.
   *
   * @param limits those of the host that wrote the journal
   */
  public RunReplayer(Flow<?> flow, Limits limits) {
    this.flow = flow;
    this.limits = limits;
    this.again = new Redecision(flow, limits);
  }

  /**
   * Decides the next entry, the first being that of the start. What came before a migration to the
   * version of the flow does not count.
   */
  public void decide(JournalEntry<Event> entry) {
    if (foldable) {
      try {
        state = after(entry);
      } catch (RuntimeException e) {
        // A journal of other code may hold what this code cannot even fold.
        foldable = false;
      }
    }
  }

  private RunState after(JournalEntry<Event> entry) {
    Event.Migrated migrated = Replay.migrated(entry);
    if (migrated != null && migrated.to() == flow.version()) {
      again = new Redecision(flow, limits, state);
      same = true;
    }
    if (again != null && !decidesSame(again, entry)) {
      again = null;
      same = false;
    }
    return again == null ? state.apply(entry.events()) : again.journaled();
  }

  private static boolean decidesSame(Redecision again, JournalEntry<Event> entry) {
    try {
      return again.decide(entry.at(), entry.events()) == null && again.unfit() == null;
    } catch (RuntimeException e) {
      return false;
    }
  }

  /** Whether all entries so far are decided as they were, and were compared. */
  public boolean same() {
    return foldable && same;
  }

  /** The state of the run after the entries so far, as the journal has it. */
  public RunState state() {
    return state;
  }
}
