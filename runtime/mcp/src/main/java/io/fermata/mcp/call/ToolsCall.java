package io.fermata.mcp.call;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.TaskUse;
import io.fermata.flow.json.Nearest;
import io.fermata.flow.json.Texts;
import io.fermata.flow.json.Violation;
import io.fermata.flow.logging.LoggedFailure;
import io.fermata.mcp.access.AuthenticatedCaller;
import io.fermata.mcp.access.ToolScopes;
import io.fermata.mcp.catalog.LiveCatalog;
import io.fermata.mcp.catalog.ToolPage;
import io.fermata.mcp.feature.McpCall;
import io.fermata.mcp.feature.McpResult;
import io.fermata.mcp.feature.McpTool;
import io.fermata.mcp.protocol.McpRequest;
import io.fermata.mcp.protocol.ResultWriter;
import io.fermata.mcp.protocol.RpcMethod;
import io.fermata.mcp.rpc.JsonRpcCodec;
import io.fermata.mcp.rpc.RpcException;
import io.fermata.mcp.rpc.RpcResult;
import io.fermata.session.ToolHost;
import io.fermata.session.call.DisplayTool;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolContract;
import io.fermata.session.call.ToolReply;
import io.fermata.session.key.HostError;
import io.fermata.session.key.RootCauses;
import io.fermata.session.observe.Telemetry;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
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
public final class ToolsCall implements RpcMethod {
  private static final Logger LOG = LoggerFactory.getLogger(ToolsCall.class);
  private static final ObjectNode NO_META = JsonNodeFactory.instance.objectNode();

  private static final String ELSEWHERE =
      "This client cannot ask its user for the approval, and you must not decide: tell the user that"
          + " it has to be decided outside this conversation, and call status later.";

  private final ToolHost host;
  private final ResultWriter results;
  private final LiveCatalog changes;
  private final Kinds kinds;
  private final ToolScopes scopes;
  private final Telemetry telemetry;
  private final Map<String, ToolContract> flows;
  private final Map<String, DisplayTool> displays;

  /**
   * What calls each kind of tool.
   *
   * @param modelsMayApprove whether a model may pass on what a person decided about an approval
   */
  public record Kinds(
      HandlerRunner runner,
      TaskMethods tasks,
      FormToolCalls forms,
      JobToolCalls jobs,
      boolean modelsMayApprove) {}

  public ToolsCall(
      ToolHost host,
      ResultWriter results,
      LiveCatalog changes,
      Kinds kinds,
      ToolScopes scopes,
      Telemetry telemetry) {
    this.host = host;
    this.telemetry = telemetry;
    this.results = results;
    this.changes = changes;
    this.kinds = kinds;
    this.scopes = scopes;
    this.flows =
        host.tools().stream().collect(Collectors.toMap(ToolContract::name, Function.identity()));
    this.displays =
        host.displays().stream().collect(Collectors.toMap(DisplayTool::name, Function.identity()));
  }

  @Override
  public CompletionStage<RpcResult> answer(McpRequest request) {
    String name = request.text("name");
    scopes.require(name, request.caller());
    ToolContract flow = flows.get(name);
    if (flow != null) {
      return flow(flow, request.permittedBy(caller -> require(flow, request, caller)));
    }
    McpTool tool = changes.catalog().tool(name);
    if (tool != null) {
      Set<String> needed = tool.scopes();
      return plain(tool, request.permittedBy(caller -> scopes.require(name, needed, caller)));
    }
    DisplayTool display = displays.get(name);
    if (display != null) {
      return CompletableFuture.completedFuture(display(display, request));
    }
    throw unknown(name, request.caller());
  }

  private void require(ToolContract flow, McpRequest request, AuthenticatedCaller caller) {
    scopes.require(flow.name(), caller);
    if (flow.name().equals(ToolContract.EXPLAIN_RUN)) {
      // It reads a run of that flow, which takes what a call of the flow takes.
      scopes.require(request.arguments().path("flow").asText(), caller);
    }
  }

  /** Suggests only tools that the caller may use. */
  private RpcException unknown(String name, AuthenticatedCaller caller) {
    List<String> usable =
        Stream.concat(
                Stream.concat(flows.keySet().stream(), displays.keySet().stream())
                    .filter(known -> scopes.allow(known, caller)),
                changes.catalog().offers().tools().values().stream()
                    .filter(tool -> caller.hasScopes(tool.scopes()))
                    .map(McpTool::name))
            .toList();
    String reason = "Unknown tool: " + RpcException.abbreviate(name);
    return RpcException.invalidParams(
        Nearest.to(name, usable)
            .map(near -> reason + "; did you mean " + near + "?")
            .orElse(reason + "; tools/list lists the tools."));
  }

  private CompletionStage<RpcResult> flow(ToolContract flow, McpRequest request) {
    if (flow.tasks() == TaskUse.ALWAYS) {
      TaskMethods.require(request);
    }
    ToolCall call =
        new ToolCall(
                flow.name(),
                request.principal(),
                request.arguments(),
                request.meta(),
                request.session())
            .takingTask(TaskMethods.declared(request))
            // The agent that a conversation was handed over to needs its scopes, as over HTTP.
            .reaching(agent -> scopes.allow(agent, request.caller()));
    String state = request.requestState();
    if (state != null && flow.kind() != ToolContract.Kind.JOB) {
      // Without its state, the call would begin a second run, or send its message again.
      return kinds.forms().resume(state, call, request, flow.kind() != ToolContract.Kind.FLOW);
    }
    return switch (flow.kind()) {
      case FLOW ->
          host.call(call, request.progressListener())
              .thenApply(reply -> kinds.tasks().result(call, reply, request));
      case JOB -> kinds.jobs().call(call, request);
      case FLOW_WITH_FORMS -> kinds.forms().call(call, request, reply -> RunPause.of(call, reply));
      case AGENT -> approving(call, request);
    };
  }

