package io.fermata.mcp;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.session.DisplayTool;
import io.fermata.session.ToolCall;
import io.fermata.session.ToolContract;
import io.fermata.session.ToolHost;
import io.fermata.session.ToolReply;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The method {@code tools/call}: flows are called in the host, widgets are handed their data. */
final class ToolCalls implements Method {
  private static final ObjectNode NO_META = JsonNodeFactory.instance.objectNode();

  private final ToolHost host;
  private final Results results;
  private final Set<String> flows;
  private final Map<String, DisplayTool> displays;

  ToolCalls(ToolHost host, Results results) {
    this.host = host;
    this.results = results;
    this.flows = host.tools().stream().map(ToolContract::name).collect(Collectors.toSet());
    this.displays =
        host.displays().stream().collect(Collectors.toMap(DisplayTool::name, Function.identity()));
  }

  @Override
  public CompletionStage<Result> answer(Request request) {
    String name = Wire.text(request.params(), "name");
    if (name == null) {
      throw Refusal.params("The parameter name must be a string.");
    }
    if (flows.contains(name)) {
      return flow(name, request);
    }
    DisplayTool display = displays.get(name);
    if (display != null) {
      return CompletableFuture.completedFuture(shown(display, request));
    }
    throw Refusal.params("Unknown tool: " + Refusal.shortened(name));
  }

  private CompletionStage<Result> flow(String name, Request request) {
    ToolCall call =
        new ToolCall(
            name, request.principal(), arguments(request), request.meta(), request.session());
    return host.call(call, request.progress())
        .thenApply(reply -> replied(reply, request.revision()));
  }

  private Result replied(ToolReply reply, Revision revision) {
    String json = Wire.json(reply.structured());
    return results.ofTool(revision, json, json, reply.error(), reply.meta());
  }

  private Result shown(DisplayTool display, Request request) {
    String json = Wire.json(arguments(request));
    String text = "Showing \"" + display.title() + "\" to the user, with this data: " + json;
    return results.ofTool(request.revision(), text, json, false, NO_META);
  }

  private static ObjectNode arguments(Request request) {
    @Nullable JsonNode arguments = request.params().get("arguments");
    if (arguments == null) {
      return JsonNodeFactory.instance.objectNode();
    }
    if (arguments instanceof ObjectNode object) {
      return object;
    }
    throw Refusal.params("The parameter arguments must be an object.");
  }
}
