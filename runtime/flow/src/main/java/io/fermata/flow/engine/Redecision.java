package io.fermata.flow.engine;

import io.fermata.flow.Flow;
import io.fermata.flow.Graph;
import io.fermata.flow.event.ErrorCode;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Input;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.event.Program;
import io.fermata.flow.event.RunState;
import io.fermata.flow.json.Limits;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Decides the entries of a run again. What came from outside is taken from the journal: calls,
 * signals, time, and the results of effects, none of which is performed. Everything else is
 * computed again and compared.
 */
public final class Redecision {
  private final FlowProgram<?> program;
  private final Graph graph;
  private final PendingEffects wanted;
  private RunState state = RunState.NONE;

  /**
   * Where the present code decides otherwise.
   *
   * @param before the state up to which they agree
   * @param recorded the rest of the entry in the journal, from the event that differs
   * @param now the same of the present code
   * @param refused why the present code refuses what came in; null if it does not
   */
  public record Difference(
      RunState before, List<Event> recorded, List<Event> now, Outcome.@Nullable Failure refused) {}

  public Redecision(Flow<?> flow, Limits limits) {
    this.program = FlowProgram.of(flow, limits);
    this.graph = flow.graph();
    this.wanted = new PendingEffects(graph);
  }

  /** The state after what was taken or decided so far. */
  public RunState state() {
    return state;
  }

  /** Takes events as they are. */
  public void take(List<Event> events) {
    state = state.apply(events);
  }

  /** Decides the next entry again. Null if the same comes of it. */
  public @Nullable Difference decide(long at, List<Event> events) {
    int begun = forked(events);
    take(events.subList(0, begun));
    boolean forks = begun > 0;
    List<Event> rest = events.subList(begun, events.size());
    while (!rest.isEmpty()) {
      int same = 0;
      Difference likeliest = null;
      for (Program.Acceptance<Event> now : again(rest, at, forks)) {
        Difference difference = difference(rest, now);
        if (difference == null) {
          same = ((Program.Accepted<Event>) now).events().size();
          break;
        }
        likeliest = likeliest == null ? difference : likeliest;
      }
      if (same == 0) {
        return likeliest == null ? new Difference(state, rest, List.of(), null) : likeliest;
      }
      state = state.apply(rest.subList(0, same));
      rest = rest.subList(same, rest.size());
    }
    return null;
  }

  /**
   * What would follow a difference: the run continues on the way of the present code, with the
   * inputs that the rest of the journal has for it. Nothing is performed.
   *
   * @param at when the entry of the difference was written
   * @param later the events of the entries after it
   * @return the events from the difference on
   */
  public List<Event> sequel(Difference difference, long at, List<Event> later) {
    List<Event> journal = new ArrayList<>(difference.recorded());
    journal.addAll(later);
    List<Event> events = new ArrayList<>(difference.now());
    RunState begin = difference.before().apply(difference.now());
    events.addAll(new Sequel(program, wanted, begin, at).of(journal));
    return events;
  }

  /** How many events of an entry happened in the run that this one is forked from. */
  private static int forked(List<Event> events) {
    for (int i = events.size() - 1; i >= 0; i--) {
      if (events.get(i) instanceof Event.ForkedFrom) {
        return i + 1;
      }
    }
    return 0;
  }

  /** What the present code makes of the inputs that the first of the events may have come from. */
  private List<Program.Acceptance<Event>> again(List<Event> rest, long at, boolean forks) {
    Event first = rest.get(0);
    if (first instanceof Event.Migrated) {
      return List.of(migrated(rest));
    } else if (first instanceof Event.Abandoned && rest.size() == 1) {
      return List.of(new Program.Accepted<>(rest));
    }
    List<Program.Acceptance<Event>> again = new ArrayList<>();
    if (!(first instanceof Event.Stopped stopped && Drive.ofDiscarded(stopped))) {
      RecordedInputs inputs = new RecordedInputs(program, graph, wanted, state, rest, at);
      for (Input input : inputs.candidates()) {
        again.add(program.accept(state, input));
      }
    }
    if (first instanceof Event.Stopped stopped
        && (stopped.code() != ErrorCode.OUTCOME_UNKNOWN || again.isEmpty())) {
      // What a step returned and could not be kept is not in the journal.
      again.add(program.following(state, first, at));
    }
    if (forks) {
      again.add(program.onward(state, at));
    }
    return again;
  }

  /** A migration to another version than the present one is not known here. */
  private Program.Acceptance<Event> migrated(List<Event> rest) {
    int count = 0;
    while (count < rest.size() && rest.get(count) instanceof Event.Migrated) {
      count++;
    }
    Event.Migrated last = (Event.Migrated) rest.get(count - 1);
    return last.to() == program.flow().version()
        ? program.migrate(state, last.at())
        : new Program.Accepted<>(rest);
  }

  private @Nullable Difference difference(List<Event> rest, Program.Acceptance<Event> again) {
    if (again instanceof Program.Refused<Event> refused) {
      return new Difference(state, rest, List.of(), refused.failure());
    }
    List<Event> now = ((Program.Accepted<Event>) again).events();
    int same = 0;
    while (same < Math.min(rest.size(), now.size()) && same(rest.get(same), now.get(same))) {
      same++;
    }
    return same > 0 && same == now.size()
        ? null
        : new Difference(
            state.apply(rest.subList(0, same)),
            rest.subList(same, rest.size()),
            now.subList(same, now.size()),
            null);
  }

  /** Whether two events have the same effect: other rules may lead the same way. */
  static boolean same(Event recorded, Event now) {
    if (recorded instanceof Event.Decided was && now instanceof Event.Decided is) {
      return was.place().equals(is.place()) && was.targets().equals(is.targets());
    } else if (recorded instanceof Event.Started was && now instanceof Event.Started is) {
      return was.runId().equals(is.runId()) && was.intent().equals(is.intent());
    } else if (recorded instanceof Event.Migrated was && now instanceof Event.Migrated is) {
      return was.equals(
          new Event.Migrated(
              is.from(),
              is.to(),
              was.fingerprint(),
              is.nodes(),
              is.fields(),
              is.rewrites(),
              is.places(),
              is.at()));
    }
    return recorded.equals(now);
  }
}
