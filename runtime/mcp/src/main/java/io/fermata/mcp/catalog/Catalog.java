package io.fermata.mcp.catalog;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.mcp.feature.McpTool;
import io.fermata.mcp.protocol.McpRequest;
import io.fermata.mcp.protocol.ParamHeader;
import io.fermata.mcp.protocol.ResultWriter;
import io.fermata.mcp.rpc.Revision;
import io.fermata.mcp.rpc.RpcException;
import io.fermata.mcp.rpc.RpcResult;
import io.fermata.session.ToolHost;
import io.fermata.session.call.DisplayTool;
import io.fermata.session.call.ToolContract;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * An immutable view of everything that the server offers at one time. Its lists are serialized
 * once.
 */
public final class Catalog {
  public static final String TOOLS = "tools";
  public static final String RESOURCES = "resources";
  public static final String TEMPLATES = "resourceTemplates";
  public static final String PROMPTS = "prompts";

  private final RegisteredFeatures offers;
  private final Map<Revision, Map<String, RpcResult>> lists = new EnumMap<>(Revision.class);
  private final Map<Revision, Map<String, RpcResult>> pages = new EnumMap<>(Revision.class);
  private final Map<String, List<ParamHeader>> headers;
  private final Map<String, ToolPage> rendering;

  Catalog(ToolHost host, RegisteredFeatures offers, ResultWriter results) {
    this.offers = offers;
    this.headers = new HashMap<>(offers.requireOfferable(toolNames(host)));
    this.headers.putAll(requireHeaders(host));
    List<ToolContract> flows = host.tools();
    List<DisplayTool> displays = host.displays();
    List<ToolPage> rendering = ToolPage.all(displays, offers).toList();
    this.rendering =
        rendering.stream().collect(Collectors.toUnmodifiableMap(ToolPage::uri, it -> it));
    for (Revision revision : Revision.values()) {
      Map<String, RpcResult> prepared = new HashMap<>();
      described(flows, displays, rendering, revision)
          .forEach(
              (member, all) -> prepared.put(member, results.list(revision, listed(member, all))));
      lists.put(revision, prepared);
      pages.put(revision, pages(rendering, results, revision));
    }
  }

  /** The descriptors of all lists, by the names of the members that have them in results. */
  private Map<String, Stream<ObjectNode>> described(
      List<ToolContract> flows,
      List<DisplayTool> displays,
      List<ToolPage> rendering,
      Revision revision) {
    return Map.of(
        TOOLS,
        tools(flows, displays, offers, !rendering.isEmpty(), revision),
        RESOURCES,
        Stream.concat(
            rendering.stream().map(it -> it.descriptor(revision)),
            offers.resources().values().stream().map(it -> DescriptorJson.of(it, revision))),
        TEMPLATES,
        offers.templates().values().stream().map(it -> DescriptorJson.of(it, revision)),
        PROMPTS,
        offers.prompts().values().stream().map(it -> DescriptorJson.of(it, revision)));
  }

  /** The names of the flows, the agents and the display tools of a host. */
  public static Set<String> toolNames(ToolHost host) {
    return Stream.concat(
            host.tools().stream().map(ToolContract::name),
            host.displays().stream().map(DisplayTool::name))
        .collect(Collectors.toUnmodifiableSet());
  }

  /**
   * The headers that repeat arguments of the flows and the agents of a host, by tool.
   *
   * @throws IllegalArgumentException if one is invalid
   */
  public static Map<String, List<ParamHeader>> requireHeaders(ToolHost host) {
    return host.tools().stream()
        .collect(
            Collectors.toUnmodifiableMap(
                ToolContract::name, it -> ParamHeader.of(it.name(), it.inputSchema())));
  }

  private static Stream<ObjectNode> tools(
      List<ToolContract> flows,
      List<DisplayTool> displays,
      RegisteredFeatures offers,
      boolean forWidgets,
      Revision revision) {
    return Stream.of(
            flows.stream().map(it -> DescriptorJson.flow(it, revision, forWidgets)),
            offers.tools().values().stream().map(it -> DescriptorJson.of(it, revision)),
            displays.stream().map(it -> DescriptorJson.display(it, revision)))
        .flatMap(each -> each);
  }

  private static Map<String, RpcResult> pages(
      List<ToolPage> rendering, ResultWriter results, Revision revision) {
    Map<String, RpcResult> read = new HashMap<>();
    for (ToolPage page : rendering) {
      ObjectNode contents = listed("contents", Stream.of(page.content()));
      read.put(page.uri(), results.cacheable(revision, contents));
    }
    return read;
  }

  private static ObjectNode listed(String member, Stream<ObjectNode> all) {
    ObjectNode list = JsonNodeFactory.instance.objectNode();
    ArrayNode array = list.putArray(member);
    all.forEach(array::add);
    return list;
  }

  /**
   * The result of a request for a list. Every list is one page, so no cursor was ever handed out.
   *
   * @param member the member that has the list
   */
  public RpcResult list(String member, McpRequest request) {
    if (request.params().has("cursor")) {
      throw RpcException.invalidParams("Unknown cursor: this server lists everything on one page.");
    }
    return Objects.requireNonNull(of(lists, request.revision()).get(member));
  }

  /** The pages of tools, by URI. */
  public Map<String, ToolPage> pages() {
    return rendering;
  }

  /** The result of reading the page of a tool; null if there is no such page. */
  public @Nullable RpcResult page(String uri, Revision revision) {
    return of(pages, revision).get(uri);
  }

  public @Nullable McpTool tool(String name) {
    return offers.tools().get(name);
  }

  /** The headers that repeat arguments of a tool. */
  public List<ParamHeader> headers(@Nullable String tool) {
    return headers.getOrDefault(tool, List.of());
  }

  public RegisteredFeatures offers() {
    return offers;
  }

  private static <T> T of(Map<Revision, T> prepared, Revision revision) {
    return Objects.requireNonNull(prepared.get(revision));
  }
}
