package io.fermata.session.actor;

import io.fermata.flow.event.Outcome;
import io.fermata.flow.event.Retry;
import io.fermata.persistence.spi.Shard;
import io.fermata.session.admin.SessionScope;
import io.fermata.session.admin.Settings;
import io.fermata.session.journal.SessionReply;
import io.fermata.session.key.HostError;
import io.fermata.session.key.LogLabels;
import io.fermata.session.observe.HostGauges;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.javadsl.AbstractBehavior;
import org.apache.pekko.actor.typed.javadsl.ActorContext;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.actor.typed.javadsl.Receive;
import org.apache.pekko.actor.typed.javadsl.TimerScheduler;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;

/**
 * Delivers messages to the sessions that this host runs, by name. It wakes sleeping sessions, stops
 * idle ones, and holds messages that arrive while one stops. In a cluster the {@link Placement}
 * says which sessions those are, and messages to others are forwarded.
 */
public final class SessionRegion extends AbstractBehavior<SessionRegion.Message> {
  /** How many sessions are asked to sleep when another wakes: more than one, as some cannot. */
  private static final int ASKED = 4;

  private static final Duration LONGEST_LOOK = Duration.ofSeconds(1);

  /** How long a lost session is left alone, and how often a failing store is probed. */
  static final Duration RECOVERS = Duration.ofSeconds(1);

  /** The waits of a session that fails again and again although the store works. */
  static final Retry RECOVERY = Retry.of(Integer.MAX_VALUE, RECOVERS);

  /** The timeout of a probe of the store. */
  private static final Duration SILENCE = Duration.ofSeconds(10);

  /** The messages of the region. */
  public sealed interface Message {}

  /** A command for a session. */
  record Envelope(String entityId, SessionCommand command) implements Message {}

  /** A session offers to go to sleep. */
  record Passivate(String entityId, ActorRef<SessionCommand> session) implements Message {}

  /** A session stops because it has nothing to do. */
  record FallsAsleep(String entityId, ActorRef<SessionCommand> session) implements Message {}

  /** A session that should sleep has work to do. */
  record StayAwake(String entityId, ActorRef<SessionCommand> session) implements Message {}

  /** A session stops because it cannot read its journal and never will. */
  record Unreadable(
      String entityId, ActorRef<SessionCommand> session, Outcome.Failure why, String reason)
      implements Message {}

  /** Look for idle sessions. */
  private record Tick() implements Message {}

  private record Terminated(String entityId, ActorRef<SessionCommand> session) implements Message {}

  /** Look whether the store works and lost sessions can resume. */
  private record Probe() implements Message {}

  private record Probed(boolean works) implements Message {}

  /** Let every session finish its work and stop. */
  record SleepAll(CompletableFuture<Void> asleep) implements Message {}

  /**
   * Let the sessions of a shard finish their work and stop, as another host is to run them. The
   * placement forwards calls to them already.
   */
  public record CloseShard(int shard, CompletableFuture<Void> closed) implements Message {}

  /** Stop the sessions of a closing shard that still work. */
  public record VacateShard(int shard) implements Message {}

  /** Stop some sessions at once and block messages to them. */
  public record Bar(SessionScope scope, CompletableFuture<Void> stopped) implements Message {}

  /** Sessions can be reached again. */
  public record Unbar(SessionScope scope, boolean resume, CompletableFuture<Void> lifted)
      implements Message {}

  /**
   * Wake sessions with interrupted work, or that are due.
   *
   * @param begun completes when the last of them begins to recover
   */
  public record WakeUp(List<String> entityIds, CompletableFuture<Void> begun) implements Message {
    public WakeUp(List<String> entityIds) {
      this(entityIds, new CompletableFuture<>());
    }
  }

  /** A session that was woken has recovered. */
  record Woken(String entityId) implements Message {}

  /** Replies on behalf of lost sessions. */
  interface Losses {
    /** The actor of its session gets a call. */
    void delivered(long call);

    /** A session's actor has stopped and will not reply to the calls that it got. */
    void lost(String entityId, Outcome.Failure why);
  }

  /** Creates the actor of a session. */
  public interface SessionFactory {
    /**
     * The session of a name.
     *
     * @param fresh whether there can be no journal of it yet
     */
    Behavior<SessionCommand> of(String entityId, boolean fresh, ActorRef<Message> region);
  }

