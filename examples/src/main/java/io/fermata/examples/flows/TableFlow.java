package io.fermata.examples.flows;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.route.Condition.and;
import static io.fermata.flow.route.Condition.exists;
import static io.fermata.flow.route.Condition.gte;
import static io.fermata.flow.route.Condition.not;

import io.fermata.flow.Flow;
import io.fermata.flow.QuestionOptions;
import io.fermata.flow.action.Run;
import io.fermata.flow.event.Verdict;
import io.fermata.flow.schema.Computed;
import io.fermata.flow.schema.Describe;
import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.Pattern;
import jakarta.validation.constraints.Size;
import java.time.Clock;
import java.time.Duration;
import java.time.LocalDate;
import java.time.LocalTime;
import java.time.ZoneId;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionStage;

/**
 * Books a table at a restaurant over HTTP: it looks for free tables, offers other times in a loop,
 * lets the guest choose, and reserves once, no matter how many attempts it takes.
 */
public final class TableFlow {
  private static final int LARGE_PARTY = 6;

  public record Booking(
      @Describe("Day of the visit, as 2026-12-24") LocalDate date,
      @Describe("Time of arrival, as 19:30") LocalTime time,
      @Describe("Number of guests") @Min(1) @Max(8) Integer guests,
      @Describe("Name for the booking") @Size(max = 100) String name,
      @Describe("Phone number, as +49 30 1234") @Pattern(regexp = "[+]?[0-9][0-9 ()/.-]{0,24}")
          String phone,
      @Describe("Id of the chosen table") String table,
      @Computed List<Table> free,
      @Computed List<String> otherTimes,
      @Computed String missed,
      @Computed String reference) {}

  /** A table that is free. */
  public record Table(String id, int seats, String place) {}

  /** What a completed booking returns. */
  public record Confirmation(
      String reference, LocalDate date, String time, int guests, String table) {}

  private final RestaurantClient restaurant;

  private final Clock clock;

  private TableFlow(RestaurantClient restaurant, Clock clock) {
    this.restaurant = restaurant;
    this.clock = clock;
  }

  public static Flow<Booking> create(RestaurantClient restaurant) {
    return create(restaurant, Clock.system(ZoneId.systemDefault()));
  }

  /**
   * The same where it is another day.
   *
   * @param clock says which days have passed
   */
  static Flow<Booking> create(RestaurantClient restaurant, Clock clock) {
    return new TableFlow(restaurant, clock).flow();
  }

  private Flow<Booking> flow() {
    return Flow.of("table", Booking.class)
        .title("Book a table")
        .description("Books a table at the restaurant for a day, a time and a number of guests.")
        .expireAfter(Duration.ofDays(2))
        .ask(
            "ask_visit",
            q ->
                q.question("date", "Which day would you like to come?", this::dated)
                    .question("time", "At what time?")
                    .question("guests", "How many will you be?")
                    .question("name", "What name shall we write down?")
                    .context("Ask for everything that is missing in one message."))
        .actAsync(
            "find_tables",
            this::findTables,
            e -> e.idempotent().timeout(Duration.ofSeconds(3)).retry(3, Duration.ofMillis(200)))
        .ask(
            "ask_other_day",
            q ->
                q.question(
                    "date", "We are closed that day. Which other day would suit you?", this::dated))
        .ask(
            "ask_other_time",
            q ->
                q.question(
                    "time",
                    b -> "We have no table for " + b.guests() + " then. When else could you come?",
                    t -> t.suggest(Booking::otherTimes).context("Offer the list.")))
        .ask(
            "ask_phone",
            q -> q.question("phone", "For a large party we need a phone number. What is yours?"))
        .widget(
            "choose_table",
            w -> w.data(TableFlow::choice).field("table").validate(TableFlow::offered))
        .actAsync(
            "reserve",
            this::reserve,
            e -> e.timeout(Duration.ofSeconds(5)).retry(4, Duration.ofMillis(200)))
        .edge(START, "ask_visit")
        .edge("ask_visit", "find_tables")
        .decide(
            "find_tables",
            d ->
                d.when("closed that day", not(exists("date")))
                    .to("ask_other_day")
                    .when("no table then", not(exists("time")))
                    .to("ask_other_time")
                    .when("large party", and(gte("guests", LARGE_PARTY), not(exists("phone"))))
                    .to("ask_phone")
                    .otherwise("choose_table"))
        .edge("ask_other_day", "find_tables")
        .edge("ask_other_time", "find_tables")
        .edge("ask_phone", "choose_table")
        .edge("choose_table", "reserve")
        .decide(
            "reserve", d -> d.when("booked", exists("reference")).to(END).otherwise("find_tables"))
        .result(TableFlow::confirmation)
        .compile();
  }

  private void dated(QuestionOptions<Booking> options) {
    options.validate((LocalDate day) -> TripFlow.ahead(day, clock));
  }

  private static Verdict offered(Booking booking, String id) {
    List<String> ids = booking.free().stream().map(Table::id).toList();
    return ids.contains(id)
        ? Verdict.accept()
        : Verdict.reject(
            "There is no such free table. Choose one of " + String.join(", ", ids) + ".");
  }

  private CompletionStage<?> findTables(Run<Booking> run) {
    Booking wish = run.state();
    return restaurant
        .tables(wish.date(), wish.time(), wish.guests())
        .thenAccept(
            found -> {
              run.set("free", found.free()).set("otherTimes", found.otherTimes());
              // An answer that cannot be met is deleted, so that its question is asked again.
              if (found.free().isEmpty()) {
                run.delete(found.otherTimes().isEmpty() ? "date" : "time");
              }
            });
  }

  private CompletionStage<?> reserve(Run<Booking> run) {
    return restaurant
        .book(RestaurantClient.Order.of(run.state()), run.idempotencyKey())
        .thenAccept(
            reference ->
                reference.ifPresentOrElse(
                    booked -> run.set("reference", booked),
                    () -> run.set("missed", run.state().table()).delete("table")));
  }

  private static Map<String, ?> choice(Booking booking) {
    Map<String, Object> data = new LinkedHashMap<>();
    data.put("date", booking.date());
    data.put("time", booking.time().toString());
    data.put("guests", booking.guests());
    data.put("tables", booking.free());
    if (booking.missed() != null) {
      data.put("missed", booking.missed());
    }
    return data;
  }

  private static Confirmation confirmation(Booking booking) {
    return new Confirmation(
        booking.reference(),
        booking.date(),
        booking.time().toString(),
        booking.guests(),
        booking.table());
  }
}
