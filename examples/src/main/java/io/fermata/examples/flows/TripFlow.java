package io.fermata.examples.flows;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.route.Condition.gt;

import io.fermata.examples.flows.TravelAgency.Offer;
import io.fermata.flow.Flow;
import io.fermata.flow.action.StepException;
import io.fermata.flow.event.Verdict;
import io.fermata.flow.schema.Computed;
import io.fermata.flow.schema.Describe;
import jakarta.validation.constraints.Pattern;
import jakarta.validation.constraints.Size;
import java.time.Clock;
import java.time.Duration;
import java.time.LocalDate;
import java.time.ZoneId;
import java.util.List;
import java.util.Map;

/**
 * Plans a trip: flight, hotel and passports in parallel branches, asked for together and answered
 * in any order; then a payment that a bank confirms later. If it does not, the reservations are
 * released.
 */
public final class TripFlow {
  private static final int NEEDS_APPROVAL = 1500;

  public record Trip(
      @Describe("The city to go to") @Size(max = 100) String city,
      @Describe("Day of departure, as 2026-12-24") LocalDate day,
      @Describe("Full names of all who travel") @Size(min = 1, max = 9) List<String> travellers,
      @Describe("Id of the chosen flight") String flight,
      @Describe("Id of the chosen hotel") String hotel,
      @Describe("Who approves the price") String approver,
      @Computed List<Offer> flights,
      @Computed List<Offer> hotels,
      @Computed String seats,
      @Computed String rooms,
      @Computed List<Document> documents,
      @Computed Integer price,
      @Computed String receipt) {}

  /** The questions to each traveller. */
  public record Passport(
      @Describe("Who it belongs to") String traveller,
      @Describe("Its number") @Pattern(regexp = "[A-Z0-9]{6,9}") String number) {}

  public record Document(String traveller, String number) {}

  /** What a booked trip returns. */
  public record Itinerary(
      String seats, String rooms, List<Document> documents, int price, String receipt) {}

  private final TravelAgency agency;
  private final Clock clock;

  private TripFlow(TravelAgency agency, Clock clock) {
    this.agency = agency;
    this.clock = clock;
  }

  public static Flow<Trip> create(TravelAgency agency) {
    return create(agency, Clock.system(ZoneId.systemDefault()));
  }

  /**
   * The same where it is another day.
   *
   * @param clock says which days have passed
   */
  static Flow<Trip> create(TravelAgency agency, Clock clock) {
    return new TripFlow(agency, clock).flow();
  }

  private static Flow<Passport> passport() {
    return Flow.of("passport", Passport.class)
        .description("Asks a traveller for the passport.")
        .ask(
            "ask_number",
            q -> q.question("number", p -> "What is the passport number of " + p.traveller() + "?"))
        .edge(START, "ask_number")
        .edge("ask_number", END)
        .result(p -> new Document(p.traveller(), p.number()))
        .compile();
  }