  private static final class Awake {
    final ActorRef<SessionCommand> session;

    /** When it last got a command, or was asked to make room. */
    long lastUsed;

    Outcome.@Nullable Failure unreadable;
    boolean fallsAsleep;
    @Nullable List<SessionCommand> held;

    Awake(ActorRef<SessionCommand> session) {
      this.session = session;
    }
  }

  private final SessionFactory factory;
  private final int bound;
  private final Duration idle;
  private final LongSupplier nanos;
  private final HostGauges gauges;
  private final Losses losses;
  private final Supplier<CompletionStage<?>> ping;
  private final Placement placement;
  private final TimerScheduler<Message> timers;
  private @Nullable CompletableFuture<Void> sleepingAll;

  /** In the order of their last use. */
  private final Map<String, Awake> awake = new LinkedHashMap<>(64, 0.75f, true);

  private final Map<Bar, Barred> bars = new LinkedHashMap<>();

  /** The shards that close, with their sessions that have not stopped yet. */
  private final Map<CloseShard, Set<String>> closing = new LinkedHashMap<>();

  /**
   * The sessions behind a bar.
   *
   * @param stopping have not stopped yet
   * @param resume were stopped, or due to be woken, meanwhile
   */
  private record Barred(Set<String> stopping, Set<String> resume) {}

  /**
   * A session whose actor stopped unexpectedly.
   *
   * @param times how often in a row
   * @param until when it may be woken, in monotonic nanoseconds
   */
  private record Lost(int times, long until) {}

  /** The lost sessions, until they sleep regularly. */
  private final Map<String, Lost> lost = new LinkedHashMap<>();

  private final WakeUps wakeUps = new WakeUps();

  /** The sessions that were logged as unreadable. */
  private final Set<String> reported = new HashSet<>();

  private boolean storeFails;
  private boolean probing;
  private long nextProbe;

  private SessionRegion(
      ActorContext<Message> context,
      SessionFactory factory,
      Settings settings,
      LongSupplier nanos,
      HostGauges gauges,
      Losses losses,
      Supplier<CompletionStage<?>> ping,
      Placement placement,
      TimerScheduler<Message> timers) {
    super(context);
    this.factory = factory;
    this.bound = settings.awake();
    this.idle = settings.idle();
    this.nanos = nanos;
    this.gauges = gauges;
    this.losses = losses;
    this.ping = ping;
    this.placement = placement;
    this.timers = timers;
  }

  /**
   * A region.
   *
   * @param ping probes the store for all lost sessions; it fails as long as the store does
   */
  public static Behavior<Message> create(
      SessionFactory factory,
      Settings settings,
      LongSupplier nanos,
      HostGauges gauges,
      Losses losses,
      Supplier<CompletionStage<?>> ping,
      Placement placement) {
    return Behaviors.setup(
        context ->
            Behaviors.withTimers(
                timers -> {
                  Duration look = settings.idle().dividedBy(4);
                  timers.startTimerWithFixedDelay(
                      new Tick(), look.compareTo(LONGEST_LOOK) < 0 ? look : LONGEST_LOOK);
                  return new SessionRegion(
                      context, factory, settings, nanos, gauges, losses, ping, placement, timers);
                }));
  }

  @Override
  public Receive<Message> createReceive() {
    return newReceiveBuilder()
        .onMessage(Envelope.class, this::deliver)
        .onMessage(Passivate.class, this::passivate)
        .onMessage(Terminated.class, this::terminated)
        .onMessage(FallsAsleep.class, this::fallsAsleep)
        .onMessage(StayAwake.class, this::stayAwake)
        .onMessage(Unreadable.class, this::unreadable)
        .onMessage(Tick.class, tick -> letIdleOnesSleep())
        .onMessage(Probe.class, probe -> probe())
        .onMessage(Probed.class, probed -> probed(probed.works()))
        .onMessage(WakeUp.class, this::wakeUp)
        .onMessage(Woken.class, woken -> woken(woken.entityId()))
        .onMessage(Bar.class, this::bar)
        .onMessage(Unbar.class, this::unbar)
        .onMessage(SleepAll.class, this::sleepAll)
        .onMessage(CloseShard.class, this::closeShard)
        .onMessage(VacateShard.class, this::vacateShard)
        .build();
  }

