package io.fermata.session.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import io.fermata.session.HostBuilder;
import io.fermata.session.TestFlows;
import io.fermata.session.admin.Schedule;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Schedules that a host refuses to start with. */
class TimetableTest {
  @TempDir Path dir;

  private HostBuilder host(Schedule... schedules) {
    HostBuilder builder =
        Fermata.host().store(Store.sqlite(dir.resolve("test.db"))).flow(TestFlows.trip());
    for (Schedule schedule : schedules) {
      builder.schedule(schedule);
    }
    return builder;
  }

  private void refused(Schedule schedule, String... words) {
    assertThatThrownBy(() -> host(schedule).start())
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContainingAll(words);
  }

  private static Schedule nightly() {
    return Schedule.of("nightly", "trip");
  }

  @Test
  void whatIsNoExpressionIsRefusedWithAnExample() {
    refused(nightly().cron("61 3 * * *"), "schedule nightly", "61 3 * * *", "[0, 59]", "0 3 * * *");
    refused(nightly().cron("nonsense"), "\"nonsense\"", "day of week");
    refused(nightly().cron(""), "is invalid");
    refused(nightly().cron("4-/ 3 * * *"), "4-/", "A range is incomplete");
    refused(nightly().cron("0 0 30 2 *"), "0 0 30 2 *", "never occurs");
  }

  @Test
  void aScheduleMustSayWhenInOneWay() {
    refused(nightly(), "has no times", "cron(…)", "every(…)");
    refused(nightly().cron("0 3 * * *").every(Duration.ofDays(1)), "only one of them");
    refused(nightly().every(Duration.ZERO), "PT0S", "one second to");
    refused(nightly().every(Duration.ofSeconds(Long.MAX_VALUE)), "100 years");
  }

  @Test
  void aFlowThatTheHostDoesNotHaveIsRefused() {
    refused(
        Schedule.of("nightly", "report").every(Duration.ofDays(1)), "report", "flow(…)", "trip");
  }

  @Test
  void updatesThatDoNotFitTheFlowAreRefusedByTheirNames() {
    Schedule daily = nightly().every(Duration.ofDays(1));
    refused(daily.updates(Map.of("form", "Ulm")), "schedule nightly", "form", "from");
    refused(daily.updates(Map.of("from", 1)), "schedule nightly", "from must be");
  }

  @Test
  void aNameMustBeOneAndTheSchedulesOwn() {
    refused(Schedule.of("Every night", "trip").every(Duration.ofDays(1)), "Every night", "lower");
    Schedule daily = nightly().every(Duration.ofDays(1));
    assertThatThrownBy(() -> host(daily, daily).start()).hasMessageContaining("defined twice");
  }

  @Test
  void everythingThatIsWrongIsSaidAtOnceAndTheStoreStaysFree() {
    assertThatThrownBy(
            () -> host(nightly().cron("x").intent(" "), Schedule.of("b", "gone")).start())
        .hasMessageContainingAll("\"x\"", "blank intent", "flow gone", "has no times");
    host(nightly().cron("0 3 * * *")).start().close();
  }

  @Test
  void aScheduleIsNotChangedThroughWhatItWasMadeOf() {
    Schedule schedule = nightly().updates(Map.of("from", "Ulm"));
    schedule.updates().put("from", "Bonn");
    assertThat(schedule.updates().path("from").asText()).isEqualTo("Ulm");
  }
}
