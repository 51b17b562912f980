package io.fermata.bench.load;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.session.ToolHost;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolReply;
import java.util.concurrent.ExecutionException;

/** Calls a host in the same process. */
record InProcess(ToolHost host) implements Target {
  @Override
  public ToolReply call(String tool, ObjectNode arguments, ObjectNode meta)
      throws InterruptedException, ExecutionException {
    ToolCall call = new ToolCall(tool, "local", arguments, meta, null);
    return host.call(call).toCompletableFuture().get();
  }

  @Override
  public void close() {}
}