  private Behavior<Message> bar(Bar bar) {
    Barred barred = new Barred(new HashSet<>(), new LinkedHashSet<>());
    awake.forEach(
        (entityId, entry) -> {
          if (bar.scope().has(entityId)) {
            barred.stopping().add(entityId);
            entry.session.tell(new SessionCommand.Vanish());
          }
        });
    bars.put(bar, barred);
    completeIfStopped(bar, barred);
    return this;
  }

  private Behavior<Message> unbar(Unbar unbar) {
    bars.keySet().stream()
        .filter(bar -> bar.scope().equals(unbar.scope()))
        .findFirst()
        .ifPresent(
            bar -> {
              Barred barred = bars.remove(bar);
              if (unbar.resume() && barred != null && !barred.resume().isEmpty()) {
                wakeUp(new WakeUp(List.copyOf(barred.resume())));
              }
            });
    unbar.lifted().complete(null);
    return this;
  }

  private void resumeAfterBars(String entityId) {
    bars.forEach(
        (bar, barred) -> {
          if (bar.scope().has(entityId)) {
            barred.resume().add(entityId);
          }
        });
  }

  private boolean isBarred(String entityId) {
    return bars.keySet().stream().anyMatch(bar -> bar.scope().has(entityId));
  }

  private void stoppedBehindBars(String entityId) {
    bars.forEach(
        (bar, barred) -> {
          if (barred.stopping().remove(entityId)) {
            completeIfStopped(bar, barred);
          }
        });
  }

  private static void completeIfStopped(Bar bar, Barred barred) {
    if (barred.stopping().isEmpty()) {
      bar.stopped().complete(null);
    }
  }

  private void refuse(Envelope envelope) {
    if (envelope.command() instanceof SessionCommand.Call call) {
      call.reply(SessionReply.failure(envelope.entityId(), HostError.ERASED.failure()));
    }
  }

  private Behavior<Message> wakeUp(WakeUp wake) {
    wakeUps.add(wake.entityIds(), wake.begun());
    return wakeNext();
  }

  private Behavior<Message> woken(String entityId) {
    wakeUps.ended(entityId);
    return wakeNext();
  }

  private Behavior<Message> wakeNext() {
    if (sleepingAll != null) {
      // The next start wakes them.
      wakeUps.clear();
      return this;
    }
    for (String next = wakeUps.next(); next != null; next = wakeUps.next()) {
      deliver(new Envelope(next, new SessionCommand.Wake()));
      if (!awake.containsKey(next)) {
        wakeUps.ended(next);
      }
    }
    return this;
  }

  private Behavior<Message> deliver(Envelope envelope) {
    if (isBarred(envelope.entityId())) {
      refuse(envelope);
      if (envelope.command() instanceof SessionCommand.Wake) {
        resumeAfterBars(envelope.entityId());
      }
      return this;
    }
    Awake entry = awake.get(envelope.entityId());
    boolean asleep = entry == null;
    if (!placement.isHere(envelope.entityId())
        && (asleep || envelope.command() instanceof SessionCommand.Call)) {
      forward(envelope);
      return this;
    }
    if (entry == null) {
      entry = wake(envelope.entityId(), isFresh(envelope.command()));
    }
    entry.lastUsed = nanos.getAsLong();
    if (entry.held != null) {
      entry.held.add(envelope.command());
      return this;
    }
    tell(entry, envelope.command());
    if (sleepingAll != null && asleep) {
      entry.session.tell(new SessionCommand.Sleep(true));
    }
    return this;
  }

  private void tell(Awake entry, SessionCommand command) {
    if (command instanceof SessionCommand.Call call) {
      losses.delivered(call.id());
    }
    entry.session.tell(command);
  }

  /** A session that another host runs wakes itself there. */
  private void forward(Envelope envelope) {
    if (envelope.command() instanceof SessionCommand.Call
        || envelope.command() instanceof SessionCommand.DeadlinePassed) {
      placement.forward(envelope.entityId(), envelope.command());
    }
  }

  private Behavior<Message> closeShard(CloseShard close) {
    Set<String> stopping = new HashSet<>();
    awake.forEach(
        (entityId, entry) -> {
          if (Shard.of(entityId) == close.shard()) {
            stopping.add(entityId);
            if (entry.held == null) {
              entry.session.tell(new SessionCommand.Sleep(true));
            }
          }
        });
    lost.keySet().removeIf(entityId -> Shard.of(entityId) == close.shard());
    reported.removeIf(entityId -> Shard.of(entityId) == close.shard());
    closing.put(close, stopping);
    completeClosed();
    return this;
  }

