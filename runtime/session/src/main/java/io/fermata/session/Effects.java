package io.fermata.session;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.NullNode;
import io.fermata.flow.FlowProgram;
import io.fermata.flow.Input;
import io.fermata.flow.Place;
import io.fermata.flow.Progress;
import io.fermata.flow.RunState;
import io.fermata.flow.StepEffect;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.javadsl.TimerScheduler;
import org.jspecify.annotations.Nullable;

/**
 * The effects of one session that are under way. Handlers run on the host's handler threads; what
 * comes of them arrives as messages.
 */
final class Effects {
  /**
   * @param task the handler's turn on a thread; null while its time has not come
   * @param patientUntil a moment that the run only waits for: it can sleep meanwhile, and be woken
   */
  private record UnderWay(@Nullable Future<?> task, @Nullable Long patientUntil) {
    void giveUp() {
      if (task != null) {
        task.cancel(true);
      }
    }
  }

  /** A timer cannot be set for much longer; what lies further ahead is looked at again then. */
  private static final Duration LONGEST = Duration.ofDays(100);

  private final ExecutorService threads;
  private final TimerScheduler<SessionCommand> timers;
  private final ActorRef<SessionCommand> session;
  private final Map<String, UnderWay> underWay = new HashMap<>();

  Effects(
      ExecutorService threads,
      TimerScheduler<SessionCommand> timers,
      ActorRef<SessionCommand> session) {
    this.threads = threads;
    this.timers = timers;
    this.session = session;
  }

  boolean none() {
    return underWay.isEmpty();
  }

  /** Whether every handler has ended, and only moments are waited for that no call hangs on. */
  boolean nothingPressing(long now) {
    long soon = now + Alarms.HORIZON.toMillis();
    return underWay.values().stream()
        .allMatch(effect -> effect.patientUntil() != null && effect.patientUntil() > soon);
  }

  /** Gives up what the run does not want any more. */
  void retain(List<StepEffect> wanted) {
    Set<String> keys = wanted.stream().map(Effects::key).collect(Collectors.toSet());
    for (String key : List.copyOf(underWay.keySet())) {
      if (!keys.contains(key)) {
        timers.cancel(key);
        Objects.requireNonNull(underWay.remove(key)).giveUp();
      }
    }
  }

  /** Whether no handler is at work; attempts may still wait for their time. */
  boolean noneRunning() {
    return underWay.values().stream().allMatch(effect -> effect.task() == null);
  }

  boolean underWay(StepEffect effect) {
    return underWay.containsKey(key(effect));
  }

  /** Performs an effect now, or has it announced when it is due again. */
  void start(FlowProgram<?> program, RunState run, StepEffect effect, long now) {
    Long due = effect.due();
    if (due != null) {
      underWay.put(key(effect), new UnderWay(null, Standstill.onlyWaits(effect) ? due : null));
      announce(effect, due - now);
      return;
    }
    Future<?> task = threads.submit(() -> perform(program, run, effect));
    underWay.put(key(effect), new UnderWay(task, null));
  }

  private void announce(StepEffect effect, long millis) {
    boolean far = millis > LONGEST.toMillis();
    timers.startSingleTimer(
        key(effect),
        new SessionCommand.EffectDue(effect, !far),
        far ? LONGEST : Duration.ofMillis(Math.max(0, millis)));
  }

  /** An effect whose time has not come is announced again. */
  void again(StepEffect effect, long now) {
    Long due = effect.due();
    if (underWay(effect) && due != null) {
      announce(effect, due - now);
    }
  }

  private void perform(FlowProgram<?> program, RunState run, StepEffect effect) {
    session.tell(new SessionCommand.EffectBegun(effect));
    try {
      program
          .perform(run, effect, progress(effect))
          .whenComplete(
              (result, thrown) ->
                  ended(effect, thrown == null ? result : program.failed(effect, thrown)));
    } catch (Throwable thrown) { // an Error of a handler must not leave its run waiting
      ended(effect, program.failed(effect, thrown));
    }
  }

  private Progress progress(StepEffect effect) {
    return new Progress() {
      @Override
      public void emitted(Place place, String name, @Nullable JsonNode payload) {
        JsonNode told = payload == null ? NullNode.getInstance() : payload;
        session.tell(new SessionCommand.Told(effect, new ToolProgress(place.node(), name, told)));
      }

      @Override
      public void streamed(Place place, String text) {
        session.tell(new SessionCommand.Told(effect, ToolProgress.text(place.node(), text)));
      }
    };
  }

  /** From now on its time runs; what it spent waiting for a thread is not its fault. */
  void begun(StepEffect effect) {
    if (underWay(effect)) {
      Duration timeout = effect.policy().timeout();
      timers.startSingleTimer(
          key(effect),
          new SessionCommand.EffectOverdue(effect),
          timeout.compareTo(LONGEST) < 0 ? timeout : LONGEST);
    }
  }

  private void ended(StepEffect effect, Input.Result result) {
    session.tell(new SessionCommand.EffectEnded(effect, result));
  }

  /** Takes an effect off the list; false if it was not on it, so that late results are ignored. */
  boolean end(StepEffect effect) {
    timers.cancel(key(effect));
    return underWay.remove(key(effect)) != null;
  }

  /** Gives up an effect: its thread is interrupted and its result ignored. */
  boolean giveUp(StepEffect effect) {
    timers.cancel(key(effect));
    UnderWay given = underWay.remove(key(effect));
    if (given != null) {
      given.giveUp();
    }
    return given != null;
  }

  void giveUpAll() {
    underWay.forEach(
        (key, effect) -> {
          timers.cancel(key);
          effect.giveUp();
        });
    underWay.clear();
  }

  private static String key(StepEffect effect) {
    return effect.key();
  }
}
