package io.fermata.session.actor;

import io.fermata.flow.event.Effect;
import io.fermata.session.call.ToolProgress;
import io.fermata.session.key.LogLabels;
import io.fermata.session.observe.Activity;
import io.fermata.session.observe.Telemetry;
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
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.javadsl.TimerScheduler;
import org.jspecify.annotations.Nullable;

/**
 * The effects of one session that are about to start, are running, or whose results are not
 * journaled yet. Handlers run on the host's handler threads; their results arrive as messages.
 *
 * <p>It outlives its actor if the store fails: a result is kept until the journal has it, and
 * delivered once more to the next actor of the session, see {@link LostSessions}.
 *
 * @param <F> the effects
 * @param <R> their results
 */
public final class Effects<F extends Effect, R> {

  /** Performs the effects of a program. */
  public interface Performer<F extends Effect, R> {

    /**
     * Performs an effect, on a thread that it may block.
     *
     * @param progress gets what it publishes while it runs, on any thread
     * @param cancelled whether its result is no longer wanted: then it begins nothing more
     */
    CompletionStage<R> perform(
        F effect, Consumer<ToolProgress> progress, BooleanSupplier cancelled);

    /** The result of an effect whose handler threw. */
    R failed(F effect, Throwable thrown);

    /** The effect as telemetry reports it. */
    Telemetry.Effect described(F effect);

    /** The status that telemetry reports for a result: one of those in {@link Activity.End}. */
    String described(R result);

    /** The labels of log lines while it runs. */
    LogLabels labels(F effect);
  }

  /** One effect, until its result is journaled or it is cancelled. */
  private static final class Running<F extends Effect, R> {
    private final F effect;

    /** When the timer fires, if the program can sleep until then. */
    private final @Nullable Long sleepsUntil;

    /** The submitted handler; null for a timer. */
    private @Nullable Future<?> task;

    /** Written by the handler's thread: what it says of its start is lost if its actor stops. */
    private volatile boolean started;

    /** Whether the program has the result, which the journal may not have yet. */
    private boolean delivered;

    /** Author code may have swallowed the interruption of its thread. */
    private volatile boolean cancelled;

    private volatile Activity activity = Activity.NONE;

    private volatile @Nullable R result;

    private final Pieces pieces = new Pieces();

    private Running(F effect, @Nullable Long sleepsUntil) {
      this.effect = effect;
      this.sleepsUntil = sleepsUntil;
    }

    private void cancel() {
      cancelled = true;
      pieces.close();
      if (task != null && result == null) {
        // Before the handler reports what the interruption did to it.
        activity.end(Activity.End.of(Activity.End.CANCELLED));
        task.cancel(true);
      }
    }
  }

  /** An effect and its result. */
  record Ended<F extends Effect, R>(F effect, R result) {}

  /** A timer cannot be set for much longer; one further ahead is set again then. */
  private static final Duration LONGEST = Duration.ofDays(100);

  private final ExecutorService threads;
  private final Telemetry telemetry;
  private final Map<String, Running<F, R>> running = new HashMap<>();

  /** The effects that start once an entry is persisted, which may be even if its write fails. */
  private final Set<String> planned = new HashSet<>();

  private TimerScheduler<SessionCommand> timers;
  private volatile ActorRef<SessionCommand> session;

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

  // --- across the life of its actor ------------------------------------------------------------

  /** The session has no actor, and those who listened to its effects have their replies. */
  void mute() {
    running.values().forEach(each -> each.pieces.close());
  }

  /** The session has a new actor, which knows only what is journaled. */
  void moveTo(ActorRef<SessionCommand> next, TimerScheduler<SessionCommand> itsTimers) {
    session = next;
    timers = itsTimers;
    running.values().removeIf(each -> each.task == null && each.result == null);
    running.values().forEach(each -> each.delivered = false);
    running.values().forEach(each -> each.pieces.open());
  }

