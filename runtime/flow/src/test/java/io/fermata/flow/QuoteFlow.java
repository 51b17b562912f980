package io.fermata.flow;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.route.Condition.eq;

import com.fasterxml.jackson.annotation.JsonProperty;
import io.fermata.flow.event.Verdict;
import io.fermata.flow.schema.Computed;
import io.fermata.flow.schema.Describe;
import jakarta.validation.constraints.Min;
import java.math.BigDecimal;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;

/** The flow that most tests of this room drive. */
public final class QuoteFlow {
  enum Segment {
    company,
    personal
  }

  enum CompanySize {
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

  private QuoteFlow() {}

  public static FlowBuilder<Quote> builder() {
    return Flow.of("quote", Quote.class)
        .title("Quote")
        .description("Collects contact details and presents plans.")
        .ask(
            "ask_contact",
            q ->
                q.question("name", "What's your name?")
                    .question(
                        "email",
                        "What's your work email?",
                        e ->
                            e.context("Politely refuse generic domains.")
                                .validate(QuoteFlow::email))
                    .context("Ask both in one message."))
        .act("classify", run -> run.set("segment", segment(run.state())))
        .ask(
            "ask_company",
            q ->
                q.question(
                    "companySize",
                    "How big is your company?",
                    s -> s.suggest("1-10", "11-50", "51+").context("Offer the list.")))
        .act("price", run -> run.set("price", price(run.state())))
        .widget("show_plans", w -> w.data(QuoteFlow::plans).field("selectedPlan"))
        .edge(START, "ask_contact")
        .edge("ask_contact", "classify")
        .decide(
            "classify",
            d ->
                d.when("company", eq("segment", Segment.company))
                    .to("ask_company")
                    .otherwise("price"))
        .edge("ask_company", "price")
        .edge("price", "show_plans")
        .edge("show_plans", END)
        .result(q -> Map.of("name", q.name(), "price", q.price(), "plan", q.selectedPlan()));
  }

  private static Verdict email(String email) {
    return email.contains("@")
        ? Verdict.accept(email.trim().toLowerCase(Locale.ROOT))
        : Verdict.reject("That does not look like an email.");
  }

  private static Segment segment(Quote quote) {
    return quote.email().endsWith("@gmail.com") ? Segment.personal : Segment.company;
  }

  private static BigDecimal price(Quote quote) {
    int seats = quote.seats() == null ? 1 : quote.seats();
    return BigDecimal.valueOf(seats * (quote.segment() == Segment.company ? 10L : 5L));
  }

  private static Map<String, ?> plans(Quote quote) {
    Map<String, Object> data = new LinkedHashMap<>();
    data.put("price", quote.price());
    data.put("segment", quote.segment());
    return data;
  }
}
