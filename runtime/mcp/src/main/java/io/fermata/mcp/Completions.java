package io.fermata.mcp;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Json;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/** The method {@code completion/complete}. */
final class Completions implements Method {
  private static final int MAX_VALUES = 100;

  private final LiveCatalog changes;
  private final PlainCalls plain;
  private final Results results;

  Completions(LiveCatalog changes, PlainCalls plain, Results results) {
    this.changes = changes;
    this.plain = plain;
    this.results = results;
  }

  @Override
  public CompletionStage<Result> answer(Request request) {
    JsonNode argument = request.params().path("argument");
    String name = Wire.text(argument, "name");
    String begun = Wire.text(argument, "value");
    if (name == null || begun == null) {
      throw Refusal.params("The parameter argument must have the strings name and value.");
    }
    McpCompletion completion = completion(request.params().path("ref"), name);
    if (completion == null) {
      return CompletableFuture.completedFuture(proposed(List.of(), request.revision()));
    }
    Map<String, String> others = others(request.params().path("context").path("arguments"));
    return plain.run(
        request,
        "completion/complete",
        name,
        request.arguments(),
        false,
        call ->
            CompletableFuture.completedFuture(
                proposed(completion.complete(begun, others), request.revision())));
  }

  private @Nullable McpCompletion completion(JsonNode ref, String argument) {
    Offers offers = changes.catalog().offers();
    String type = ref.path("type").asText();
    String named = ref.path(type.equals("ref/prompt") ? "name" : "uri").asText();
    McpPrompt prompt = type.equals("ref/prompt") ? offers.prompts().get(named) : null;
    McpTemplate template = type.equals("ref/resource") ? offers.templates().get(named) : null;
    if (prompt != null) {
      return prompt.completion(argument);
    } else if (template != null) {
      return template.completion(argument);
    }
    throw Refusal.params("The parameter ref names no prompt and no resource template.");
  }

  private static Map<String, String> others(JsonNode arguments) {
    Map<String, String> others = new LinkedHashMap<>();
    arguments.properties().forEach(it -> others.put(it.getKey(), it.getValue().asText()));
    return others;
  }

  private Result proposed(List<String> values, Revision revision) {
    ObjectNode fields = Json.object();
    ObjectNode completion = fields.putObject("completion");
    values.stream().limit(MAX_VALUES).forEach(completion.putArray("values")::add);
    completion.put("total", values.size()).put("hasMore", values.size() > MAX_VALUES);
    return results.once(revision, fields);
  }
}
