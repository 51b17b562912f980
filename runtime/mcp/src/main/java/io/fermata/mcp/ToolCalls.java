package io.fermata.mcp;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Nearest;
import io.fermata.flow.TaskUse;
import io.fermata.flow.Violation;
import io.fermata.session.DisplayTool;
import io.fermata.session.Telemetry;
import io.fermata.session.ToolCall;
import io.fermata.session.ToolContract;
import io.fermata.session.ToolHost;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The method {@code tools/call}: flows are called in the host, display tools return their data,
 * plain tools are answered by their handlers.
 */
final class ToolCalls implements Method {
  private static final Logger LOG = LoggerFactory.getLogger(ToolCalls.class);
  private static final ObjectNode NO_META = JsonNodeFactory.instance.objectNode();

  private final Results results;
  private final LiveCatalog changes;
  private final Ways ways;
  private final Permits permits;
  private final Telemetry telemetry;
  private final Map<String, ToolContract> flows;
  private final Map<String, DisplayTool> displays;

  /** How the kinds of tools are called. */
  record Ways(PlainCalls plain, FlowCalls flows, FormCalls forms, JobCalls jobs) {}

  ToolCalls(
      ToolHost host,
      Results results,
      LiveCatalog changes,
      Ways ways,
      Permits permits,
      Telemetry telemetry) {
    this.telemetry = telemetry;
    this.results = results;
    this.changes = changes;
    this.ways = ways;
    this.permits = permits;
    this.flows =
        host.tools().stream().collect(Collectors.toMap(ToolContract::name, Function.identity()));
    this.displays =
        host.displays().stream().collect(Collectors.toMap(DisplayTool::name, Function.identity()));
  }

  @Override
  public CompletionStage<Result> answer(Request request) {
    String name = request.text("name");
    permits.require(name, request.caller());
    ToolContract flow = flows.get(name);
    if (flow != null) {
      return flow(flow, request);
    }
    McpTool tool = changes.catalog().tool(name);
    if (tool != null) {
      permits.require(tool.scopes(), request.caller());
      return plain(tool, request);
    }
    DisplayTool display = displays.get(name);
    if (display != null) {
      return CompletableFuture.completedFuture(shown(display, request));
    }
    throw unknown(name, request.caller());
  }

  /** Suggests only tools that the caller may use. */
  private Refusal unknown(String name, Caller caller) {
    List<String> usable =
        Stream.concat(
                Stream.concat(flows.keySet().stream(), displays.keySet().stream())
                    .filter(known -> permits.allow(known, caller)),
                changes.catalog().offers().tools().values().stream()
                    .filter(tool -> caller.may(tool.scopes()))
                    .map(McpTool::name))
            .toList();
    String reason = "Unknown tool: " + Refusal.shortened(name);
    return Refusal.params(
        Nearest.to(name, usable)
            .map(near -> reason + "; did you mean " + near + "?")
            .orElse(reason + "; tools/list tells which there are."));
  }

  private CompletionStage<Result> flow(ToolContract flow, Request request) {
    if (flow.tasks() == TaskUse.ALWAYS) {
      TaskCalls.require(request);
    }
    if (flow.forms()) {
      return ways.forms().call(flow.name(), request);
    }
    ToolCall call =
        new ToolCall(
            flow.name(),
            request.principal(),
            request.arguments(),
            request.meta(),
            request.session());
    if (flow.job()) {
      return ways.jobs().call(call, request);
    }
    return ways.flows()
        .call(call, request, request.listener())
        .thenApply(reply -> ways.flows().told(call, reply, request));
  }

  private Result shown(DisplayTool display, Request request) {
    List<Violation> wrong = display.check(request.arguments());
    if (!wrong.isEmpty()) {
      return results.ofTool(request.revision(), unfit(wrong));
    }
    String json = Wire.json(request.arguments());
    String text = "Showing \"" + display.title() + "\" to the user, with this data: " + json;
    return results.ofTool(request.revision(), text, json, false, NO_META);
  }

  private CompletionStage<Result> plain(McpTool tool, Request request) {
    ObjectNode arguments = request.arguments();
    requireVisible(tool, request);
    List<Violation> wrong = tool.input().check(arguments);
    if (!wrong.isEmpty()) {
      return CompletableFuture.completedFuture(results.ofTool(request.revision(), unfit(wrong)));
    }
    PlainCall told = PlainCall.begin(telemetry, tool, request);
    return told.ending(
        () ->
            ways.plain()
                .run(
                    request,
                    "tools/call",
                    tool.name(),
                    arguments,
                    tool.atOnce(),
                    call -> run(tool, call, request, told)));
  }

  /** Refuses a tool that is for pages alone to a client that declares that it shows none. */
  private static void requireVisible(McpTool tool, Request request) {
    if (tool.visibility().contains("model")
        || !request.revision().modern()
        || showsPages(request.capabilities())) {
      return;
    }
    ObjectNode needed = JsonNodeFactory.instance.objectNode();
    needed.putObject("extensions").putObject(ToolPage.EXTENSION);
    throw Refusal.missingCapability(
        needed,
        true,
        "The tool %s is for pages alone: a client that shows them declares the extension %s."
            .formatted(tool.name(), ToolPage.EXTENSION));
  }

  private static boolean showsPages(JsonNode declared) {
    return declared.path("extensions").has(ToolPage.EXTENSION)
        // With this, ChatGPT declares that it hides private tools from its model.
        || declared.path("experimental").has("openai/visibility");
  }

  private static McpResult unfit(List<Violation> wrong) {
    return McpResult.error(Violation.listed("The arguments do not fit", wrong));
  }

  private CompletionStage<Result> run(McpTool tool, McpCall call, Request request, PlainCall told) {
    return told.handled(() -> tool.handler().handle(call))
        .handle(
            (result, failure) -> {
              McpResult answer = failure == null ? kept(tool, result) : failed(tool, call, failure);
              told.came(answer);
              return results.ofTool(request.revision(), answer);
            });
  }

  /** Checks a result against the output schema, which clients rely on. */
  private static McpResult kept(McpTool tool, McpResult result) {
    if (tool.output() == null || result.error()) {
      return result;
    }
    List<Violation> broken =
        result.structured() == null
            ? List.of(new Violation("result", "has no structured part"))
            : tool.output().check(result.structured());
    if (broken.isEmpty()) {
      return result;
    }
    LOG.error(
        "The result of the tool {} does not match its output schema: {}",
        tool.name(),
        Violation.listed("The result does not fit the output", broken));
    return McpResult.error("The tool " + tool.name() + " failed inside the server.");
  }

  private static McpResult failed(McpTool tool, McpCall call, @Nullable Throwable failure) {
    Throwable cause = failure instanceof CompletionException ? failure.getCause() : failure;
    if (cause instanceof Unanswered unanswered) {
      throw unanswered;
    }
    if (!call.cancelled()) {
      LOG.error("The tool {} failed", tool.name(), cause);
    }
    return McpResult.error("The tool " + tool.name() + " failed inside the server.");
  }
}
