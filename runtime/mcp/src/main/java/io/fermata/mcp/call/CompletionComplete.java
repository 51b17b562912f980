package io.fermata.mcp.call;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.mcp.catalog.LiveCatalog;
import io.fermata.mcp.catalog.RegisteredFeatures;
import io.fermata.mcp.feature.McpCompletion;
import io.fermata.mcp.feature.McpPrompt;
import io.fermata.mcp.feature.McpTemplate;
import io.fermata.mcp.protocol.McpRequest;
import io.fermata.mcp.protocol.ResultWriter;
import io.fermata.mcp.protocol.RpcMethod;
import io.fermata.mcp.rpc.JsonRpcCodec;
import io.fermata.mcp.rpc.Revision;
import io.fermata.mcp.rpc.RpcException;
import io.fermata.mcp.rpc.RpcResult;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/** The method {@code completion/complete}. */
public final class CompletionComplete implements RpcMethod {
  private static final int MAX_VALUES = 100;

  private final LiveCatalog changes;
  private final HandlerRunner runner;
  private final ResultWriter results;

  public CompletionComplete(LiveCatalog changes, HandlerRunner runner, ResultWriter results) {
    this.changes = changes;
    this.runner = runner;
    this.results = results;
  }

  @Override
  public CompletionStage<RpcResult> answer(McpRequest request) {
    JsonNode argument = request.params().path("argument");
    String name = JsonRpcCodec.text(argument, "name");
    String typed = JsonRpcCodec.text(argument, "value");
    if (name == null || typed == null) {
      throw RpcException.invalidParams(
          "The parameter argument must have the strings name and value.");
    }
    McpCompletion completion = completion(request.params().path("ref"), name);
    if (completion == null) {
      return CompletableFuture.completedFuture(proposed(List.of(), request.revision()));
    }
    Map<String, String> others = others(request.params().path("context").path("arguments"));
    return runner.run(
        request,
        "completion/complete",
        name,
        request.arguments(),
        false,
        call ->
            CompletableFuture.completedFuture(
                proposed(completion.complete(typed, others), request.revision())));
  }

  private @Nullable McpCompletion completion(JsonNode ref, String argument) {
    RegisteredFeatures offers = changes.catalog().offers();
    String type = ref.path("type").asText();
    String named = ref.path(type.equals("ref/prompt") ? "name" : "uri").asText();
    McpPrompt prompt = type.equals("ref/prompt") ? offers.prompts().get(named) : null;
    McpTemplate template = type.equals("ref/resource") ? offers.templates().get(named) : null;
    if (prompt != null) {
      return prompt.completion(argument);
    } else if (template != null) {
      return template.completion(argument);
    }
    throw RpcException.invalidParams(
        "The parameter ref must name a prompt or a resource template of this server.");
  }

  private static Map<String, String> others(JsonNode arguments) {
    Map<String, String> others = new LinkedHashMap<>();
    arguments.properties().forEach(it -> others.put(it.getKey(), it.getValue().asText()));
    return others;
  }

  private RpcResult proposed(List<String> values, Revision revision) {
    ObjectNode fields = Json.object();
    ObjectNode completion = fields.putObject("completion");
    values.stream().limit(MAX_VALUES).forEach(completion.putArray("values")::add);
    completion.put("total", values.size()).put("hasMore", values.size() > MAX_VALUES);
    return results.once(revision, fields);
  }
}
