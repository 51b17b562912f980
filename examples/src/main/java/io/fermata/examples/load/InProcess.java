package io.fermata.examples.load;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Json;
import io.fermata.session.ToolCall;
import io.fermata.session.ToolHost;
import java.util.concurrent.ExecutionException;

/** Calls a host in the same process. */
record InProcess(ToolHost host) implements Target {
  @Override
  public JsonNode call(String tool, ObjectNode arguments)
      throws InterruptedException, ExecutionException {
    ToolCall call = new ToolCall(tool, "local", arguments, Json.object(), null);
    return host.call(call).toCompletableFuture().get().structured();
  }

  @Override
  public void close() {}
}
