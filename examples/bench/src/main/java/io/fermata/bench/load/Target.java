package io.fermata.bench.load;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.session.call.ToolReply;
import java.io.IOException;

/** Where one client sends its calls; one at a time. */
public interface Target extends AutoCloseable {
  /** Calls a flow's tool with this {@code _meta}. */
  ToolReply call(String tool, ObjectNode arguments, ObjectNode meta) throws Exception;

  @Override
  void close() throws IOException;
}
