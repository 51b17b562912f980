package io.fermata.examples.flows;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.fermata.agent.Agent;
import io.fermata.agent.Budget;
import io.fermata.agent.Compaction;
import io.fermata.agent.FlowState;
import io.fermata.agent.FlowTool;
import io.fermata.agent.Handoff;
import io.fermata.agent.Hook;
import io.fermata.agent.Prompt;
import io.fermata.agent.ScheduledHandler;
import io.fermata.agent.Tool;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.RequestedCall;
import io.fermata.agent.message.ToolResult;
import io.fermata.agent.model.Model;
import io.fermata.agent.tool.Tools;
import io.fermata.flow.schema.Describe;
import io.fermata.session.HostBuilder;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The support desk of a bookshop: a model that answers customers, looks up orders, refunds them
 * once a person has approved it, and hands over to a second agent for invoices.
 */
public final class SupportDesk {
  private static final Pattern CARD = Pattern.compile("\\b(?:\\d[ -]?){12,15}(\\d{4})\\b");

  private static final String DESK =
      """
      You are the support desk of a small bookshop. Be brief and friendly.
      Look an order up before you say anything about it. Refund what a customer wants to return; a
      person approves it, and the customer is asked for the reason. For questions about invoices,
      call summary first, and then hand over to billing with what it says.""";

  private static final String BILLING =
      """
      You are the billing office of a small bookshop; the support desk hands customers over to you.
      Send invoices as customers ask for them. For anything else hand back to desk.""";

  private static final String SUMMARY =
      "You sum up a conversation between a customer and the support desk in one sentence.";

  private record Wish(
      @Describe("The order's number") String order,
      @Nullable @Describe("Why, if the customer has said so; otherwise they are asked")
          String reason) {}

  private record Topic(@Describe("What the colleague is to do") String message) {}

  private record Invoice(@Describe("The order's number") String order) {}

  private record FollowUp(@Describe("The order's number") String order) {}

  /** Both agents have it: the one that has the thread at the due time runs it. */
  private static final ScheduledHandler FOLLOW_UP =
      ScheduledHandler.of(
          "follow_up",
          "Asks whether the money has arrived.",
          FollowUp.class,
          SupportDesk::followUp);

  private static final ObjectMapper MAPPER = new ObjectMapper();

  private final Model model;
  private final Orders orders = new Orders();
  private final RefundLedger ledger;
  private final Duration followUpAfter;

  private SupportDesk(Model model, RefundLedger ledger, Duration followUpAfter) {
    this.model = model;
    this.ledger = ledger;
    this.followUpAfter = followUpAfter;
  }

  /**
   * A desk whose agents ask this model.
   *
   * @param followUpAfter how long after a refund the customer is asked whether it has arrived
   */
  public static SupportDesk of(Model model, RefundLedger ledger, Duration followUpAfter) {
    return new SupportDesk(model, ledger, followUpAfter);
  }

  /** A host that offers the desk. */
  public HostBuilder openedAt(HostBuilder host) {
    agents().forEach(host::agent);
    return host;
  }

  /** The agents of the desk. */
  public List<Agent> agents() {
    return List.of(desk(), billing());
  }

  private FlowTool refund() {
    return FlowTool.of("refund", "Pays an order back.", RefundFlow.create(orders, ledger))
        .arguments(Wish.class)
        .approval(this::mayRefund);
  }

  private Agent desk() {
    Prompt summary =
        Prompt.of("summary", model)
            .text(SUMMARY)
            .includeChat()
            .toolDescription("Sums the conversation up for a colleague.")
            .requiredSchema(Topic.class);
    Prompt desk =
        Prompt.of("desk", model)
            .text(DESK)
            .tools(Tools.of(orders))
            .tools(
                refund(),
                summary.asTool(),
                Handoff.to("billing", "Hands the customer over to the billing office."));
    return Agent.aiHuman("desk", desk)
        .description("The support desk of a bookshop: orders, refunds, invoices.")
        .hooks(
            Hook.beforeCreateMessage("mask_cards", SupportDesk::masked),
            Hook.afterToolCallSuccess("plan_follow_up", this::planFollowUp))
        .effects(FOLLOW_UP)
        .budget(Budget.tokens(500_000).andCost("2.00"))
        .compaction(Compaction.by(model, 80, 20));
  }

  private Agent billing() {
    Tool invoice =
        Tool.of(
            "send_invoice",
            "Sends the invoice of an order.",
            Invoice.class,
            (flow, args) -> {
              orders.look_up_order(args.order());
              flow.emitEvent("invoice_sent", Map.of("order", args.order()));
              return "The invoice of " + args.order() + " is in the mail.";
            });
    Prompt billing =
        Prompt.of("billing", model)
            .text(BILLING)
            .tools(invoice, Handoff.to("desk", "Hands the customer back to the support desk."));
    return Agent.aiHuman("billing", billing)
        .description("The billing office of a bookshop: invoices.")
        .hooks(Hook.beforeCreateMessage("mask_cards", SupportDesk::masked))
        .effects(FOLLOW_UP)
        .budget(Budget.tokens(500_000).andCost("2.00"));
  }

  /** The question to the approver; null for an unknown order, which the flow rejects. */
  private @Nullable String mayRefund(JsonNode arguments) {
    String number = arguments.path("order").asText();
    return orders
        .find(number)
        .map(order -> "Pay %s euros back for order %s?".formatted(order.amount(), number))
        .orElse(null);
  }

  private static Message masked(FlowState flow, Message message) {
    String text = message.content();
    return text == null ? message : message.withContent(CARD.matcher(text).replaceAll("•••• $1"));
  }

  private ToolResult planFollowUp(FlowState flow, RequestedCall call, ToolResult result)
      throws Exception {
    if (call.name().equals("refund")) {
      JsonNode arguments = MAPPER.readTree(call.function().arguments());
      flow.scheduleEffect(
          "follow_up", Map.of("order", arguments.path("order").asText()), followUpAfter);
    }
    return result;
  }

  private static void followUp(FlowState flow, FollowUp args) {
    flow.injectMessage(
        Message.assistant("Has the money for order " + args.order() + " arrived by now?"));
  }
}