  private Behavior<Message> vacateShard(VacateShard vacate) {
    closing.forEach(
        (close, stopping) -> {
          if (close.shard() == vacate.shard()) {
            stopping.stream()
                .map(awake::get)
                .filter(Objects::nonNull)
                .forEach(entry -> entry.session.tell(new SessionCommand.Vanish()));
          }
        });
    return this;
  }

  private void completeClosed() {
    closing
        .entrySet()
        .removeIf(each -> each.getValue().isEmpty() && each.getKey().closed().complete(null));
  }

  private static boolean isFresh(SessionCommand first) {
    return first instanceof SessionCommand.Call call && call.fresh();
  }

  private Awake wake(String entityId, boolean fresh) {
    ActorRef<SessionCommand> session =
        getContext().spawnAnonymous(factory.of(entityId, fresh, getContext().getSelf()));
    getContext().watchWith(session, new Terminated(entityId, session));
    Awake entry = new Awake(session);
    awake.put(entityId, entry);
    gauges.awake(awake.size());
    makeRoom();
    return entry;
  }

  /** Asks the least used sessions whether they can sleep; others are asked before them again. */
  private void makeRoom() {
    int excess = awake.size() - bound;
    if (excess <= 0) {
      return;
    }
    List<String> leastUsed = awake.keySet().stream().limit(Math.min(ASKED, excess)).toList();
    for (String entityId : leastUsed) {
      Awake entry = awake.get(entityId);
      if (entry != null) {
        entry.lastUsed = nanos.getAsLong();
        entry.session.tell(new SessionCommand.Idle());
      }
    }
  }

  private Behavior<Message> letIdleOnesSleep() {
    long before = nanos.getAsLong() - idle.toNanos();
    for (Awake leastUsedFirst : awake.values()) {
      if (leastUsedFirst.lastUsed - before > 0) {
        break;
      }
      leastUsedFirst.session.tell(new SessionCommand.Idle());
    }
    makeRoom();
    return this;
  }

  private Behavior<Message> passivate(Passivate passivate) {
    Awake entry = awake.get(passivate.entityId());
    if (entry != null && entry.session.equals(passivate.session()) && entry.held == null) {
      entry.held = new ArrayList<>();
      entry.session.tell(new SessionCommand.Sleep(false));
    }
    return this;
  }

  private Behavior<Message> fallsAsleep(FallsAsleep asleep) {
    Awake entry = awake.get(asleep.entityId());
    if (entry != null && entry.session.equals(asleep.session())) {
      entry.fallsAsleep = true;
    }
    return this;
  }

  private Behavior<Message> stayAwake(StayAwake awakened) {
    Awake entry = awake.get(awakened.entityId());
    if (entry == null || entry.held == null || !entry.session.equals(awakened.session())) {
      return this;
    }
    List<SessionCommand> held = entry.held;
    entry.held = null;
    held.forEach(command -> tell(entry, command));
    if (sleepingAll != null || !placement.isHere(awakened.entityId())) {
      entry.session.tell(new SessionCommand.Sleep(true));
    }
    return this;
  }

  /** Only a call wakes it again. */
  private Behavior<Message> unreadable(Unreadable unreadable) {
    Awake entry = awake.get(unreadable.entityId());
    if (entry != null && entry.session.equals(unreadable.session())) {
      entry.unreadable = unreadable.why();
      log(unreadable);
    }
    return this;
  }

  /**
   * Logs once, although every call reads the journal again. The actor system clears the labels,
   * with its own, after the message.
   */
  private void log(Unreadable unreadable) {
    if (reported.add(unreadable.entityId())) {
      Logger log = getContext().getLog();
      LogLabels.on().session(unreadable.entityId());
      log.error("Session {} cannot continue: {}", unreadable.entityId(), unreadable.reason());
    }
  }

  private Behavior<Message> sleepAll(SleepAll all) {
    sleepingAll = all.asleep();
    wakeUps.clear();
    List.copyOf(awake.values())
        .forEach(
            entry -> {
              if (entry.held == null) {
                entry.session.tell(new SessionCommand.Sleep(true));
              }
            });
    finishSleepingAll();
    return this;
  }

