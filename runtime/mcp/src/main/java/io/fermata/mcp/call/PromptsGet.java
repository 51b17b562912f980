package io.fermata.mcp.call;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.mcp.catalog.LiveCatalog;
import io.fermata.mcp.feature.McpMessage;
import io.fermata.mcp.feature.McpPrompt;
import io.fermata.mcp.protocol.McpRequest;
import io.fermata.mcp.protocol.ResultWriter;
import io.fermata.mcp.protocol.RpcMethod;
import io.fermata.mcp.rpc.Revision;
import io.fermata.mcp.rpc.RpcException;
import io.fermata.mcp.rpc.RpcResult;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** The method {@code prompts/get}. */
public final class PromptsGet implements RpcMethod {
  private final LiveCatalog changes;
  private final HandlerRunner runner;
  private final ResultWriter results;

  public PromptsGet(LiveCatalog changes, HandlerRunner runner, ResultWriter results) {
    this.changes = changes;
    this.runner = runner;
    this.results = results;
  }

  @Override
  public CompletionStage<RpcResult> answer(McpRequest request) {
    String name = request.text("name");
    McpPrompt prompt = changes.catalog().offers().prompts().get(name);
    if (prompt == null) {
      throw RpcException.invalidParams("Unknown prompt: " + RpcException.abbreviate(name));
    }
    ObjectNode arguments = request.arguments();
    requireComplete(prompt, arguments);
    return runner.run(
        request,
        "prompts/get",
        name,
        arguments,
        false,
        call ->
            CompletableFuture.completedFuture(
                written(prompt, prompt.handler().handle(call), request.revision())));
  }

  private static void requireComplete(McpPrompt prompt, ObjectNode given) {
    for (McpPrompt.Argument argument : prompt.arguments()) {
      if (argument.required() && !given.path(argument.name()).isTextual()) {
        throw RpcException.invalidParams(
            "The prompt %s needs the argument %s, a string."
                .formatted(prompt.name(), argument.name()));
      }
    }
    for (Map.Entry<String, JsonNode> entry : given.properties()) {
      if (!entry.getValue().isTextual()) {
        throw RpcException.invalidParams(
            "The argument %s must be a string.".formatted(RpcException.abbreviate(entry.getKey())));
      }
    }
  }

  private RpcResult written(McpPrompt prompt, List<McpMessage> messages, Revision revision) {
    ObjectNode fields = Json.object().put("description", prompt.description());
    ArrayNode all = fields.putArray("messages");
    for (McpMessage message : messages) {
      ObjectNode json = message.json().deepCopy();
      all.add(json.set("content", ResultWriter.content(revision, json.path("content"))));
    }
    return results.once(revision, fields);
  }
}
