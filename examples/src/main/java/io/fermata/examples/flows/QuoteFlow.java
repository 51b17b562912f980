package io.fermata.examples.flows;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.route.Condition.eq;

import com.fasterxml.jackson.annotation.JsonProperty;
import io.fermata.flow.Flow;
import io.fermata.flow.action.EffectOptions;
import io.fermata.flow.event.Verdict;
import io.fermata.flow.schema.Computed;
import io.fermata.flow.schema.Describe;
import jakarta.validation.constraints.Min;
import java.math.BigDecimal;
import java.util.Locale;
import java.util.Map;

/** Collects contact details, computes a price and presents plans. */
public final class QuoteFlow {

  public enum Segment {
    @JsonProperty("company")
    COMPANY,
    @JsonProperty("personal")
    PERSONAL
  }

  public enum CompanySize {
    @JsonProperty("1-10")
    SMALL,
    @JsonProperty("11-50")
    MEDIUM,
    @JsonProperty("51+")
    LARGE
  }

  public record Quote(
      @Describe("Full name") String name,
      @Describe("Work email") String email,
      @Describe("Number of seats") @Min(1) Integer seats,
      @Computed Segment segment,
      @Describe("Company size") CompanySize companySize,
      @Computed BigDecimal price,
      @Describe("Chosen plan id") String selectedPlan) {}

  /** What a completed quote returns. */
  public record Offer(
      String name, String email, Segment segment, BigDecimal price, String selectedPlan) {}

  private QuoteFlow() {}

  public static Flow<Quote> create() {
    return Flow.of("quote", Quote.class)
        .title("Quote")
        .description("Makes a quote: collects contact details and presents plans with a price.")
        .ask(
            "ask_contact",
            q ->
                q.question("name", "What's your name?")
                    .question(
                        "email",
                        "What's your work email?",
                        e ->
                            e.context("Politely refuse generic domains.")
                                .validate(QuoteFlow::checkEmail))
                    .context("Ask both in one message."))
        .act(
            "classify",
            run -> run.set("segment", segment(run.state())),
            effect -> effect.idempotent().reads("email"))
        .ask(
            "ask_company",
            q ->
                q.question(
                    "companySize",
                    "How big is your company?",
                    s -> s.suggest("1-10", "11-50", "51+").context("Offer the list.")))
        .act(
            "price",
            run -> run.set("price", price(run.state())),
            effect -> effect.idempotent().reads("seats", "segment"))
        .widget(
            "show_plans",
            w ->
                w.data(quote -> Map.of("price", quote.price(), "segment", quote.segment()))
                    .field("selectedPlan"))
        .act("finish", run -> {}, EffectOptions::idempotent)
        .edge(START, "ask_contact")
        .edge("ask_contact", "classify")
        .decide(
            "classify",
            d ->
                d.when("company", eq("segment", Segment.COMPANY))
                    .to("ask_company")
                    .otherwise("price"))
        .edge("ask_company", "price")
        .edge("price", "show_plans")
        .edge("show_plans", "finish")
        .edge("finish", END)
        .result(q -> new Offer(q.name(), q.email(), q.segment(), q.price(), q.selectedPlan()))
        .compile();
  }

  private static Verdict checkEmail(String email) {
    return email.contains("@")
        ? Verdict.accept(email.trim().toLowerCase(Locale.ROOT))
        : Verdict.reject("That does not look like an email.");
  }

  private static Segment segment(Quote quote) {
    String domain = quote.email().substring(quote.email().lastIndexOf('@') + 1);
    boolean generic = domain.startsWith("gmail.") || domain.startsWith("yahoo.");
    return generic ? Segment.PERSONAL : Segment.COMPANY;
  }

  private static BigDecimal price(Quote quote) {
    long seats = quote.seats() == null ? 1 : quote.seats();
    return BigDecimal.valueOf(seats * (quote.segment() == Segment.COMPANY ? 10 : 5));
  }
}
