package io.fermata.mcp.dispatch;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.mcp.access.CallQuotas;
import io.fermata.mcp.access.ToolScopes;
import io.fermata.mcp.call.FeatureMethods;
import io.fermata.mcp.call.FormToolCalls;
import io.fermata.mcp.call.HandlerRunner;
import io.fermata.mcp.call.JobToolCalls;
import io.fermata.mcp.call.RequestStates;
import io.fermata.mcp.call.SubscriptionsListen;
import io.fermata.mcp.call.TaskIds;
import io.fermata.mcp.call.TaskMethods;
import io.fermata.mcp.call.ToolReplyJson;
import io.fermata.mcp.call.ToolsCall;
import io.fermata.mcp.catalog.Catalog;
import io.fermata.mcp.catalog.LiveCatalog;
import io.fermata.mcp.catalog.RegisteredFeatures;
import io.fermata.mcp.catalog.Subscriptions;
import io.fermata.mcp.catalog.ToolPage;
import io.fermata.mcp.protocol.HandlerExecutor;
import io.fermata.mcp.protocol.ParamHeader;
import io.fermata.mcp.protocol.PeerServers;
import io.fermata.mcp.protocol.RequestGate;
import io.fermata.mcp.protocol.ResultWriter;
import io.fermata.mcp.protocol.RpcMethod;
import io.fermata.mcp.protocol.ServerIdentity;
import io.fermata.mcp.rpc.JsonRpcCodec;
import io.fermata.mcp.rpc.Revision;
import io.fermata.mcp.rpc.RpcException;
import io.fermata.mcp.rpc.RpcMessage;
import io.fermata.mcp.rpc.RpcResult;
import io.fermata.session.ToolHost;
import io.fermata.session.call.ToolContract;
import io.fermata.session.observe.Telemetry;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The methods of the current revision, and those that older ones share with it. */
public final class MethodTable {
  private final Map<String, RpcMethod> modern;
  private final Map<String, RpcMethod> shared = new HashMap<>();
  private final ServerIdentity identity;
  private final String instructions;
  private final LiveCatalog changes;

  /** Whether there are runs, which may outlast their calls. */
  private final boolean tasks;

  /**
   * The dependencies of the methods.
   *
   * @param timeout how long a client without a stream can wait; null for no limit
   */
  public record Dependencies(
      ToolHost host,
      ServerIdentity identity,
      RegisteredFeatures offers,
      Subscriptions subscriptions,
      PeerServers peers,
      HandlerExecutor workers,
      RequestGate gate,
      @Nullable Duration timeout,
      Permissions permissions,
      Telemetry telemetry) {}

  /**
   * What callers may do.
   *
   * @param modelsMayApprove whether models may pass on what people decided about approvals
   */
  public record Permissions(CallQuotas quotas, ToolScopes scopes, boolean modelsMayApprove) {}

