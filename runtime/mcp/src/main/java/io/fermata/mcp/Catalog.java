package io.fermata.mcp;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.session.DisplayTool;
import io.fermata.session.ToolContract;
import io.fermata.session.ToolHost;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;

/** What there is to list and to read: prepared once, since a host's tools never change. */
final class Catalog {
  private final Map<Revision, Result> tools = new EnumMap<>(Revision.class);
  private final Map<Revision, Result> resources = new EnumMap<>(Revision.class);
  private final Map<Revision, Result> templates = new EnumMap<>(Revision.class);
  private final Map<Revision, Map<String, Result>> pages = new EnumMap<>(Revision.class);

  Catalog(ToolHost host, Results results) {
    List<ToolContract> flows = host.tools();
    List<DisplayTool> displays = host.displays();
    for (Revision revision : Revision.values()) {
      tools.put(revision, results.cacheable(revision, toolList(flows, displays, revision)));
      resources.put(
          revision,
          results.cacheable(
              revision, listed("resources", displays, it -> Descriptors.resource(it, revision))));
      templates.put(
          revision,
          results.cacheable(
              revision, listed("resourceTemplates", List.<ObjectNode>of(), it -> it)));
      pages.put(revision, pages(displays, results, revision));
    }
  }

  private static ObjectNode toolList(
      List<ToolContract> flows, List<DisplayTool> displays, Revision revision) {
    ObjectNode list =
        listed("tools", flows, it -> Descriptors.flow(it, revision, !displays.isEmpty()));
    displays.forEach(it -> list.withArray("tools").add(Descriptors.display(it, revision)));
    return list;
  }

  private static Map<String, Result> pages(
      List<DisplayTool> displays, Results results, Revision revision) {
    Map<String, Result> pages = new HashMap<>();
    for (DisplayTool display : displays) {
      ObjectNode contents = listed("contents", List.of(display), Descriptors::page);
      pages.put(display.uri(), results.cacheable(revision, contents));
    }
    return pages;
  }

  private static <T> ObjectNode listed(String member, List<T> all, Function<T, ObjectNode> each) {
    ObjectNode list = JsonNodeFactory.instance.objectNode();
    ArrayNode array = list.putArray(member);
    all.stream().map(each).forEach(array::add);
    return list;
  }

  Result tools(Request request) {
    return firstPage(tools, request);
  }

  Result resources(Request request) {
    return firstPage(resources, request);
  }

  Result templates(Request request) {
    return firstPage(templates, request);
  }

  /** There is one page of everything, so no cursor was ever handed out. */
  private static Result firstPage(Map<Revision, Result> lists, Request request) {
    if (request.params().has("cursor")) {
      throw Refusal.params("Unknown cursor: this server lists everything on one page.");
    }
    return of(lists, request.revision());
  }

  Result page(Request request) {
    String uri = Wire.text(request.params(), "uri");
    if (uri == null) {
      throw Refusal.params("The parameter uri must be a string.");
    }
    Result page = of(pages, request.revision()).get(uri);
    if (page == null) {
      throw Refusal.unknownResource(uri, request.revision().modern());
    }
    return page;
  }

  private static <T> T of(Map<Revision, T> prepared, Revision revision) {
    return Objects.requireNonNull(prepared.get(revision));
  }
}
