package io.fermata.session.actor;

import io.fermata.persistence.spi.Due;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.javadsl.AbstractBehavior;
import org.apache.pekko.actor.typed.javadsl.ActorContext;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.actor.typed.javadsl.Receive;
import org.apache.pekko.actor.typed.javadsl.TimerScheduler;

/**
 * Wakes the sessions whose time has come: it asks the store now and then who is due soon, so that a
 * session can sleep for months without being in memory, here or after a restart.
 */
public final class Alarms extends AbstractBehavior<Alarms.Message> {
  /** How often the store is asked. */
  static final Duration LOOK = Duration.ofSeconds(5);

  /** How far ahead the store is asked. A session that has less to wait had better stay awake. */
  static final Duration HORIZON = LOOK.multipliedBy(2);

  /** How many more sessions than are known may be found at once: what the region wakes in LOOK. */
  static final int FOUND_AT_ONCE = 10_000;

  /** How long a session that was woken may stay due before it is woken again; then twice that. */
  private static final Duration PATIENCE = Duration.ofMinutes(1);

  private static final Duration LONGEST_PATIENCE = Duration.ofHours(1);

  /** Alarms that are closer together than this ring together. */
  private static final Duration GRAIN = Duration.ofMillis(20);

  /** What the alarms are told. */
  sealed interface Message {}

  private record Look() implements Message {}

  private record Ring() implements Message {}

  private record Found(List<Due> due) implements Message {}

  private record NotFound(Throwable thrown) implements Message {}

  /** Who is due until a time, in milliseconds since 1970. */
  public interface Calendar {
    CompletionStage<List<Due>> due(long until, int max);
  }

  /**
   * A session that is due.
   *
   * @param at when the session wants to be woken
   * @param next when it is woken, for the first time or again
   * @param patience how long it then has to do what it was woken for
   */
  private record Alarm(long at, long next, long patience) {
    static Alarm first(Due due) {
      return new Alarm(due.at(), due.at(), PATIENCE.toMillis());
    }

    Alarm rung(long now) {
      return new Alarm(at, now + patience, Math.min(2 * patience, LONGEST_PATIENCE.toMillis()));
    }
  }

  private final Calendar calendar;
  private final Predicate<String> ours;
  private final InstantSource clock;
  private final Consumer<List<String>> wakeUp;
  private final TimerScheduler<Message> timers;
  private Map<String, Alarm> alarms = new HashMap<>();
  private int foreign;

  private Alarms(
      ActorContext<Message> context,
      TimerScheduler<Message> timers,
      Calendar calendar,
      Predicate<String> ours,
      InstantSource clock,
      Consumer<List<String>> wakeUp) {
    super(context);
    this.timers = timers;
    this.calendar = calendar;
    this.ours = ours;
    this.clock = clock;
    this.wakeUp = wakeUp;
  }

  /**
   * Wakes the sessions of a host when their time comes.
   *
   * @param ours which journals are sessions of this host; others are left alone
   */
  public static Behavior<Message> create(
      Calendar calendar,
      Predicate<String> ours,
      InstantSource clock,
      Consumer<List<String>> wakeUp) {
    return Behaviors.setup(
        context ->
            Behaviors.withTimers(
                timers -> {
                  context.getSelf().tell(new Look());
                  return new Alarms(context, timers, calendar, ours, clock, wakeUp);
                }));
  }

  @Override
  public Receive<Message> createReceive() {
    return newReceiveBuilder()
        .onMessage(Look.class, look -> look())
        .onMessage(Found.class, this::found)
        .onMessage(NotFound.class, this::notFound)
        .onMessage(Ring.class, ring -> ring())
        .build();
  }

  /** One look follows the other, so that a slow one does not queue up more. */
  private Behavior<Message> look() {
    long until = clock.millis() + HORIZON.toMillis();
    // What is known already, and what is not ours, must not crowd out the rest.
    int max = alarms.size() + foreign + FOUND_AT_ONCE;
    getContext()
        .pipeToSelf(
            calendar.due(until, max),
            (due, thrown) -> thrown == null ? new Found(due) : new NotFound(thrown));
    return this;
  }

  private Behavior<Message> found(Found found) {
    Map<String, Alarm> present = new HashMap<>();
    for (Due due : found.due()) {
      if (ours.test(due.persistenceId())) {
        Alarm known = alarms.get(due.persistenceId());
        present.put(
            due.persistenceId(),
            known != null && known.at() == due.at() ? known : Alarm.first(due));
      }
    }
    alarms = present;
    foreign = found.due().size() - present.size();
    timers.startSingleTimer(new Look(), LOOK);
    return ring();
  }

  private Behavior<Message> notFound(NotFound failed) {
    getContext()
        .getLog()
        .warn("Sessions that are due could not be found; will look again", failed.thrown());
    timers.startSingleTimer(new Look(), LOOK);
    return this;
  }

  private Behavior<Message> ring() {
    long now = clock.millis();
    List<String> woken = new ArrayList<>();
    alarms.replaceAll(
        (entityId, alarm) -> {
          if (alarm.next() > now) {
            return alarm;
          }
          woken.add(entityId);
          return alarm.rung(now);
        });
    if (!woken.isEmpty()) {
      wakeUp.accept(List.copyOf(woken));
    }
    alarms.values().stream()
        .mapToLong(Alarm::next)
        .min()
        .ifPresent(
            next ->
                timers.startSingleTimer(
                    new Ring(), Duration.ofMillis(Math.max(next - now, GRAIN.toMillis()))));
    return this;
  }
}
