package io.fermata.bench.load;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.session.ToolHost;
import io.fermata.session.call.DisplayTool;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolContract;
import io.fermata.session.call.ToolProgress;
import io.fermata.session.call.ToolReply;
import io.fermata.session.key.Handles;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;

/** The yardstick of the HTTP server: a tool that does nothing, over the same protocol. */
record NoopHost(Handles handles) implements ToolHost {
  static final String TOOL = "noop";

  @Override
  public List<ToolContract> tools() {
    ObjectNode any = Json.object().put("type", "object");
    return List.of(new ToolContract(TOOL, "No-op", "Does nothing.", any, any));
  }

  @Override
  public List<DisplayTool> displays() {
    return List.of();
  }

  @Override
  public CompletionStage<ToolReply> call(ToolCall call, Consumer<ToolProgress> progress) {
    ObjectNode nothing = Json.object().put("status", "complete");
    return CompletableFuture.completedFuture(new ToolReply(nothing, Json.object()));
  }
}
