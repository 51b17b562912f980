package io.fermata.mcp.call;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.mcp.catalog.Catalog;
import io.fermata.mcp.catalog.LiveCatalog;
import io.fermata.mcp.catalog.RegisteredFeatures;
import io.fermata.mcp.feature.McpBody;
import io.fermata.mcp.feature.McpCompletion;
import io.fermata.mcp.feature.McpHandler;
import io.fermata.mcp.feature.McpMessage;
import io.fermata.mcp.feature.McpPrompt;
import io.fermata.mcp.feature.McpResource;
import io.fermata.mcp.feature.McpTemplate;
import io.fermata.mcp.protocol.McpRequest;
import io.fermata.mcp.protocol.ResultWriter;
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

/** The methods that handlers of prompts, resources and completions answer. */
public final class FeatureMethods {
  private static final int MAX_VALUES = 100;

  private final LiveCatalog changes;
  private final HandlerRunner runner;
  private final ResultWriter results;

  public FeatureMethods(LiveCatalog changes, HandlerRunner runner, ResultWriter results) {
    this.changes = changes;
    this.runner = runner;
    this.results = results;
  }

  /** The fields are the handler's answer. */
  private CompletionStage<RpcResult> run(
      McpRequest request,
      String method,
      String name,
      ObjectNode arguments,
      McpHandler<ObjectNode> fields) {
    return runner.run(
        request,
        method,
        name,
        arguments,
        false,
        call ->
            CompletableFuture.completedFuture(
                results.once(request.revision(), fields.handle(call))));
  }

  // --- prompts ---------------------------------------------------------------------------------

  /** The method {@code prompts/get}. */
  public CompletionStage<RpcResult> prompt(McpRequest request) {
    String name = request.text("name");
    McpPrompt prompt = changes.catalog().offers().prompts().get(name);
    if (prompt == null) {
      throw RpcException.invalidParams(
          "Unknown prompt: %s; prompts/list lists the prompts."
              .formatted(RpcException.abbreviate(name)));
    }
    ObjectNode arguments = request.arguments();
    requireComplete(prompt, arguments);
    return run(
        request,
        "prompts/get",
        name,
        arguments,
        call -> written(prompt, prompt.handler().handle(call), request.revision()));
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

  private static ObjectNode written(
      McpPrompt prompt, List<McpMessage> messages, Revision revision) {
    ObjectNode fields = Json.object().put("description", prompt.description());
    ArrayNode all = fields.putArray("messages");
    for (McpMessage message : messages) {
      ObjectNode json = message.json().deepCopy();
      all.add(json.set("content", ResultWriter.content(revision, json.path("content"))));
    }
    return fields;
  }

  // --- resources -------------------------------------------------------------------------------

  /** The method {@code resources/read}. */
  public CompletionStage<RpcResult> resource(McpRequest request) {
    String uri = request.text("uri");
    Catalog catalog = changes.catalog();
    RpcResult page = catalog.page(uri, request.revision());
    if (page != null) {
      return CompletableFuture.completedFuture(page);
    }
    McpResource resource = catalog.offers().resources().get(uri);
    if (resource != null) {
      return read(request, uri, Json.object(), resource.reading());
    }
    for (McpTemplate template : catalog.offers().templates().values()) {
      @Nullable ObjectNode variables = template.matched(uri);
      if (variables != null) {
        return read(request, uri, variables, template.reading());
      }
    }
    throw RpcException.unknownResource(uri, request.revision().modern());
  }

  private CompletionStage<RpcResult> read(
      McpRequest request, String uri, ObjectNode variables, McpHandler<McpBody> reading) {
    return run(
        request,
        "resources/read",
        uri,
        variables,
        call -> body(reading.handle(call), request.revision()));
  }

  private static ObjectNode body(McpBody body, Revision revision) {
    ObjectNode fields = Json.object();
    fields.putArray("contents").add(body.json());
    if (revision.modern()) {
      // Only the author knows how long the content is valid, and for whom.
      fields.put("ttlMs", 0).put("cacheScope", "private");
    }
    return fields;
  }

  // --- completions -----------------------------------------------------------------------------

  /** The method {@code completion/complete}. */
  public CompletionStage<RpcResult> completion(McpRequest request) {
    JsonNode argument = request.params().path("argument");
    String name = JsonRpcCodec.text(argument, "name");
    String typed = JsonRpcCodec.text(argument, "value");
    if (name == null || typed == null) {
      throw RpcException.invalidParams(
          "The parameter argument must have the strings name and value.");
    }
    McpCompletion completion = completing(request.params().path("ref"), name);
    if (completion == null) {
      return CompletableFuture.completedFuture(
          results.once(request.revision(), proposed(List.of())));
    }
    Map<String, String> others = others(request.params().path("context").path("arguments"));
    return run(
        request,
        "completion/complete",
        name,
        request.arguments(),
        call -> proposed(completion.complete(typed, others)));
  }

  private @Nullable McpCompletion completing(JsonNode ref, String argument) {
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

  private static ObjectNode proposed(List<String> values) {
    ObjectNode fields = Json.object();
    ObjectNode completion = fields.putObject("completion");
    values.stream().limit(MAX_VALUES).forEach(completion.putArray("values")::add);
    completion.put("total", values.size()).put("hasMore", values.size() > MAX_VALUES);
    return fields;
  }
}
