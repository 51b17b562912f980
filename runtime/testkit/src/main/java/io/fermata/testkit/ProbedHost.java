package io.fermata.testkit;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import io.fermata.session.HostBuilder;
import io.fermata.session.admin.DataKeys;
import io.fermata.session.admin.KeyProvider;
import io.fermata.session.admin.Settings;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import java.util.stream.LongStream;
import org.apache.pekko.actor.testkit.typed.javadsl.ManualTime;
import org.apache.pekko.actor.typed.javadsl.Adapter;
import org.apache.pekko.dispatch.Dispatcher;
import org.jspecify.annotations.Nullable;

/**
 * The host of a probe: on a store that fails when a test wants it to, with a clock of the test,
 * killed and started again. Every entry and every state is read back as it is stored, and every
 * call and reply as it is sent between hosts.
 */
final class ProbedHost implements AutoCloseable {
  private static final Duration TIMEOUT = Duration.ofSeconds(40);

  /** More kills in one call than a script can plan. */
  private static final int MOST_KILLS = 100;

  /** With manual time: how long nothing happens before the clock advances. */
  private static final Duration REAL_PAUSE = Duration.ofMillis(100);

  /** With manual time: how often it is seen whether what was due has happened. */
  private static final Duration SHORT_PAUSE = Duration.ofMillis(5);

  /** How often a host looks for sessions that are due. */
  private static final Duration LOOK = Duration.ofSeconds(5);

  /** With manual time: more moments than a test waits for while a time passes. */
  private static final int MOST_MOMENTS = 10_000;

  /** At so many of them a host that does not do what is due is not waited for. */
  private static final int MOST_UNSETTLED = 8;

  /** With manual time: by how much the clock advances for a call that waits. */
  private static final Duration STEP = Duration.ofMillis(250);

  /** After so many of them nothing but time can be missing, and they become longer. */
  private static final int SHORT_STEPS = 30;

  private static final Duration LONGEST_STEP = Duration.ofSeconds(4);

  /** With manual time: how long a step may run before it counts as one that never ends. */
  private static final Duration PATIENCE = Duration.ofSeconds(5);

  /** How long closing waits if no step runs: one that the test lets hang would never end. */
  private static final Duration NOTHING_RUNS = Duration.ofSeconds(1);

  private static final Duration DRAIN = Duration.ofSeconds(30);

  /**
   * How a script ended, without what differs from run to run.
   *
   * @param words for the message of a failure
   * @param exact all that must be the same
   */
  record Ending(String words, String exact) {
    /** In words, or from where it differs if the words do not. */
    String unlike(Ending other) {
      return words.equals(other.words) ? Trees.unlike(exact, other.exact) : words;
    }
  }

  /** What a schedule waits for, and what lets it look at the clock. */
  private record Occurrence(Instant next, Runnable look) {
    boolean dueAt(Instant moment) {
      return !next.isAfter(moment);
    }
  }

  /** A journal is checked as it is written, and each entry is followed by a snapshot. */
  private static final Config CHECKED =
      ConfigFactory.parseMap(
          Map.of("pekko.actor.serializers.fermata-journal", CheckedSerializer.class.getName()));

  /** The store works in real time, however much of the other passes meanwhile. */
  private static final Config MANUAL_TIME =
      ConfigFactory.parseString(
              """
              pekko.scheduler.implementation = %s
              pekko.persistence {
                journal-plugin-fallback {
                  recovery-event-timeout = 36500d
                  circuit-breaker.call-timeout = 36500d
                }
                snapshot-store-plugin-fallback.circuit-breaker.call-timeout = 36500d
              }
              fermata-journal.circuit-breaker.call-timeout = 36500d
              fermata-snapshots.circuit-breaker.call-timeout = 36500d
              """
                  .formatted(LeapingScheduler.class.getName()))
          .withFallback(ManualTime.config());

  /** One for all probes, which may share a store. */
  private static final KeyProvider KEYS = DataKeys.parse(DataKeys.generate("probe"));

  final FaultyStore faults;
  private final UnaryOperator<HostBuilder> setup;
  private final IntFunction<UnaryOperator<HostBuilder>> ofLife;
  private final Runnable killed;
  private final ProbeClock clock = new ProbeClock();
  private final AtomicInteger running = new AtomicInteger();
  private final AtomicInteger lives = new AtomicInteger();
  private final Map<String, Occurrence> schedules = new ConcurrentHashMap<>();
  private volatile long changedAt = System.nanoTime();
  private volatile CrashPoint crash = CrashPoint.NEVER;
  private volatile @Nullable Fermata host;

