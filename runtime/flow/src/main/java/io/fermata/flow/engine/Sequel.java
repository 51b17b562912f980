package io.fermata.flow.engine;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Graph;
import io.fermata.flow.event.ErrorCode;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Input;
import io.fermata.flow.event.JournalCheck.Difference;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.event.Phase;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.PlaceState;
import io.fermata.flow.event.Program;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.StepEffect;
import io.fermata.flow.event.Tagging;
import io.fermata.flow.json.Json;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Continues a run that has left its journal, with what the journal still has for it: answers to the
 * same questions, signals, results and failures of the same steps, moments. Nothing is performed.
 * It stops at the end of the run, or where the journal has nothing for it.
 */
final class Sequel {
  /**
   * How often a run may sleep beyond what its journal has. Any other input uses up a part of the
   * journal, so that only a loop of sleeps might have no end.
   */
  private static final int MORE_SLEEPS = 1_000;

  private final FlowProgram<?> program;
  private final Graph graph;
  private final PendingEffects wanted;
  private final Difference<RunState, Event> difference;
  private final List<Event> events = new ArrayList<>();
  private RunState state;
  private long at;

  // --- what the journal has

  private final Map<String, Deque<JsonNode>> answers = new HashMap<>();
  private final Map<String, Deque<Came>> signals = new HashMap<>();
  private final Map<Work, List<Ended>> results = new HashMap<>();
  private final Map<Place, Work> begun = new HashMap<>();
  private final Map<String, List<Ended>> skips = new HashMap<>();
  private final Set<String> missed = new HashSet<>();

  /** Failures that nothing has followed from yet. */
  private final List<Ended> failures = new ArrayList<>();

  private Tagging tagging = Tagging.NONE;
  private int came;
  private int passes;
  private int sleeps = MORE_SLEEPS;
  private boolean endless;

  /**
   * A signal.
   *
   * @param number how many came before it
   */
  private record Came(int number, Event.Signalled signal) {}

  /**
   * What a node has performed.
   *
   * @param field the field whose answer it checked; null if it is a step
   */
  private record Work(String node, @Nullable String field) {}

  /**
   * A result of an effect.
   *
   * @param tagged the tags that it gave the run, and those that it took away
   */
  private record Ended(Place place, Work work, Event event, Tagging tagged) {}

  Sequel(
      FlowProgram<?> program,
      PendingEffects wanted,
      Difference<RunState, Event> difference,
      long at) {
    this.program = program;
    this.graph = program.flow().graph();
    this.wanted = wanted;
    this.difference = difference;
    this.state = difference.before().apply(difference.now());
    this.at = at;
  }

  /**
   * What follows, with what the journal still has.
   *
   * @param later the events of the entries after the one that differs
   */
  List<Event> of(List<Event> later) {
    difference.before().places().forEach(this::begun);
    keep(unused());
    keep(later);
    boolean advances = true;
    while (advances) {
      advances = state.running() && advance();
    }
    return List.copyOf(events);
  }

  /** Whether the run was not followed any further although the journal has more for it. */
  boolean endless() {
    return endless;
  }

  /** The rest of the entry that differs, but for a result that something else comes of now. */
  private List<Event> unused() {
    List<Event> recorded = difference.recorded();
    List<Event> now = difference.now();
    boolean used = !recorded.isEmpty() && !now.isEmpty() && ofOne(recorded.get(0), now.get(0));
    return used ? recorded.subList(1, recorded.size()) : recorded;
  }

  /** Whether two events end the same effect. */
  private boolean ofOne(Event recorded, Event now) {
    return (failed(recorded) || succeeded(recorded))
        && (failed(now) || succeeded(now))
        && RecordedInputs.effectOf(recorded).equals(RecordedInputs.effectOf(now))
        && work(recorded).equals(work(now));
  }

  private void keep(List<Event> journal) {
    for (Event event : journal) {
      keep(event);
      tagging = event instanceof Event.Tagged tagged ? tagged.tagging() : Tagging.NONE;
    }
  }

