package io.fermata.session.journal;

import io.fermata.flow.event.Effect;
import io.fermata.flow.event.Phase;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.StepEffect;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Derives from the phases of a run's places what its host must do. Pure. */
public final class RunPhases {
  private RunPhases() {}

  /** Whether an effect is a timer during which the session can sleep, as opposed to a retry. */
  public static boolean onlyWaits(StepEffect effect) {
    return effect.timer()
        && switch (effect.kind()) {
          case SLEEP, DEADLINE, REMIND, EXPIRE -> true;
          case ACT, CHECK, UNDO -> false;
        };
  }

  /** The earliest time at which the session must be awake; null for none. */
  public static @Nullable Long wakeAt(List<? extends Effect> timers) {
    Long earliest = null;
    for (Effect timer : timers) {
      Long due = timer.due();
      if (due != null && (earliest == null || due < earliest)) {
        earliest = due;
      }
    }
    return earliest;
  }

  /** Whether a recovered run has effects or timers to resume. */
  public static boolean hasWork(RunState run) {
    return run.places().values().stream()
        .anyMatch(
            at ->
                at.phase() instanceof Phase.Working
                    || at.phase() instanceof Phase.Sleeping
                    || at.deadline() != null
                    || at.reminds());
  }

  /** Whether a question or widget is open, and nothing is at work or has stopped. */
  public static boolean onlyAsks(RunState run) {
    return asks(run)
        && run.places().values().stream()
            .noneMatch(
                at -> at.phase() instanceof Phase.Working || at.phase() instanceof Phase.Halted);
  }

  /** Whether a question or widget is open. */
  public static boolean asks(RunState run) {
    return run.places().values().stream()
        .anyMatch(at -> at.phase() instanceof Phase.Asking || at.phase() instanceof Phase.Showing);
  }
}
