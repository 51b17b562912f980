package io.fermata.session;

import io.fermata.flow.Effect;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.javadsl.TimerScheduler;
import org.jspecify.annotations.Nullable;

/**
 * The effects of one session that are under way. Handlers run on the host's handler threads; what
 * comes of them arrives as messages.
 *
 * @param <F> what is to be done
 * @param <T> what comes of it
 */
final class Effects<F extends Effect, T> {

  /** Does what a program wants done. */
  interface Performer<F extends Effect, T> {

    /** Carries out an effect, on a thread that it may block. */
    CompletionStage<T> perform(F effect);

    /** What comes of an effect whose handler threw. */
    T failed(F effect, Throwable thrown);

    /** What those are told who time it. */
    Telemetry.Effect told(F effect);

    /** In a word, what came of it: one of those of {@link Activity.End}. */
    String inAWord(T result);

    /** What is logged meanwhile is about this. */
    LogLabels labelled(F effect);
  }

  /** An effect that is under way, until its result is fetched or it is given up. */
  private static final class UnderWay<F extends Effect, T> {
    private final F effect;

    /** A moment that the program only waits for: it can sleep meanwhile, and be woken. */
    private final @Nullable Long patientUntil;

    /** The handler's turn on a thread; null while its time has not come. */
    private @Nullable Future<?> task;

    private volatile Activity activity = Activity.NONE;

    private volatile @Nullable T result;

    private UnderWay(F effect, @Nullable Long patientUntil) {
      this.effect = effect;
      this.patientUntil = patientUntil;
    }

    private void giveUp() {
      if (task != null) {
        // Before the handler says what the interruption did to it.
        activity.end(Activity.End.of(Activity.End.GIVEN_UP));
        task.cancel(true);
      }
    }
  }

  /** An effect, and what came of it. */
  record Ended<F extends Effect, T>(F effect, T result) {}

  /** A timer cannot be set for much longer; what lies further ahead is looked at again then. */
  private static final Duration LONGEST = Duration.ofDays(100);

  private final ExecutorService threads;
  private final Telemetry telemetry;
  private final TimerScheduler<SessionCommand> timers;
  private final ActorRef<SessionCommand> session;
  private final Map<String, UnderWay<F, T>> underWay = new HashMap<>();

  Effects(
      ExecutorService threads,
      Telemetry telemetry,
      TimerScheduler<SessionCommand> timers,
      ActorRef<SessionCommand> session) {
    this.threads = threads;
    this.telemetry = telemetry;
    this.timers = timers;
    this.session = session;
  }

  /** Whether every handler has ended, and only moments are waited for that no call hangs on. */
  boolean nothingPressing(long now) {
    long soon = now + Alarms.HORIZON.toMillis();
    return underWay.values().stream()
        .allMatch(work -> work.patientUntil != null && work.patientUntil > soon);
  }

  /** Whether no handler is at work; attempts may still wait for their time. */
  boolean noneRunning() {
    return underWay.values().stream().allMatch(work -> work.task == null);
  }

  boolean underWay(String key) {
    return underWay.containsKey(key);
  }

  /** Gives up what the program does not want any more. Returns what is not under way yet. */
  List<F> retain(List<F> wanted) {
    List<F> fresh = new ArrayList<>();
    Set<String> keys = new HashSet<>();
    for (F effect : wanted) {
      String key = effect.key();
      keys.add(key);
      if (!underWay.containsKey(key)) {
        fresh.add(effect);
      }
    }
    Iterator<Map.Entry<String, UnderWay<F, T>>> all = underWay.entrySet().iterator();
    while (all.hasNext()) {
      Map.Entry<String, UnderWay<F, T>> entry = all.next();
      if (!keys.contains(entry.getKey())) {
        timers.cancel(entry.getKey());
        all.remove();
        entry.getValue().giveUp();
      }
    }
    return fresh;
  }

  /**
   * Performs an effect now, or has it announced when it is due.
   *
   * @param onlyWaits whether the program can sleep until it is due
   */
  void start(F effect, Performer<F, T> performer, boolean onlyWaits, long now) {
    String key = effect.key();
    Long due = effect.due();
    UnderWay<F, T> work = new UnderWay<>(effect, onlyWaits ? due : null);
    underWay.put(key, work);
    if (due == null) {
      work.task = threads.submit(() -> perform(key, work, performer));
    } else {
      announce(key, due - now);
    }
  }

  private void announce(String key, long millis) {
    boolean far = millis > LONGEST.toMillis();
    timers.startSingleTimer(
        key,
        new ShellCommand.EffectDue(key, !far),
        far ? LONGEST : Duration.ofMillis(Math.max(0, millis)));
  }

  @SuppressWarnings("try") // What is entered is only left again.
  private void perform(String key, UnderWay<F, T> work, Performer<F, T> performer) {
    session.tell(new ShellCommand.EffectBegun(key));
    Activity activity =
        telemetry == Telemetry.NONE
            ? Activity.NONE
            : telemetry.performing(performer.told(work.effect));
    work.activity = activity;
    try (Activity.Entered here = activity.enter();
        LogLabels labels = performer.labelled(work.effect)) {
      performer
          .perform(work.effect)
          .whenComplete(
              (result, thrown) ->
                  end(
                      key,
                      work,
                      performer,
                      thrown == null ? result : performer.failed(work.effect, thrown)));
    } catch (Throwable thrown) { // an Error of a handler must not leave its program waiting
      end(key, work, performer, performer.failed(work.effect, thrown));
    }
  }

  private void end(String key, UnderWay<F, T> work, Performer<F, T> performer, T result) {
    work.activity.end(Activity.End.of(performer.inAWord(result)));
    work.result = result;
    session.tell(new ShellCommand.EffectEnded(key));
  }

  /** From now on its time runs; what it spent waiting for a thread is not its fault. */
  void begun(String key) {
    UnderWay<F, T> work = underWay.get(key);
    if (work != null) {
      Duration timeout = work.effect.policy().timeout();
      timers.startSingleTimer(
          key,
          new ShellCommand.EffectOverdue(key),
          timeout.compareTo(LONGEST) < 0 ? timeout : LONGEST);
    }
  }

  /** Takes an effect off the list; null if it was not on it, so that late results are ignored. */
  @Nullable Ended<F, T> ended(String key) {
    UnderWay<F, T> work = underWay.get(key);
    T result = work == null ? null : work.result;
    if (work == null || result == null) {
      return null;
    }
    timers.cancel(key);
    underWay.remove(key);
    return new Ended<>(work.effect, result);
  }

  /** The effect whose time has come; null if it is given up, or its time is still to come. */
  @Nullable F due(String key, boolean arrived, long now) {
    if (arrived) {
      return giveUp(key);
    }
    UnderWay<F, T> work = underWay.get(key);
    Long due = work == null ? null : work.effect.due();
    if (due != null) {
      announce(key, due - now);
    }
    return null;
  }

  /** Gives up an effect: its thread is interrupted and its result ignored. */
  @Nullable F giveUp(String key) {
    timers.cancel(key);
    UnderWay<F, T> given = underWay.remove(key);
    if (given == null) {
      return null;
    }
    given.giveUp();
    return given.effect;
  }

  void giveUpAll() {
    underWay.forEach(
        (key, work) -> {
          timers.cancel(key);
          work.giveUp();
        });
    underWay.clear();
  }
}