  private void keep(Event event) {
    if (event instanceof Event.Answered answered) {
      answered.values().forEach(this::answered);
      passes += answered.acknowledged() != null || answered.left() != null ? 1 : 0;
    } else if (event instanceof Event.Reset reset) {
      reset.corrected().forEach(this::answered);
      failures.clear();
    } else if (event instanceof Event.Signalled signalled) {
      signals
          .computeIfAbsent(signalled.signal(), name -> new ArrayDeque<>())
          .add(new Came(came++, signalled));
    } else if (event instanceof Event.Woken) {
      sleeps++;
    } else if (event instanceof Event.DeadlinePassed passed) {
      sleeps++;
      missed.add(passed.place().node());
    } else {
      keepResult(event);
    }
  }

  private void keepResult(Event event) {
    if (event instanceof Event.Attempted attempted) {
      Place place = attempted.place();
      begun.put(place, new Work(place.node(), attempted.field()));
    } else if (failed(event)) {
      failures.add(ended(event));
    } else if (event instanceof Event.Retried retried) {
      failures.removeIf(failure -> failure.place().equals(retried.place()));
    } else if (event instanceof Event.Skipped skip) {
      settle(failure -> failure.place().equals(skip.place()));
      skips.computeIfAbsent(skip.place().node(), node -> new ArrayList<>()).add(ended(skip));
    } else if (event instanceof Event.BranchFailed dropped) {
      settle(failure -> Place.within(failure.place().branch(), dropped.place().branch()));
    } else if (event instanceof Event.Ending) {
      settle(failure -> true);
    } else if (succeeded(event)) {
      Ended ended = ended(event);
      settle(failure -> failure.place().equals(ended.place()));
      add(ended);
    }
  }

  private static boolean failed(Event event) {
    return event instanceof Event.AttemptFailed
        || (event instanceof Event.Stopped stopped
            && stopped.resume() == Event.Resume.WORKING
            && stopped.code() != ErrorCode.SANDBOXED);
  }

  private static boolean succeeded(Event event) {
    return event instanceof Event.Committed
        || event instanceof Event.Undone
        || RecordedInputs.judged(event) != null;
  }

  private void begun(Place place, PlaceState at) {
    if (at.phase() instanceof Phase.Working working) {
      begun.put(place, new Work(place.node(), working.field()));
    }
  }

  private Ended ended(Event event) {
    return new Ended(RecordedInputs.effectOf(event), work(event), event, tagging);
  }

  private Work work(Event event) {
    Place place = RecordedInputs.effectOf(event);
    String judged = RecordedInputs.judged(event);
    Work work = new Work(place.node(), judged);
    return judged == null ? begun.getOrDefault(place, work) : work;
  }

  /**
   * Failures that the run continued after are results. One that somebody had tried again is none:
   * what came of that is.
   */
  private void settle(Predicate<Ended> which) {
    failures.stream().filter(which).forEach(this::add);
    failures.removeIf(which);
  }

  private void add(Ended ended) {
    results.computeIfAbsent(ended.work(), work -> new ArrayList<>()).add(ended);
  }

  private void answered(String field, JsonNode value) {
    answers.computeIfAbsent(field, name -> new ArrayDeque<>()).add(value);
  }

  private boolean advance() {
    if (signal()) {
      return true;
    }
    for (StepEffect effect : wanted.of(state)) {
      Input input = next(effect);
      if (input != null && happen(input)) {
        return true;
      }
    }
    return skip() || answer() || elapse();
  }

  private boolean happen(Input input) {
    if (!(program.accept(state, input) instanceof Program.Accepted<RunState, Event> accepted)
        || accepted.events().isEmpty()) {
      return false;
    }
    events.addAll(accepted.events());
    state = program.after(state, accepted, 0);
    return true;
  }

  // --- signals ----------------------------------------------------------------------------------

  /**
   * The next signal that is waited for. Those that come early make no difference until then, and
   * only so many of them may wait.
   */
  private boolean signal() {
    Deque<Came> next = Signals.full(state) ? null : earliest(Signals.awaited(graph, state));
    if (next == null) {
      return false;
    }
    // A refused signal is used up, like an answer.
    Event.Signalled signal = next.remove().signal();
    happen(new Input.Signal(signal.signal(), signal.payload(), at));
    return true;
  }

