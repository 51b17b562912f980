package io.fermata.mcp;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.FlowTool;
import io.fermata.flow.Flow;
import io.fermata.flow.action.StepException;
import io.fermata.flow.json.Json;
import io.fermata.flow.schema.Computed;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import java.time.Duration;

/** The tools that the conformance suite runs as tasks: flows, whose runs are those tasks. */
final class EverythingJobs {
  record Greeting(String name) {}

  record Compute(Integer seconds, String label) {}

  record Nothing(@Computed String done) {}

  record Deletion(String filename, Boolean confirm) {}

  record Order(String name, Boolean confirm) {}

  private EverythingJobs() {}

  static Fermata host() {
    return Fermata.host()
        .store(Store.memory())
        .job(greet())
        .job(slowCompute())
        .job(failingJob())
        .job(protocolErrorJob())
        .job(confirmDelete())
        .job(multiInput())
        .job(toolWithTask())
        .start();
  }

  private static FlowTool greet() {
    Flow<Greeting> flow =
        Flow.of("greet", Greeting.class)
            .description("Greets somebody.")
            .act("greet", run -> {}, options -> options.idempotent())
            .edge(START, "greet")
            .edge("greet", END)
            .result(state -> "Hello, " + state.name() + "!")
            .compile();
    return FlowTool.of("greet", flow.description(), flow).arguments(fields("name", "string"));
  }

  private static FlowTool slowCompute() {
    Flow<Compute> flow =
        Flow.of("slow_compute", Compute.class)
            .description("Computes for some seconds.")
            .longRunning()
            .sleep("compute", state -> Duration.ofSeconds(state.seconds()))
            .edge(START, "compute")
            .edge("compute", END)
            .result(state -> "Computed " + state.label())
            .compile();
    ObjectNode schema = fields("seconds", "integer");
    schema.withObjectProperty("properties").putObject("label").put("type", "string");
    return FlowTool.of("slow_compute", flow.description(), flow).arguments(schema);
  }

  private static FlowTool failingJob() {
    Flow<Nothing> flow =
        Flow.of("failing_job", Nothing.class)
            .description("Fails after a second.")
            .onlyAsTask()
            .sleep("wait", Duration.ofSeconds(1))
            .act(
                "fail",
                run -> {
                  throw new StepException("This job always fails.");
                })
            .edge(START, "wait")
            .edge("wait", "fail")
            .edge("fail", END)
            .compile();
    return FlowTool.of("failing_job", flow.description(), flow);
  }

  /** It waits for a signal that never arrives, so the tool has no result. */
  private static FlowTool protocolErrorJob() {
    Flow<Nothing> flow =
        Flow.of("protocol_error_job", Nothing.class)
            .description("Waits for what never comes.")
            .longRunning()
            .expireAfter(Duration.ofSeconds(1))
            .waitFor("wait", "never")
            .edge(START, "wait")
            .edge("wait", END)
            .compile();
    return FlowTool.of("protocol_error_job", flow.description(), flow);
  }

  private static FlowTool confirmDelete() {
    Flow<Deletion> flow =
        Flow.of("confirm_delete", Deletion.class)
            .description("Deletes a file, if it may.")
            .longRunning()
            .act("find", run -> {})
            .ask(
                "ask_confirm",
                q -> q.question("confirm", state -> "Delete " + state.filename() + "?"))
            .act("delete", run -> {})
            .edge(START, "find")
            .edge("find", "ask_confirm")
            .edge("ask_confirm", "delete")
            .edge("delete", END)
            .result(state -> (state.confirm() ? "Deleted " : "Kept ") + state.filename())
            .compile();
    return FlowTool.of("confirm_delete", flow.description(), flow)
        .arguments(fields("filename", "string"));
  }

  private static FlowTool multiInput() {
    Flow<Order> flow =
        Flow.of("multi_input", Order.class)
            .description("Asks two things at once.")
            .longRunning()
            .act("prepare", run -> {})
            .ask(
                "ask_both",
                q -> q.question("name", "Who is it for?").question("confirm", "Is that right?"))
            .edge(START, "prepare")
            .edge("prepare", "ask_both")
            .edge("ask_both", END)
            .result(state -> "Ordered for " + state.name())
            .compile();
    return FlowTool.of("multi_input", flow.description(), flow);
  }

  private static FlowTool toolWithTask() {
    Flow<Greeting> flow =
        Flow.of("test_tool_with_task", Greeting.class)
            .description("Asks, and works then.")
            .onlyAsTask()
            .ask("ask_name", q -> q.question("name", "What is your name?"))
            .act("work", run -> Thread.sleep(200))
            .edge(START, "ask_name")
            .edge("ask_name", "work")
            .edge("work", END)
            .result(state -> "Hello, " + state.name() + "!")
            .compile();
    return FlowTool.of("test_tool_with_task", flow.description(), flow);
  }

  private static ObjectNode fields(String name, String type) {
    ObjectNode schema = Json.object().put("type", "object");
    schema.putObject("properties").putObject(name).put("type", type);
    schema.putArray("required").add(name);
    return schema;
  }
}
