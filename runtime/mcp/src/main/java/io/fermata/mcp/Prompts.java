package io.fermata.mcp;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Json;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** The method {@code prompts/get}. */
final class Prompts implements Method {
  private final LiveCatalog changes;
  private final PlainCalls plain;
  private final Results results;

  Prompts(LiveCatalog changes, PlainCalls plain, Results results) {
    this.changes = changes;
    this.plain = plain;
    this.results = results;
  }

  @Override
  public CompletionStage<Result> answer(Request request) {
    String name = request.text("name");
    McpPrompt prompt = changes.catalog().offers().prompts().get(name);
    if (prompt == null) {
      throw Refusal.params("Unknown prompt: " + Refusal.shortened(name));
    }
    ObjectNode arguments = request.arguments();
    requireComplete(prompt, arguments);
    return plain.run(
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
        throw Refusal.params(
            "The prompt %s needs the argument %s, a string."
                .formatted(prompt.name(), argument.name()));
      }
    }
    for (Map.Entry<String, JsonNode> entry : given.properties()) {
      if (!entry.getValue().isTextual()) {
        throw Refusal.params(
            "The argument %s must be a string.".formatted(Refusal.shortened(entry.getKey())));
      }
    }
  }

  private Result written(McpPrompt prompt, List<McpMessage> messages, Revision revision) {
    ObjectNode fields = Json.object().put("description", prompt.description());
    ArrayNode all = fields.putArray("messages");
    messages.forEach(message -> all.add(message.json()));
    return results.once(revision, fields);
  }
}
