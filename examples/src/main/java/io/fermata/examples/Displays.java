package io.fermata.examples;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Json;
import io.fermata.session.DisplayTool;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;

/** The display tools of the examples: what each is given, and the page that renders it. */
public final class Displays {
  private Displays() {}

  /** The plan picker of the quote. */
  public static DisplayTool showPlans() {
    ObjectNode properties = Json.object();
    property(properties, "price", "number", "Price per month");
    property(properties, "segment", "string", "company or personal");
    return display(
        "show_plans", "Plans", "Shows the plans with a price to choose from.", properties);
  }

  /** The table picker of the booking. */
  public static DisplayTool chooseTable() {
    ObjectNode properties = Json.object();
    property(properties, "date", "string", "Day of the visit");
    property(properties, "time", "string", "Time of arrival");
    property(properties, "guests", "integer", "Number of guests");
    property(properties, "tables", "array", "The free tables");
    property(properties, "missed", "string", "A table that was chosen but is taken");
    return display("choose_table", "Tables", "Shows the free tables to choose from.", properties);
  }

  private static void property(ObjectNode properties, String name, String type, String meaning) {
    properties.putObject(name).put("type", type).put("description", meaning);
  }

  private static DisplayTool display(
      String name, String title, String description, ObjectNode properties) {
    property(
        properties,
        "sessionId",
        "string",
        "The sessionId of the result that asked for this widget, if it carried one; the page"
            + " answers with it");
    ObjectNode schema = Json.object().put("type", "object");
    schema.set("properties", properties);
    return DisplayTool.of(name, title, description, page(name)).inputSchema(schema);
  }

  /** A host takes a page as one text, so the script it shares with others goes into it. */
  private static String page(String name) {
    String script = "<script>\n" + resource("widget.js") + "</script>";
    return resource(name + ".html").replace("<script src=\"widget.js\"></script>", script);
  }

  private static String resource(String name) {
    try (InputStream in = Displays.class.getResourceAsStream(name)) {
      if (in == null) {
        throw new IllegalStateException("The resource " + name + " is not in this jar");
      }
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException("The resource " + name + " cannot be read", e);
    }
  }
}
