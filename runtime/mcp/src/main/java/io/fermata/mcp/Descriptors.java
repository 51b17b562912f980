package io.fermata.mcp;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.session.DisplayTool;
import io.fermata.session.ToolContract;
import org.jspecify.annotations.Nullable;

/** How tools are described to clients, in the words of MCP, MCP Apps and ChatGPT. */
final class Descriptors {
  private Descriptors() {}

  /**
   * A flow's tool.
   *
   * @param forWidgets whether there are widgets, which answer by calling it
   */
  static ObjectNode flow(ToolContract contract, Revision revision, boolean forWidgets) {
    ObjectNode tool =
        tool(contract.name(), contract.title(), contract.description(), revision)
            .set("inputSchema", contract.inputSchema());
    if (revision.structured() && !contract.job()) {
      tool.set("outputSchema", contract.outputSchema());
    }
    annotations(tool, contract.title(), revision).put("readOnlyHint", false);
    if (forWidgets) {
      tool.putObject("_meta").put("openai/widgetAccessible", true);
    }
    return tool;
  }

  static ObjectNode display(DisplayTool display, Revision revision) {
    ObjectNode tool =
        tool(display.name(), display.title(), display.description(), revision)
            .set("inputSchema", display.inputSchema());
    annotations(tool, display.title(), revision)
        .put("readOnlyHint", true)
        .put("idempotentHint", true)
        .put("openWorldHint", false);
    return tool.set("_meta", ToolPage.of(display).link());
  }

  private static ObjectNode tool(String name, String title, String text, Revision revision) {
    ObjectNode tool = object().put("name", name);
    if (revision.structured()) {
      tool.put("title", title);
    }
    return tool.put("description", text);
  }

  /** The beginning of what an author registered: its name, and what people and models read. */
  static ObjectNode named(
      String name, @Nullable String title, @Nullable String description, Revision revision) {
    ObjectNode descriptor = object().put("name", name);
    if (title != null && revision.structured()) {
      descriptor.put("title", title);
    }
    if (description != null) {
      descriptor.put("description", description);
    }
    return descriptor;
  }

  static ObjectNode withMeta(ObjectNode descriptor, ObjectNode meta) {
    if (!meta.isEmpty()) {
      descriptor.set("_meta", meta);
    }
    return descriptor;
  }

  private static ObjectNode annotations(ObjectNode tool, String title, Revision revision) {
    ObjectNode annotations = tool.putObject("annotations");
    if (!revision.structured()) {
      annotations.put("title", title);
    }
    return annotations;
  }

  private static ObjectNode object() {
    return JsonNodeFactory.instance.objectNode();
  }
}
