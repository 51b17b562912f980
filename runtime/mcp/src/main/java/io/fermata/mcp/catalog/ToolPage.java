package io.fermata.mcp.catalog;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Texts;
import io.fermata.mcp.feature.McpTool;
import io.fermata.mcp.rpc.Revision;
import io.fermata.session.call.DisplayTool;
import io.fermata.session.call.WidgetPage;
import io.fermata.session.call.WidgetPage.Permission;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The page of a tool, as a resource of MCP Apps. Everything in {@code _meta.ui} is repeated under
 * the names of ChatGPT.
 */
public record ToolPage(String tool, @Nullable String title, String description, WidgetPage page) {
  public static final String TYPE = "text/html;profile=mcp-app";
  public static final String EXTENSION = "io.modelcontextprotocol/ui";

  /** The maximum length of a tool's status text in ChatGPT. */
  private static final int LONGEST_STATUS = 64;

  static Stream<ToolPage> all(List<DisplayTool> displays, RegisteredFeatures offers) {
    return Stream.concat(
        displays.stream().map(ToolPage::of),
        offers.tools().values().stream().flatMap(it -> Stream.ofNullable(of(it))));
  }

  static @Nullable ToolPage of(McpTool tool) {
    return tool.page() == null
        ? null
        : new ToolPage(tool.name(), tool.title(), tool.description(), tool.page());
  }

  static ToolPage of(DisplayTool display) {
    return new ToolPage(display.name(), display.title(), display.description(), display.page());
  }

  String uri() {
    return WidgetPage.uri(tool);
  }

  /**
   * The {@code _meta} that links a tool to its page; both the model and the page may call the tool.
   */
  ObjectNode link() {
    return link(McpTool.EVERYBODY);
  }

  /**
   * The {@code _meta} that links a tool to its page.
   *
   * @param visibility who may call it
   */
  ObjectNode link(List<String> visibility) {
    ObjectNode meta = Json.object();
    meta.putObject("ui").put("resourceUri", uri());
    // Older hosts of MCP Apps and ChatGPT look for the same under these names.
    meta.put("ui/resourceUri", uri());
    meta.put("openai/outputTemplate", uri());
    if (title != null) {
      meta.put("openai/toolInvocation/invoking", Texts.fitted("Opening " + title, LONGEST_STATUS));
      meta.put("openai/toolInvocation/invoked", Texts.fitted(title, LONGEST_STATUS));
    }
    visible(meta, visibility);
    return meta;
  }

  /** Says who may call a tool. */
  static void visible(ObjectNode meta, List<String> visibility) {
    visibility.forEach(meta.withObjectProperty("ui").putArray("visibility")::add);
    if (visibility.contains("app")) {
      meta.put("openai/widgetAccessible", true);
    }
    if (!visibility.contains("model")) {
      meta.put("openai/visibility", "private");
    }
  }

  ObjectNode descriptor(Revision revision) {
    ObjectNode resource = DescriptorJson.named(tool, title, description, revision);
    return resource.put("uri", uri()).put("mimeType", TYPE).set("_meta", needs());
  }

  ObjectNode content() {
    return Json.object()
        .put("uri", uri())
        .put("mimeType", TYPE)
        .put("text", page.html())
        .set("_meta", needs());
  }

  /** What the page needs from the client. Empty lists are written, too: they forbid everything. */
  private ObjectNode needs() {
    WidgetPage.Reach reach = page.reach();
    ObjectNode meta = Json.object();
    ObjectNode ui = meta.putObject("ui");
    ObjectNode policy = ui.putObject("csp");
    ObjectNode chatGpt = meta.putObject("openai/widgetCSP");
    put(policy, "connectDomains", reach.connects());
    put(chatGpt, "connect_domains", reach.connects());
    put(policy, "resourceDomains", reach.loads());
    put(chatGpt, "resource_domains", reach.loads());
    put(policy, "frameDomains", reach.frames());
    put(chatGpt, "frame_domains", reach.frames());
    put(policy, "baseUriDomains", reach.bases());
    put(chatGpt, "redirect_domains", reach.leads());
    permissions(ui, page.permissions());
    if (page.domain() != null) {
      ui.put("domain", page.domain());
      meta.put("openai/widgetDomain", page.domain());
    }
    ui.put("prefersBorder", page.border());
    meta.put("openai/widgetPrefersBorder", page.border());
    meta.put("openai/widgetDescription", description);
    return meta;
  }

  private static void put(ObjectNode policy, String directive, List<String> origins) {
    origins.forEach(policy.putArray(directive)::add);
  }

  private static void permissions(ObjectNode ui, Set<Permission> permissions) {
    if (permissions.isEmpty()) {
      return;
    }
    ObjectNode asked = ui.putObject("permissions");
    for (Permission permission : permissions) {
      asked.putObject(
          switch (permission) {
            case CAMERA -> "camera";
            case MICROPHONE -> "microphone";
            case GEOLOCATION -> "geolocation";
            case CLIPBOARD_WRITE -> "clipboardWrite";
          });
    }
  }
}
