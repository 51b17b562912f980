package io.fermata.mcp;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Json;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/** The method {@code resources/read}. */
final class Reads implements Method {
  private final LiveCatalog changes;
  private final PlainCalls plain;
  private final Results results;

  Reads(LiveCatalog changes, PlainCalls plain, Results results) {
    this.changes = changes;
    this.plain = plain;
    this.results = results;
  }

  @Override
  public CompletionStage<Result> answer(Request request) {
    String uri = request.text("uri");
    Catalog catalog = changes.catalog();
    Result page = catalog.page(uri, request.revision());
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
    throw Refusal.unknownResource(uri, request.revision().modern());
  }

  private CompletionStage<Result> read(
      Request request, String uri, ObjectNode variables, McpHandler<McpBody> reading) {
    return plain.run(
        request,
        "resources/read",
        uri,
        variables,
        false,
        call -> CompletableFuture.completedFuture(body(reading.handle(call), request.revision())));
  }

  private Result body(McpBody body, Revision revision) {
    ObjectNode fields = Json.object();
    fields.putArray("contents").add(body.json());
    if (revision.modern()) {
      // Only its author knows how long it will be the same, and for whom.
      fields.put("ttlMs", 0).put("cacheScope", "private");
    }
    return results.once(revision, fields);
  }
}
