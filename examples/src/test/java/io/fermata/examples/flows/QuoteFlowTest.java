package io.fermata.examples.flows;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.examples.flows.QuoteFlow.CompanySize;
import io.fermata.examples.flows.QuoteFlow.Quote;
import io.fermata.examples.flows.QuoteFlow.Segment;
import io.fermata.flow.event.ErrorCode;
import io.fermata.persistence.Store;
import io.fermata.testkit.FlowProbe;
import io.fermata.testkit.SessionProbe;
import java.math.BigDecimal;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The quote, from contact details to a chosen plan. */
class QuoteFlowTest {
  @TempDir Path directory;

  private static FlowProbe<Quote> quote() {
    return FlowProbe.of(QuoteFlow.create());
  }

  @Test
  void asksACompanyForItsSize() {
    FlowProbe<Quote> probe =
        quote()
            .start("wants a price", "seats", 3)
            .asks("name", "email")
            .says("name", "What's your name?")
            .says("email", "What's your work email?")
            .answer("name", "Ann", "email", " Ann@Acme.com ")
            .visited("classify", "ask_company")
            .asks("companySize")
            .suggests("1-10", "11-50", "51+")
            .answer("companySize", "51+")
            .visited("price", "show_plans")
            .shows("show_plans")
            .withData("price", 30)
            .withData("segment", "company")
            .answer("selectedPlan", "gold")
            .visited("finish")
            .completesWith(
                "name", "Ann",
                "email", "ann@acme.com",
                "segment", "company",
                "price", 30,
                "selectedPlan", "gold")
            .replayed();

    assertThat(probe.state())
        .isEqualTo(
            new Quote(
                "Ann",
                "ann@acme.com",
                3,
                Segment.COMPANY,
                CompanySize.LARGE,
                BigDecimal.valueOf(30),
                "gold"));
  }

  @Test
  void leavesAPersonAloneWithThat() {
    quote()
        .start("wants a price")
        .answer("name", "Ann", "email", "ann@gmail.com")
        .visited("classify", "price", "show_plans")
        .withData("price", 5)
        .withData("segment", "personal");
    quote()
        .start("wants a price", "name", "Ann", "email", "ann@yahoo.co.uk", "seats", 4)
        .withData("price", 20);
  }

  @Test
  void refusesWhatIsNoEmailAndKeepsTheName() {
    quote()
        .start("wants a price")
        .answer("name", "Ann", "email", "nope")
        .rejects("email", "That does not look like an email.")
        .stillAsks("email")
        .answer("email", "ann@acme.com")
        .asks("companySize");
  }

  @ParameterizedTest
  @ValueSource(strings = {"@", "a@", "@acme.com", "a@@acme.com"})
  void leavesItToThePersonWhatFollowsTheAtSign(String email) {
    quote().start("wants a price", "name", "Ann", "email", email).asks("companySize");
  }

  @Test
  void takesAnyPlan() {
    quote()
        .start("wants a price", "name", "Ann", "email", "ann@gmail.com")
        .answer("selectedPlan", "Gold, two years")
        .completesWith("selectedPlan", "Gold, two years");
  }

  @Test
  void takesTheSeatsUntilItHasComputedAPriceWithoutThem() {
    quote()
        .start("wants a price", "name", "Ann", "email", "ann@acme.com")
        .answer("companySize", "51+", "seats", 3)
        .withData("price", 30);
    quote()
        .start("wants a price", "name", "Ann", "email", "ann@gmail.com")
        .withData("price", 5)
        .answer("selectedPlan", "gold", "seats", 3)
        .fails(ErrorCode.ALREADY_ANSWERED)
        .reset("seats", 3)
        .withData("price", 15);
  }

  @Test
  void refusesWhatItComputesAndWhatIsOutOfRange() {
    quote()
        .start("wants a price", "price", 1)
        .refuses("price")
        .start("wants a price", "seats", 0)
        .refuses("seats");
  }

  @Test
  void computesAgainAfterACorrection() {
    quote()
        .start("wants a price", "name", "Ann", "email", "ann@acme.com", "companySize", "1-10")
        .withData("price", 10)
        .answer("email", "ann@gmail.com")
        .fails(ErrorCode.ALREADY_ANSWERED)
        .reset("email", "ann@gmail.com")
        .visited("ask_contact", "classify", "price", "show_plans")
        .withData("price", 5)
        .answer("selectedPlan", "silver")
        .completesWith("segment", "personal");
  }

  @Test
  void continuesWhereItWasAfterARestart() {
    try (SessionProbe host =
        SessionProbe.of(QuoteFlow.create(), Store.sqlite(directory.resolve("quotes.db")))) {
      String handle =
          host.start("wants a price", "name", "Ann", "email", "ann@acme.com")
              .asks("companySize")
              .handle();
      host.restart()
          .resume(handle)
          .again()
          .asks("companySize")
          .answer("companySize", "11-50")
          .shows("show_plans")
          .answer("selectedPlan", "gold")
          .completesWith("price", 10);
    }
  }
}
