package io.fermata.flow.replay;

import io.fermata.flow.Flow;
import io.fermata.flow.engine.Redecision;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.JournalCheck;
import io.fermata.flow.event.RunState;
import io.fermata.flow.json.Limits;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A run that was decided again by the present code of its flow. Calls, signals, time and the
 * results of effects come from the journal; no effect is performed. Decisions, validators, texts of
 * questions, widgets, computed values, joins, reducers, retries, migrations and the result are
 * computed again and compared, event by event.
 *
 * <pre>{@code
 * Replay.of(quote, journal).requireSame();
 * }</pre>
 *
 * <p>A run that was carried over to the version of this flow is compared from its migration on; a
 * run on another version as if it had begun on this one. A decision is the same if it leads the
 * same way, whichever rule it was. Of the retry policy only its number of attempts is compared, not
 * its delays.
 *
 * @param decided how many entries were decided again and compared
 * @param divergence where the code first decides otherwise; null if it never does
 */
public record Replay(RunJournal journal, int decided, @Nullable Divergence divergence) {

  /** Decides a journal again, within the default limits. */
  public static Replay of(Flow<?> flow, RunJournal journal) {
    return of(flow, Limits.DEFAULT, journal);
  }

  /**
   * Decides a journal again.
   *
   * @param limits those of the host that wrote it
   */
  public static Replay of(Flow<?> flow, Limits limits, RunJournal journal) {
    Redecision again = new Redecision(flow, limits);
    int begin = begin(flow, journal.entries());
    int decided = 0;
    for (int i = 0; i < journal.entries().size(); i++) {
      RunJournal.Entry entry = journal.entries().get(i);
      if (i < begin) {
        again.take(entry.events());
        continue;
      } else if (leaves(flow, entry)) {
        break;
      }
      JournalCheck.Difference<RunState, Event> difference =
          again.decide(entry.at(), entry.events());
      decided++;
      if (difference != null) {
        return new Replay(
            journal, decided, new Divergence(flow, journal, entry, again, difference));
      }
    }
    return new Replay(journal, decided, null);
  }

  /** The entry that carries the run over to the version of the flow; the first if none does. */
  private static int begin(Flow<?> flow, List<RunJournal.Entry> entries) {
    for (int i = entries.size() - 1; i >= 0; i--) {
      Event.Migrated migrated = migrated(entries.get(i));
      if (migrated != null && migrated.to() == flow.version()) {
        return i;
      }
    }
    return 0;
  }

  /** Whether an entry carries the run over to another version, which this code does not know. */
  private static boolean leaves(Flow<?> flow, RunJournal.Entry entry) {
    Event.Migrated migrated = migrated(entry);
    return migrated != null && migrated.to() != flow.version();
  }

  static Event.@Nullable Migrated migrated(RunJournal.Entry entry) {
    Event.Migrated last = null;
    for (Event event : entry.events()) {
      last = event instanceof Event.Migrated migrated ? migrated : last;
    }
    return last;
  }

  public boolean same() {
    return divergence == null;
  }

  /** What would have been otherwise in this run; empty if it is the same. */
  public List<Change> changes() {
    return divergence == null ? List.of() : divergence.changes();
  }

  /**
   * Fails if the code decides otherwise, with what was recorded and what comes now.
   *
   * @throws AssertionError if it does, or if nothing was compared
   */
  public Replay requireSame() {
    if (divergence != null) {
      throw new AssertionError(divergence.text());
    } else if (decided == 0) {
      throw new AssertionError(
          "Nothing of run " + journal.runId() + " was decided again: its journal has no entry");
    }
    return this;
  }
}