  // --- lost sessions ---------------------------------------------------------------------------

  /** It stopped unexpectedly: its work waits until the store works. */
  private void resumeLater(String entityId) {
    long now = nanos.getAsLong();
    Lost before = lost.remove(entityId);
    // The store's failures are not counted against the session.
    boolean again =
        before != null && !storeFails && now - before.until() < RECOVERY.longest().toNanos();
    int times = again ? before.times() + 1 : 1;
    Duration pause = RECOVERY.after(times);
    lost.put(entityId, new Lost(times, now + pause.toNanos()));
    boolean set = probing || timers.isTimerActive(Probe.class);
    if (!set || nextProbe - now > pause.toNanos()) {
      probeIn(pause);
    }
  }

  private void probeIn(Duration time) {
    nextProbe = nanos.getAsLong() + time.toNanos();
    timers.startSingleTimer(Probe.class, new Probe(), time);
  }

  /** Probes the store once for all lost sessions, which do not try it themselves. */
  private Behavior<Message> probe() {
    if (sleepingAll == null && lost.keySet().stream().anyMatch(id -> !awake.containsKey(id))) {
      probing = true;
      getContext().pipeToSelf(pinged(), (done, thrown) -> new Probed(thrown == null));
    }
    return this;
  }

  private CompletionStage<?> pinged() {
    try {
      return ping.get()
          .toCompletableFuture()
          .copy()
          .orTimeout(SILENCE.toMillis(), TimeUnit.MILLISECONDS);
    } catch (RuntimeException e) {
      return CompletableFuture.failedFuture(e);
    }
  }

  private Behavior<Message> probed(boolean works) {
    probing = false;
    storeFails = !works;
    if (!works) {
      probeIn(RECOVERS);
      return this;
    }
    long now = nanos.getAsLong();
    List<String> due = new ArrayList<>();
    long next = Long.MAX_VALUE;
    for (Map.Entry<String, Lost> each : lost.entrySet()) {
      long wait = each.getValue().until() - now;
      boolean asleep = !awake.containsKey(each.getKey());
      if (asleep && wait <= 0) {
        due.add(each.getKey());
      } else if (asleep) {
        next = Math.min(next, wait);
      }
    }
    if (!due.isEmpty()) {
      wakeUp(new WakeUp(due));
    }
    if (next < Long.MAX_VALUE) {
      probeIn(Duration.ofNanos(next));
    }
    return this;
  }

  private void finishSleepingAll() {
    if (sleepingAll != null && awake.isEmpty()) {
      sleepingAll.complete(null);
    }
  }

  private Behavior<Message> terminated(Terminated terminated) {
    Awake entry = awake.get(terminated.entityId());
    if (entry == null || !entry.session.equals(terminated.session())) {
      return this;
    }
    awake.remove(terminated.entityId());
    wakeUps.ended(terminated.entityId());
    gauges.awake(awake.size());
    List<SessionCommand> held = entry.held == null ? List.of() : entry.held;
    boolean erased = isBarred(terminated.entityId());
    boolean moved = !placement.isHeld(terminated.entityId());
    Outcome.Failure why =
        erased
            ? HostError.ERASED.failure()
            : moved
                ? HostError.MOVED.failure()
                : entry.unreadable != null
                    ? entry.unreadable
                    : HostError.STORE_UNAVAILABLE.failure();
    losses.lost(terminated.entityId(), why);
    closing.values().forEach(stopping -> stopping.remove(terminated.entityId()));
    if (erased) {
      lost.remove(terminated.entityId());
      resumeAfterBars(terminated.entityId());
      held.forEach(command -> refuse(new Envelope(terminated.entityId(), command)));
      stoppedBehindBars(terminated.entityId());
      finishSleepingAll();
    } else if (sleepingAll != null || moved) {
      lost.remove(terminated.entityId());
      held.forEach(command -> deliver(new Envelope(terminated.entityId(), command)));
      finishSleepingAll();
    } else if (entry.unreadable != null) {
      lost.remove(terminated.entityId());
    } else {
      if (entry.fallsAsleep) {
        lost.remove(terminated.entityId());
      } else {
        resumeLater(terminated.entityId());
      }
      held.forEach(command -> deliver(new Envelope(terminated.entityId(), command)));
    }
    completeClosed();
    return wakeNext();
  }
}
