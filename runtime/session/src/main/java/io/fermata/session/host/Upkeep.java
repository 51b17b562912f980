package io.fermata.session.host;

import io.fermata.persistence.spi.OpenStore;
import io.fermata.session.actor.Alarms;
import io.fermata.session.actor.SessionRegion;
import io.fermata.session.call.Health;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import org.apache.pekko.actor.typed.ActorSystem;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The upkeep of a host's store: it resumes unfinished work, wakes sessions whose time has come,
 * sweeps what is over, and knows whether the store answers.
 */
public final class Upkeep {
  private static final Logger LOG = LoggerFactory.getLogger(Upkeep.class);
  private static final Duration LOOK_AGAIN = Duration.ofSeconds(5);
  private static final Duration SWEEP = Duration.ofMillis(500);

  /** A store that is silent for so long does not answer. */
  private static final Duration SILENCE = Duration.ofSeconds(2);

  private final OpenStore store;
  private final ActorSystem<SessionRegion.Message> system;
  private final Predicate<String> ours;
  private final InstantSource clock;
  private final BooleanSupplier closed;
  private final Pings pings;

  /** Only the sweep writes it, and one follows the other. */
  private volatile boolean storeFails;

  /**
   * @param ours whether a session is one of this host
   */
  public Upkeep(
      OpenStore store,
      ActorSystem<SessionRegion.Message> system,
      Predicate<String> ours,
      InstantSource clock,
      BooleanSupplier closed) {
    this.store = store;
    this.system = system;
    this.ours = ours;
    this.clock = clock;
    this.closed = closed;
    this.pings = new Pings(store::ping, SILENCE);
  }

  public void start() {
    resumeUnfinishedWork();
    system.tell(
        new SessionRegion.Spawn("alarms", Alarms.create(store::due, ours, clock, this::wakeUp)));
    sweepLater();
  }

  private void wakeUp(List<String> entityIds) {
    system.tell(new SessionRegion.WakeUp(entityIds));
  }

  /** Whether the store answers, and the host takes calls. */
  public CompletionStage<Health> health(boolean accepts, Executor executor) {
    if (!accepts || storeFails) {
      return CompletableFuture.completedFuture(new Health(!storeFails, accepts));
    }
    return pings.answers().thenApplyAsync(answers -> new Health(answers, true), executor);
  }

  private void resumeUnfinishedWork() {
    store
        .unfinished()
        .whenComplete(
            (entityIds, thrown) -> {
              if (thrown == null) {
                resume(entityIds.stream().filter(ours).toList());
              } else if (!closed.getAsBoolean()) {
                LOG.error("Unfinished runs could not be found; retrying", thrown);
                later(LOOK_AGAIN, this::resumeUnfinishedWork);
              }
            });
  }

  private void resume(List<String> entityIds) {
    if (!entityIds.isEmpty()) {
      LOG.info("Resuming {} unfinished sessions", entityIds.size());
      wakeUp(entityIds);
    }
  }

  private void later(Duration time, Runnable task) {
    system.scheduler().scheduleOnce(time, task, system.executionContext());
  }

  /** One sweep follows the other, so that a slow one does not queue up more. */
  private void sweepLater() {
    later(
        SWEEP,
        () ->
            store
                .sweep(clock.millis())
                .whenComplete(
                    (swept, thrown) -> {
                      if (!closed.getAsBoolean()) {
                        noticeStore(thrown);
                        sweepLater();
                      }
                    }));
  }

  /** Logs once that the store fails, and wakes what was lost by it when it answers again. */
  private void noticeStore(@Nullable Throwable failure) {
    if (failure != null && !storeFails) {
      LOG.warn("The store fails; retrying", failure);
    } else if (failure == null && storeFails) {
      LOG.info("The store answers again");
      system.tell(new SessionRegion.StoreBack());
    }
    storeFails = failure != null;
  }
}
