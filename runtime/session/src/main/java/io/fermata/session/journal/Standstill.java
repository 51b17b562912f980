package io.fermata.session.journal;

import io.fermata.flow.event.Effect;
import io.fermata.flow.event.Phase;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.StepEffect;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What a run that stands still needs of its host. Pure. */
public final class Standstill {
  private Standstill() {}

  /** Whether an effect is a moment that the run waits for in its sleep, as opposed to a retry. */
  public static boolean onlyWaits(StepEffect effect) {
    return effect.timer()
        && switch (effect.kind()) {
          case SLEEP, DEADLINE, REMIND, EXPIRE -> true;
          case ACT, CHECK, UNDO -> false;
        };
  }

  /** The earliest moment at which the session has to be awake; null if there is none. */
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

  /** Whether a run that was read back has something to take up, or moments to wait for. */
  public static boolean hasWork(RunState run) {
    return run.places().values().stream()
        .anyMatch(
            at ->
                at.phase() instanceof Phase.Working
                    || at.phase() instanceof Phase.Sleeping
                    || at.deadline() != null
                    || at.reminder() != null);
  }

  /** Whether a handler works for the run, or a failed one is to be tried again. */
  public static boolean works(RunState run) {
    return run.places().values().stream().anyMatch(at -> at.phase() instanceof Phase.Working);
  }

  /** Whether somebody can answer something now. */
  public static boolean asks(RunState run) {
    return run.places().values().stream()
        .anyMatch(at -> at.phase() instanceof Phase.Asking || at.phase() instanceof Phase.Showing);
  }
}
