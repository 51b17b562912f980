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
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * An immutable view of everything that the server offers at one time. Each list is serialized once,
 * when the first client asks for it.
 */
public final class Catalog {
  public static final String TOOLS = "tools";
  public static final String RESOURCES = "resources";
  public static final String TEMPLATES = "resourceTemplates";
  public static final String PROMPTS = "prompts";

  private final RegisteredFeatures offers;
  private final ResultWriter results;
  private final List<ToolContract> flows;
  private final List<DisplayTool> displays;
  private final Map<String, List<ParamHeader>> headers;
  private final Map<String, ToolPage> pages;
  private final Map<Asked, RpcResult> lists = new ConcurrentHashMap<>();
  private final Map<Asked, RpcResult> contents = new ConcurrentHashMap<>();

  /**
   * What clients ask for.
   *
   * @param what the member that has a list, or the URI of a page
   */
  private record Asked(String what, Revision revision) {}

  Catalog(ToolHost host, RegisteredFeatures offers, ResultWriter results) {
    this.offers = offers;
    this.results = results;
    this.flows = host.tools();
    this.displays = host.displays();
    this.headers = new HashMap<>(offers.requireOfferable(toolNames(host)));
    this.headers.putAll(requireHeaders(host));
    this.pages =
        ToolPage.all(displays, offers)
            .collect(Collectors.toUnmodifiableMap(ToolPage::uri, it -> it));
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

  private RpcResult listed(Asked asked) {
    Revision revision = asked.revision();
    Stream<ObjectNode> all =
        switch (asked.what()) {
          case TOOLS -> tools(revision);
          case RESOURCES -> resources(revision);
          case TEMPLATES ->
              offers.templates().values().stream().map(it -> DescriptorJson.of(it, revision));
          case PROMPTS ->
              offers.prompts().values().stream().map(it -> DescriptorJson.of(it, revision));
          default -> throw new IllegalArgumentException("There is no list of " + asked.what());
        };
    return results.list(revision, listed(asked.what(), all));
  }

  private Stream<ObjectNode> tools(Revision revision) {
    boolean forWidgets = !pages.isEmpty();
    return Stream.of(
            flows.stream().map(it -> DescriptorJson.flow(it, revision, forWidgets)),
            offers.tools().values().stream().map(it -> DescriptorJson.of(it, revision)),
            displays.stream().map(it -> DescriptorJson.display(it, revision)))
        .flatMap(each -> each);
  }

  private Stream<ObjectNode> resources(Revision revision) {
    return Stream.concat(
        ToolPage.all(displays, offers).map(it -> it.descriptor(revision)),
        offers.resources().values().stream().map(it -> DescriptorJson.of(it, revision)));
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
    return lists.computeIfAbsent(new Asked(member, request.revision()), this::listed);
  }

  /** The pages of tools, by URI. */
  public Map<String, ToolPage> pages() {
    return pages;
  }

  /** The result of reading the page of a tool; null if there is no such page. */
  public @Nullable RpcResult page(String uri, Revision revision) {
    ToolPage page = pages.get(uri);
    return page == null
        ? null
        : contents.computeIfAbsent(
            new Asked(uri, revision),
            asked -> results.cacheable(revision, listed("contents", Stream.of(page.content()))));
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
}
