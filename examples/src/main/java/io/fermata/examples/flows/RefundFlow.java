package io.fermata.examples.flows;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;

import io.fermata.flow.Flow;
import io.fermata.flow.action.EffectOptions;
import io.fermata.flow.action.Run;
import io.fermata.flow.schema.Computed;
import io.fermata.flow.schema.Describe;
import java.time.Duration;
import java.util.Map;

/** Refunds an order: asks for missing values, and books the refund once. */
public final class RefundFlow {
  public record Refund(
      @Describe("The order's number") String order,
      @Describe("Why the customer wants the money back, in their own words") String reason,
      @Computed Integer amount,
      @Computed String reference) {}

  private RefundFlow() {}

  public static Flow<Refund> create(Orders orders, RefundLedger ledger) {
    return Flow.of("refund", Refund.class)
        .title("Refund")
        .description("Pays an order back.")
        .ask("ask_order", q -> q.question("order", "Which order is it?"))
        .act(
            "look_up",
            run -> run.set("amount", orders.look_up_order(run.state().order()).amount()),
            EffectOptions::idempotent)
        .ask(
            "ask_reason",
            q ->
                q.question(
                    "reason",
                    "Why do you want your money back?",
                    reason -> reason.suggest("damaged", "not what I ordered", "too late")))
        .act(
            "book",
            run -> run.set("reference", book(run, ledger)),
            effect -> effect.timeout(Duration.ofSeconds(30)).retry(3, Duration.ofSeconds(1)))
        .edge(START, "ask_order")
        .edge("ask_order", "look_up")
        .edge("look_up", "ask_reason")
        .edge("ask_reason", "book")
        .edge("book", END)
        .result(done -> Map.of("reference", done.reference(), "amount", done.amount()))
        .compile();
  }

  private static String book(Run<Refund> run, RefundLedger ledger) throws InterruptedException {
    Refund refund = run.state();
    return ledger.book(run.idempotencyKey(), refund.order(), refund.amount(), refund.reason());
  }
}
