package io.fermata.agent.message;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Texts;

/**
 * A call of a tool that a side requests.
 *
 * @param type always {@code function}
 */
public record RequestedCall(String id, String type, Function function) {
  public RequestedCall {
    id = Texts.sound(id);
  }

  /**
   * What is called.
   *
   * @param arguments a JSON text
   */
  public record Function(String name, String arguments) {
    public Function {
      name = Texts.sound(name);
      arguments = Texts.sound(arguments);
    }
  }

  public static RequestedCall of(String id, String name, String arguments) {
    return new RequestedCall(id, "function", new Function(name, arguments));
  }

  public static RequestedCall of(String id, String name, JsonNode arguments) {
    return of(id, name, Json.text(arguments));
  }

  public String name() {
    return function.name();
  }
}
