package io.fermata.flow.engine;

import io.fermata.flow.Flow;
import io.fermata.flow.Graph;
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
 *
 * <p>What other code has decided is taken as it is: a migration to another version, and what the
 * source of a fork did. From there on the present code decides again, if it can continue the run.
 */
public final class Redecision extends JournalCheck<RunState, Event> {
  private final FlowProgram<?> program;
  private final Graph graph;
  private final PendingEffects wanted;

  /** What the version that the run is on calls things otherwise. */
  private EventNames names = EventNames.SAME;

  /** The state as the journal has it. */
  private RunState journaled;

  /** Whether that is another one: under other names, or not carried over. */
  private boolean apart;

  /** When other code brought the run to where the present code continues; null if it did not. */
  private @Nullable Long takenOver;

  private List<Event> entry = List.of();
  private boolean restarted;
  private Migrations.@Nullable Unfit unfit;

  /**
   * What would follow a difference.
   *
   * @param endless whether the run sleeps on and on, and was not followed to its end
   */
  public record Onward(List<Event> events, boolean endless) {}

  public Redecision(Flow<?> flow, Limits limits) {
    this(flow, limits, RunState.NONE);
  }

  /** Continues after entries that were folded elsewhere. */
  public Redecision(Flow<?> flow, Limits limits, RunState initial) {
    super(initial);
    this.journaled = initial;
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
    journaled = state();
  }

  /**
   * Decides the next entry again. Null if the same comes of it, or if it is not compared because
   * the present code {@linkplain #unfit cannot continue} the run.
   */
  public @Nullable Difference<RunState, Event> decide(long at, List<Event> events) {
    entry = List.of();
    restarted = false;
    takenOver = null;
    int fork = forked(events);
    int done = 0;
    while (done < events.size() && unfit == null) {
      boolean source = done < fork;
      int migrated = migrated(events, done);
      if (migrated > done) {
        restart();
      }
      if (migrated > done && (source || !comesHere(events.get(migrated - 1)))) {
        takeMigration(events.subList(done, migrated), source);
        done = migrated;
        continue;
      }
      int next = next(events, migrated, fork);
      boolean whole = done == 0 && next == events.size();
      List<Event> some = named(whole ? events : events.subList(done, next));
      Difference<RunState, Event> difference = source ? taken(some) : decided(at, some);
      if (difference != null) {
        return next == events.size() ? difference : with(difference, events, next);
      }
      journaled = apart ? journaled.apply(events.subList(done, next)) : state();
      done = next;
      if (done == fork && migrated(events, done) == done) {
        takeOver(at);
      }
    }
    return unfit == null ? onward() : null;
  }

  /** Why the present code cannot continue the run from some entry on; null if it can. */
  public @Nullable String unfit() {
    return unfit == null ? null : unfit.getMessage();
  }

  /** The same without what only this run says, such as a value that a migration refuses. */
  public @Nullable String unfitKind() {
    return unfit == null ? null : unfit.kind;
  }

  /** The last entry as it was decided: under the names of the present code. */
  public List<Event> entry() {
    return entry;
  }

  /** Whether the names of the journal count for what was before the last entry. */
  public boolean restarted() {
    return restarted;
  }

  /** The state of the run under the names that it has in the journal. */
  public RunState journaled() {
    return journaled;
  }

  /**
   * The events that follow a difference under the names of the present code, entry by entry. A
   * migration that only changes names is not among them.
   */
  public List<Event> following(List<Event> events) {
    List<Event> following = new ArrayList<>();
    for (int i = 0; i < events.size(); i++) {
      if (events.get(i) instanceof Event.Migrated migrated) {
        EventNames then = program.names(migrated.to());
        if (names.same() && then.same()) {
          following.add(migrated);
        }
        names = then;
      } else {
        following.addAll(names.of(events.subList(i, i + 1)));
      }
    }
    return following;
  }

  // --- what other code decided ------------------------------------------------------------------

  /** How many events of an entry happened in the run that this one is forked from. */
  private static int forked(List<Event> events) {
    for (int i = events.size() - 1; i >= 0; i--) {
      if (events.get(i) instanceof Event.ForkedFrom) {
        return i + 1;
      }
    }
    return 0;
  }

  /** Where the migrations end that begin at an event; there itself if none does. */
  private static int migrated(List<Event> events, int begin) {
    int end = begin;
    while (end < events.size() && events.get(end) instanceof Event.Migrated) {
      end++;
    }
    return end;
  }

  private boolean comesHere(Event event) {
    return ((Event.Migrated) event).to() == program.flow().version();
  }

  /** Where a migration begins or what happened in the source of a fork ends. */
  private static int next(List<Event> events, int from, int fork) {
    int next = from;
    while (next < events.size()
        && (next == from || next != fork)
        && !(events.get(next) instanceof Event.Migrated)) {
      next++;
    }
    return next;
  }

  /** A migration is one of what the journal has. */
  private void restart() {
    restarted = true;
    names = EventNames.SAME;
    apart = false;
    continueWith(journaled);
  }

