package io.fermata.session.host;

import com.cronutils.model.CronType;
import com.cronutils.model.definition.CronDefinitionBuilder;
import com.cronutils.model.time.ExecutionTime;
import com.cronutils.parser.CronParser;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.zone.ZoneOffsetTransition;
import java.time.zone.ZoneRules;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.LongStream;

/** The occurrences of a schedule. */
sealed interface Rhythm {

  /** Equal texts mean equal occurrences. */
  String text();

  /** The first occurrence after another one, or after the start of the schedule. */
  Optional<Instant> after(Instant last);

  /**
   * The most recent occurrences after {@code from}, up to and including {@code to}, in order.
   *
   * @param from an occurrence, or the start of the schedule
   * @param max the maximum number
   */
  List<Instant> latest(Instant from, Instant to, int max);

  /** A fixed interval. */
  record Every(Duration interval) implements Rhythm {
    @Override
    public String text() {
      return interval.toString();
    }

    @Override
    public Optional<Instant> after(Instant last) {
      return Optional.of(last.plus(interval));
    }

    @Override
    public List<Instant> latest(Instant from, Instant to, int max) {
      long count = to.isBefore(from) ? 0 : Duration.between(from, to).dividedBy(interval);
      return LongStream.rangeClosed(Math.max(1, count - max + 1), count)
          .mapToObj(n -> from.plus(interval.multipliedBy(n)))
          .toList();
    }
  }

  /**
   * Local times of a zone.
   *
   * @param times the times without daylight saving; changes of the clocks are handled here, so that
   *     a daily occurrence is never lost or repeated
   */
  record Cron(String expression, ExecutionTime times, ZoneId zone, boolean everyHour)
      implements Rhythm {

    private static final Duration SHORTEST_LOOK_BACK = Duration.ofHours(1);

    /**
     * @throws IllegalArgumentException if the expression is invalid
     */
    static Cron parse(String expression, ZoneId zone) {
      ExecutionTime times = times(expression);
      String[] fields = expression.strip().split("\\s+", -1);
      return new Cron(String.join(" ", fields), times, zone, fields[1].equals("*"));
    }

    private static ExecutionTime times(String expression) {
      CronParser parser =
          new CronParser(CronDefinitionBuilder.instanceDefinitionFor(CronType.UNIX));
      try {
        return ExecutionTime.forCron(parser.parse(expression).validate());
      } catch (IndexOutOfBoundsException e) {
        // The parser throws this for a range without an end.
        throw new IllegalArgumentException("A range is incomplete", e);
      }
    }

    @Override
    public String text() {
      return expression + " " + zone.getId();
    }

    @Override
    public Optional<Instant> after(Instant last) {
      return everyHour ? inPassingTime(last) : onTheClock(last);
    }

    private Optional<Instant> onTheClock(Instant last) {
      Optional<LocalDateTime> next = next(LocalDateTime.ofInstant(last, zone));
      while (next.isPresent() && !instant(next.get()).isAfter(last)) {
        next = next(next.get());
      }
      return next.map(this::instant);
    }

    private Instant instant(LocalDateTime shown) {
      ZoneOffsetTransition change = zone.getRules().getTransition(shown);
      return change != null && change.isGap()
          ? change.getInstant()
          : shown.atZone(zone).toInstant();
    }

    private Optional<Instant> inPassingTime(Instant last) {
      ZoneRules rules = zone.getRules();
      ZoneOffset offset = rules.getOffset(last);
      LocalDateTime shown = LocalDateTime.ofInstant(last, offset);
      ZoneOffsetTransition change = rules.nextTransition(last);
      while (true) {
        Optional<LocalDateTime> next = next(shown);
        if (next.isEmpty() || change == null || next.get().isBefore(change.getDateTimeBefore())) {
          ZoneOffset until = offset;
          return next.map(found -> found.toInstant(until));
        }
        // The clocks change first; the time after the change may itself be an occurrence.
        offset = change.getOffsetAfter();
        shown = change.getDateTimeAfter().minusNanos(1);
        change = rules.nextTransition(change.getInstant());
      }
    }

    private Optional<LocalDateTime> next(LocalDateTime shown) {
      return times.nextExecution(shown.atZone(ZoneOffset.UTC)).map(ZonedDateTime::toLocalDateTime);
    }

    /** Searches backwards in growing steps, as the span may be years of minutes. */
    @Override
    public List<Instant> latest(Instant from, Instant to, int max) {
      Duration back = SHORTEST_LOOK_BACK;
      while (true) {
        Instant start = to.minus(back);
        boolean all = !start.isAfter(from);
        List<Instant> found = between(all ? from : start, to);
        if (all || found.size() >= max) {
          return found.subList(Math.max(0, found.size() - max), found.size());
        }
        back = back.multipliedBy(2);
      }
    }

    private List<Instant> between(Instant from, Instant to) {
      List<Instant> found = new ArrayList<>();
      Optional<Instant> next = after(from);
      while (next.isPresent() && !next.get().isAfter(to)) {
        found.add(next.get());
        next = after(next.get());
      }
      return found;
    }
  }
}