  /**
   * @param setup configures the host each time it starts
   * @param ofLife what differs from start to start, by its number
   * @param killed is called when the host was killed and starts again
   */
  ProbedHost(
      Store store,
      UnaryOperator<HostBuilder> setup,
      IntFunction<UnaryOperator<HostBuilder>> ofLife,
      Runnable killed) {
    this.faults = FaultyStore.of(store);
    this.setup = setup;
    this.ofLife = ofLife;
    this.killed = killed;
  }

  Fermata host() {
    Fermata started = host;
    if (started == null) {
      started = open();
      host = started;
    }
    return started;
  }

  private Fermata open() {
    HostBuilder builder =
        setup.apply(
            Fermata.host()
                .store(faults.store())
                .spareKeys(KEYS)
                .settings(Settings.DEFAULT.snapshotEvery(1))
                .checkCalls(faults::damaged)
                .handlers(threads -> new WatchedThreads(threads, this::begins, this::ended))
                .clock(clock::now)
                .monotonicClock(clock::nanos));
    builder.config(clock.manual() ? CHECKED.withFallback(MANUAL_TIME) : CHECKED);
    int life = lives.incrementAndGet();
    schedules.clear();
    builder.occurrences((schedule, next, look) -> waits(life, schedule, next, look));
    Fermata started = ofLife.apply(life).apply(builder).start();
    clock.follow(started.system());
    return started;
  }

  private void waits(int life, String schedule, Instant next, Runnable look) {
    if (life == lives.get()) {
      schedules.put(schedule, new Occurrence(next, look));
    }
  }

  /** Closes the host and starts another one on the same store; false if none was started. */
  boolean restart() {
    if (host == null) {
      return false;
    }
    drain(host);
    host = open();
    return true;
  }

  private void drain(Fermata open) {
    open.close(running.get() == 0 ? NOTHING_RUNS : DRAIN);
    clock.ended();
  }

  @Override
  public void close() {
    faults.releaseWrites();
    if (host != null) {
      drain(host);
    }
  }

  // --- time -----------------------------------------------------------------------------------

  /** Its time begins at a moment, or later. */
  void beginAt(Instant moment) {
    clock.beginAt(moment);
  }

  void manualTime() {
    if (host != null) {
      throw new IllegalStateException(
          "The host runs in real time already; call manualTime() before the first call");
    }
    clock.stop();
  }

  /**
   * In manual time from one moment that a session waits for to the next, so that a wait that begins
   * when another ends can end within the same time. So do the occurrences of schedules.
   */
  void advance(Duration time) {
    ProbeClock.requireTime("The time that passes", time);
    if (clock.manual()) {
      host();
      Instant end = clock.now().plus(time);
      comeToRest();
      settle(clock.now(), end);
      OptionalLong next = nextMoment(clock.now(), end);
      int unsettled = 0;
      for (int moments = 0; next.isPresent() && moments < MOST_MOMENTS; moments++) {
        Instant moment = Instant.ofEpochMilli(next.getAsLong());
        passUntil(moment);
        unsettled += settle(moment, end) ? 0 : 1;
        next = unsettled < MOST_UNSETTLED ? nextMoment(moment, end) : OptionalLong.empty();
      }
      passUntil(end);
    } else {
      clock.pass(time);
    }
    recover();
  }

  private OptionalLong nextMoment(Instant after, Instant end) {
    return LongStream.concat(
            nextOccurrence(after, end).stream(), faults.nextMoment(after, end).stream())
        .min();
  }

  private OptionalLong nextOccurrence(Instant after, Instant end) {
    return schedules.values().stream()
        .filter(schedule -> !schedule.dueAt(after) && schedule.dueAt(end))
        .mapToLong(schedule -> schedule.next().toEpochMilli())
        .min();
  }

  /** What has begun ends before time passes, or would end late by the time that passed. */
  private void comeToRest() {
    long over = System.nanoTime() + PATIENCE.toNanos();
    long busyAt = System.nanoTime();
    while (System.nanoTime() - busyAt < REAL_PAUSE.toNanos() && System.nanoTime() < over) {
      LockSupport.parkNanos(SHORT_PAUSE.toNanos());
      busyAt = busy() ? System.nanoTime() : busyAt;
    }
  }

