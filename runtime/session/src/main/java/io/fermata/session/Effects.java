package io.fermata.session;

import io.fermata.flow.Effect;
import io.fermata.flow.FlowProgram;
import io.fermata.flow.RunState;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.javadsl.TimerScheduler;

/**
 * The effects of one session that are under way. Handlers run on the host's handler threads; what
 * comes of them arrives as messages.
 */
final class Effects {
  private final ExecutorService threads;
  private final TimerScheduler<SessionCommand> timers;
  private final ActorRef<SessionCommand> session;
  private final Map<String, Future<?>> underWay = new HashMap<>();

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

  boolean underWay(Effect effect) {
    return underWay.containsKey(key(effect));
  }

  /** Performs an effect now, or has it announced when it is due again. */
  void start(FlowProgram<?> program, RunState run, Effect effect, long now) {
    Long due = effect.retryAt();
    if (due != null) {
      underWay.put(key(effect), NOTHING);
      Duration wait = Duration.ofMillis(Math.max(0, due - now));
      timers.startSingleTimer(key(effect), new SessionCommand.EffectDue(effect), wait);
      return;
    }
    timers.startSingleTimer(
        key(effect), new SessionCommand.EffectOverdue(effect), effect.policy().timeout());
    underWay.put(key(effect), threads.submit(() -> perform(program, run, effect)));
  }

  private void perform(FlowProgram<?> program, RunState run, Effect effect) {
    program
        .perform(run, effect)
        .whenComplete(
            (result, thrown) ->
                session.tell(
                    new SessionCommand.EffectEnded(
                        effect, thrown == null ? result : program.failed(effect, thrown))));
  }

  /** Takes an effect off the list; false if it was not on it, so that late results are ignored. */
  boolean end(Effect effect) {
    timers.cancel(key(effect));
    return underWay.remove(key(effect)) != null;
  }

  /** Gives up an effect: its thread is interrupted and its result ignored. */
  boolean giveUp(Effect effect) {
    timers.cancel(key(effect));
    Future<?> future = underWay.remove(key(effect));
    if (future != null) {
      future.cancel(true);
    }
    return future != null;
  }

  void giveUpAll() {
    underWay.forEach(
        (key, future) -> {
          timers.cancel(key);
          future.cancel(true);
        });
    underWay.clear();
  }

  private static String key(Effect effect) {
    return effect.retryAt() == null ? effect.key() : effect.key() + "/due";
  }

  private static final Future<?> NOTHING =
      java.util.concurrent.CompletableFuture.completedFuture(null);
}
