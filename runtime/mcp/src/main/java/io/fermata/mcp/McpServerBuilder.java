package io.fermata.mcp;

import io.fermata.mcp.access.AccessTokens;
import io.fermata.mcp.access.AllowedAddresses;
import io.fermata.mcp.access.ApiKeys;
import io.fermata.mcp.access.AuditLog;
import io.fermata.mcp.access.AuthenticatedCaller;
import io.fermata.mcp.access.Authenticator;
import io.fermata.mcp.access.CallQuotas;
import io.fermata.mcp.access.OriginGuard;
import io.fermata.mcp.access.ToolScopes;
import io.fermata.mcp.catalog.Catalog;
import io.fermata.mcp.catalog.RegisteredFeatures;
import io.fermata.mcp.catalog.StreamQuota;
import io.fermata.mcp.catalog.Subscriptions;
import io.fermata.mcp.dispatch.McpDispatcher;
import io.fermata.mcp.dispatch.MethodTable;
import io.fermata.mcp.feature.McpPrompt;
import io.fermata.mcp.feature.McpResource;
import io.fermata.mcp.feature.McpTemplate;
import io.fermata.mcp.feature.McpTool;
import io.fermata.mcp.http.AccessLog;
import io.fermata.mcp.http.Channels;
import io.fermata.mcp.http.Connections;
import io.fermata.mcp.http.Cors;
import io.fermata.mcp.http.HttpLimits;
import io.fermata.mcp.http.HttpRoute;
import io.fermata.mcp.http.HttpRoutes;
import io.fermata.mcp.http.HttpVerticle;
import io.fermata.mcp.http.LegacyTransport;
import io.fermata.mcp.http.OperationsEndpoints;
import io.fermata.mcp.http.ProtectedResource;
import io.fermata.mcp.http.Refusals;
import io.fermata.mcp.legacy.LegacyHttp;
import io.fermata.mcp.legacy.LegacyProtocol;
import io.fermata.mcp.protocol.GracefulShutdown;
import io.fermata.mcp.protocol.HandlerExecutor;
import io.fermata.mcp.protocol.PeerServers;
import io.fermata.mcp.protocol.RequestGate;
import io.fermata.mcp.protocol.ServerIdentity;
import io.fermata.mcp.rest.Operators;
import io.fermata.mcp.rest.PrincipalsApi;
import io.fermata.mcp.rest.RunsApi;
import io.fermata.mcp.rest.RunsTool;
import io.fermata.mcp.rest.ThreadsApi;
import io.fermata.mcp.settings.OAuth;
import io.fermata.mcp.settings.PrincipalLimits;
import io.fermata.session.ToolHost;
import io.fermata.session.admin.Runs;
import io.fermata.session.admin.Threads;
import io.fermata.session.call.ClusterHealth;
import io.fermata.session.observe.Meter;
import io.fermata.session.observe.Telemetry;
import io.fermata.session.observe.Telemetry.Gauge;
import io.fermata.session.observe.Telemetry.Refusal;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.file.FileSystemOptions;
import io.vertx.core.net.SocketAddress;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Sets up a server: over HTTP with {@link #start}, over streams with {@link #stdio}. */
public final class McpServerBuilder {
  private static final Pattern ISSUED = Pattern.compile("https?://");

  private ToolHost host;
  private final ApiKeys keys = new ApiKeys();
  private final List<String> hosts = new ArrayList<>();
  private final List<String> origins = new ArrayList<>();
  private String name = "fermata";
  private String version = ServerIdentity.RELEASE;
  private @Nullable String instructions;
  private String address = "127.0.0.1";
  private int port = 8080;
  private HttpLimits connections = HttpLimits.DEFAULT;
  private @Nullable Threads threads;
  private @Nullable Runs runs;
  private final Set<String> instructors = new LinkedHashSet<>();
  private final Set<String> operators = new LinkedHashSet<>();
  private boolean modelsMayApprove;
  private boolean operatorsTool;
  private int maxStreams = StreamQuota.DEFAULT_MAX;
  private int handlerThreads = HandlerExecutor.THREADS;
  private RegisteredFeatures offers = RegisteredFeatures.NONE;
  private PrincipalLimits limits = PrincipalLimits.DEFAULT;
  private @Nullable OAuth oauth;
  private @Nullable Telemetry telemetry;
  private @Nullable Supplier<String> metrics;
  private boolean accessLog;
  private LongSupplier nanos = System::nanoTime;

  McpServerBuilder(ToolHost host) {
    this.host = host;
  }

  /**
   * Serves the tools of this host. A server that was set up as {@link McpServer#plain} can so be
   * {@linkplain #check checked} before there is a host, which begins to work when it starts.
   */
  public McpServerBuilder host(ToolHost served) {
    this.host = Objects.requireNonNull(served, "host");
    return this;
  }

  /** The time that passes for its limits, in nanoseconds; it never goes back. */
  McpServerBuilder nanos(LongSupplier time) {
    this.nanos = time;
    return this;
  }

  /** The name of the server; {@code fermata} by default. */
  public McpServerBuilder name(String serverName) {
    this.name = Objects.requireNonNull(serverName, "name");
    return this;
  }

  /** The version of the server; that of Fermata by default. */
  public McpServerBuilder version(String serverVersion) {
    this.version = Objects.requireNonNull(serverVersion, "version");
    return this;
  }

  /**
   * Instructions for models about the server as a whole, in addition to the descriptions of tools.
   * How tools of flows and of agents are used follows them.
   */
  public McpServerBuilder instructions(String text) {
    this.instructions = Objects.requireNonNull(text, "instructions");
    return this;
  }

  /**
   * The address to listen on; {@code 127.0.0.1} by default. Any address that other machines can
   * reach needs an {@linkplain #apiKey API key} or an {@linkplain #oauth issuer} of tokens.
   */
  public McpServerBuilder address(String listenAddress) {
    this.address = Objects.requireNonNull(listenAddress, "address");
    return this;
  }

  /** The port to listen on, 0 for any free one; 8080 by default. */
  public McpServerBuilder port(int listenPort) {
    if (listenPort < 0 || listenPort > 65_535) {
      throw new IllegalArgumentException("A port is a number from 0 to 65535, not " + listenPort);
    }
    this.port = listenPort;
    return this;
  }

  /**
   * Web origins that may call, besides those of this machine, as {@code https://app.example.com}.
   * Only pages of these origins may read the answers; add an origin of this machine, too, if its
   * pages should.
   *
   * @throws IllegalArgumentException if one is no origin, such as a name without its scheme
   */
  public McpServerBuilder allowedOrigins(String... moreOrigins) {
    Stream.of(moreOrigins)
        .map(origin -> AllowedAddresses.origin(Objects.requireNonNull(origin, "origin")))
        .forEach(origins::add);
    return this;
  }

  /**
   * Host names, without port, under which clients reach this server, besides those of this machine
   * and that of its {@linkplain OAuth#resource resource}.
   *
   * @throws IllegalArgumentException if one has a scheme, a port or a path, or is no name
   */
  public McpServerBuilder allowedHosts(String... moreHosts) {
    Stream.of(moreHosts)
        .map(host -> AllowedAddresses.host(Objects.requireNonNull(host, "host")))
        .forEach(hosts::add);
    return this;
  }

  /**
   * A key that clients may present as {@code Authorization: Bearer}. Once there is a key, every
   * request needs one. A principal may have several, so that one can replace another while both are
   * valid.
   *
   * @param principal the owner of the key; principals never see each other's sessions
   * @throws IllegalArgumentException if the principal or the key is blank, or another principal has
   *     the key
   */
  public McpServerBuilder apiKey(String principal, String key) {
    Objects.requireNonNull(principal, "principal");
    Objects.requireNonNull(key, "key");
    if (principal.isBlank() || key.isBlank()) {
      throw new IllegalArgumentException("An API key needs a principal and a key, neither blank");
    } else if (ISSUED.matcher(principal).lookingAt()) {
      throw new IllegalArgumentException(
          "The principal %s looks like one of a token issuer: leave out http(s)://"
              .formatted(principal));
    }
    keys.add(principal, key.strip());
    return this;
  }

  /**
   * Accepts the access tokens of an issuer, besides API keys. Every request then needs one or the
   * other.
   *
   * @throws IllegalArgumentException if an issuer is named already
   */
  public McpServerBuilder oauth(OAuth accepted) {
    if (oauth != null) {
      throw new IllegalArgumentException(
          "The server accepts the tokens of %s already; name one issuer, in one place"
              .formatted(oauth.issuer()));
    }
    this.oauth = Objects.requireNonNull(accepted, "oauth");
    return this;
  }

  /** The limits of one principal over HTTP. */
  public McpServerBuilder perPrincipal(PrincipalLimits most) {
    this.limits = Objects.requireNonNull(most, "perPrincipal");
    return this;
  }

  /** Changes the limits of one principal over HTTP. */
  public McpServerBuilder perPrincipal(UnaryOperator<PrincipalLimits> change) {
    return perPrincipal(Objects.requireNonNull(change, "change").apply(limits));
  }

  /** Offers a tool besides those of the host. */
  public McpServerBuilder tool(McpTool tool) {
    Objects.requireNonNull(tool, "tool");
    requireNew(offers.tools(), tool.name(), "tool");
    offers = offers.with(tool);
    return this;
  }

  /** Offers a resource. */
  public McpServerBuilder resource(McpResource resource) {
    Objects.requireNonNull(resource, "resource");
    requireNew(offers.resources(), resource.uri(), "resource");
    offers = offers.with(resource);
    return this;
  }

  /** Offers the resources of a template. */
  public McpServerBuilder template(McpTemplate template) {
    Objects.requireNonNull(template, "template");
    requireNew(offers.templates(), template.uriTemplate(), "template");
    offers = offers.with(template);
    return this;
  }

  /** Offers a prompt. */
  public McpServerBuilder prompt(McpPrompt prompt) {
    Objects.requireNonNull(prompt, "prompt");
    requireNew(offers.prompts(), prompt.name(), "prompt");
    offers = offers.with(prompt);
    return this;
  }

  private static void requireNew(Map<String, ?> offered, String name, String what) {
    if (offered.containsKey(name)) {
      throw new IllegalArgumentException(
          "There are two %ss named %s: rename one".formatted(what, name));
    }
  }

  /** Serves threads over HTTP, too, at {@code /threads}. */
  public McpServerBuilder threads(Threads served) {
    this.threads = Objects.requireNonNull(served, "threads");
    return this;
  }

  /**
   * The principals that may instruct agents over HTTP: post messages of the role {@code system},
   * and set variables of the environment that are part of instructions. Nobody may by default. Each
   * must be able to authenticate: {@link #start} refuses a name that nobody has.
   */
  public McpServerBuilder instructors(String... principals) {
    addNamed("instructors", instructors, principals);
    return this;
  }

  /**
   * Lets models pass on what their users said about approvals of agents. By default a model cannot
   * approve: a client that declares elicitation asks its user in a form, and of any other the
   * answer is refused as {@code needs_person}.
   */
  public McpServerBuilder modelsMayApprove() {
    modelsMayApprove = true;
    return this;
  }

  /**
   * Offers the tool {@code operate_runs}, with which models of {@link #operators} list the runs of
   * others, read what happened in them, and fork them. It needs {@link #runs}.
   */
  public McpServerBuilder operatorsTool() {
    operatorsTool = true;
    return this;
  }

  /**
   * Lists runs over HTTP, too, at {@code /runs}. A caller sees its own runs only; {@link
   * #operators} operate those of anybody, and erase principals at {@code /principals}.
   */
  public McpServerBuilder runs(Runs served) {
    this.runs = Objects.requireNonNull(served, "runs");
    return this;
  }

  /**
   * The principals that may fork runs over HTTP, those of others, too: {@code POST
   * /runs/{flow}/{runId}/forks}. Nobody may by default. Each must be able to authenticate: {@link
   * #start} refuses a name that nobody has.
   */
  public McpServerBuilder operators(String... principals) {
    addNamed("operators", operators, principals);
    return this;
  }

  private static void addNamed(String setting, Set<String> named, String... principals) {
    for (String principal : principals) {
      if (Objects.requireNonNull(principal, setting).isBlank()) {
        throw new IllegalArgumentException(
            "%s names an empty principal; name one with an API key".formatted(setting));
      }
      named.add(principal);
    }
  }

  /**
   * Sets the meters and spans of the server, in place of those of its host: for a server without a
   * host.
   */
  public McpServerBuilder telemetry(Telemetry... all) {
    this.telemetry = Telemetry.of(all);
    return this;
  }

  /**
   * Serves metrics at {@code /metrics} to authenticated callers.
   *
   * @param text the metrics in the text format of Prometheus; called on a thread that may block,
   *     once at a time
   */
  public McpServerBuilder metrics(Supplier<String> text) {
    this.metrics = Objects.requireNonNull(text, "metrics");
    return this;
  }

  /**
   * Logs every request over HTTP to the logger {@code fermata.access}: method, path without ids of
   * sessions, status, duration, principal and address. Not logged by default; what operators do and
   * who is refused always goes to {@code fermata.audit}.
   */
  public McpServerBuilder accessLog() {
    this.accessLog = true;
    return this;
  }

  /**
   * How many event streams of threads, and how many of changes, one principal may have open at a
   * time.
   */
  public McpServerBuilder maxStreams(int limit) {
    if (limit < 1) {
      throw new IllegalArgumentException("maxStreams must be at least 1, not " + limit);
    }
    this.maxStreams = limit;
    return this;
  }

  /**
   * How many {@code call} handlers run at a time on a JDK before 24; 64 by default. One principal
   * may use them all, unless its {@linkplain #perPrincipal callsInFlight} is less. On newer JDKs
   * each has a virtual thread, and this setting has no effect.
   */
  public McpServerBuilder handlerThreads(int limit) {
    if (limit < 1) {
      throw new IllegalArgumentException("handlerThreads must be at least 1, not " + limit);
    }
    this.handlerThreads = limit;
    return this;
  }

  /**
   * How many connections may be open at a time; 4,096 by default. Beyond that, a new connection
   * replaces the one that has been without a request for longest, or one whose request is still
   * arriving; while all are in use, only health and metrics are served, and other requests are
   * refused with 503.
   */
  public McpServerBuilder maxConnections(int limit) {
    this.connections = connections.maxConnections(limit);
    return this;
  }

  /**
   * How many of them one address may have, or one network of 64 bits with IPv6; 2,048 by default. A
   * proxy has one address for all its clients.
   */
  public McpServerBuilder maxConnectionsPerAddress(int limit) {
    this.connections = connections.maxPerAddress(limit);
    return this;
  }

  /**
   * How long a request may take to arrive, from the opening of its connection or the end of its
   * headers to its last byte; 30 seconds by default. The headers of a later request must arrive
   * within the {@linkplain #idleTimeout idle timeout} after the last response, even if they
   * trickle.
   */
  public McpServerBuilder requestTimeout(Duration limit) {
    this.connections = connections.requestTimeout(limit);
    return this;
  }

  /**
   * How long a connection may be silent before it is closed; two minutes by default. A connection
   * is silent while a call runs, so this must be longer than the host's timeout of calls. Zero
   * means no limit.
   */
  public McpServerBuilder idleTimeout(Duration limit) {
    this.connections = connections.idleTimeout(limit);
    return this;
  }

  /**
   * Refuses what {@link #start} would refuse, before there is a host: settings that contradict each
   * other, tools and prompts that cannot be offered, and a port that another program has. Nothing
   * is served.
   *
   * @param toolsOfHost the names of the tools of the host to come, see {@link
   *     io.fermata.session.HostBuilder#toolNames}
   * @throws IllegalStateException as {@link #start} does
   * @throws IllegalArgumentException as {@link #start} does
   */
  public McpServerBuilder check(Set<String> toolsOfHost) {
    requirePermissions();
    requireRunnable(toolsOfHost);
    try (Socket socket = new Socket()) {
      // As the server binds it, so that connections that just ended do not matter.
      socket.setReuseAddress(true);
      socket.bind(new InetSocketAddress(InetAddress.getByName(address), port));
    } catch (IOException e) {
      throw cannotListen(e);
    }
    return this;
  }

  /**
   * Refuses what {@link #stdio} would refuse, as {@link #check} does for {@link #start}.
   *
   * @param toolsOfHost the names of the tools of the host to come
   */
  public McpServerBuilder checkStdio(Set<String> toolsOfHost) {
    requireRunnable(toolsOfHost);
    return this;
  }

  /**
   * Serves over HTTP.
   *
   * @throws IllegalStateException if other machines can reach the address without authentication,
   *     the tokens of an issuer have no audience, or the port is not available
   * @throws IllegalArgumentException if operators or instructors cannot authenticate, a tool has no
   *     handler or the name of another one, or requires an invalid header, a prompt has no handler,
   *     or scopes are named for a tool that is not there
   */
  public McpServer start() {
    requirePermissions();
    SocketAddress listening = HttpVerticle.address(address, port);
    Core core = core();
    Channels channels = new Channels();
    Vertx vertx = channels.vertx(vertxOptions());
    try {
      return deployed(vertx, channels, core, listening);
    } catch (CompletionException e) {
      core.close();
      vertx.close().toCompletionStage().toCompletableFuture().join();
      throw cannotListen(e.getCause());
    }
  }

  /**
   * Serves over a pair of streams, one message per line, until the input ends. Nothing else may
   * write to the output.
   *
   * @throws IllegalArgumentException as {@link #start} does, but operators and instructors need not
   *     authenticate
   */
  public McpStdio stdio(InputStream in, OutputStream out) {
    Objects.requireNonNull(in, "in");
    Objects.requireNonNull(out, "out");
    Core core = core();
    GracefulShutdown shutdown = new GracefulShutdown(core.gate, host, core.subscriptions::close);
    Runnable alone = core.peers.subscribe();
    Runnable close =
        () -> {
          alone.run();
          core.close();
        };
    return new McpStdio(core.protocol, core.methods.changes(), shutdown, close, in, out).start();
  }

  /** What cannot run is rejected before there is anything to close. */
  private Core core() {
    requireRunnable(Catalog.toolNames(host));
    Catalog.requireHeaders(host);
    return new Core();
  }

  /** Decides for every transport whether the server can run with a host that has these tools. */
  private void requireRunnable(Set<String> toolsOfHost) {
    if (operatorsTool) {
      requireNew(offers.tools(), RunsTool.NAME, "tool");
      RegisteredFeatures.requireFree(RunsTool.NAME, toolsOfHost);
    }
    offers.requireOfferable(toolsOfHost);
    if (oauth != null) {
      // Both refuse that none is named.
      oauth.audience();
      oauth.resource();
      ToolScopes.requireKnown(oauth, toolsOfHost);
    }
  }

  /** What all transports share. */
  private final class Core {
    private final CallQuotas quotas = new CallQuotas(limits, nanos);
    private final AtomicInteger bound = new AtomicInteger(port);
    private final AuditLog audit = new AuditLog(() -> hostName(bound.get()), nanos);
    private final ToolScopes scopes = scopes(audit);
    private final HandlerExecutor workers =
        new HandlerExecutor(handlerThreads, limits.callsInFlight());
    private final RequestGate gate = new RequestGate();
    private final StreamQuota changeStreams = new StreamQuota(maxStreams);
    private final Subscriptions subscriptions = new Subscriptions(changeStreams);
    private final PeerServers peers = new PeerServers(host.bus());
    private final MethodTable methods =
        new MethodTable(
            new MethodTable.Dependencies(
                host,
                new ServerIdentity(name, version, instructions),
                offered(),
                subscriptions,
                peers,
                workers,
                gate,
                connections.responseTimeout(),
                new MethodTable.Permissions(quotas, scopes, modelsMayApprove),
                telemetry()));
    private final LegacyProtocol legacy =
        new LegacyProtocol(host, peers, subscriptions, gate, quotas, methods::welcome);
    private final McpDispatcher protocol = new McpDispatcher(methods, legacy, gate, telemetry());

    private RegisteredFeatures offered() {
      if (!operatorsTool) {
        return offers;
      } else if (runs == null) {
        throw new IllegalStateException(
            "operatorsTool needs the runs that operators operate; add runs(host.runs())");
      }
      return offers.with(RunsTool.of(runs, Set.copyOf(operators), audit, scopes.all()));
    }

    void close() {
      subscriptions.close();
      workers.close();
    }
  }

  private Telemetry telemetry() {
    return telemetry == null ? host.telemetry() : telemetry;
  }

  private void requirePermissions() {
    requireAuthenticationOutside();
    requireKnown("operators", operators);
    requireKnown("instructors", instructors);
  }

  private void requireAuthenticationOutside() {
    if (!keys.isEmpty() || oauth != null || isLoopback()) {
      return;
    }
    throw new IllegalStateException(
        ("The address %s is reachable from other machines, but the server has no authentication:"
                + " add an API key or an issuer of tokens, or listen on 127.0.0.1.")
            .formatted(address));
  }

  /** A misspelt name would be a permission that nobody has, and nobody would notice. */
  private void requireKnown(String setting, Set<String> named) {
    for (String principal : named) {
      if (!known(principal)) {
        throw new IllegalArgumentException(
            "%s names %s, who cannot authenticate here: %s"
                .formatted(setting, principal, whoCan()));
      }
    }
  }

  private boolean known(String principal) {
    if (keys.isEmpty() && oauth == null) {
      return principal.equals(AuthenticatedCaller.LOCAL.principal());
    }
    return keys.has(principal)
        || (oauth != null && AccessTokens.isSubject(oauth.issuer(), principal));
  }

  private String whoCan() {
    if (keys.isEmpty() && oauth == null) {
      return "without keys and tokens every caller is " + AuthenticatedCaller.LOCAL.principal();
    } else if (oauth == null) {
      return "add an API key for that principal";
    }
    return "add an API key for that principal, or name the sub of a token as %s"
        .formatted(AccessTokens.principal(oauth.issuer(), "<sub>"));
  }

  private boolean isLoopback() {
    try {
      return InetAddress.getByName(address).isLoopbackAddress();
    } catch (UnknownHostException e) {
      throw new IllegalStateException(
          "The address "
              + address
              + " is not one of this machine: name an IP address to listen on.",
          e);
    }
  }

  private static VertxOptions vertxOptions() {
    return new VertxOptions()
        .setEventLoopPoolSize(loops())
        .setWorkerPoolSize(1)
        .setInternalBlockingPoolSize(1)
        .setFileSystemOptions(
            new FileSystemOptions()
                .setFileCachingEnabled(false)
                .setClassPathResolvingEnabled(false));
  }

  private static int loops() {
    return Runtime.getRuntime().availableProcessors();
  }

  private McpServer deployed(Vertx vertx, Channels channels, Core core, SocketAddress listening) {
    StreamQuota streams = new StreamQuota(maxStreams);
    OperationsEndpoints operations = new OperationsEndpoints(host, core.gate, metrics);
    LegacyTransport sessions = new LegacyHttp(core.legacy, connections);
    HttpRoutes routes = new HttpRoutes(routes(streams, core), core.gate, telemetry());
    AccessTokens tokens =
        oauth == null ? null : AccessTokens.of(oauth, core.scopes.challenge(), nanos);
    HttpVerticle.Access access =
        new HttpVerticle.Access(
            new OriginGuard(servedHosts(), origins),
            new Cors(origins),
            new Authenticator(keys, tokens, core.scopes.challenge()),
            core.quotas,
            new Refusals(telemetry(), core.audit, nanos),
            oauth == null ? null : new ProtectedResource(oauth, name),
            accessLog ? new AccessLog() : null);
    Connections open = new Connections(connections, telemetry(), nanos);
    ConcurrentLinkedQueue<HttpVerticle> verticles = new ConcurrentLinkedQueue<>();
    vertx
        .deployVerticle(
            () -> {
              HttpVerticle verticle =
                  new HttpVerticle(
                      core.protocol,
                      sessions,
                      operations,
                      routes,
                      access,
                      connections,
                      open,
                      channels,
                      listening);
              verticles.add(verticle);
              return verticle;
            },
            new DeploymentOptions().setInstances(loops()))
        .toCompletionStage()
        .toCompletableFuture()
        .join();
    core.bound.set(verticles.element().port());
    List<Gauge> gauges =
        List.of(
            new Gauge(Meter.CONNECTIONS, List.of(), open::count),
            new Gauge(
                Meter.STREAMS, List.of(), () -> streams.count() + core.changeStreams.count()));
    telemetry().opened(gauges);
    for (Refusal each : Refusal.values()) {
      Refusals.count(telemetry(), each, 0);
    }
    Runnable alone = core.peers.subscribe();
    return new McpServer(
        vertx,
        new GracefulShutdown(core.gate, host, () -> endAll(streams, core.subscriptions)),
        core.workers,
        core.methods.changes(),
        isLoopback() ? "localhost" : bracketed(address),
        verticles.element().port(),
        () -> {
          alone.run();
          telemetry().closed(gauges);
        });
  }

  private List<HttpRoute> routes(StreamQuota streams, Core core) {
    List<HttpRoute> routes = new ArrayList<>();
    if (threads != null) {
      routes.add(
          new ThreadsApi(
              threads,
              streams,
              connections,
              core.quotas,
              core.scopes,
              Set.copyOf(instructors),
              core.audit,
              core.gate));
    }
    if (runs != null) {
      Operators operating = new Operators(operators, core.audit);
      routes.add(new RunsApi(runs, core.quotas, core.scopes, operating));
      routes.add(new PrincipalsApi(runs, core.quotas, core.scopes, operating));
    }
    return routes;
  }

  /** The address of the host in its cluster; that of the server for the only host of a store. */
  private String hostName(int listening) {
    return host.cluster()
        .map(ClusterHealth::address)
        .orElseGet(() -> bracketed(address) + ":" + listening);
  }

  private ToolScopes scopes(AuditLog audit) {
    if (oauth == null) {
      return ToolScopes.NONE;
    }
    return ToolScopes.of(oauth, new ProtectedResource(oauth, name).uri(), audit);
  }

  private static void endAll(StreamQuota streams, Subscriptions subscriptions) {
    streams.close();
    subscriptions.close();
  }

  private List<String> servedHosts() {
    List<String> served = new ArrayList<>(hosts);
    served.add(bracketed(address));
    if (oauth != null) {
      served.add(oauth.resource().getHost());
    }
    return served;
  }

  private static String bracketed(String host) {
    return host.contains(":") && !host.startsWith("[") ? "[" + host + "]" : host;
  }

  private IllegalStateException cannotListen(@Nullable Throwable cause) {
    return new IllegalStateException(
        "Cannot listen on port %s of %s: %s.".formatted(port, address, whyNotListening(cause)),
        cause);
  }

  /** Java throws a BindException for every reason that a socket cannot bind. */
  static String whyNotListening(@Nullable Throwable cause) {
    String message = String.valueOf(cause == null ? null : cause.getMessage());
    if (!(cause instanceof BindException)) {
      return message;
    }
    return message.contains("Permission denied")
        ? "this process may not use the port: allow it, on Linux with CAP_NET_BIND_SERVICE for a"
            + " port below 1024, or choose another port"
        : "the port is in use or the address is not one of this machine:"
            + " stop the other server, or choose another port";
  }
}
