package io.fermata.flow;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.route.Condition.eq;
import static io.fermata.flow.route.Condition.gt;

import io.fermata.flow.action.Run;
import io.fermata.flow.action.StepException;
import io.fermata.flow.event.Verdict;
import io.fermata.flow.observe.Recorder;
import io.fermata.flow.schema.Computed;
import java.math.BigDecimal;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** A flow that does all that a recorder may hear of. */
public final class Trips {
  record Guest(String who, @Computed String badge) {}

  record Stay(String town, Integer nights, @Computed Integer cost) {}

  record Trip(
      String city,
      Integer people,
      String flight,
      String passport,
      List<String> names,
      String pin,
      @Computed List<Object> badges,
      @Computed Integer price,
      @Computed String receipt,
      String paid) {}

  /** How often the bank has to be asked before it says yes; more than twice and it never does. */
  public int bankFailures;

  public boolean broken;

  static Flow<Stay> stay(Recorder... recorders) {
    FlowBuilder<Stay> stay =
        Flow.of("stay", Stay.class)
            .description("Books a stay.")
            .ask("ask_nights", q -> q.question("nights", "How many nights?"))
            .act("cost", run -> run.set("cost", run.state().nights() * 100))
            .edge(START, "ask_nights")
            .edge("ask_nights", "cost")
            .edge("cost", END)
            .result(Stay::cost);
    for (Recorder recorder : recorders) {
      stay.recorder(recorder);
    }
    return stay.compile();
  }

  private static Flow<Guest> guest() {
    return Flow.of("guest", Guest.class)
        .description("Prints a badge.")
        .act("badge", run -> run.set("badge", "Guest " + run.state().who()))
        .edge(START, "badge")
        .edge("badge", END)
        .result(Guest::badge)
        .compile();
  }

  public FlowBuilder<Trip> builder(Recorder... inStay) {
    return Flow.of("trip", Trip.class)
        .title("Trip")
        .description("Plans a trip.")
        .ask(
            "ask_trip",
            q ->
                q.question("city", "Where to?", c -> c.validate(Trips::city))
                    .question("people", "How many people?"))
        .ask("ask_flight", q -> q.question("flight", "Which flight?"))
        .subflow(
            "stay",
            stay(inStay),
            s ->
                s.input(trip -> Map.of("town", trip.city()))
                    .output((trip, stay) -> Map.of("price", stay.cost())))
        .ask("ask_passport", q -> q.question("passport", "Which passport?"))
        .<Guest, String>forEach(
            "badges_for",
            guest(),
            e ->
                e.items(trip -> Objects.requireNonNullElse(trip.names(), List.of()))
                    .input((trip, who) -> Map.of("who", who))
                    .atMost(10)
                    .into("badges"))
        .ask("ask_pin", q -> q.question("pin", "Which pin?"))
        .act(
            "pay",
            this::pay,
            effect -> effect.retry(2, Duration.ofSeconds(5)).reads("price", "pin"))
        .compensate("pay", run -> {})
        .sleep("rest", Duration.ofHours(1))
        .waitFor("receipt", "receipt", "paid")
        .remind("receipt", Duration.ofMinutes(10), 1, run -> {})
        .deadline("receipt", Duration.ofDays(1), "late")
        .act("late", run -> run.end("No receipt came."))
        .edge(START, "ask_trip")
        .fork("ask_trip", f -> f.branch("ask_flight").branch("stay").join("badges_for"))
        .edge("ask_flight", "badges_for")
        .edge("stay", "badges_for")
        .select(
            "badges_for",
            s -> s.when("far", eq("city", "Tokyo")).to("ask_passport").join("ask_pin"))
        .edge("ask_passport", "ask_pin")
        .decide("ask_pin", d -> d.when("no pin", eq("pin", "none")).to("ask_pin").otherwise("pay"))
        .decide("pay", d -> d.when("cheap", gt("price", 1_000)).to("rest").otherwise("receipt"))
        .edge("rest", "receipt")
        .edge("receipt", END)
        .edge("late", END)
        .result(trip -> Map.of("price", trip.price()));
  }

  private static Verdict city(Object city) {
    return city.equals("Atlantis")
        ? Verdict.reject("No flights go there.")
        : Verdict.accept(city.equals("tokio") ? "Tokyo" : city.toString());
  }

  private void pay(Run<Trip> run) {
    if (broken) {
      throw new IllegalStateException("The bank burns");
    }
    if (bankFailures-- > 0) {
      throw new StepException("The bank is closed.");
    }
    run.emit("paid", BigDecimal.valueOf(run.state().price()));
    run.set("receipt", "R-" + run.state().pin());
  }

  /** Up to the question for the pin. */
  public static void untilPin(Driver trip) {
    untilPin(trip, 3);
  }

  public static void untilPin(Driver trip, int nights) {
    trip.start("city", "Atlantis", "names", List.of("Ann", "Bob"));
    trip.proceed("city", "tokio", "people", 2);
    trip.proceed("flight", "F1");
    trip.proceed("stay.nights", nights);
    trip.proceed("passport", "P-77");
  }

  /** All the way, with a loop and a retry. */
  public static void whole(Driver trip) {
    untilPin(trip);
    trip.proceed("pin", "none");
    trip.proceed("pin", "1234");
    trip.pass();
    trip.signal("receipt", "yes");
  }
}