  /** Delivers the results that were not journaled, and keeps the timeouts of what still runs. */
  void deliverAgain() {
    planned.clear();
    running.forEach(
        (key, each) -> {
          if (each.result != null) {
            session.tell(new SessionCommand.EffectEnded(key));
          } else if (each.started) {
            keepTimeout(key, each);
          }
        });
  }

  /** The keys of the effects that this process can still complete: none of them is lost. */
  Set<String> keys() {
    Set<String> keys = new HashSet<>(running.keySet());
    keys.addAll(planned);
    return keys;
  }

  boolean isEmpty() {
    return running.isEmpty() && planned.isEmpty();
  }

  // --- what is running -------------------------------------------------------------------------

  /**
   * Whether no handler runs and every timer is far enough ahead to sleep.
   *
   * @param held the longest pause that a call waits for: the store has no alarm for one
   */
  boolean nothingPressing(long now, Duration held) {
    long soon = now + Math.max(Alarms.HORIZON.toMillis(), held.toMillis());
    return running.values().stream()
        .filter(each -> !each.delivered)
        .allMatch(each -> each.sleepsUntil != null && each.sleepsUntil > soon);
  }

  /** Whether no handler is running; retries may still be scheduled. */
  boolean noneRunning() {
    return running.values().stream().allMatch(each -> each.task == null || each.delivered);
  }

  /** Whether no handler is running, and none of the timers passes soon. */
  boolean noneDueWithin(long now, Duration time) {
    return running.values().stream()
        .filter(each -> !each.delivered)
        .allMatch(each -> each.task == null && isAfter(each.effect.due(), now + time.toMillis()));
  }

  private static boolean isAfter(@Nullable Long due, long time) {
    return due != null && due > time;
  }

  /** Cancels effects that the program no longer wants. Returns those that are not running yet. */
  List<F> retain(List<F> wanted) {
    List<F> fresh = new ArrayList<>();
    Set<String> keys = new HashSet<>();
    for (F effect : wanted) {
      String key = effect.key();
      keys.add(key);
      Running<F, R> known = running.get(key);
      if (known == null || known.delivered) {
        fresh.add(effect);
      }
    }
    Iterator<Map.Entry<String, Running<F, R>>> all = running.entrySet().iterator();
    while (all.hasNext()) {
      Map.Entry<String, Running<F, R>> entry = all.next();
      if (!entry.getValue().delivered && !keys.contains(entry.getKey())) {
        timers.cancel(entry.getKey());
        all.remove();
        entry.getValue().cancel();
      }
    }
    return fresh;
  }

  /** These effects start once the entry before them is persisted. */
  void plan(List<F> effects) {
    effects.forEach(effect -> planned.add(effect.key()));
  }

  /**
   * Performs an effect now, or sets its timer.
   *
   * @param onlyWaits whether the program can sleep until it is due
   */
  void start(F effect, Performer<F, R> performer, boolean onlyWaits, long now) {
    String key = effect.key();
    planned.remove(key);
    Long due = effect.due();
    Running<F, R> started = new Running<>(effect, onlyWaits ? due : null);
    running.put(key, started);
    if (due == null) {
      started.task = threads.submit(() -> perform(key, started, performer));
    } else {
      setTimer(key, due - now);
    }
  }

  /** Ends the waits that are over by the clock, whose timers slept while the machine did. */
  void catchUp(long now) {
    running.forEach(
        (key, each) -> {
          Long due = each.effect.due();
          if (each.task == null && each.result == null && due != null && due <= now) {
            setTimer(key, 0);
          }
        });
  }

  private void setTimer(String key, long millis) {
    boolean far = millis > LONGEST.toMillis();
    timers.startSingleTimer(
        key,
        new SessionCommand.TimerFired(key, !far),
        far ? LONGEST : Duration.ofMillis(Math.max(0, millis)));
  }

