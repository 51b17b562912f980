package io.fermata.flow.engine;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Graph;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Input;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.Program;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.StepEffect;
import io.fermata.flow.event.Tagging;
import io.fermata.flow.event.Verdict;
import io.fermata.flow.json.Json;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Continues a run that has left its journal, with what the journal still has for it: answers to the
 * same questions, signals, results of the same steps, moments. Nothing is performed. It stops at
 * the end of the run, or where the journal has nothing for it.
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
  private final List<Event> events = new ArrayList<>();
  private RunState state;
  private long at;

  // --- what the journal has

  private final Map<String, Deque<JsonNode>> answers = new HashMap<>();
  private final Map<String, Deque<Came>> signals = new HashMap<>();
  private final Map<Event.Committed, Input.Wrote> results = new LinkedHashMap<>();
  private final List<Place> undone = new ArrayList<>();
  private final List<Event> verdicts = new ArrayList<>();
  private final Set<String> missed = new HashSet<>();
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

  Sequel(FlowProgram<?> program, PendingEffects wanted, RunState state, long at) {
    this.program = program;
    this.graph = program.flow().graph();
    this.wanted = wanted;
    this.state = state;
    this.at = at;
  }

  /** What follows, with what the journal has from here on. */
  List<Event> of(List<Event> journal) {
    Tagging tagging = Tagging.NONE;
    for (Event event : journal) {
      keep(event, tagging);
      tagging = event instanceof Event.Tagged tagged ? tagged.tagging() : Tagging.NONE;
    }
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

  private void keep(Event event, Tagging tagging) {
    if (event instanceof Event.Answered answered) {
      answered.values().forEach(this::answered);
      passes += answered.acknowledged() != null || answered.left() != null ? 1 : 0;
    } else if (event instanceof Event.Reset reset) {
      reset.corrected().forEach(this::answered);
    } else if (event instanceof Event.Signalled signalled) {
      signals
          .computeIfAbsent(signalled.signal(), name -> new ArrayDeque<>())
          .add(new Came(came++, signalled));
    } else if (event instanceof Event.Committed committed) {
      results.put(committed, Input.Wrote.of(committed, tagging));
    } else if (event instanceof Event.Undone u) {
      undone.add(u.place());
    } else if (event instanceof Event.Accepted || event instanceof Event.Rejected) {
      verdicts.add(event);
    } else if (event instanceof Event.Woken) {
      sleeps++;
    } else if (event instanceof Event.DeadlinePassed passed) {
      sleeps++;
      missed.add(passed.place().node());
    }
  }

  private void answered(String field, JsonNode value) {
    answers.computeIfAbsent(field, name -> new ArrayDeque<>()).add(value);
  }

  private boolean advance() {
    if (signal()) {
      return true;
    }
    for (StepEffect effect : wanted.of(state)) {
      Input.Result result = effect.timer() ? null : result(effect);
      if (result != null && happen(new Input.EffectEnded(effect, result, at))) {
        return true;
      }
    }
    return answer() || elapse();
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

  private Input.@Nullable Result result(StepEffect effect) {
    return switch (effect.kind()) {
      case ACT -> committed(effect.place());
      case UNDO ->
          undone.remove(effect.place().undone()) || undone.remove(effect.place())
              ? new Input.Wrote(List.of(), List.of(), List.of(), Tagging.NONE, null)
              : null;
      case CHECK -> judged(effect);
      case REMIND, SLEEP, DEADLINE, EXPIRE -> null;
    };
  }

  /** The result of the same step; if there is none, that of another visit. */
  private Input.@Nullable Wrote committed(Place place) {
    Event.Committed found = first(each -> each.place().equals(place));
    found = found == null ? first(each -> each.place().node().equals(place.node())) : found;
    return found == null ? null : results.remove(found);
  }

  private Event.@Nullable Committed first(Predicate<Event.Committed> which) {
    return results.keySet().stream().filter(which).findFirst().orElse(null);
  }

  private Input.@Nullable Judged judged(StepEffect effect) {
    String field = effect.field();
    for (Iterator<Event> each = verdicts.iterator(); each.hasNext(); ) {
      Event verdict = each.next();
      Place place = verdict.place();
      if (place == null || !place.node().equals(effect.place().node())) {
        continue;
      }
      if (verdict instanceof Event.Accepted accepted && accepted.field().equals(field)) {
        each.remove();
        return new Input.Judged(RecordedInputs.verdict(accepted, state, graph));
      } else if (verdict instanceof Event.Rejected rejected && rejected.field().equals(field)) {
        each.remove();
        return new Input.Judged(Verdict.reject(rejected.message()));
      }
    }
    return null;
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
        at = Math.max(at, due);
        return happen(new Input.EffectDue(effect, at));
      }
    }
    return false;
  }
}
