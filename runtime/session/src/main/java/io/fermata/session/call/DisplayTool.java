package io.fermata.session.call;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Violation;
import io.fermata.flow.schema.ArgumentSchema;
import java.util.List;
import java.util.Objects;
import java.util.regex.Pattern;

/**
 * A tool that renders a widget in the client: a page, and the schema of its data.
 *
 * @param name the name that flows use; 1 to 64 letters, digits, _ - . and /
 * @param description what it shows, for the model
 * @param page the page that renders it, served at {@link #uri}
 * @param data the schema of its data
 */
public record DisplayTool(
    String name, String title, String description, WidgetPage page, ArgumentSchema data) {
  private static final String SESSION = "sessionId";
  private static final Pattern NAME = Pattern.compile("[A-Za-z0-9_./-]{1,64}");

  public DisplayTool {
    Objects.requireNonNull(title, "title");
    Objects.requireNonNull(description, "description");
    Objects.requireNonNull(page, "page");
    Objects.requireNonNull(data, "data");
    if (!NAME.matcher(Objects.requireNonNull(name, "name")).matches()) {
      throw new IllegalArgumentException(
          "The display tool's name \"%s\" is not 1 to 64 of letters, digits, _ - . and /"
              .formatted(name));
    }
  }

  /** A display tool that takes any object as its data. */
  public static DisplayTool of(String name, String title, String description, WidgetPage page) {
    ArgumentSchema any = ArgumentSchema.of(Json.object().put("type", "object"));
    return new DisplayTool(name, title, description, page, any);
  }

  /** A display tool that takes any object as its data, with a self-contained page. */
  public static DisplayTool of(String name, String title, String description, String html) {
    return of(name, title, description, WidgetPage.of(html));
  }

  /** Takes the components of a record as its data. */
  public DisplayTool data(Class<? extends Record> components) {
    return data(ArgumentSchema.of(components));
  }

  /** Takes what a JSON Schema of type object describes as its data. */
  public DisplayTool data(ObjectNode schema) {
    return data(ArgumentSchema.of(schema));
  }

  private DisplayTool data(ArgumentSchema shape) {
    return new DisplayTool(name, title, description, page, shape);
  }

  /** The URI of the page. */
  public String uri() {
    return WidgetPage.uri(name);
  }

  /** The JSON Schema of a call: the data, and the session for the page's answer. */
  public ObjectNode inputSchema() {
    ObjectNode schema = data.json();
    ObjectNode properties = schema.withObjectProperty("properties");
    if (!properties.has(SESSION)) {
      properties
          .putObject(SESSION)
          .put("type", "string")
          .put(
              "description",
              "The sessionId of the result that asked for this widget, if it carried one; the page"
                  + " answers with it");
    }
    return schema;
  }

  /** The violations of a call's arguments. */
  public List<Violation> check(ObjectNode arguments) {
    ObjectNode given = arguments;
    if (!data.json().path("properties").has(SESSION)) {
      given = arguments.deepCopy();
      given.remove(SESSION);
    }
    return data.check(given);
  }
}
