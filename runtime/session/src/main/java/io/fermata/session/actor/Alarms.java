package io.fermata.session.actor;

import io.fermata.persistence.pekko.StoreTroubles;
import io.fermata.persistence.spi.Due;
import io.fermata.session.key.SessionKey;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import java.util.function.Predicate;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.javadsl.AbstractBehavior;
import org.apache.pekko.actor.typed.javadsl.ActorContext;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.actor.typed.javadsl.Receive;
import org.apache.pekko.actor.typed.javadsl.TimerScheduler;

/**
 * Wakes sessions that are due. It polls the store, so a session can sleep for months without being
 * in memory, also across restarts.
 *
 * <p>Some sessions stay due: those of flows that this host does not have, and those that cannot
 * continue although they were woken. When a poll finds only such sessions up to a time, the next
 * polls begin there. A session that becomes due before that time is awake and has its own timer, or
 * is woken by what made it so; what this host takes from another one is polled for from the
 * beginning.
 */
public final class Alarms extends AbstractBehavior<Alarms.Message> {
  /** How often the store is polled. */
  static final Duration LOOK = Duration.ofSeconds(5);

  /** How often a poll begins with what has been overdue longest, whatever is known of it. */
  static final Duration LOOK_AT_ALL = Duration.ofMinutes(10);

  /** How far ahead the store is polled. A session with a shorter wait should stay awake. */
  static final Duration HORIZON = LOOK.multipliedBy(2);

  /** How many more sessions than the known ones a poll may return. */
  static final int FOUND_AT_ONCE = 10_000;

  /** How long a woken session may stay due before it is woken again; doubled each time. */
  private static final Duration BACKOFF = Duration.ofMinutes(1);

  private static final Duration LONGEST_BACKOFF = Duration.ofHours(1);

  /** With this back-off, a session has stayed due for minutes although it was woken three times. */
  private static final Duration STUCK = BACKOFF.multipliedBy(8);

  /** How long a poll waits for more sessions that the host takes. */
  private static final Duration TAKING = Duration.ofMillis(100);

  /** Alarms closer together than this fire together. */
  private static final Duration GRAIN = Duration.ofMillis(20);

  /** The messages of the alarms. */
  public sealed interface Message {}

  /** The host has taken sessions of another one, which may be due. */
  public record Taken() implements Message {}

  private record Look() implements Message {}

  private record Ring() implements Message {}

  /**
   * What a poll has found.
   *
   * @param at when the poll began
   * @param complete whether nothing was left out
   */
  private record Found(List<Due> due, long at, boolean complete) implements Message {}

  /** The sessions that were found are woken, and there may be more. */
  private record LookOn() implements Message {}

  private record NotFound(Throwable thrown) implements Message {}

  /** Finds the sessions that are due from a time up to another, in milliseconds since 1970. */
  public interface Calendar {
    CompletionStage<List<Due>> due(long from, long until, int max);
  }

  /**
   * Watches whether sessions are woken in time. One that stays due for long may be counted for some
   * minutes after it has continued.
   */
  public interface Watch {
    /**
     * The store was polled.
     *
     * @param soon how many sessions are due soon, or are overdue
     * @param lag how long the first of them is overdue; as long as the store cannot be polled, at
     *     least the time since it could
     */
    void polled(int soon, Duration lag);
  }

  /**
   * A session that is due.
   *
   * @param at when the session is due
   * @param next when it is woken next
   * @param backoff how long it then has before it is woken again
   */
  private record Alarm(long at, long next, long backoff) {
    static Alarm first(Due due) {
      return new Alarm(due.at(), due.at(), BACKOFF.toMillis());
    }

    /** A clock that was set back does not lengthen the back-off. */
    Alarm at(long now) {
      return next > at && next - now > backoff
          ? new Alarm(at, Math.max(at, now + backoff), backoff)
          : this;
    }

    boolean stuck() {
      return backoff >= STUCK.toMillis();
    }

    Alarm rung(long now) {
      return new Alarm(at, now + backoff, Math.min(2 * backoff, LONGEST_BACKOFF.toMillis()));
    }
  }

  private final Calendar calendar;
  private final Predicate<String> ours;
  private final InstantSource clock;
  private final Function<List<String>, CompletionStage<?>> wakeUp;
  private final Watch watch;
  private final TimerScheduler<Message> timers;
  private Map<String, Alarm> alarms = new HashMap<>();

  /** The flows that this host does not have and whose sessions were logged as overdue. */
  private final Set<String> reported = new HashSet<>();

  /** What is due before this time is foreign or stuck, as far as is known. */
  private long from;

  /** The foreign sessions that were found before that time. */
  private int passed;

  /** All foreign sessions that were found. */
  private int foreign;

  private long polledAt;
  private long polledAllAt;

  /** Whether the host has taken sessions since the latest poll began. */
  private boolean taken;

  private Alarms(
      ActorContext<Message> context,
      TimerScheduler<Message> timers,
      Calendar calendar,
      Predicate<String> ours,
      InstantSource clock,
      Function<List<String>, CompletionStage<?>> wakeUp,
      Watch watch) {
    super(context);
    this.timers = timers;
    this.polledAt = clock.millis();
    this.polledAllAt = polledAt;
    this.calendar = calendar;
    this.ours = ours;
    this.clock = clock;
    this.wakeUp = wakeUp;
    this.watch = watch;
  }

