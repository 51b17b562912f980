package io.fermata.session.host;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** When occurrences come, above all where clocks are changed. */
@Tag("slow")
class RhythmTest {
  private static final ZoneId BERLIN = ZoneId.of("Europe/Berlin");
  private static final Instant SPRING = Instant.parse("2026-03-28T23:00:00Z");
  private static final Instant AUTUMN = Instant.parse("2026-10-24T22:00:00Z");

  private static Rhythm cron(String expression, ZoneId zone) {
    return Rhythm.Cron.parse(expression, zone);
  }

  private static List<Instant> day(Rhythm rhythm, Instant midnight, int hours) {
    return rhythm.latest(midnight.minusMillis(1), midnight.plus(Duration.ofHours(hours)), 1_000);
  }

  /** One after the other; to look for the latest computes each several times. */
  private static List<Instant> all(Rhythm rhythm, Instant from, Instant to) {
    return Stream.iterate(
            rhythm.after(from).orElseThrow(),
            time -> !time.isAfter(to),
            time -> rhythm.after(time).orElseThrow())
        .toList();
  }

  private static List<String> shown(List<Instant> times) {
    return times.stream().map(time -> time.atZone(BERLIN).toOffsetDateTime().toString()).toList();
  }

  @Test
  void anHourThatTheClocksSkipComesWhenTheyHaveSkippedIt() {
    assertThat(shown(day(cron("30 2 * * *", BERLIN), SPRING, 23)))
        .containsExactly("2026-03-29T03:00+02:00");
    assertThat(shown(day(cron("0,30 2,3 * * *", BERLIN), SPRING, 23)))
        .containsExactly("2026-03-29T03:00+02:00", "2026-03-29T03:30+02:00");
  }

  @Test
  void anHourThatTheClocksShowTwiceCountsTheFirstTime() {
    assertThat(shown(day(cron("30 2 * * *", BERLIN), AUTUMN, 25)))
        .containsExactly("2026-10-25T02:30+02:00");
    assertThat(shown(day(cron("30 1-3 * * *", BERLIN), AUTUMN, 25)))
        .containsExactly(
            "2026-10-25T01:30+02:00", "2026-10-25T02:30+02:00", "2026-10-25T03:30+01:00");
  }

  @Test
  void whereEveryHourCountsEveryHourThatPassesDoes() {
    Rhythm quarters = cron("*/15 * * * *", BERLIN);
    assertThat(day(quarters, SPRING, 23)).hasSize(23 * 4 + 1);
    assertThat(day(quarters, AUTUMN, 25)).hasSize(25 * 4 + 1);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Sao_Paulo"})
  void whatIsMissedDoesNotDependOnWhenSomebodyLooks(String zone) {
    Instant from = Instant.parse("2018-01-01T00:00:00Z");
    Instant to = Instant.parse("2019-01-01T00:00:00Z");
    for (String expression :
        List.of("30 2 * * *", "0 0 * * *", "30 1 * * *", "*/7 2 * * *", "30 0-3 * * 0")) {
      Rhythm rhythm = cron(expression, ZoneId.of(zone));
      List<Instant> all = rhythm.latest(from, to, 100_000);
      assertThat(all).isSorted().doesNotHaveDuplicates();
      int next = 0;
      for (Instant look = from; look.isBefore(to); look = look.plusSeconds(197 * 60)) {
        while (next < all.size() && !all.get(next).isAfter(look)) {
          next++;
        }
        if (next < all.size()) {
          assertThat(rhythm.after(look))
              .as("%s after %s", expression, look)
              .hasValue(all.get(next));
        }
      }
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Sao_Paulo"})
  void aDailyOccurrenceComesOnEveryDay(String zone) {
    Instant from = Instant.parse("2018-01-01T12:00:00Z");
    for (int minutes = 0; minutes < 4 * 60; minutes += 30) {
      Rhythm daily = cron(minutes % 60 + " " + minutes / 60 + " * * *", ZoneId.of(zone));
      assertThat(all(daily, from, from.plus(Duration.ofDays(365))))
          .hasSize(365)
          .extracting(time -> time.atZone(ZoneId.of(zone)).toLocalDate())
          .doesNotHaveDuplicates();
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Sao_Paulo"})
  void whereEveryHourCountsTheClocksShowEachOccurrence(String zone) {
    Instant from = Instant.parse("2018-02-01T00:00:00Z");
    Instant to = Instant.parse("2018-12-01T00:00:00Z");
    List<Instant> expected = new ArrayList<>();
    for (Instant time = from.plusSeconds(60); !time.isAfter(to); time = time.plusSeconds(60)) {
      LocalDateTime shown = LocalDateTime.ofInstant(time, ZoneId.of(zone));
      if (shown.getMinute() % 20 == 0 && shown.getDayOfWeek().getValue() == 7) {
        expected.add(time);
      }
    }
    assertThat(cron("*/20 * * * 0", ZoneId.of(zone)).latest(from, to, 100_000)).isEqualTo(expected);
  }

  @Test
  void theLatestOfYearsOfMinutesIsFoundAtOnce() {
    Instant now = Instant.parse("2026-06-01T12:00:30Z");
    assertThat(cron("* * * * *", BERLIN).latest(Instant.EPOCH, now, 1))
        .containsExactly(Instant.parse("2026-06-01T12:00:00Z"));
    assertThat(new Rhythm.Every(Duration.ofSeconds(1)).latest(Instant.EPOCH, now, 2))
        .containsExactly(now.minusSeconds(1), now);
  }

  @Test
  void anIntervalIsCountedFromTheLastOccurrence() {
    Rhythm rhythm = new Rhythm.Every(Duration.ofHours(6));
    Instant last = Instant.parse("2026-06-01T12:34:56Z");
    assertThat(rhythm.after(last)).hasValue(Instant.parse("2026-06-01T18:34:56Z"));
    assertThat(rhythm.latest(last, last.plus(Duration.ofHours(13)), 9))
        .containsExactly(last.plus(Duration.ofHours(6)), last.plus(Duration.ofHours(12)));
    assertThat(rhythm.latest(last, last.plus(Duration.ofHours(5)), 9)).isEmpty();
    assertThat(rhythm.latest(last, last.minusSeconds(1), 9)).isEmpty();
  }
}
