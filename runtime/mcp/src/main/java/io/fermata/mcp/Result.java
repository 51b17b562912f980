package io.fermata.mcp;

import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;

/** What a method answers with: it writes the value of {@code result}, in full. */
@FunctionalInterface
interface Result {
  void write(JsonGenerator out) throws IOException;
}