  /**
   * Wakes the sessions of a host when they are due.
   *
   * @param ours whether a journal is a session of this host; others are ignored
   * @param wakeUp wakes sessions, and completes when it can take more
   * @param watch is notified after each poll
   */
  public static Behavior<Message> create(
      Calendar calendar,
      Predicate<String> ours,
      InstantSource clock,
      Function<List<String>, CompletionStage<?>> wakeUp,
      Watch watch) {
    return Behaviors.setup(
        context ->
            Behaviors.withTimers(
                timers -> {
                  context.getSelf().tell(new Look());
                  return new Alarms(context, timers, calendar, ours, clock, wakeUp, watch);
                }));
  }

  @Override
  public Receive<Message> createReceive() {
    return newReceiveBuilder()
        .onMessage(Look.class, look -> look())
        .onMessage(LookOn.class, lookOn -> lookOn())
        .onMessage(Taken.class, more -> taken())
        .onMessage(Found.class, this::found)
        .onMessage(NotFound.class, this::notFound)
        .onMessage(Ring.class, ring -> ring())
        .build();
  }

  /** Polls follow each other, so a slow one does not queue up more. */
  private Behavior<Message> look() {
    long now = clock.millis();
    if (taken || now < from || Math.abs(now - polledAllAt) >= LOOK_AT_ALL.toMillis()) {
      from = 0;
      passed = 0;
      polledAllAt = now;
    }
    taken = false;
    // Known and foreign sessions must not crowd out the rest; a doubled limit finds many in few
    // polls.
    int max = alarms.size() + 2 * (foreign - passed) + FOUND_AT_ONCE;
    getContext()
        .pipeToSelf(
            calendar.due(from, now + HORIZON.toMillis(), max),
            (due, thrown) ->
                thrown == null ? new Found(due, now, due.size() < max) : new NotFound(thrown));
    return this;
  }

  private Behavior<Message> found(Found found) {
    Map<String, Alarm> present = new HashMap<>(alarms);
    present.values().removeIf(alarm -> alarm.at() >= from);
    List<Due> others = new ArrayList<>();
    for (Due due : found.due()) {
      if (ours.test(due.persistenceId())) {
        Alarm known = alarms.get(due.persistenceId());
        present.put(
            due.persistenceId(),
            known != null && known.at() == due.at() ? known : Alarm.first(due));
      } else {
        others.add(due);
      }
    }
    alarms = present;
    polledAt = clock.millis();
    watch.polled(present.size(), lag(polledAt));
    foreign = passed + others.size();
    if (found.complete()) {
      report(others, found.at());
      pass(found.at(), others);
    }
    timers.startSingleTimer(new Look(), taken ? TAKING : LOOK);
    CompletionStage<?> woken = wakeDue();
    if (!found.complete()) {
      getContext().pipeToSelf(woken, (done, thrown) -> new LookOn());
    }
    return this;
  }

  /**
   * Logs once of each flow that nothing ends its sessions, after a poll that has found all of them.
   */
  private void report(List<Due> others, long now) {
    if (from > 0) {
      return;
    }
    Map<String, Integer> overdue = new TreeMap<>();
    for (Due due : others) {
      if (due.at() <= now) {
        overdue.merge(SessionKey.flowOf(due.persistenceId()), 1, Integer::sum);
      }
    }
    if (reported.addAll(overdue.keySet())) {
      getContext()
          .getLog()
          .warn(
              "This host lacks the flows of sessions that are overdue, so they stay: {};"
                  + " register the flows to end them, or erase them",
              overdue);
    }
  }

  /** The next polls begin with the first session that may continue, and with what becomes due. */
  private void pass(long now, List<Due> others) {
    from =
        alarms.values().stream()
            .filter(alarm -> !alarm.stuck())
            .mapToLong(Alarm::at)
            .reduce(now, Math::min);
    passed += (int) others.stream().filter(due -> due.at() < from).count();
  }

  private Behavior<Message> lookOn() {
    if (!timers.isTimerActive(new Look())) {
      // A poll is running.
      return this;
    }
    timers.cancel(new Look());
    return look();
  }

  private Behavior<Message> taken() {
    boolean polling = !timers.isTimerActive(new Look());
    if (!taken && !polling) {
      timers.startSingleTimer(new Look(), TAKING);
    }
    taken = true;
    return this;
  }

  private Behavior<Message> notFound(NotFound failed) {
    long now = clock.millis();
    Duration unknown = Duration.ofMillis(Math.max(0, now - polledAt));
    Duration lag = lag(now);
    watch.polled(alarms.size(), lag.compareTo(unknown) > 0 ? lag : unknown);
    StoreTroubles.warn(
        getContext().getLog(),
        "Due sessions could not be read from the store; retrying",
        failed.thrown());
    timers.startSingleTimer(new Look(), LOOK);
    return this;
  }

  private Duration lag(long now) {
    long latest = alarms.values().stream().mapToLong(alarm -> now - alarm.at()).max().orElse(0);
    return Duration.ofMillis(Math.max(latest, 0));
  }

  private Behavior<Message> ring() {
    wakeDue();
    return this;
  }

  private CompletionStage<?> wakeDue() {
    long now = clock.millis();
    List<String> woken = new ArrayList<>();
    alarms.replaceAll(
        (entityId, known) -> {
          Alarm alarm = known.at(now);
          if (alarm.next() > now) {
            return alarm;
          }
          woken.add(entityId);
          return alarm.rung(now);
        });
    CompletionStage<?> begun =
        woken.isEmpty()
            ? CompletableFuture.completedFuture(null)
            : wakeUp.apply(List.copyOf(woken));
    alarms.values().stream()
        .mapToLong(Alarm::next)
        .min()
        .ifPresent(
            next ->
                timers.startSingleTimer(
                    new Ring(), Duration.ofMillis(Math.max(next - now, GRAIN.toMillis()))));
    return begun;
  }
}
