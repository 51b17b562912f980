package io.fermata.flow.observe;

import io.fermata.flow.event.Event;
import io.fermata.flow.event.Fact;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;

/** Which hook of a recorder each kind of fact is for. */
final class Hooks {
  private interface Hook<F> {
    void call(Recorder recorder, Occurrence at, F fact);
  }

  private static final Map<Class<?>, Hook<Fact>> HOOKS = new HashMap<>();

  static {
    on(Observation.StageStart.class, (recorder, at, it) -> recorder.onStageStart(at));
    on(Observation.StageEnd.class, (recorder, at, it) -> recorder.onStageEnd(at, it.done()));
    on(Observation.StageExecuted.class, (recorder, at, it) -> recorder.onStageExecuted(at));
    on(Observation.Read.class, Recorder::onRead);
    on(Observation.Written.class, Recorder::onWrite);
    on(Event.Committed.class, Recorder::onCommit);
    on(Observation.Answer.class, Recorder::onAnswer);
    on(Event.Passed.class, Recorder::onPassed);
    on(Observation.Failure.class, Recorder::onError);
    on(Observation.RunStart.class, Recorder::onRunStart);
    on(Observation.RunEnd.class, Recorder::onRunEnd);
    on(Event.Failed.class, Recorder::onRunFailed);
    on(Event.Ending.class, Recorder::onRunEnding);
    on(Event.Moved.class, Recorder::onNext);
    on(Observation.Loop.class, (recorder, at, it) -> recorder.onLoop(at, it.moved(), it.pass()));
    on(Event.Decided.class, Recorder::onDecision);
    on(Observation.Selected.class, (recorder, at, it) -> recorder.onSelected(at, it.decided()));
    on(Event.Forked.class, Recorder::onFork);
    on(Event.Arrived.class, Recorder::onArrival);
    on(Observation.Join.class, (recorder, at, it) -> recorder.onJoin(at, it.joined(), it.list()));
    on(Event.BranchFailed.class, Recorder::onBranchFailed);
    on(Event.Opened.class, Recorder::onSubflowEntry);
    on(Event.Closed.class, Recorder::onSubflowExit);
    on(Event.Broken.class, Recorder::onBreak);
    on(Event.Attempted.class, Recorder::onAttempt);
    on(Event.AttemptFailed.class, Recorder::onStageRetry);
    on(Observation.Pause.class, Recorder::onPause);
    on(Observation.Resume.class, Recorder::onResume);
    on(Observation.Signal.class, Recorder::onSignal);
    on(Event.Reset.class, Recorder::onReset);
    on(Event.Migrated.class, Recorder::onMigrated);
    on(Observation.Fork.class, Recorder::onForkedFrom);
    on(Observation.Compensation.class, Recorder::onCompensation);
    on(Observation.Reminder.class, Recorder::onReminder);
    on(Event.Tagged.class, Recorder::onTag);
    on(Event.Emitted.class, Recorder::onEmit);
  }

  private Hooks() {}

  private static <F extends Fact> void on(Class<F> kind, Hook<F> hook) {
    HOOKS.put(kind, (recorder, at, fact) -> hook.call(recorder, at, kind.cast(fact)));
  }

  static boolean has(Fact fact) {
    return HOOKS.containsKey(fact.getClass());
  }

  static void call(Recorder recorder, Observation event) {
    Fact fact = event.fact();
    Objects.requireNonNull(HOOKS.get(fact.getClass()), () -> "There is no hook for " + fact)
        .call(recorder, event.moment(), fact);
  }
}
