package io.fermata.mcp;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.session.DisplayTool;
import io.fermata.session.ToolContract;
import org.jspecify.annotations.Nullable;

/** How tools and pages are described to clients, in the words of MCP, MCP Apps and ChatGPT. */
final class Descriptors {
  static final String PAGE_TYPE = "text/html;profile=mcp-app";

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
    ObjectNode meta = tool.putObject("_meta");
    meta.putObject("ui").put("resourceUri", display.uri());
    // Older hosts of MCP Apps and ChatGPT look for the same under these names.
    meta.put("ui/resourceUri", display.uri());
    meta.put("openai/outputTemplate", display.uri());
    return tool;
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

  static ObjectNode resource(DisplayTool display, Revision revision) {
    ObjectNode resource = object().put("uri", display.uri()).put("name", display.name());
    if (revision.structured()) {
      resource.put("title", display.title());
    }
    resource.put("description", display.description()).put("mimeType", PAGE_TYPE);
    return resource.set("_meta", pageMeta(display));
  }

  static ObjectNode page(DisplayTool display) {
    return object()
        .put("uri", display.uri())
        .put("mimeType", PAGE_TYPE)
        .put("text", display.html())
        .set("_meta", pageMeta(display));
  }

  /** A page is self-contained: it may fetch nothing from anywhere. */
  private static ObjectNode pageMeta(DisplayTool display) {
    ObjectNode meta = object();
    ObjectNode ui = meta.putObject("ui");
    ObjectNode policy = ui.putObject("csp");
    policy.putArray("connectDomains");
    policy.putArray("resourceDomains");
    policy.putArray("frameDomains");
    policy.putArray("baseUriDomains");
    ui.put("prefersBorder", true);
    ObjectNode twin = meta.putObject("openai/widgetCSP");
    twin.putArray("connect_domains");
    twin.putArray("resource_domains");
    twin.putArray("frame_domains");
    meta.put("openai/widgetPrefersBorder", true);
    meta.put("openai/widgetDescription", display.description());
    return meta;
  }

  private static ObjectNode object() {
    return JsonNodeFactory.instance.objectNode();
  }
}
