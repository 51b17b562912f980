package io.fermata.flow.engine;

import io.fermata.flow.Graph;
import io.fermata.flow.Node;
import io.fermata.flow.Step;
import io.fermata.flow.event.Phase;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.PlaceState;
import io.fermata.flow.event.Policy;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.StepEffect;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The effects and the timers that a run wants of its shell. */
final class PendingEffects {
  private final Graph graph;

  PendingEffects(Graph graph) {
    this.graph = graph;
  }

  List<StepEffect> of(RunState state) {
    List<StepEffect> effects = new ArrayList<>();
    state.places().forEach((place, at) -> add(effects, state.runId(), place, at));
    RunState.Fork fork = state.fork();
    if (fork != null && fork.performsNothing()) {
      effects.removeIf(effect -> effect.kind() == StepEffect.Kind.REMIND);
    }
    return effects;
  }

  private void add(List<StepEffect> effects, String run, Place place, PlaceState at) {
    Phase phase = at.phase();
    if (phase instanceof Phase.Working w) {
      StepEffect.Kind kind = kind(place, w.field());
      Policy policy = policy(place, kind, w.field());
      effects.add(new StepEffect(run, place, kind, w.field(), w.attempt(), w.retryAt(), policy));
    } else if (phase instanceof Phase.Sleeping sleeping) {
      effects.add(timer(run, place, StepEffect.Kind.SLEEP, 0, sleeping.until()));
    }
    boolean waits = phase instanceof Phase.Waiting;
    if (waits && at.deadline() != null) {
      effects.add(timer(run, place, StepEffect.Kind.DEADLINE, 0, at.deadline()));
    }
    PlaceState.Reminder reminder = at.reminder();
    if (reminder != null
        && reminder.due() != null
        && (waits || (reminder.attempt() > 0 && mayWaitAgain(phase)))) {
      effects.add(remind(run, place, reminder, reminder.due()));
    }
  }

  /** What is being sent then must not be sent again: an answer that is checked may be refused. */
  private static boolean mayWaitAgain(Phase phase) {
    return phase.busy() instanceof Phase.Waiting
        || (phase.busy() instanceof Phase.Working working && working.field() != null);
  }

  private static StepEffect remind(
      String run, Place place, PlaceState.Reminder reminder, long due) {
    if (reminder.attempt() == 0) {
      return timer(run, place, StepEffect.Kind.REMIND, reminder.number(), due);
    }
    String number = Integer.toString(reminder.number());
    return new StepEffect(
        run, place, StepEffect.Kind.REMIND, number, reminder.attempt(), null, Policy.DEFAULT);
  }

  private static StepEffect timer(
      String run, Place place, StepEffect.Kind kind, int number, long due) {
    return new StepEffect(run, place, kind, null, number, due, Policy.DEFAULT);
  }

  private static StepEffect.Kind kind(Place place, @Nullable String field) {
    if (place.undoes()) {
      return StepEffect.Kind.UNDO;
    }
    return field == null ? StepEffect.Kind.ACT : StepEffect.Kind.CHECK;
  }

  private Policy policy(Place place, StepEffect.Kind kind, @Nullable String field) {
    return policy(graph.step(place), place, kind, field);
  }

  private static <S extends Record> Policy policy(
      Step<S> step, Place place, StepEffect.Kind kind, @Nullable String field) {
    if (kind == StepEffect.Kind.UNDO) {
      // A hook for the expiry of runs may be taken away while it is at work.
      Node.Compensation<S> undo = step.compensation();
      return undo == null ? Policy.DEFAULT : undo.policy();
    }
    Node<S> node = step.node();
    if (field != null && node instanceof Node.Ask<S> ask) {
      String asked = field.substring(step.scope().prefix(place).length());
      return check(ask, asked) instanceof Node.Async async ? async.policy() : Policy.DEFAULT;
    } else if (node instanceof Node.Act<S> act) {
      return act.policy();
    }
    throw new IllegalStateException("Place " + place + " has no effect");
  }

  /** The check that a question has now, which may be another one than when its effect began. */
  static Node.@Nullable Check check(Node.Ask<?> ask, String field) {
    for (Node.Question<?> question : ask.questions()) {
      if (question.field().equals(field)) {
        return question.check();
      }
    }
    throw new IllegalStateException("Field " + field + " is no question of " + ask.id());
  }

  /** Whether a sleep or a deadline is pending, after which the run continues without a call. */
  static boolean continuesByItself(RunState state) {
    for (PlaceState at : state.places().values()) {
      boolean expires = at.deadline() != null && at.phase() instanceof Phase.Waiting;
      if (at.phase() instanceof Phase.Sleeping || expires) {
        return true;
      }
    }
    return false;
  }

  /** Whether the effect failed and will be retried; a late success still counts. */
  static boolean waits(RunState state, StepEffect effect) {
    PlaceState at = state.places().get(effect.place());
    return at != null && at.phase() instanceof Phase.Working working && working.retryAt() != null;
  }

  boolean running(RunState state, StepEffect effect) {
    PlaceState at = state.places().get(effect.place());
    if (at == null || !state.runId().equals(effect.runId())) {
      return false;
    }
    PlaceState.Reminder reminder = at.reminder();
    if (effect.kind() == StepEffect.Kind.REMIND) {
      return reminder != null
          && reminder.attempt() == effect.attempt()
          && Integer.toString(reminder.number()).equals(effect.field());
    }
    return at.phase() instanceof Phase.Working working
        && working.attempt() == effect.attempt()
        && Objects.equals(working.field(), effect.field());
  }

  static RunState.Undo undo(RunState state, Place undo) {
    return state.undoing().stream()
        .filter(u -> u.place().equals(undo.undone()))
        .findFirst()
        .orElseThrow(() -> new IllegalStateException("Nothing is undone at " + undo));
  }
}
