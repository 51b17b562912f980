package io.fermata.mcp;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.jspecify.annotations.Nullable;

/** The name, version and instructions of the server. */
record Identity(String name, String version, @Nullable String instructions) {
  ObjectNode tree() {
    return JsonNodeFactory.instance.objectNode().put("name", name).put("version", version);
  }
}
