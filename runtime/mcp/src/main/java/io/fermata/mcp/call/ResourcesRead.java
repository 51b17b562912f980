package io.fermata.mcp.call;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.mcp.catalog.Catalog;
import io.fermata.mcp.catalog.LiveCatalog;
import io.fermata.mcp.feature.McpBody;
import io.fermata.mcp.feature.McpHandler;
import io.fermata.mcp.feature.McpResource;
import io.fermata.mcp.feature.McpTemplate;
import io.fermata.mcp.protocol.McpRequest;
import io.fermata.mcp.protocol.ResultWriter;
import io.fermata.mcp.protocol.RpcMethod;
import io.fermata.mcp.rpc.Revision;
import io.fermata.mcp.rpc.RpcException;
import io.fermata.mcp.rpc.RpcResult;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/** The method {@code resources/read}. */
public final class ResourcesRead implements RpcMethod {
  private final LiveCatalog changes;
  private final HandlerRunner runner;
  private final ResultWriter results;

  public ResourcesRead(LiveCatalog changes, HandlerRunner runner, ResultWriter results) {
    this.changes = changes;
    this.runner = runner;
    this.results = results;
  }

  @Override
  public CompletionStage<RpcResult> answer(McpRequest request) {
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
    return runner.run(
        request,
        "resources/read",
        uri,
        variables,
        false,
        call -> CompletableFuture.completedFuture(body(reading.handle(call), request.revision())));
  }

  private RpcResult body(McpBody body, Revision revision) {
    ObjectNode fields = Json.object();
    fields.putArray("contents").add(body.json());
    if (revision.modern()) {
      // Only the author knows how long the content is valid, and for whom.
      fields.put("ttlMs", 0).put("cacheScope", "private");
    }
    return results.once(revision, fields);
  }
}