  @SuppressWarnings("try") // Entered is only closed.
  private void perform(String key, Running<F, R> each, Performer<F, R> performer) {
    // Before the session is read, so that the next actor knows what the last one was notified of.
    each.started = true;
    session.tell(new SessionCommand.EffectStarted(key));
    Activity activity =
        telemetry == Telemetry.NONE
            ? Activity.NONE
            : telemetry.performing(performer.described(each.effect));
    each.activity = activity;
    try (Activity.Entered here = activity.enter();
        LogLabels labels = performer.labels(each.effect)) {
      performer
          .perform(each.effect, piece -> publish(key, each, piece), () -> each.cancelled)
          .whenComplete(
              (result, thrown) ->
                  end(
                      key,
                      each,
                      performer,
                      thrown == null ? result : performer.failed(each.effect, thrown)));
    } catch (Throwable thrown) { // an Error of a handler must not leave its program waiting
      end(key, each, performer, performer.failed(each.effect, thrown));
    }
  }

  private void publish(String key, Running<F, R> each, ToolProgress piece) {
    if (each.pieces.add(piece)) {
      session.tell(new SessionCommand.Progressed(key));
    }
  }

  private void end(String key, Running<F, R> each, Performer<F, R> performer, R result) {
    each.activity.end(Activity.End.of(performer.described(result)));
    each.result = result;
    session.tell(new SessionCommand.EffectEnded(key));
  }

  /** Starts the timeout of an effect; the time that it waited for a thread does not count. */
  void started(String key) {
    Running<F, R> each = running.get(key);
    if (each != null) {
      keepTimeout(key, each);
    }
  }

  private void keepTimeout(String key, Running<F, R> each) {
    Duration timeout = each.effect.policy().timeout();
    timers.startSingleTimer(
        key,
        new SessionCommand.EffectTimedOut(key),
        timeout.compareTo(LONGEST) < 0 ? timeout : LONGEST);
  }

  // --- progress and results --------------------------------------------------------------------

  /** What an effect has published since the last time; nothing if it is cancelled. */
  List<ToolProgress> progress(String key) {
    Running<F, R> each = running.get(key);
    return each == null ? List.of() : each.pieces.fetch();
  }

  /** Delivers a result; null if it was cancelled, or is delivered already. */
  @Nullable Ended<F, R> ended(String key) {
    Running<F, R> each = running.get(key);
    R result = each == null ? null : each.result;
    if (each == null || result == null || each.delivered) {
      return null;
    }
    timers.cancel(key);
    each.delivered = true;
    return new Ended<>(each.effect, result);
  }

  /**
   * Ends an effect that takes too long: its thread is interrupted, its own result ignored. Null if
   * it has its result, which {@link #ended} delivers.
   */
  @Nullable F expire(String key) {
    Running<F, R> each = running.get(key);
    if (each == null || each.delivered || each.result != null) {
      return null;
    }
    timers.cancel(key);
    each.cancel();
    running.remove(key);
    return each.effect;
  }

  /** Keeps the result of an effect that was ended from here, until it is journaled. */
  void deliver(F effect, R result) {
    Running<F, R> ended = new Running<>(effect, null);
    ended.result = result;
    ended.delivered = true;
    running.put(effect.key(), ended);
  }

  /** The timer that is due; null if it is cancelled or not due yet. */
  @Nullable F due(String key, boolean arrived, long now) {
    Running<F, R> each = running.get(key);
    if (each == null) {
      return null;
    } else if (arrived) {
      running.remove(key);
      return each.effect;
    }
    Long due = each.effect.due();
    if (due != null) {
      setTimer(key, due - now);
    }
    return null;
  }

  /** Everything delivered to the program is journaled. */
  void journaled() {
    running.values().removeIf(each -> each.delivered);
  }

  void cancelAll() {
    running.forEach(
        (key, each) -> {
          timers.cancel(key);
          each.cancel();
        });
    running.clear();
    planned.clear();
  }

  /** As {@link #cancelAll}, for effects whose actor has stopped. */
  void abandonAll() {
    running.values().forEach(Running::cancel);
    running.clear();
    planned.clear();
  }
}
