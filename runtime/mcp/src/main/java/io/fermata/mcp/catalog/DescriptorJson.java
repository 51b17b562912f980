package io.fermata.mcp.catalog;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.ToolHints;
import io.fermata.mcp.feature.McpFeature;
import io.fermata.mcp.feature.McpPrompt;
import io.fermata.mcp.feature.McpResource;
import io.fermata.mcp.feature.McpTemplate;
import io.fermata.mcp.feature.McpTool;
import io.fermata.mcp.rpc.Revision;
import io.fermata.session.call.DisplayTool;
import io.fermata.session.call.ToolContract;
import org.jspecify.annotations.Nullable;

/** Descriptors of tools, prompts and resources, as MCP, MCP Apps and ChatGPT define them. */
final class DescriptorJson {
  private DescriptorJson() {}

  /**
   * A flow's tool.
   *
   * @param forWidgets whether there are widgets, which call the tool
   */
  static ObjectNode flow(ToolContract contract, Revision revision, boolean forWidgets) {
    ObjectNode tool =
        named(contract.name(), contract.title(), contract.description(), revision)
            .set("inputSchema", contract.inputSchema());
    if (revision.structured() && contract.kind() != ToolContract.Kind.JOB) {
      tool.set("outputSchema", contract.outputSchema());
    }
    hints(annotations(tool, contract.title(), revision), contract.hints());
    if (forWidgets) {
      tool.putObject("_meta").put("openai/widgetAccessible", true);
    }
    return tool;
  }

  static ObjectNode display(DisplayTool display, Revision revision) {
    ObjectNode tool =
        named(display.name(), display.title(), display.description(), revision)
            .set("inputSchema", display.inputSchema());
    annotations(tool, display.title(), revision)
        .put("readOnlyHint", true)
        .put("idempotentHint", true)
        .put("openWorldHint", false);
    return tool.set("_meta", ToolPage.of(display).link());
  }

  static ObjectNode of(McpTool it, Revision revision) {
    ObjectNode tool = named(it, revision);
    tool.set("inputSchema", it.input().json());
    if (it.output() != null && revision.structured()) {
      tool.set("outputSchema", it.output().json());
    }
    if (!it.annotations().isEmpty()) {
      tool.set("annotations", it.annotations());
    }
    return withMeta(tool, meta(it));
  }

  private static ObjectNode meta(McpTool tool) {
    ObjectNode meta = object();
    ToolPage linked = ToolPage.of(tool);
    if (linked != null) {
      meta.setAll(linked.link(tool.visibility()));
    } else if (!tool.visibility().equals(McpTool.EVERYBODY)) {
      ToolPage.visible(meta, tool.visibility());
    }
    return meta.setAll(tool.meta());
  }

  static ObjectNode of(McpPrompt it, Revision revision) {
    ObjectNode prompt = named(it, revision);
    ArrayNode arguments = prompt.putArray("arguments");
    it.arguments()
        .forEach(
            argument ->
                arguments
                    .addObject()
                    .put("name", argument.name())
                    .put("description", argument.description())
                    .put("required", argument.required()));
    return withMeta(prompt, it.meta());
  }

  static ObjectNode of(McpResource it, Revision revision) {
    ObjectNode resource = named(it, revision);
    return withMeta(resource.put("uri", it.uri()).put("mimeType", it.mimeType()), it.meta());
  }

  static ObjectNode of(McpTemplate it, Revision revision) {
    ObjectNode template = named(it, revision);
    template.put("uriTemplate", it.uriTemplate()).put("mimeType", it.mimeType());
    return withMeta(template, it.meta());
  }

  private static ObjectNode named(McpFeature<?> it, Revision revision) {
    return named(it.name(), it.title(), it.description(), revision);
  }

  /** The members that all descriptors begin with: name, title and description. */
  static ObjectNode named(
      String name, @Nullable String title, String description, Revision revision) {
    ObjectNode descriptor = object().put("name", name);
    if (title != null && revision.structured()) {
      descriptor.put("title", title);
    }
    if (!description.isEmpty()) {
      descriptor.put("description", description);
    }
    return descriptor;
  }

  private static ObjectNode withMeta(ObjectNode descriptor, ObjectNode meta) {
    if (!meta.isEmpty()) {
      descriptor.set("_meta", meta);
    }
    return descriptor;
  }

  private static void hints(ObjectNode annotations, ToolHints hints) {
    put(annotations, "readOnlyHint", hints.readOnly());
    put(annotations, "destructiveHint", hints.destructive());
    put(annotations, "idempotentHint", hints.idempotent());
    put(annotations, "openWorldHint", hints.openWorld());
  }

  private static void put(ObjectNode annotations, String name, @Nullable Boolean hint) {
    if (hint != null) {
      annotations.put(name, hint);
    }
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
