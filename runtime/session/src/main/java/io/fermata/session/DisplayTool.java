package io.fermata.session;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Json;

/**
 * A tool that renders a widget in the client: an HTML page, and the shape of the data it is given.
 *
 * @param name what flows call it by
 * @param html the page, served at {@link #uri}
 * @param inputSchema the JSON Schema of its data
 */
public record DisplayTool(
    String name, String title, String description, String html, ObjectNode inputSchema) {

  /** A display tool that takes any object as its data. */
  public static DisplayTool of(String name, String title, String description, String html) {
    ObjectNode any = Json.object().put("type", "object");
    return new DisplayTool(name, title, description, html, any);
  }

  public DisplayTool inputSchema(ObjectNode schema) {
    return new DisplayTool(name, title, description, html, schema);
  }

  /** Where the page is found. */
  public String uri() {
    return "ui://fermata/" + name + ".html";
  }
}
