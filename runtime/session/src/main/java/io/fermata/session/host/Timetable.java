package io.fermata.session.host;

import io.fermata.flow.Flow;
import io.fermata.flow.json.Limits;
import io.fermata.flow.json.Violation;
import io.fermata.session.admin.Schedule;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolReply;
import io.fermata.session.observe.ScheduleObserver;
import io.fermata.session.observe.Telemetry;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletionStage;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import org.apache.pekko.actor.typed.Behavior;

/** The validated schedules of a host. */
public final class Timetable {
  private static final Pattern NAME = Pattern.compile("[a-z0-9_-]{1,64}");
  private static final Duration SHORTEST = Duration.ofSeconds(1);
  private static final Duration LONGEST = Duration.ofDays(36_500);

  private record Entry(Schedule schedule, Rhythm rhythm) {}

  private final List<Entry> entries;
  private final Instant started;
  private final ScheduleObserver observer;

  /** How many schedules there are. */
  public int size() {
    return entries.size();
  }

  private Timetable(List<Entry> entries, Instant started, ScheduleObserver observer) {
    this.entries = entries;
    this.started = started;
    this.observer = observer;
  }

  /**
   * Validates the schedules of a host.
   *
   * @param flows those that it starts runs of, by id
   * @param now when the host starts
   * @throws IllegalStateException if any is invalid; the message lists all errors
   */
  public static Timetable of(
      List<Schedule> schedules,
      Map<String, Flow<?>> flows,
      Limits limits,
      Instant now,
      ScheduleObserver observer) {
    Reader reader = new Reader(flows, limits, now);
    schedules.forEach(reader::read);
    if (!reader.faults.isEmpty()) {
      throw new IllegalStateException(
          "The host's schedules are invalid:\n- " + String.join("\n- ", reader.faults));
    }
    return new Timetable(List.copyOf(reader.entries), now, observer);
  }

  /**
   * Starts schedules, or continues where they were.
   *
   * @param journals which of them, by their journals
   * @param spawn starts an actor of a name
   */
  public void start(
      Predicate<String> journals,
      BiConsumer<Behavior<?>, String> spawn,
      Function<ToolCall, CompletionStage<ToolReply>> host,
      InstantSource clock,
      Telemetry telemetry) {
    for (Entry entry : entries) {
      Schedule schedule = entry.schedule();
      if (journals.test(ScheduleActor.journalOf(schedule))) {
        observer.waits(schedule.name(), started, () -> {});
        spawn.accept(
            ScheduleActor.create(
                schedule, entry.rhythm(), host, clock, started, telemetry, observer),
            "schedule-" + schedule.name());
      }
    }
  }

  private static final class Reader {
    private final Map<String, Flow<?>> flows;
    private final Limits limits;
    private final Instant now;
    private final Set<String> names = new HashSet<>();
    private final List<Entry> entries = new ArrayList<>();
    private final List<String> faults = new ArrayList<>();

    Reader(Map<String, Flow<?>> flows, Limits limits, Instant now) {
      this.flows = flows;
      this.limits = limits;
      this.now = now;
    }

    void read(Schedule schedule) {
      if (!NAME.matcher(schedule.name()).matches()) {
        fault(schedule, "is not a valid name; use up to 64 lower-case letters, digits, _ and -");
      } else if (!names.add(schedule.name())) {
        fault(schedule, "is defined twice; use a unique name");
      }
      Flow<?> flow = flows.get(schedule.flow());
      if (flow == null) {
        fault(
            schedule,
            "starts the flow "
                + schedule.flow()
                + ", which the host does not have; call flow(…) for it, or name one of "
                + String.join(", ", new TreeSet<>(flows.keySet())));
      } else {
        List<Violation> wrong = flow.schema().check(schedule.updates(), limits).violations();
        if (!wrong.isEmpty()) {
          fault(schedule, Violation.listed("has updates that do not fit", wrong));
        }
      }
      if (schedule.intent().isBlank()) {
        fault(schedule, "has a blank intent; state why its runs are started");
      }
      rhythm(schedule).ifPresent(rhythm -> entries.add(new Entry(schedule, rhythm)));
    }

    private Optional<Rhythm> rhythm(Schedule schedule) {
      String cron = schedule.cron();
      Duration every = schedule.every();
      if (cron != null && every != null) {
        return fault(schedule, "has both cron(…) and every(…); call only one of them");
      } else if (cron != null) {
        return cron(schedule, cron);
      } else if (every != null) {
        return every(schedule, every);
      }
      return fault(schedule, "has no times; call cron(…) or every(…)");
    }

    private Optional<Rhythm> cron(Schedule schedule, String expression) {
      Rhythm rhythm;
      try {
        rhythm = Rhythm.Cron.parse(expression, schedule.zone());
      } catch (IllegalArgumentException e) {
        return fault(
            schedule,
            "has the cron expression \""
                + expression
                + "\", which is invalid ("
                + e.getMessage()
                + "); write minute, hour, day of month, month and day of week, for example"
                + " \"0 3 * * *\" or \"*/15 8-17 * * 1-5\"");
      }
      return rhythm.after(now).isPresent()
          ? Optional.of(rhythm)
          : fault(
              schedule,
              "has the cron expression \""
                  + expression
                  + "\", which never occurs; correct the day");
    }

    private Optional<Rhythm> every(Schedule schedule, Duration every) {
      return every.compareTo(SHORTEST) < 0 || every.compareTo(LONGEST) > 0
          ? fault(schedule, "has the interval " + every + "; use one second to 100 years")
          : Optional.of(new Rhythm.Every(every));
    }

    private Optional<Rhythm> fault(Schedule schedule, String what) {
      faults.add("schedule " + schedule.name() + " " + what);
      return Optional.empty();
    }
  }
}
