package io.fermata.mcp;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.session.ToolHost;
import java.util.Map;

/** The methods of both eras. */
final class Methods {
  private final Map<String, Method> modern;
  private final Map<String, Method> legacy;
  private final Identity identity;
  private final boolean widgets;

  Methods(ToolHost host, Identity identity) {
    this.identity = identity;
    this.widgets = !host.displays().isEmpty();
    Results results = new Results(identity);
    Catalog catalog = new Catalog(host, results);
    Method call = new ToolCalls(host, results);
    Result discovery = results.cacheable(Revision.V2026_07_28, discovery());
    Result pong = out -> out.writeRawValue("{}");
    this.modern =
        Map.of(
            "server/discover", Method.atOnce(request -> discovery),
            "tools/list", Method.atOnce(catalog::tools),
            "tools/call", call,
            "resources/list", Method.atOnce(catalog::resources),
            "resources/templates/list", Method.atOnce(catalog::templates),
            "resources/read", Method.atOnce(catalog::page));
    this.legacy =
        Map.of(
            "ping", Method.atOnce(request -> pong),
            "tools/list", Method.atOnce(catalog::tools),
            "tools/call", call,
            "resources/list", Method.atOnce(catalog::resources),
            "resources/templates/list", Method.atOnce(catalog::templates),
            "resources/read", Method.atOnce(catalog::page));
  }

  Method named(String name, Revision revision) {
    Method method = (revision.modern() ? modern : legacy).get(name);
    if (method == null) {
      throw Refusal.unknownMethod(name, revision.modern());
    }
    return method;
  }

  /** Whether a method says by its name alone that its caller is modern. */
  boolean modernOnly(String name) {
    return modern.containsKey(name) && !legacy.containsKey(name);
  }

  /** The answer to a handshake, which the protocol core makes: it opens a session. */
  ObjectNode welcome(Revision agreed) {
    ObjectNode welcome = JsonNodeFactory.instance.objectNode().put("protocolVersion", agreed.text);
    welcome.set("capabilities", capabilities());
    welcome.set("serverInfo", identity.tree());
    return withInstructions(welcome);
  }

  private ObjectNode discovery() {
    ObjectNode discovery = JsonNodeFactory.instance.objectNode();
    // A client takes its pick from these and goes on without a handshake, so only modern ones
    // count.
    Revision.allModern().forEach(discovery.putArray("supportedVersions")::add);
    ObjectNode capabilities = discovery.putObject("capabilities").setAll(capabilities());
    if (widgets) {
      capabilities
          .putObject("extensions")
          .putObject("io.modelcontextprotocol/ui")
          .putArray("mimeTypes")
          .add(Descriptors.PAGE_TYPE);
    }
    return withInstructions(discovery);
  }

  private static ObjectNode capabilities() {
    ObjectNode capabilities = JsonNodeFactory.instance.objectNode();
    capabilities.putObject("tools");
    capabilities.putObject("resources");
    return capabilities;
  }

  private ObjectNode withInstructions(ObjectNode result) {
    return identity.instructions() == null
        ? result
        : result.put("instructions", identity.instructions());
  }
}