  /**
   * A person decides about approvals: in a form of the client, which the model cannot fill in, or
   * outside the conversation. The model may pass decisions on only if the server says so.
   */
  private CompletionStage<RpcResult> approving(ToolCall call, McpRequest request) {
    TaskMethods tasks = kinds.tasks();
    boolean decides =
        "answer".equals(call.arguments().path("action").textValue())
            && call.arguments().has("approved");
    if (FormToolCalls.reach(request) && ApprovalPause.supportedBy(request)) {
      return kinds.forms().call(decides ? status(call) : call, request, ApprovalPause::of);
    } else if (decides && !kinds.modelsMayApprove()) {
      ToolReply refused = ToolReply.refused(HostError.NEEDS_PERSON);
      return CompletableFuture.completedFuture(tasks.result(call, refused, request));
    }
    return host.call(call, request.progressListener())
        .thenApply(
            reply -> tasks.result(call, kinds.modelsMayApprove() ? reply : hinted(reply), request));
  }

  /** What the model says about the approval does not count: the user decides in the form. */
  private static ToolCall status(ToolCall answer) {
    ObjectNode arguments = answer.arguments().deepCopy();
    arguments.retain("threadId");
    return answer.with(arguments.put("action", "status"), answer.meta());
  }

  private static ToolReply hinted(ToolReply reply) {
    return ApprovalPause.open(reply).isMissingNode()
        ? reply
        : ApprovalPause.withHint(reply, ELSEWHERE);
  }

  private RpcResult display(DisplayTool display, McpRequest request) {
    List<Violation> wrong = display.check(request.arguments());
    if (!wrong.isEmpty()) {
      return results.ofTool(request.revision(), invalidArguments(wrong));
    }
    String json = JsonRpcCodec.json(request.arguments());
    String text = "Showing \"" + display.title() + "\" to the user, with this data: " + json;
    return results.ofTool(request.revision(), text, json, false, NO_META);
  }

  private CompletionStage<RpcResult> plain(McpTool tool, McpRequest request) {
    requireVisible(tool, request);
    List<Violation> wrong = tool.input().check(request.arguments());
    if (!wrong.isEmpty()) {
      return CompletableFuture.completedFuture(
          results.ofTool(request.revision(), invalidArguments(wrong)));
    }
    PlainCallTelemetry callTelemetry = PlainCallTelemetry.begin(telemetry, tool, request);
    return callTelemetry.track(
        () ->
            kinds
                .runner()
                .run(
                    request,
                    "tools/call",
                    tool.name(),
                    tool.input().meant(request.arguments()),
                    tool.atOnce(),
                    call -> run(tool, call, request, callTelemetry)));
  }

  /** Rejects a call of a tool for pages if the client declares that it shows none. */
  private static void requireVisible(McpTool tool, McpRequest request) {
    if (tool.visibility().contains("model")
        || !request.revision().modern()
        || showsPages(request.capabilities())) {
      return;
    }
    ObjectNode needed = JsonNodeFactory.instance.objectNode();
    needed.putObject("extensions").putObject(ToolPage.EXTENSION);
    throw RpcException.missingCapability(
        needed,
        true,
        "The tool %s is for pages only: a client that shows pages declares the extension %s."
            .formatted(tool.name(), ToolPage.EXTENSION));
  }

  private static boolean showsPages(JsonNode declared) {
    return declared.path("extensions").has(ToolPage.EXTENSION)
        // With this, ChatGPT declares that it hides private tools from its model.
        || declared.path("experimental").has("openai/visibility");
  }

  private static McpResult invalidArguments(List<Violation> wrong) {
    return McpResult.error(Violation.listed("The arguments do not fit", wrong));
  }

  private CompletionStage<RpcResult> run(
      McpTool tool, McpCall call, McpRequest request, PlainCallTelemetry callTelemetry) {
    return callTelemetry
        .invoke(() -> tool.handler().handle(call))
        .handle(
            (result, failure) -> {
              McpResult answer =
                  failure == null ? checkOutput(tool, result) : failed(tool, call, failure);
              callTelemetry.completed(answer);
              return results.ofTool(request.revision(), answer);
            });
  }

  /** Checks a result against the output schema, which clients rely on. */
  private static McpResult checkOutput(McpTool tool, McpResult result) {
    if (tool.output() == null || result.error()) {
      return result;
    }
    List<Violation> broken =
        result.structured() == null
            ? List.of(new Violation("result", "has no structured content"))
            : tool.output().checkResult(result.structured());
    if (broken.isEmpty()) {
      return result;
    }
    LOG.error(
        "The result of the tool {} does not match its output schema: {}",
        tool.name(),
        Texts.inOneLine(Violation.listed("The result does not fit the output", broken)));
    return McpResult.error("The tool " + tool.name() + " failed inside the server.");
  }

  private static McpResult failed(McpTool tool, McpCall call, @Nullable Throwable failure) {
    Throwable cause = failure == null ? null : RootCauses.of(failure);
    if (cause instanceof UnansweredException unanswered) {
      throw unanswered;
    }
    if (!call.cancelled()) {
      Throwable trace = cause == null ? null : LoggedFailure.of(cause);
      LOG.error("The tool {} failed", tool.name(), trace);
    }
    return McpResult.error("The tool " + tool.name() + " failed inside the server.");
  }
}
