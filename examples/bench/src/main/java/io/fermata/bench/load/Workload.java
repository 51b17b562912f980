package io.fermata.bench.load;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.route.Condition.gt;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Flow;
import io.fermata.flow.FlowBuilder;
import io.fermata.flow.json.Json;
import io.fermata.flow.schema.Computed;
import io.fermata.flow.schema.Describe;
import java.util.function.UnaryOperator;

/**
 * Three calls per run: start and get a question; answer, which decides and acts, and get another
 * question; answer and complete.
 */
public final class Workload {
  public static final String PURE = "load_pure";
  static final String JOURNALED = "load_journaled";

  public record Ticket(
      @Describe("What is it about") String topic,
      @Describe("How urgent, 1 to 5") Integer urgency,
      @Computed String queue,
      @Describe("Whom to notify") String contact) {}

  private Workload() {}

  /** The queue is computed within the step: one journal entry per call. */
  public static Flow<Ticket> pure() {
    return flow(
        PURE,
        flow ->
            flow.computes("assign", "queue", ticket -> "q-" + ticket.urgency())
                .computes("escalate", "queue", ticket -> "now"));
  }

  /** The action is an effect: journaled before it runs and after. */
  public static Flow<Ticket> journaled() {
    return flow(
        JOURNALED,
        flow ->
            flow.act("assign", run -> run.set("queue", "q-" + run.state().urgency()))
                .act("escalate", run -> run.set("queue", "now")));
  }

  private static Flow<Ticket> flow(String id, UnaryOperator<FlowBuilder<Ticket>> queues) {
    FlowBuilder<Ticket> asks =
        Flow.of(id, Ticket.class)
            .description("Opens a ticket.")
            .ask(
                "ask_topic",
                q -> q.question("topic", "What is it about?").question("urgency", "How urgent?"));
    return queues
        .apply(asks)
        .ask("ask_contact", q -> q.question("contact", "Whom shall we notify?"))
        .edge(START, "ask_topic")
        .decide(
            "ask_topic", d -> d.when("urgent", gt("urgency", 3)).to("escalate").otherwise("assign"))
        .edge("assign", "ask_contact")
        .edge("escalate", "ask_contact")
        .edge("ask_contact", END)
        .result(t -> t)
        .compile();
  }

  public static final int CALLS = 3;

  /**
   * The arguments of a call of a run, numbered from 0.
   *
   * @param sessionId the handle of the session; empty if the client chose its key
   */
  public static ObjectNode arguments(int call, String sessionId, long run) {
    ObjectNode arguments = Json.object();
    arguments.put("action", call == 0 ? "start" : "continue");
    if (call == 0) {
      return arguments.put("intent", "to measure");
    }
    if (!sessionId.isEmpty()) {
      arguments.put("sessionId", sessionId);
    }
    ObjectNode updates = arguments.putObject("stateUpdates");
    return call == 1
        ? answered(arguments, updates.put("topic", "door " + run).put("urgency", run % 5 + 1))
        : answered(arguments, updates.put("contact", "c" + run));
  }

  private static ObjectNode answered(ObjectNode arguments, ObjectNode updates) {
    arguments.set("stateUpdates", updates);
    return arguments;
  }

  /** Whether a reply is the expected one; a wrong one fails the measurement. */
  public static boolean right(int call, JsonNode reply) {
    String status = reply.path("status").asText();
    return switch (call) {
      case 0 -> status.equals("interrupt") && reply.path("questions").size() == 2;
      case 1 -> status.equals("interrupt") && reply.path("field").asText().equals("contact");
      default -> status.equals("complete") && reply.path("result").has("queue");
    };
  }
}
