package io.fermata.flow.replay;

import io.fermata.flow.Flow;
import io.fermata.flow.engine.Redecision;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.JournalCheck;
import io.fermata.flow.event.RunState;
import io.fermata.flow.json.Limits;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
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
 * run on another version as if it had begun on this one, under the names that the migrations of
 * this flow give to what it called otherwise. What other code decided is taken as it is: a
 * migration to another version, and in a fork what its source did. If this flow cannot continue the
 * run from there, the rest is not compared. A decision is the same if it leads the same way,
 * whichever rule it was. Of the retry policy only its number of attempts is compared, not its
 * delays.
 *
 * @param decided how many entries were decided again and compared
 * @param divergence where the code first decides otherwise; null if it never does
 * @param uncompared from where on nothing is compared; null if everything is, up to a divergence
 */
public record Replay(
    RunJournal journal,
    int decided,
    @Nullable Divergence divergence,
    @Nullable Uncompared uncompared) {

  /**
   * The rest of a run, which is not compared.
   *
   * @param entry the number of its first entry
   * @param reason why the code cannot continue the run there; secrets are masked
   * @param kind the same without what only this run says, to count runs by
   */
  public record Uncompared(long entry, String reason, String kind) {
    /** Both, for people. */
    public String text() {
      return "It is not compared from entry %s on, because %s".formatted(entry, reason);
    }
  }

  /** Decides a journal again, within the default limits. */
  public static Replay of(Flow<?> flow, RunJournal journal) {
    return of(flow, Limits.DEFAULT, journal);
  }

  /**
   * Decides a journal again.
   *
   * @param limits those of the host that wrote it
   * @throws IllegalStateException if the journal is {@linkplain RunJournal#redacted redacted}
   */
  public static Replay of(Flow<?> flow, Limits limits, RunJournal journal) {
    journal.whole();
    Redecision again = new Redecision(flow, limits);
    List<JournalEntry<Event>> entries = journal.entries();
    List<JournalEntry<Event>> named = new ArrayList<>(entries);
    int begin = begin(flow, entries);
    entries.subList(0, begin).forEach(entry -> again.take(entry.events()));
    for (int i = begin; i < entries.size(); i++) {
      JournalEntry<Event> entry = entries.get(i);
      JournalCheck.Difference<RunState, Event> difference =
          again.decide(entry.at(), entry.events());
      String unfit = again.unfit();
      if (unfit != null) {
        String reason = journal.secrets(flow.secretFields()).masked(unfit);
        String kind = Objects.requireNonNull(again.unfitKind());
        return new Replay(journal, i - begin, null, new Uncompared(entry.seq(), reason, kind));
      } else if (again.restarted()) {
        named = new ArrayList<>(entries);
      }
      named.set(i, entry.with(again.entry()));
      if (difference != null) {
        for (int later = i + 1; later < entries.size(); later++) {
          JournalEntry<Event> each = entries.get(later);
          named.set(later, each.with(again.following(each.events())));
        }
        RunJournal compared = new RunJournal(journal.flow(), journal.runId(), named);
        Divergence divergence = new Divergence(flow, compared, named.get(i), again, difference);
        return new Replay(journal, i - begin + 1, divergence, null);
      }
    }
    return new Replay(journal, entries.size() - begin, null, null);
  }

  /** The entry that carries the run over to the version of the flow; the first if none does. */
  private static int begin(Flow<?> flow, List<JournalEntry<Event>> entries) {
    for (int i = entries.size() - 1; i >= 0; i--) {
      Event.Migrated migrated = migrated(entries.get(i));
      if (migrated != null && migrated.to() == flow.version()) {
        return i;
      }
    }
    return 0;
  }

  /** The last migration of an entry; what happened in the source of a fork is none of its own. */
  static Event.@Nullable Migrated migrated(JournalEntry<Event> entry) {
    Event.Migrated last = null;
    for (Event event : entry.events()) {
      last = event instanceof Event.Migrated migrated ? migrated : last;
      last = event instanceof Event.ForkedFrom ? null : last;
    }
    return last;
  }

  /** Whether the run was decided as it was, and all of it was compared. */
  public boolean same() {
    return divergence == null && uncompared == null;
  }

  /** What would have been otherwise in this run; empty if it is the same. */
  public List<Change> changes() {
    return divergence == null ? List.of() : divergence.changes();
  }

  /**
   * Fails if the code decides otherwise, with what was recorded and what comes now.
   *
   * @throws AssertionError if it does, or if something was not compared
   */
  public Replay requireSame() {
    if (divergence != null) {
      throw new AssertionError(divergence.text());
    } else if (uncompared != null) {
      throw new AssertionError(
          "Run %s of %s was not decided again as a whole. %s."
              .formatted(journal.runId(), journal.flow(), uncompared.text()));
    } else if (decided == 0) {
      throw new AssertionError(
          "Nothing of run " + journal.runId() + " was decided again: its journal has no entry");
    }
    return this;
  }
}
