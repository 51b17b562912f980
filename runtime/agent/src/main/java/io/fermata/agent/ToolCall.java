package io.fermata.agent;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.Json;

/**
 * A call of a tool that a side requests.
 *
 * @param type always {@code function}
 */
public record ToolCall(String id, String type, Function function) {

  /**
   * What is called.
   *
   * @param arguments a JSON text
   */
  public record Function(String name, String arguments) {}

  public static ToolCall of(String id, String name, String arguments) {
    return new ToolCall(id, "function", new Function(name, arguments));
  }

  public static ToolCall of(String id, String name, JsonNode arguments) {
    return of(id, name, Json.text(arguments));
  }

  public String name() {
    return function.name();
  }
}
