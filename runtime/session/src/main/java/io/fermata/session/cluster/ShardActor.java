package io.fermata.session.cluster;

import java.time.Duration;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.PostStop;
import org.apache.pekko.actor.typed.SupervisorStrategy;
import org.apache.pekko.actor.typed.javadsl.ActorContext;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.actor.typed.javadsl.StashBuffer;
import org.apache.pekko.actor.typed.javadsl.TimerScheduler;

/**
 * Holds one shard of sessions on this host. Cluster sharding starts it on one host at a time, as
 * far as the hosts agree who is there; the store decides: the actor takes the shard in the store
 * first, and from then on no other host can write its sessions.
 *
 * <p>When another host is to hold the shard, calls are forwarded at once, sessions finish what they
 * do for a while, and only then the shard is released. When another host has taken the shard in the
 * store without that, its sessions stop at once, and the actor with them; it is started again where
 * the hosts place the shard.
 */
final class ShardActor {
  private static final Duration AGAIN = Duration.ofSeconds(1);

  /** Calls that arrive while the shard is being taken. */
  private static final int MOST_STASHED = 10_000;

  /** Deletions that are known again when they arrive once more. */
  private static final int MOST_DELETIONS = 100;

  private final int shard;
  private final ShardHost host;
  private final ActorContext<ToShard> context;
  private final TimerScheduler<ToShard> timers;
  private final StashBuffer<ToShard> stash;

  /** The calls and the deletions in the stash. */
  private final Set<Object> waiting = new HashSet<>();

  /** The latest deletions: one that is sent again must not delete what has begun since. */
  private final Map<ToShard.Delete, CompletionStage<ToShard.Deletion>> deletions =
      new LinkedHashMap<>();

  private ShardActor(
      int shard,
      ShardHost host,
      ActorContext<ToShard> context,
      TimerScheduler<ToShard> timers,
      StashBuffer<ToShard> stash) {
    this.shard = shard;
    this.host = host;
    this.context = context;
    this.timers = timers;
    this.stash = stash;
  }

  static Behavior<ToShard> create(int shard, ShardHost host) {
    // An exception must not stop all sessions of the shard.
    return Behaviors.supervise(
            Behaviors.<ToShard>setup(
                context ->
                    Behaviors.withTimers(
                        timers ->
                            Behaviors.withStash(
                                MOST_STASHED,
                                stash ->
                                    new ShardActor(shard, host, context, timers, stash)
                                        .acquiring(false)))))
        .onFailure(SupervisorStrategy.resume());
  }

  /**
   * @param unwanted whether another host is to hold the shard meanwhile
   */
  private Behavior<ToShard> acquiring(boolean unwanted) {
    acquire();
    return awaitingAcquired(unwanted);
  }

  private void acquire() {
    context.pipeToSelf(
        host.acquire(shard),
        (mark, thrown) ->
            thrown == null ? new ToShard.Acquired(mark) : new ToShard.NotAcquired(thrown));
  }

  private Behavior<ToShard> awaitingAcquired(boolean unwanted) {
    return Behaviors.receive(ToShard.class)
        .onMessage(ToShard.Acquired.class, acquired -> unwanted ? given() : opened(acquired.mark()))
        .onMessage(
            ToShard.NotAcquired.class,
            failed -> {
              if (unwanted) {
                return given();
              }
              host.notAcquired(shard, failed.why());
              timers.startSingleTimer(new ToShard.AcquireAgain(), AGAIN);
              return Behaviors.same();
            })
        .onMessage(ToShard.AcquireAgain.class, again -> done(this::acquire))
        .onMessage(ToShard.Touch.class, touch -> Behaviors.same())
        .onMessage(ToShard.Follow.class, follow -> Behaviors.same()) // it is repeated
        .onMessage(
            ToShard.HandOver.class,
            handOver ->
                timers.isTimerActive(new ToShard.AcquireAgain()) ? given() : awaitingAcquired(true))
        .onAnyMessage(message -> done(() -> keep(message)))
        .onSignal(PostStop.class, stopped -> done(() -> host.gone(shard)))
        .build();
  }

  private void keep(ToShard message) {
    if (!stash.isFull() && !isRepeated(message)) {
      stash.stash(message);
    }
  }

  /** A call or a deletion is sent again while the shard cannot be taken. */
  private boolean isRepeated(ToShard message) {
    if (message instanceof ToShard.Deliver deliver) {
      return !waiting.add(ShardHost.Arrival.of(deliver));
    }
    return message instanceof ToShard.Delete && !waiting.add(message);
  }

  private Behavior<ToShard> opened(long mark) {
    waiting.clear();
    host.opened(shard, mark, context);
    return stash.unstashAll(open());
  }

  private Behavior<ToShard> open() {
    return Behaviors.receive(ToShard.class)
        .onMessage(ToShard.Deliver.class, deliver -> done(() -> host.deliver(deliver)))
        .onMessage(ToShard.StopWaiting.class, stop -> done(() -> host.stopWaiting(stop)))
        .onMessage(ToShard.Delete.class, delete -> done(() -> delete(delete)))
        .onMessage(ToShard.Follow.class, follow -> done(() -> host.follow(follow)))
        .onMessage(ToShard.HandOver.class, handOver -> closing())
        .onMessage(ToShard.Lost.class, lost -> losing())
        .onMessage(ToShard.Touch.class, touch -> Behaviors.same())
        .onSignal(PostStop.class, stopped -> done(() -> host.gone(shard)))
        .build();
  }

  private void delete(ToShard.Delete delete) {
    deletions.computeIfAbsent(delete, host::delete).thenAccept(delete.replyTo()::tell);
    if (deletions.size() > MOST_DELETIONS) {
      deletions.remove(deletions.keySet().iterator().next());
    }
  }

  /** What arrives meanwhile is sent again. */
  private Behavior<ToShard> losing() {
    context.getLog().warn("Another host has taken shard {} in the store; its sessions stop", shard);
    context.pipeToSelf(host.close(shard), (done, thrown) -> new ToShard.Closed());
    host.vacate(shard);
    return Behaviors.receive(ToShard.class)
        .onMessage(ToShard.Closed.class, closed -> given())
        // The next holder does it.
        .onMessage(ToShard.Delete.class, delete -> done(() -> host.pass(shard, delete, AGAIN)))
        .onSignal(PostStop.class, stopped -> done(() -> host.gone(shard)))
        .build();
  }

  private Behavior<ToShard> closing() {
    context.pipeToSelf(host.close(shard), (done, thrown) -> new ToShard.Closed());
    timers.startSingleTimer(new ToShard.Vacate(), host.handOver());
    return Behaviors.receive(ToShard.class)
        .onMessage(ToShard.Vacate.class, vacate -> done(() -> host.vacate(shard)))
        .onMessage(ToShard.Closed.class, closed -> done(this::release))
        .onMessage(ToShard.Released.class, released -> given())
        // The next holder does it.
        .onMessage(
            ToShard.Delete.class, delete -> done(() -> host.pass(shard, delete, Duration.ZERO)))
        // They reached the shard before its host knew that it moves.
        .onMessage(ToShard.Deliver.class, deliver -> done(() -> host.deliver(deliver)))
        .onSignal(PostStop.class, stopped -> done(() -> host.gone(shard)))
        .build();
  }

  private void release() {
    context.pipeToSelf(host.release(shard), (done, thrown) -> new ToShard.Released());
  }

  private Behavior<ToShard> given() {
    return Behaviors.stopped();
  }

  private static Behavior<ToShard> done(Runnable what) {
    what.run();
    return Behaviors.same();
  }
}
