package io.fermata.mcp.protocol;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.jspecify.annotations.Nullable;

/** The name, version and instructions of the server. */
public record ServerIdentity(String name, String version, @Nullable String instructions) {
  public ObjectNode tree() {
    return JsonNodeFactory.instance.objectNode().put("name", name).put("version", version);
  }
}
