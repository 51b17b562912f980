package io.fermata.examples.flows;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.examples.flows.TripFlow.Trip;
import io.fermata.flow.Flow;
import io.fermata.flow.event.ErrorCode;
import io.fermata.testkit.FlowProbe;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A trip: planned in branches, paid later, and cancelled. */
class TripFlowTest {
  private final TravelAgency agency = new TravelAgency();
  private final Flow<Trip> trip =
      TripFlow.create(agency, Clock.fixed(Instant.parse("2026-12-20T12:00:00Z"), ZoneOffset.UTC));

  private FlowProbe<Trip> toLisbon(String... travellers) {
    return FlowProbe.of(trip)
        .start(
            "a week off", "city", "Lisbon", "day", "2026-12-24", "travellers", List.of(travellers));
  }

  @Test
  void asksInAllBranchesTogetherAndTakesTheAnswersInAnyOrder() {
    toLisbon("Ann Lee", "Bob Lee")
        .asks("flight", "hotel", "passport.0.number", "passport.1.number")
        .says("passport.1.number", "What is the passport number of Bob Lee?")
        .answer("passport.1.number", "B222222", "hotel", "inn")
        .asks("flight", "passport.0.number")
        .answer("passport.0.number", "A111111")
        .suggests("morning", "evening")
        .answer("flight", "evening")
        .waitsFor("signal payment")
        .signal("payment", "receipt-1")
        .completesWith(
            "price",
            420,
            "receipt",
            "receipt-1",
            "documents.0.traveller",
            "Ann Lee",
            "seats",
            "evening-2")
        .replayed();
    assertThat(agency.holds()).containsExactly("inn-1", "evening-2");
    assertThat(agency.charged()).isEqualTo(420);
  }

  @Test
  void asksForAnApprovalIfItIsExpensive() {
    toLisbon("Ann Lee", "Bob Lee", "Cem Lee", "Dan Lee")
        .answer(
            "flight",
            "morning",
            "hotel",
            "grand",
            "passport.0.number",
            "A111111",
            "passport.1.number",
            "B222222",
            "passport.2.number",
            "C333333",
            "passport.3.number",
            "D444444")
        .asks("approver")
        .says("approver", "It costs 2000 euros. Who approves that?")
        .answer("approver", "Eve")
        .waitsFor("signal payment");
  }

  @Test
  void releasesWhatItHeldWhenTheTripIsCancelled() {
    FlowProbe<Trip> probe = toLisbon("Ann Lee").answer("flight", "morning", "hotel", "inn");
    assertThat(agency.holds()).hasSize(2);
    probe.cancel().cancels();
    assertThat(agency.holds()).isEmpty();
  }

  @Test
  void refundsAndReleasesEverythingIfThePaymentIsNeverConfirmed() {
    toLisbon("Ann Lee")
        .manualTime()
        .answer("flight", "morning", "hotel", "inn", "passport.0.number", "A111111")
        .waitsFor("signal payment")
        .passTime(Duration.ofMinutes(11))
        .fails(ErrorCode.RUN_FAILED)
        .saying("The payment was not confirmed in time.");
    assertThat(agency.holds()).isEmpty();
    assertThat(agency.charged()).isZero();
  }

  @Test
  void refusesADayThatHasPassedAndNamesOneThatHasNot() {
    FlowProbe.of(trip)
        .start("a week off", "city", "Lisbon", "travellers", List.of("Ann Lee"))
        .answer("day", "2026-12-19")
        .rejects("day", "2026-12-19 has passed. Choose 2026-12-20 or a later day.")
        .stillAsks("day")
        .answer("day", "2026-12-20")
        .asks("flight", "hotel", "passport.0.number");
  }

  @Test
  void refusesWhatIsNotOfferedAndKeepsTheRest() {
    toLisbon("Ann Lee")
        .answer("flight", "noon", "hotel", "inn", "passport.0.number", "A111111")
        .rejects("flight", "That is none of the offers. Choose one of morning, evening.")
        .stillAsks("flight")
        .answer("flight", "morning")
        .waitsFor("signal payment");
    assertThat(agency.holds()).containsExactly("inn-1", "morning-2");
    FlowProbe.of(trip)
        .start("a week off", "city", "Rome", "day", "2026-12-24", "flight", "x", "hotel", "y")
        .answer("travellers", List.of("Ann Lee"))
        .fails(ErrorCode.ANSWER_REJECTED)
        .stillAsks("flight", "hotel", "passport.0.number");
  }

  @Test
  void refusesAPassportNumberThatCannotBeOne() {
    toLisbon("Ann Lee").answer("passport.0.number", "x").refuses("passport.0.number");
  }

  @Test
  void noReferenceOfAReservationIsGivenTwice() {
    agency.hold("inn", "one");
    agency.hold("inn", "two");
    agency.release("one");
    agency.hold("inn", "three");
    assertThat(agency.holds()).containsExactly("inn-2", "inn-3");
    assertThat(agency.hold("inn", "two")).isEqualTo("inn-2");
  }
}
