package io.fermata.mcp.rpc;

import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;

/** The result of a method: writes the whole value of {@code result}. */
@FunctionalInterface
public interface RpcResult {
  void write(JsonGenerator out) throws IOException;
}
