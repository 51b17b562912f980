package io.fermata.examples.flows;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.examples.flows.TableFlow.Booking;
import io.fermata.flow.Flow;
import io.fermata.flow.event.ErrorCode;
import io.fermata.testkit.FlowProbe;
import io.fermata.testkit.SessionProbe;
import java.net.URI;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Books a table at a restaurant that is called over HTTP. */
@Tag("slow")
class TableFlowTest {
  private static final String THURSDAY = "2026-12-24";
  private static final String MONDAY = "2026-12-21";

  private static final Clock ADVENT =
      Clock.fixed(Instant.parse("2026-12-20T12:00:00Z"), ZoneOffset.UTC);

  private Restaurant restaurant;
  private Flow<Booking> table;

  @BeforeEach
  void open() {
    restaurant = Restaurant.open();
    table = TableFlow.create(new RestaurantClient(restaurant.uri()), ADVENT);
  }

  @AfterEach
  void close() {
    restaurant.close();
  }

  private FlowProbe<Booking> dinner(String date, String time, int guests) {
    return FlowProbe.of(table)
        .start("dinner", "date", date, "time", time, "guests", guests, "name", "Ann");
  }

  @Test
  void booksATableThatIsFree() {
    FlowProbe.of(table)
        .start("dinner with friends", "guests", 4)
        .asks("date", "time", "name")
        .answer("date", THURSDAY, "time", "19:30", "name", "Ann")
        .visited("find_tables", "choose_table")
        .shows("choose_table")
        .withData("tables.0.id", "corner")
        .withData("tables.0.seats", 4)
        .answer("table", "garden")
        .visited("reserve")
        .completesWith(
            "reference", "R1001",
            "date", THURSDAY,
            "time", "19:30",
            "guests", 4,
            "table", "garden")
        .replayed();

    assertThat(restaurant.bookings()).hasSize(1);
  }

  @Test
  void asksALargePartyForAPhoneNumber() {
    dinner(THURSDAY, "19:30", 8)
        .visited("ask_visit", "find_tables", "ask_phone")
        .asks("phone")
        .answer("phone", "+49 30 1234")
        .shows("choose_table")
        .withData("tables.0.id", "round")
        .withData("tables.1", null);
  }

  @Test
  void offersOtherTimesUntilOneIsFree() {
    dinner(THURSDAY, "19:30", 8).answer("phone", "1").answer("table", "round").completes();
    dinner(THURSDAY, "20:00", 8).answer("phone", "1").answer("table", "round").completes();

    dinner(THURSDAY, "19:30", 8)
        .asks("time")
        .says("time", "We have no table for 8 then. When else could you come?")
        .suggests("18:00", "18:30", "19:00", "20:30")
        .answer("time", "20:00")
        .visited("find_tables", "ask_other_time")
        .asks("time")
        .answer("time", "20:30")
        .visited("find_tables", "ask_phone");
  }

  @Test
  void asksForAnotherDayWhenItIsClosed() {
    dinner(MONDAY, "19:30", 2)
        .asks("date")
        .answer("date", THURSDAY)
        .visited("find_tables", "choose_table")
        .withData("date", THURSDAY)
        .withData("time", "19:30");
  }

  @Test
  void looksAgainWhenSomebodyElseWasFaster() {
    FlowProbe<Booking> slow = dinner(THURSDAY, "19:30", 2).shows("choose_table");
    dinner(THURSDAY, "19:30", 2).answer("table", "window").completes();

    slow.answer("table", "window")
        .visited("reserve", "find_tables", "choose_table")
        .withData("missed", "window")
        .withData("tables.0.id", "corner")
        .answer("table", "corner")
        .completesWith("table", "corner");
  }

  @Test
  void looksAgainAfterACorrection() {
    dinner(THURSDAY, "19:30", 2)
        .withData("tables.0.id", "window")
        .reset("guests", 3)
        .visited("ask_visit", "find_tables", "choose_table")
        .withData("tables.0.id", "corner");
  }

  @Test
  void refusesADayThatHasPassedAndATableThatIsNotOffered() {
    dinner("2026-12-19", "19:30", 2)
        .rejects("date", "2026-12-19 has passed. Choose 2026-12-20 or a later day.")
        .stillAsks("date")
        .answer("date", MONDAY)
        .asks("date")
        .answer("date", "2026-12-01")
        .rejects("date", "2026-12-01 has passed. Choose 2026-12-20 or a later day.")
        .answer("date", THURSDAY)
        .shows("choose_table")
        .answer("table", "<b>roof</b>")
        .rejects(
            "table", "There is no such free table. Choose one of window, corner, garden, round.")
        .shows("choose_table")
        .answer("table", "window")
        .completes();
    assertThat(restaurant.bookings()).hasSize(1);
  }

  @Test
  void refusesTimesThatAreNone() {
    dinner(THURSDAY, "half past seven", 2).refuses("time");
    dinner(THURSDAY, "19:30", 9).refuses("guests");
  }

  @Test
  void triesAgainWhileTheRestaurantIsOutOfOrder() {
    FlowProbe<Booking> probe = dinner(THURSDAY, "19:30", 2);
    restaurant.failNext(3);

    probe
        .answer("table", "window")
        .completes()
        .attempts("reserve", 4)
        .waited(Duration.ofMillis(200), Duration.ofMillis(400), Duration.ofMillis(800));
  }

  @Test
  void givesUpInTheEndAndTriesThatStepAloneWhenAsked() {
    FlowProbe<Booking> probe = dinner(THURSDAY, "19:30", 2);
    restaurant.failNext(4);

    probe
        .answer("table", "window")
        .fails(ErrorCode.STEP_FAILED)
        .saying("The restaurant cannot answer right now. " + ErrorCode.STEP_FAILED.repair() + ".")
        .again()
        .visited("reserve")
        .completes();
  }

  @Test
  void saysSoWhenNobodyListens() {
    Flow<Booking> nowhere =
        TableFlow.create(new RestaurantClient(URI.create("http://localhost:9")), ADVENT);
    FlowProbe.of(nowhere)
        .start("dinner", "date", THURSDAY, "time", "19:30", "guests", 2, "name", "Ann")
        .fails(ErrorCode.STEP_FAILED)
        .attempts("find_tables", 3);
  }

  @Test
  void distinguishesASlowRestaurantFromADeadOne() {
    dinner(THURSDAY, "19:30", 2)
        .manualTime()
        .hangAt("reserve", 1)
        .answer("table", "window")
        .worksAt("reserve")
        .passTime(Duration.ofSeconds(5))
        .worksAt("reserve")
        .passTime(Duration.ofMillis(200))
        .completes();
  }

  @Test
  void booksOnceAcrossACrash() {
    dinner(THURSDAY, "19:30", 2)
        .crashAt("reserve", 1)
        .answer("table", "window")
        .completesWith("reference", "R1001")
        .attempts("reserve", 2);

    assertThat(restaurant.bookings()).hasSize(1);
  }

  @Test
  void runsOnARealHost() {
    try (SessionProbe host = SessionProbe.of(table)) {
      String handle =
          host.start("dinner", "date", THURSDAY, "time", "19:30", "guests", 2, "name", "Ann")
              .shows("choose_table")
              .handle();
      restaurant.failNext(2);
      host.restart().resume(handle).answer("table", "window").completesWith("table", "window");
    }
    assertThat(restaurant.bookings()).hasSize(1);
  }
}