  private void takeMigration(List<Event> migrations, boolean source) {
    continueWith(state().apply(migrations));
    journaled = state();
    add(migrations);
    Event last = migrations.get(migrations.size() - 1);
    try {
      List<Event> further = comesHere(last) ? List.of() : program.carried(state(), last.at());
      continueWith(state().apply(further));
      add(further);
      apart = !further.isEmpty();
      names = apart ? program.names(journaled.version()) : EventNames.SAME;
      takenOver = source ? null : Long.valueOf(last.at());
    } catch (Migrations.Unfit e) {
      // Of a fork only counts whether it fits in the end.
      unfit = source ? null : e;
    }
  }

  private void takeOver(long at) {
    try {
      program.requireFits(state());
      takenOver = at;
    } catch (Migrations.Unfit e) {
      unfit = e;
    }
  }

  private List<Event> named(List<Event> events) {
    for (Event event : events) {
      if (event instanceof Event.Started started) {
        names = program.names(started.version());
        apart = !names.same();
      }
    }
    return names.of(events);
  }

  /** Most entries are decided as a whole, under the names that they have. */
  private void add(List<Event> events) {
    if (entry.isEmpty()) {
      entry = events;
    } else if (!events.isEmpty()) {
      entry = new ArrayList<>(entry);
      entry.addAll(events);
    }
  }

  private @Nullable Difference<RunState, Event> taken(List<Event> events) {
    continueWith(state().apply(events));
    add(events);
    return null;
  }

  private @Nullable Difference<RunState, Event> decided(long at, List<Event> events) {
    add(events);
    return decide(0, at, events);
  }

  /** What the run should have done by itself when it was taken over, and did not. */
  private @Nullable Difference<RunState, Event> onward() {
    List<Event> now = takenOver == null ? List.of() : program.onward(state(), takenOver).events();
    return now.isEmpty() ? null : new Difference<>(state(), List.of(), now, null);
  }

  private Difference<RunState, Event> with(
      Difference<RunState, Event> difference, List<Event> events, int next) {
    List<Event> rest = following(events.subList(next, events.size()));
    add(rest);
    List<Event> recorded = new ArrayList<>(difference.recorded());
    recorded.addAll(rest);
    return new Difference<>(difference.before(), recorded, difference.now(), difference.refused());
  }

  /**
   * What would follow a difference: the run continues on the way of the present code, with the
   * inputs that the rest of the journal has for it. Nothing is performed.
   *
   * @param at when the entry of the difference was written
   * @param later the events of the entries after it
   * @return what happens from the difference on
   */
  public Onward sequel(Difference<RunState, Event> difference, long at, List<Event> later) {
    Sequel sequel = new Sequel(program, wanted, difference, at);
    List<Event> events = new ArrayList<>(difference.now());
    events.addAll(sequel.of(later));
    return new Onward(events, sequel.endless());
  }

  @Override
  protected Stream<Program.Acceptance<RunState, Event>> again(List<Event> rest, long at) {
    Event first = rest.get(0);
    if (first instanceof Event.Migrated) {
      return Stream.of(migrated(rest));
    } else if (first instanceof Event.Abandoned && rest.size() == 1) {
      return Stream.of(new Program.Accepted<>(rest));
    }
    RunState state = state();
    List<Program.Acceptance<RunState, Event>> again = new ArrayList<>();
    if (first instanceof Event.Stopped stopped && EffectAttempts.ofDiscarded(stopped)) {
      // What a step returned and could not be kept is not in the journal.
      again.add(program.following(state, first, stopped.at()));
    } else {
      RecordedInputs inputs = new RecordedInputs(program, graph, wanted, state, rest, at);
      for (Input input : inputs.candidates()) {
        again.add(program.accept(state, input));
      }
    }
    if (takenOver != null) {
      again.add(program.onward(state, takenOver));
    }
    return again.stream();
  }

  private Program.Acceptance<RunState, Event> migrated(List<Event> rest) {
    return program.takeOver(state(), rest.get(migrated(rest, 0) - 1).at());
  }

  /** Whether two events have the same effect: other rules may lead the same way. */
  @Override
  protected boolean same(Event recorded, Event now) {
    if (recorded instanceof Event.Decided was && now instanceof Event.Decided is) {
      return was.place().equals(is.place()) && was.targets().equals(is.targets());
    } else if (recorded instanceof Event.Started was && now instanceof Event.Started is) {
      return was.runId().equals(is.runId()) && was.intent().equals(is.intent());
    } else if (recorded instanceof Event.Migrated was && now instanceof Event.Migrated is) {
      return was.equals(is.fingerprinted(was.fingerprint()));
    } else if (recorded instanceof Event.Stopped was && now instanceof Event.Stopped is) {
      return was.equals(names.same() ? is : said(is, was));
    }
    return recorded.equals(now);
  }

  /** A stop in the words of another one, which may name what is called otherwise now. */
  private static Event.Stopped said(Event.Stopped stopped, Event.Stopped other) {
    return new Event.Stopped(
        stopped.place(),
        stopped.resume(),
        stopped.code(),
        other.message(),
        other.detail(),
        stopped.field(),
        stopped.dropped(),
        stopped.at());
  }
}