  private Flow<Trip> flow() {
    return Flow.of("trip", Trip.class)
        .title("Plan a trip")
        .description(
            "Books flight and hotel for some people who travel together. Use it when somebody"
                + " wants to travel or asks for a trip.")
        .endOnFailure()
        .ask(
            "ask_trip",
            q ->
                q.question("city", "Where do you want to go?")
                    .question("day", "When?", d -> d.validate((LocalDate day) -> ahead(day, clock)))
                    .question("travellers", "Who travels? Please give the full names."))
        .act(
            "find_flights",
            run -> {
              Trip trip = run.state();
              run.stream("Looking for flights to " + trip.city() + ".\n");
              run.set("flights", agency.flights(trip.city(), trip.day()));
            },
            effect -> effect.idempotent())
        .ask(
            "ask_flight",
            q ->
                q.question(
                    "flight",
                    trip -> "Which flight? " + listed(trip.flights()),
                    f ->
                        f.suggest(trip -> ids(trip.flights()))
                            .validate((Trip trip, String id) -> offered(trip.flights(), id))))
        .act(
            "hold_flight",
            run -> run.set("seats", agency.hold(run.state().flight(), run.idempotencyKey())))
        .compensate("hold_flight", run -> agency.release(run.undoes()))
        .act(
            "find_hotels",
            run -> {
              run.stream("Looking for hotels in " + run.state().city() + ".\n");
              run.set("hotels", agency.hotels(run.state().city()));
            },
            effect -> effect.idempotent())
        .ask(
            "ask_hotel",
            q ->
                q.question(
                    "hotel",
                    trip -> "Which hotel? " + listed(trip.hotels()),
                    h ->
                        h.suggest(trip -> ids(trip.hotels()))
                            .validate((Trip trip, String id) -> offered(trip.hotels(), id))))
        .act(
            "hold_hotel",
            run -> run.set("rooms", agency.hold(run.state().hotel(), run.idempotencyKey())))
        .compensate("hold_hotel", run -> agency.release(run.undoes()))
        .<Passport, String>forEach(
            "passport",
            passport(),
            each ->
                each.items(Trip::travellers)
                    .atMost(9)
                    .input((trip, name) -> Map.of("traveller", name))
                    .into("documents"))
        .act("price", run -> run.set("price", price(run.state())), effect -> effect.idempotent())
        .ask(
            "ask_approval",
            q ->
                q.question(
                    "approver", trip -> "It costs " + trip.price() + " euros. Who approves that?"))
        .act(
            "charge",
            run -> agency.charge(run.id(), run.state().price(), run.idempotencyKey()),
            effect -> effect.timeout(Duration.ofSeconds(10)).retry(3, Duration.ofSeconds(1)))
        .compensate("charge", run -> agency.refund(run.undoes()))
        .waitFor("await_payment", "payment", "receipt")
        .remind("await_payment", Duration.ofSeconds(20), 10, run -> agency.confirm(run.id()))
        .deadline("await_payment", Duration.ofMinutes(10), "give_up")
        .act(
            "give_up",
            run -> {
              throw new StepException("The payment was not confirmed in time.");
            })
        .edge(START, "ask_trip")
        .fork(
            "ask_trip",
            f -> f.branch("find_flights").branch("find_hotels").branch("passport").join("price"))
        .edge("find_flights", "ask_flight")
        .edge("ask_flight", "hold_flight")
        .edge("hold_flight", "price")
        .edge("find_hotels", "ask_hotel")
        .edge("ask_hotel", "hold_hotel")
        .edge("hold_hotel", "price")
        .edge("passport", "price")
        .decide(
            "price",
            d ->
                d.when("needs approval", gt("price", NEEDS_APPROVAL))
                    .to("ask_approval")
                    .otherwise("charge"))
        .edge("ask_approval", "charge")
        .edge("charge", "await_payment")
        .edge("await_payment", END)
        .edge("give_up", END)
        .result(
            trip ->
                new Itinerary(
                    trip.seats(), trip.rooms(), trip.documents(), trip.price(), trip.receipt()))
        .compile();
  }

  /** Whether a day has not passed. */
  static Verdict ahead(LocalDate day, Clock clock) {
    LocalDate today = LocalDate.now(clock);
    return day.isBefore(today)
        ? Verdict.reject(day + " has passed. Choose " + today + " or a later day.")
        : Verdict.accept();
  }

  private static Verdict offered(List<Offer> offers, String id) {
    List<String> ids = ids(offers);
    return ids.contains(id)
        ? Verdict.accept()
        : Verdict.reject(
            "That is none of the offers. Choose one of " + String.join(", ", ids) + ".");
  }

  private static int price(Trip trip) {
    int each = cost(trip.flights(), trip.flight()) + cost(trip.hotels(), trip.hotel());
    return trip.travellers().size() * each;
  }

  private static int cost(List<Offer> offers, String id) {
    return offers.stream()
        .filter(offer -> offer.id().equals(id))
        .findFirst()
        .map(Offer::price)
        .orElseThrow(() -> new StepException("There is no offer " + id + "."));
  }

  private static List<String> ids(List<Offer> offers) {
    return offers.stream().map(Offer::id).toList();
  }

  private static String listed(List<Offer> offers) {
    return String.join(
        "; ", offers.stream().map(o -> o.id() + ": " + o.what() + ", " + o.price()).toList());
  }
}
