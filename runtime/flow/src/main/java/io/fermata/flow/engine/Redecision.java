package io.fermata.flow.engine;

import io.fermata.flow.Flow;
import io.fermata.flow.Graph;
import io.fermata.flow.event.ErrorCode;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Input;
import io.fermata.flow.event.JournalCheck;
import io.fermata.flow.event.Program;
import io.fermata.flow.event.RunState;
import io.fermata.flow.json.Limits;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Decides the entries of a run again. What came from outside is taken from the journal: calls,
 * signals, time, and the results of effects, none of which is performed. Everything else is
 * computed again and compared.
 */
public final class Redecision extends JournalCheck<RunState, Event> {
  private final FlowProgram<?> program;
  private final Graph graph;
  private final PendingEffects wanted;

  /** Whether the entry that is decided is the first of a run that was forked. */
  private boolean forks;

  public Redecision(Flow<?> flow, Limits limits) {
    this(flow, limits, RunState.NONE);
  }

  /** Goes on after entries that were folded elsewhere. */
  public Redecision(Flow<?> flow, Limits limits, RunState initial) {
    super(initial);
    this.program = FlowProgram.of(flow, limits);
    this.graph = flow.graph();
    this.wanted = new PendingEffects(graph);
  }

  @Override
  protected RunState apply(RunState before, List<Event> events, long seq, int index) {
    return before.apply(events);
  }

  /** Takes events as they are. */
  public void take(List<Event> events) {
    take(0, events);
  }

  /** Decides the next entry again. Null if the same comes of it. */
  public @Nullable Difference<RunState, Event> decide(long at, List<Event> events) {
    int begun = forked(events);
    take(events.subList(0, begun));
    forks = begun > 0;
    return decide(0, at, events.subList(begun, events.size()));
  }

  /**
   * What would follow a difference: the run continues on the way of the present code, with the
   * inputs that the rest of the journal has for it. Nothing is performed.
   *
   * @param at when the entry of the difference was written
   * @param later the events of the entries after it
   * @return the events from the difference on
   */
  public List<Event> sequel(Difference<RunState, Event> difference, long at, List<Event> later) {
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

  @Override
  protected Stream<Program.Acceptance<Event>> again(List<Event> rest, long at) {
    Event first = rest.get(0);
    if (first instanceof Event.Migrated) {
      return Stream.of(migrated(rest));
    } else if (first instanceof Event.Abandoned && rest.size() == 1) {
      return Stream.of(new Program.Accepted<>(rest));
    }
    RunState state = state();
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
    return again.stream();
  }

  /** A migration to another version than the present one is not known here. */
  private Program.Acceptance<Event> migrated(List<Event> rest) {
    int count = 0;
    while (count < rest.size() && rest.get(count) instanceof Event.Migrated) {
      count++;
    }
    Event.Migrated last = (Event.Migrated) rest.get(count - 1);
    return last.to() == program.flow().version()
        ? program.migrate(state(), last.at())
        : new Program.Accepted<>(rest);
  }

  /** Whether two events have the same effect: other rules may lead the same way. */
  @Override
  protected boolean same(Event recorded, Event now) {
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