  private @Nullable Deque<Came> earliest(Set<String> names) {
    Deque<Came> earliest = null;
    int number = Integer.MAX_VALUE;
    for (String name : names) {
      Deque<Came> all = signals.get(name);
      Came first = all == null ? null : all.peek();
      if (first != null && first.number() < number) {
        earliest = all;
        number = first.number();
      }
    }
    return earliest;
  }

  // --- effects ----------------------------------------------------------------------------------

  /** The end of an effect, or its next attempt after one that failed. */
  private @Nullable Input next(StepEffect effect) {
    return switch (effect.kind()) {
      case ACT, CHECK, UNDO -> {
        Long due = effect.due();
        yield due == null ? ended(effect) : due(effect, due);
      }
      case REMIND, SLEEP, DEADLINE, EXPIRE -> null;
    };
  }

  private @Nullable Input ended(StepEffect effect) {
    Ended ended =
        take(results.get(new Work(effect.place().node(), effect.field())), effect.place());
    Input.Result result =
        ended == null ? null : RecordedInputs.result(ended.event(), ended.tagged(), state, graph);
    return result == null ? null : new Input.EffectEnded(effect, result, at);
  }

  /** What came of the same step; if there is nothing, what came of another visit. */
  private static @Nullable Ended take(@Nullable List<Ended> all, Place place) {
    if (all == null || all.isEmpty()) {
      return null;
    }
    Ended next =
        all.stream().filter(each -> each.place().equals(place)).findFirst().orElse(all.get(0));
    all.remove(next);
    return next;
  }

  /** Somebody takes a step as done whose outcome is unknown. */
  private boolean skip() {
    Place stopped = PauseReport.undecided(state);
    return stopped != null
        && take(skips.get(stopped.node()), stopped) != null
        && happen(new Input.Resolve(Input.Resolution.SKIP, at));
  }

  private Input.EffectDue due(StepEffect effect, long due) {
    at = Math.max(at, due);
    return new Input.EffectDue(effect, at);
  }

  // --- answers and time -------------------------------------------------------------------------

  private boolean answer() {
    Outcome open = program.open(state);
    ObjectNode updates = Json.object();
    if (open instanceof Outcome.Interrupt interrupt) {
      interrupt.questions().forEach(question -> answer(updates, question.field()));
    } else if (open instanceof Outcome.ShowWidget show && show.widget().field() != null) {
      answer(updates, show.widget().field());
    }
    if (!updates.isEmpty()) {
      // A refused answer is used up: the next one may be the person's second try.
      happen(new Input.Continue(updates, at));
      return true;
    }
    return open != null && passes > 0 && pass();
  }

  /**
   * Nobody has seen what came by itself: the first look only shows it, and the next one passes.
   * While something is undone a look shows nothing, and is the pass that it was meant as.
   */
  private boolean pass() {
    boolean unseen = program.unseen(state);
    boolean happened = happen(new Input.Continue(Json.object(), at));
    passes -= unseen && !program.unseen(state) ? 0 : 1;
    return happened;
  }

  private void answer(ObjectNode updates, String field) {
    Deque<JsonNode> given = answers.get(field);
    JsonNode next = given == null ? null : given.poll();
    if (next != null) {
      updates.set(field, next);
    }
  }

  /** A sleep ends; a deadline passes where it did. */
  private boolean elapse() {
    for (StepEffect effect : wanted.of(state)) {
      boolean ends =
          effect.kind() == StepEffect.Kind.SLEEP
              || (effect.kind() == StepEffect.Kind.DEADLINE
                  && missed.contains(effect.place().node()));
      Long due = effect.due();
      if (ends && due != null && sleeps-- == 0) {
        endless = true;
        return false;
      } else if (ends && due != null) {
        return happen(due(effect, due));
      }
    }
    return false;
  }
}
