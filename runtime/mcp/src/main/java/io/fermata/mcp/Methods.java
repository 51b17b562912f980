package io.fermata.mcp;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.session.Telemetry;
import io.fermata.session.ToolHost;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The methods of the current revision, and those that older ones share with it. */
final class Methods {
  private final Map<String, Method> modern;
  private final Map<String, Method> shared = new HashMap<>();
  private final Identity identity;
  private final LiveCatalog changes;

  /** Whether there are runs, which may outlast their calls. */
  private final boolean tasks;

  /**
   * What methods are made of: what there is to call, and what all calls have in common.
   *
   * @param patience how long a client that takes no stream can wait; null for however long it takes
   */
  record Parts(
      ToolHost host,
      Identity identity,
      Offers offers,
      Subscriptions subscriptions,
      Workers workers,
      Gate gate,
      @Nullable Duration patience,
      Quotas quotas,
      Permits permits,
      Telemetry telemetry) {}

  Methods(Parts parts) {
    ToolHost host = parts.host();
    Offers offers = parts.offers();
    Subscriptions subscriptions = parts.subscriptions();
    Quotas quotas = parts.quotas();
    this.identity = parts.identity();
    Results results = new Results(identity);
    this.changes = new LiveCatalog(host, offers, results, subscriptions);
    this.tasks = !host.tools().isEmpty();
    ToolReplies replies = new ToolReplies(host, results);
    TaskCalls taskCalls =
        new TaskCalls(
            host.tasks(),
            new TaskIds(host.handles()),
            results,
            replies,
            System::currentTimeMillis,
            parts.permits());
    Listening listening = new Listening(subscriptions, results, taskCalls);
    RequestStates states =
        new RequestStates(
            host.handles(), System::currentTimeMillis, quotas.limits().requestStates());
    PlainCalls calls = new PlainCalls(changes, results, states, parts.workers());
    FlowCalls flows = new FlowCalls(host, taskCalls, replies);
    JobCalls jobs = new JobCalls(host, taskCalls, replies, calls, parts.gate(), parts.patience());
    FormCalls forms = new FormCalls(flows, results, states, parts.gate());
    ToolCalls.Ways ways = new ToolCalls.Ways(calls, flows, forms, jobs);
    shared.put("tools/list", Method.atOnce(it -> changes.catalog().tools(it)));
    shared.put(
        "tools/call",
        counted(
            quotas,
            new ToolCalls(host, results, changes, ways, parts.permits(), parts.telemetry())));
    shared.put("resources/list", Method.atOnce(it -> changes.catalog().resources(it)));
    shared.put("resources/templates/list", Method.atOnce(it -> changes.catalog().templates(it)));
    shared.put("resources/read", counted(quotas, new Reads(changes, calls, results)));
    // What there is none of now may be offered later, and clients only look once.
    shared.put("prompts/list", Method.atOnce(it -> changes.catalog().prompts(it)));
    shared.put("prompts/get", counted(quotas, new Prompts(changes, calls, results)));
    shared.put("completion/complete", counted(quotas, new Completions(changes, calls, results)));
    Result plain = results.cacheable(Revision.V2026_07_28, discovery(false));
    Result rendering = results.cacheable(Revision.V2026_07_28, discovery(true));
    this.modern = new HashMap<>(shared);
    modern.put(
        "server/discover",
        Method.atOnce(it -> changes.catalog().pages().isEmpty() ? plain : rendering));
    modern.put("subscriptions/listen", listening::listen);
    modern.put("tasks/get", taskCalls::get);
    modern.put("tasks/update", taskCalls::update);
    modern.put("tasks/cancel", taskCalls::cancel);
  }

  private static Method counted(Quotas quotas, Method method) {
    return request -> quotas.during(request.principal(), () -> method.answer(request));
  }

  Method named(String name, Revision revision) {
    Method method = (revision.modern() ? modern : shared).get(name);
    if (method == null) {
      throw Refusal.unknownMethod(name, revision.modern());
    }
    return method;
  }

  /** Whether a method says by its name alone that its caller is modern. */
  boolean modernOnly(String name) {
    return modern.containsKey(name) && !shared.containsKey(name);
  }

  LiveCatalog changes() {
    return changes;
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

  private ObjectNode discovery(boolean widgets) {
    ObjectNode discovery = JsonNodeFactory.instance.objectNode();
    // A client takes its pick from these and goes on without a handshake, so only modern ones
    // count.
    Revision.allModern().forEach(discovery.putArray("supportedVersions")::add);
    ObjectNode capabilities = discovery.putObject("capabilities").setAll(capabilities());
    if (tasks) {
      capabilities.withObjectProperty("extensions").putObject(TaskCalls.EXTENSION);
    }
    if (widgets) {
      capabilities
          .withObjectProperty("extensions")
          .putObject(ToolPage.EXTENSION)
          .putArray("mimeTypes")
          .add(ToolPage.TYPE);
    }
    return withInstructions(discovery);
  }

  private ObjectNode capabilities() {
    ObjectNode capabilities = JsonNodeFactory.instance.objectNode();
    capabilities.putObject("tools").put("listChanged", true);
    capabilities.putObject("resources").put("listChanged", true).put("subscribe", true);
    capabilities.putObject("prompts").put("listChanged", true);
    capabilities.putObject("completions");
    capabilities.putObject("logging");
    return capabilities;
  }

  private ObjectNode withInstructions(ObjectNode result) {
    return identity.instructions() == null
        ? result
        : result.put("instructions", identity.instructions());
  }
}
