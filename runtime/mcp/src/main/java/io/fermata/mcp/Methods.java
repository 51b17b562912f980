package io.fermata.mcp;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.session.Telemetry;
import io.fermata.session.ToolHost;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The methods of both eras. */
final class Methods {
  private final Map<String, Method> modern;
  private final Map<String, Method> legacy;
  private final Identity identity;
  private final McpChanges changes;
  private final Listening listening;
  private final boolean widgets;

  /** Whether there is more than flows: prompts, and handlers that log. */
  private final boolean plain;

  Methods(
      ToolHost host,
      Identity identity,
      Offers offers,
      Subscriptions subscriptions,
      Inquiries inquiries,
      Workers workers,
      Telemetry telemetry) {
    this.identity = identity;
    this.widgets = !host.displays().isEmpty();
    this.plain = !offers.isEmpty();
    Results results = new Results(identity);
    this.changes = new McpChanges(host, offers, results, subscriptions);
    this.listening = new Listening(subscriptions, results, kinds());
    RequestStates states = new RequestStates(host.handles(), System::currentTimeMillis);
    PlainCalls calls = new PlainCalls(changes, results, states, inquiries, workers);
    Map<String, Method> both = new HashMap<>();
    both.put("tools/list", Method.atOnce(it -> changes.catalog().tools(it)));
    both.put("tools/call", new ToolCalls(host, results, changes, calls, telemetry));
    both.put("resources/list", Method.atOnce(it -> changes.catalog().resources(it)));
    both.put("resources/templates/list", Method.atOnce(it -> changes.catalog().templates(it)));
    both.put("resources/read", new Reads(changes, calls, results));
    if (plain) {
      both.put("prompts/list", Method.atOnce(it -> changes.catalog().prompts(it)));
      both.put("prompts/get", new Prompts(changes, calls, results));
      both.put("completion/complete", new Completions(changes, calls, results));
    }
    Result discovery = results.cacheable(Revision.V2026_07_28, discovery());
    this.modern = new HashMap<>(both);
    modern.put("server/discover", Method.atOnce(request -> discovery));
    modern.put("subscriptions/listen", listening::listen);
    this.legacy = new HashMap<>(both);
    legacy.put("ping", Method.atOnce(request -> Results.EMPTY));
    legacy.put("resources/subscribe", Method.atOnce(listening::watch));
    legacy.put("resources/unsubscribe", Method.atOnce(listening::unwatch));
    if (plain) {
      legacy.put("logging/setLevel", Method.atOnce(listening::level));
    }
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

  McpChanges changes() {
    return changes;
  }

  Listening listening() {
    return listening;
  }

  /** The headers that repeat arguments of the tool that a message calls. */
  List<ParamHeader> headers(Message message) {
    @Nullable String tool =
        message.method().equals("tools/call") ? Wire.text(message.params(), "name") : null;
    return changes.catalog().headers(tool);
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

  private Set<Subscriptions.Kind> kinds() {
    return plain
        ? EnumSet.allOf(Subscriptions.Kind.class)
        : EnumSet.of(Subscriptions.Kind.TOOLS, Subscriptions.Kind.RESOURCES);
  }

  private ObjectNode capabilities() {
    ObjectNode capabilities = JsonNodeFactory.instance.objectNode();
    capabilities.putObject("tools").put("listChanged", true);
    capabilities.putObject("resources").put("listChanged", true).put("subscribe", true);
    if (plain) {
      capabilities.putObject("prompts").put("listChanged", true);
      capabilities.putObject("completions");
      capabilities.putObject("logging");
    }
    return capabilities;
  }

  private ObjectNode withInstructions(ObjectNode result) {
    return identity.instructions() == null
        ? result
        : result.put("instructions", identity.instructions());
  }
}