  private void passUntil(Instant moment) {
    Duration left = Duration.between(clock.now(), moment);
    if (!left.isNegative()) {
      clock.pass(left);
    }
  }

  /**
   * The host does what is due at a moment. What sleeps is looked for every few seconds, and what is
   * retried waits until nothing else happens. The next occurrence of a schedule is another moment,
   * as one that passes before an earlier one has started its run would be missed. If the host is
   * killed meanwhile, the next one does it.
   *
   * @return whether it has done it
   */
  private boolean settle(Instant moment, Instant end) {
    boolean settled = settleUnlessKilled(moment, end);
    while (recover()) {
      settled = settleUnlessKilled(moment, end);
    }
    return settled;
  }

  private boolean settleUnlessKilled(Instant moment, Instant end) {
    long over = System.nanoTime() + PATIENCE.toNanos();
    long busyAt = System.nanoTime();
    boolean due = true;
    schedules.values().stream().filter(s -> s.dueAt(moment)).forEach(s -> s.look().run());
    Instant last = lastOf(moment, end);
    while ((due || busy() || works(last) || starts(moment))
        && !faults.life().over()
        && System.nanoTime() < over) {
      LockSupport.parkNanos(SHORT_PAUSE.toNanos());
      Instant now = clock.now();
      last = lastOf(moment, end);
      due = now.isBefore(last) && faults.nextDue(moment.minusMillis(1), moment).isPresent();
      busyAt = busy() ? System.nanoTime() : busyAt;
      boolean rests = System.nanoTime() - busyAt >= REAL_PAUSE.toNanos();
      if (rests || (due && !starts(moment))) {
        if (!due && !now.isBefore(last)) {
          break;
        }
        Instant later = due || starts(moment) ? now.plus(LOOK) : afterAPause(now, end);
        passUntil(later.isBefore(last) ? later : last);
        busyAt = System.nanoTime();
      }
    }
    return System.nanoTime() < over;
  }

  /** Until when time passes for what is due at a moment. */
  private Instant lastOf(Instant moment, Instant end) {
    OptionalLong occurrence = nextOccurrence(moment, end);
    return occurrence.isPresent() ? Instant.ofEpochMilli(occurrence.getAsLong()) : end;
  }

  /** Whether a schedule has not yet started all that was due. */
  private boolean starts(Instant moment) {
    return schedules.values().stream().anyMatch(schedule -> schedule.dueAt(moment));
  }

  /** Whether time that is left may bring unfinished work to its end. */
  private boolean works(Instant end) {
    return clock.now().isBefore(end) && faults.works() && !hangs();
  }

  /** The next moment if something is retried; an attempt may time out at any other. */
  private Instant afterAPause(Instant now, Instant end) {
    return faults.nextRetry(now, end).isPresent()
        ? Instant.ofEpochMilli(faults.nextMoment(now, end).orElseThrow())
        : now.plus(LOOK);
  }

  // --- crashes --------------------------------------------------------------------------------

  /** Whether the host that was started as this number no longer lives. */
  boolean over(int life) {
    return life != lives.get() || faults.life().over();
  }

  /** The entry with the result of a step or a call that was stored; null if there is none. */
  @Nullable Long completed(String session, Object step) {
    return crash.completed(session, step);
  }

  /** Kills the host and starts another one on the same store: only the journal is left. */
  void crash() {
    if (host != null) {
      faults.kill();
      recover();
    }
  }

  /** Starts another host if this one was killed; false if it lives. */
  boolean recover() {
    if (host == null || !faults.life().over()) {
      return false;
    }
    killed.run();
    lives.incrementAndGet();
    host.crash();
    clock.ended();
    host = open();
    return true;
  }

