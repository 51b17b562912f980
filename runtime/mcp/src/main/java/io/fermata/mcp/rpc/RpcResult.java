package io.fermata.mcp.rpc;

import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;

/** What a method answers with: it writes the value of {@code result}, in full. */
@FunctionalInterface
public interface RpcResult {
  void write(JsonGenerator out) throws IOException;
}
