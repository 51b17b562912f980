package io.fermata.examples.load;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;

/** Where one client of the load sends its calls; one at a time. */
interface Target extends AutoCloseable {
  /** Calls a tool and returns the result's structured content. */
  JsonNode call(String tool, ObjectNode arguments) throws Exception;

  @Override
  void close() throws IOException;
}