  /**
   * Runs a script undisturbed, and then twice for each write of the sessions that it begins: killed
   * before the write, and after it.
   *
   * @param script runs the script, and returns how it ended
   * @param performed what was performed, for the message of a failure
   */
  void crashEverywhere(Function<CrashPoint, Ending> script, Supplier<String> performed) {
    Ending undisturbed = run(script, new CrashPoint(0, CrashPoint.Timing.NONE));
    for (int write = 1; ; write++) {
      for (CrashPoint.Timing moment : List.of(CrashPoint.Timing.BEFORE, CrashPoint.Timing.AFTER)) {
        CrashPoint point = new CrashPoint(write, moment);
        Ending end = runCrashing(script, point, performed);
        if (!point.wasReached()) {
          crashAt(CrashPoint.NEVER);
          requireTested(write > 1);
          return;
        } else if (!end.exact().equals(undisturbed.exact())) {
          throw new AssertionError(
              "Killed %s, the script ends otherwise.\n  undisturbed  %s\n  killed       %s%s"
                  .formatted(
                      point.described(),
                      undisturbed.unlike(end),
                      end.unlike(undisturbed),
                      performed.get()));
        }
      }
    }
  }

  private static void requireTested(boolean tested) {
    if (!tested) {
      throw new AssertionError(
          "Nothing was tested: the host is killed at the writes of sessions that the script begins,"
              + " and it begins none. Begin one in the script");
    }
  }

  private Ending runCrashing(
      Function<CrashPoint, Ending> script, CrashPoint point, Supplier<String> performed) {
    try {
      return run(script, point);
    } catch (AssertionError e) {
      throw new AssertionError(
          "Killed %s, the script fails. %s%s"
              .formatted(point.described(), e.getMessage(), performed.get()),
          e);
    }
  }

  private Ending run(Function<CrashPoint, Ending> script, CrashPoint point) {
    crashAt(point);
    return script.apply(point);
  }

  private void crashAt(CrashPoint point) {
    crash = point;
    faults.crashAt(point);
  }

  // --- calls ----------------------------------------------------------------------------------

  /** Counts work that manual time waits for. */
  <T> CompletionStage<T> counted(Supplier<CompletionStage<T>> work) {
    begins();
    return work.get().whenComplete((result, failure) -> ended());
  }

  private void begins() {
    changedAt = System.nanoTime();
    running.incrementAndGet();
  }

  private void ended() {
    changedAt = System.nanoTime();
    running.decrementAndGet();
  }

  /**
   * Sends a call, and again to the next host if this one is killed before its reply.
   *
   * @param lost whether a reply is that of a host that was killed
   * @param what the call, for the message of a failure
   */
  <T> T call(Supplier<CompletionStage<T>> call, Predicate<T> lost, Object what) {
    for (int kills = 0; kills <= MOST_KILLS; kills++) {
      recover();
      T got = reply(call.get().toCompletableFuture(), lost, what);
      if (got != null) {
        return got;
      }
    }
    throw new AssertionError(
        "The host was killed " + MOST_KILLS + " times during " + what + "; see crashAt(…)");
  }

  /** The reply to a call; null if the host was killed before it. */
  private <T> @Nullable T reply(CompletableFuture<T> next, Predicate<T> lost, Object what) {
    long end = System.nanoTime() + TIMEOUT.toNanos();
    Duration step = STEP;
    int steps = 0;
    try {
      while (System.nanoTime() < end) {
        try {
          T got = next.get(REAL_PAUSE.toMillis(), TimeUnit.MILLISECONDS);
          return faults.life().over() && lost.test(got) ? null : got;
        } catch (TimeoutException e) {
          if (faults.life().over()) {
            return null;
          } else if (clock.manual() && !busy()) {
            clock.pass(step);
            boolean longer = ++steps > SHORT_STEPS && step.compareTo(LONGEST_STEP) < 0;
            step = longer ? step.multipliedBy(2) : step;
          }
        }
      }
    } catch (ExecutionException e) {
      if (faults.life().over()) {
        return null;
      }
      throw new AssertionError("The call failed without a reply: " + what, e.getCause());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError("The test was interrupted in " + what, e);
    }
    throw new AssertionError("The host did not answer within " + TIMEOUT + ": " + what);
  }

  /** Whether the store, an actor or a step is at work, and the step not for ever. */
  private boolean busy() {
    return faults.busy() || actorsWork() || (running.get() > 0 && !hangs());
  }

  /** On a machine that has little time for them they seem to wait, but have not been run yet. */
  private boolean actorsWork() {
    Fermata open = host;
    return open != null
        && Adapter.toClassic(open.system()).dispatcher() instanceof Dispatcher actors
        && actors.executorService().executor() instanceof ForkJoinPool pool
        && !pool.isQuiescent();
  }

  private boolean hangs() {
    return running.get() > 0 && System.nanoTime() - changedAt >= PATIENCE.toNanos();
  }
}