  public MethodTable(Dependencies needs) {
    ToolHost host = needs.host();
    RegisteredFeatures offers = needs.offers();
    Subscriptions subscriptions = needs.subscriptions();
    CallQuotas quotas = needs.permissions().quotas();
    this.identity = needs.identity();
    this.instructions = instructions(needs);
    ResultWriter results = new ResultWriter(identity);
    this.changes = new LiveCatalog(host, offers, results, subscriptions, needs.peers());
    this.tasks = !host.tools().isEmpty();
    ToolReplyJson replies = new ToolReplyJson(host, results);
    TaskMethods taskMethods =
        new TaskMethods(
            host.tasks(),
            new TaskIds(host.handles()),
            results,
            replies,
            System::currentTimeMillis,
            needs.permissions().scopes());
    SubscriptionsListen listening = new SubscriptionsListen(subscriptions, results, taskMethods);
    RequestStates states =
        new RequestStates(
            host.handles(), host.bus(), System::currentTimeMillis, quotas.limits().requestStates());
    HandlerRunner calls = new HandlerRunner(changes, results, states, needs.workers());
    FeatureMethods features = new FeatureMethods(changes, calls, results);
    JobToolCalls jobs =
        new JobToolCalls(host, taskMethods, replies, calls, needs.gate(), needs.timeout());
    FormToolCalls forms = new FormToolCalls(host, taskMethods, results, states, needs.gate());
    ToolsCall.Kinds kinds =
        new ToolsCall.Kinds(
            calls, taskMethods, forms, jobs, needs.permissions().modelsMayApprove());
    shared.put("tools/list", RpcMethod.immediate(it -> changes.catalog().list(Catalog.TOOLS, it)));
    shared.put(
        "tools/call",
        counted(
            quotas,
            new ToolsCall(
                host, results, changes, kinds, needs.permissions().scopes(), needs.telemetry())));
    shared.put(
        "resources/list", RpcMethod.immediate(it -> changes.catalog().list(Catalog.RESOURCES, it)));
    shared.put(
        "resources/templates/list",
        RpcMethod.immediate(it -> changes.catalog().list(Catalog.TEMPLATES, it)));
    shared.put("resources/read", counted(quotas, features::resource));
    // Prompts may be offered later, and clients look only once.
    shared.put(
        "prompts/list", RpcMethod.immediate(it -> changes.catalog().list(Catalog.PROMPTS, it)));
    shared.put("prompts/get", counted(quotas, features::prompt));
    shared.put("completion/complete", counted(quotas, features::completion));
    RpcResult plain = results.cacheable(Revision.V2026_07_28, discovery(false));
    RpcResult rendering = results.cacheable(Revision.V2026_07_28, discovery(true));
    this.modern = new HashMap<>(shared);
    modern.put(
        "server/discover",
        RpcMethod.immediate(it -> changes.catalog().pages().isEmpty() ? plain : rendering));
    modern.put("subscriptions/listen", listening::listen);
    modern.put("tasks/get", counted(quotas, taskMethods::get));
    modern.put("tasks/update", counted(quotas, taskMethods::update));
    modern.put("tasks/cancel", counted(quotas, taskMethods::cancel));
  }

  private static RpcMethod counted(CallQuotas quotas, RpcMethod method) {
    return request -> quotas.during(request.principal(), () -> method.answer(request));
  }

  RpcMethod named(String name, Revision revision) {
    RpcMethod method = (revision.modern() ? modern : shared).get(name);
    if (method == null) {
      throw RpcException.unknownMethod(name, revision.modern());
    }
    return method;
  }

  /** Whether only modern clients call a method of this name. */
  boolean modernOnly(String name) {
    return modern.containsKey(name) && !shared.containsKey(name);
  }

  public LiveCatalog changes() {
    return changes;
  }

  /** The headers that repeat arguments of the tool that a message calls. */
  List<ParamHeader> headers(RpcMessage message) {
    @Nullable String tool =
        message.method().equals("tools/call") ? JsonRpcCodec.text(message.params(), "name") : null;
    return changes.catalog().headers(tool);
  }

  /** The result of {@code initialize}. */
  public ObjectNode welcome(Revision agreed) {
    ObjectNode welcome = JsonNodeFactory.instance.objectNode().put("protocolVersion", agreed.text);
    welcome.set("capabilities", capabilities());
    welcome.set("serverInfo", identity.tree());
    return withInstructions(welcome);
  }

  private ObjectNode discovery(boolean widgets) {
    ObjectNode discovery = JsonNodeFactory.instance.objectNode();
    // A client picks one of these and skips the handshake, so only modern ones count.
    Revision.allModern().forEach(discovery.putArray("supportedVersions")::add);
    ObjectNode capabilities = discovery.putObject("capabilities").setAll(capabilities());
    if (tasks) {
      capabilities.withObjectProperty("extensions").putObject(TaskMethods.EXTENSION);
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

  /** The author's, and then what each kind of tool shares. */
  private static String instructions(Dependencies needs) {
    Stream<String> shared = needs.host().tools().stream().map(ToolContract::instructions);
    return Stream.concat(Stream.ofNullable(needs.identity().instructions()), shared)
        .filter(text -> !text.isEmpty())
        .distinct()
        .collect(Collectors.joining("\n\n"));
  }

  private ObjectNode withInstructions(ObjectNode result) {
    return instructions.isEmpty() ? result : result.put("instructions", instructions);
  }
}
