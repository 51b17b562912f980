package io.fermata.mcp.http;

import io.fermata.mcp.access.ArrivingBody;
import io.fermata.mcp.access.AuthenticatedCaller;
import io.fermata.mcp.access.Authenticator;
import io.fermata.mcp.access.CallQuotas;
import io.fermata.mcp.access.OriginGuard;
import io.fermata.mcp.dispatch.McpDispatcher;
import io.fermata.mcp.rpc.Response;
import io.fermata.mcp.rpc.Revision;
import io.fermata.mcp.rpc.RpcException;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.MultiMap;
import io.vertx.core.VerticleBase;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpConnection;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.net.SocketAddress;
import java.time.Duration;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The HTTP server, once per event loop: checks the headers and routes the request. */
public final class HttpVerticle extends VerticleBase {
  public static final String PATH = "/mcp";
  private static final Logger LOG = LoggerFactory.getLogger(HttpVerticle.class);
  private static final Duration GRACE = Duration.ofSeconds(5);

  private final McpDispatcher protocol;
  private final LegacyTransport legacy;
  private final OperationsEndpoints operations;
  private final HttpRoutes routes;
  private final Access access;
  private final HttpLimits limits;
  private final Connections connections;
  private final Channels channels;
  private final IdentityHashMap<HttpConnection, OpenConnection> open = new IdentityHashMap<>();
  private final SocketAddress address;
  private @Nullable HttpServer server;

  /**
   * The checks that a request has to pass.
   *
   * @param resource the metadata for clients that look for an issuer of tokens
   * @param log logs every request; null for none
   */
  public record Access(
      OriginGuard guard,
      Cors cors,
      Authenticator authenticator,
      CallQuotas quotas,
      Refusals refusals,
      @Nullable ProtectedResource resource,
      @Nullable AccessLog log) {}

  /**
   * @param connections those of all event loops
   * @param channels their channels
   */
  public HttpVerticle(
      McpDispatcher protocol,
      LegacyTransport legacy,
      OperationsEndpoints operations,
      HttpRoutes routes,
      Access access,
      HttpLimits limits,
      Connections connections,
      Channels channels,
      SocketAddress address) {
    this.protocol = protocol;
    this.legacy = legacy;
    this.operations = operations;
    this.routes = routes;
    this.access = access;
    this.limits = limits;
    this.connections = connections;
    this.channels = channels;
    this.address = address;
  }

  /** The address to listen on; with port 0, all event loops share one that the system chooses. */
  public static SocketAddress address(String host, int port) {
    return port == 0
        ? SocketAddress.sharedRandomPort(1, host)
        : SocketAddress.inetSocketAddress(port, host);
  }

  private static HttpServerOptions options(HttpLimits limits) {
    return new HttpServerOptions()
        .setMaxHeaderSize(HttpLimits.MAX_HEADERS)
        .setMaxInitialLineLength(HttpLimits.MAX_FIRST_LINE)
        .setHttp2ClearTextEnabled(false)
        .setIdleTimeout((int) Math.min(Integer.MAX_VALUE, limits.idleTimeout().toMillis()))
        .setIdleTimeoutUnit(TimeUnit.MILLISECONDS);
  }

  @Override
  public Future<?> start() {
    HttpServer starting =
        vertx
            .createHttpServer(options(limits))
            .connectionHandler(this::opened)
            // Broken connections are normal, and not worth a log line.
            .exceptionHandler(broken -> {})
            .invalidRequestHandler(
                request -> RequestExchange.refuseUnreadable(request, refusing(request)))
            .requestHandler(this::serve);
    server = starting;
    vertx.setPeriodic(tick(limits.requestTimeout()), now -> closeLate());
    return starting.listen(address);
  }

  @Override
  public Future<?> stop() {
    return server == null ? Future.succeededFuture() : server.shutdown(GRACE);
  }

  public int port() {
    return Objects.requireNonNull(server).actualPort();
  }

  /** How often requests are checked that are still arriving, in milliseconds. */
  private static long tick(Duration timeout) {
    return Math.max(10, Math.min(1_000, timeout.toMillis() / 4));
  }

  private void opened(HttpConnection connection) {
    Runnable closing = channels.closing(connection);
    OpenConnection opened =
        new OpenConnection(
            connection,
            () -> vertx.setTimer(HttpLimits.LINGER_MILLIS, late -> closing.run()),
            System.nanoTime());
    open.put(connection, opened);
    connection.closeHandler(
        closed -> {
          open.remove(connection);
          connections.closed(opened);
          opened.gone();
        });
    connections.opened(opened);
  }

  /** Bytes that trickle keep a connection from being idle, so each request has a deadline. */
  private void closeLate() {
    long now = System.nanoTime();
    for (OpenConnection each : List.copyOf(open.values())) {
      HttpServerRequest arriving = each.arriving();
      if ((arriving != null || !each.used())
          && now - each.usedAt() > limits.requestTimeout().toNanos()) {
        closeLate(each, arriving);
      }
    }
  }

  private void closeLate(OpenConnection late, @Nullable HttpServerRequest arriving) {
    open.remove(late.connection());
    try {
      connections.late(late);
      if (arriving == null) {
        late.connection().close();
      } else {
        RequestExchange.timeOut(arriving, refusing(arriving));
      }
    } catch (RuntimeException e) {
      // Nothing else closes it, and the others have a deadline, too.
      late.connection().close();
      LOG.error("A request of {} could not be refused at its deadline", late.address(), e);
    }
  }

  private Function<RpcException, Response> refusing(HttpServerRequest request) {
    return PATH.equals(request.path()) ? RequestExchange::errorResponse : HttpError::refused;
  }

  private void serve(HttpServerRequest request) {
    HttpRoute route = routes.at(request.path());
    boolean operators = operations.servesOperators(request.path());
    Function<RpcException, Response> refusing = refusing(request);
    OpenConnection connection = open.get(request.connection());
    if (connection == null || !connection.servesMore()) {
      // It is being closed, and must become idle if its client does not read.
      request.pause();
      return;
    }
    begin(connection, request, route);
    MultiMap headers = request.headers();
    RpcException rejection =
        access
            .guard()
            .rejection(headers.getAll(HttpHeaders.HOST), headers.getAll(HttpHeaders.ORIGIN));
    ProtectedResource resource = access.resource();
    if (rejection != null) {
      refuse(request, null, rejection, refusing);
    } else if (access.cors().endsPreflight(request)) {
      return;
    } else if (resource != null && resource.serves(request.path())) {
      describe(request, resource, refusing);
    } else if (operations.servesProbes(request.path())) {
      operations.serve(request, () -> arrived(request));
    } else if (route == null && !operators && !PATH.equals(request.path())) {
      RequestExchange.refuse(
          request,
          RpcException.http(404, "Nothing is served at this path. Served are " + served()),
          refusing);
    } else if (!operators && !connections.mayServe(connection)) {
      RequestExchange.refuse(request, RpcException.overloaded(), refusing);
    } else {
      admit(request, route, refusing);
    }
  }

  private void begin(
      OpenConnection connection, HttpServerRequest request, @Nullable HttpRoute route) {
    OpenConnection.Exchange exchange = connection.begin(request, System.nanoTime());
    AccessLog log = access.log();
    Runnable line =
        log == null
            ? () -> {}
            : log.line(request, logged(request.path(), route), exchange, connection.address());
    request
        .response()
        .endHandler(
            ended -> {
              connection.end(exchange, System.nanoTime());
              line.run();
            });
    // A response whose client has gone does not end, and its close handler belongs to its stream.
    connection.onGone(line);
  }

  private @Nullable String logged(String path, @Nullable HttpRoute route) {
    ProtectedResource resource = access.resource();
    boolean served =
        PATH.equals(path)
            || operations.servesProbes(path)
            || operations.servesOperators(path)
            || (resource != null && resource.serves(path));
    return route != null ? AccessLog.path(route, path) : served ? path : null;
  }

  private String served() {
    StringBuilder served = new StringBuilder(PATH + " (MCP)");
    routes.all().forEach(route -> served.append(", ").append(route.path()));
    return served.append(", ").append(operations.paths()).append('.').toString();
  }

  private static void describe(
      HttpServerRequest request,
      ProtectedResource resource,
      Function<RpcException, Response> refusing) {
    if (request.method().equals(HttpMethod.GET)) {
      Response metadata = resource.metadata();
      RequestExchange.answer(request, () -> CompletableFuture.completedFuture(metadata), refusing);
    } else {
      request.response().putHeader(HttpHeaders.ALLOW, "GET");
      RequestExchange.refuse(
          request, RpcException.http(405, "This resource is read-only: use GET."), refusing);
    }
  }

  private void admit(
      HttpServerRequest request,
      @Nullable HttpRoute route,
      Function<RpcException, Response> refusing) {
    CompletionStage<AuthenticatedCaller> asked =
        access.authenticator().of(request.headers().getAll(HttpHeaders.AUTHORIZATION));
    CompletableFuture<AuthenticatedCaller> caller = asked.toCompletableFuture();
    if (caller.isDone()) {
      admit(request, route, refusing, caller);
      return;
    }
    Context context = Objects.requireNonNull(Vertx.currentContext());
    request.pause();
    asked.whenComplete(
        (known, failure) ->
            context.runOnContext(
                home -> {
                  OpenConnection connection = open.get(request.connection());
                  if (connection != null && connection.servesMore()) {
                    admit(request, route, refusing, caller);
                    request.resume();
                  }
                }));
  }

  private void admit(
      HttpServerRequest request,
      @Nullable HttpRoute route,
      Function<RpcException, Response> refusing,
      CompletableFuture<AuthenticatedCaller> known) {
    AuthenticatedCaller caller;
    ArrivingBody arriving;
    String principal = null;
    try {
      caller = known.join();
      principal = caller.principal();
      access.authenticator().admitted(caller);
      access.quotas().countArrivals(caller.principal(), 1);
      arriving =
          access
              .quotas()
              .arriving(
                  caller.principal(),
                  excessive -> access.refusals().add(request, caller.principal(), excessive));
      admitted(request, caller.principal(), arriving);
    } catch (RpcException refusal) {
      refuse(request, principal, refusal, refusing);
      return;
    } catch (CompletionException e) {
      refuse(request, principal, refusal(e), refusing);
      return;
    }
    if (!MediaTypes.isUncompressed(request)) {
      RequestExchange.refuse(
          request,
          RpcException.http(
              415, "The body must not be compressed: send it without a Content-Encoding."),
          refusing);
    } else if (operations.servesOperators(request.path())) {
      operations.serve(request, () -> arrived(request));
    } else if (route != null) {
      RequestExchange.answer(
          request,
          arriving,
          body -> {
            arrived(request);
            return routes.answer(route, request, caller, body);
          },
          refusing);
    } else {
      authenticated(request, caller, arriving);
    }
  }

  private void admitted(HttpServerRequest request, String principal, ArrivingBody arriving) {
    OpenConnection connection = open.get(request.connection());
    if (connection != null) {
      connection.admit(principal, arriving);
    }
  }

  /** Before the request is worked on, as its connection is no longer idle from then on. */
  private void arrived(HttpServerRequest request) {
    OpenConnection connection = open.get(request.connection());
    if (connection != null) {
      connection.arrived();
    }
  }

  private static RpcException refusal(CompletionException e) {
    if (e.getCause() instanceof RpcException refusal) {
      return refusal;
    }
    LOG.error("A caller could not be authenticated", e.getCause());
    return RpcException.internal();
  }

  private void authenticated(
      HttpServerRequest request, AuthenticatedCaller caller, ArrivingBody arriving) {
    if (request.method().equals(HttpMethod.POST)) {
      post(request, caller, arriving);
    } else if (modern(request)) {
      refuse(request, RequestExchange.notPosted(request, "Send messages with POST."));
    } else {
      request.end().onSuccess(end -> arrived(request));
      legacy.serve(request, caller, MediaTypes.acceptsStreams(request));
    }
  }

  private void post(HttpServerRequest request, AuthenticatedCaller caller, ArrivingBody arriving) {
    if (!MediaTypes.isJson(request.getHeader(HttpHeaders.CONTENT_TYPE))) {
      refuse(
          request, RpcException.http(415, "The Content-Type must be application/json, in UTF-8."));
    } else if (!MediaTypes.acceptsAnswers(request, modern(request))) {
      refuse(
          request,
          RpcException.http(406, "Accept must list application/json and text/event-stream."));
    } else {
      boolean cancels = cancelsByDisconnecting(request);
      SseResponse stream =
          MediaTypes.acceptsStreams(request)
              ? new SseResponse(
                  request.response(),
                  limits.heartbeat(),
                  legacy.log(request, caller),
                  cancels ? Duration.ZERO : legacy.grace())
              : null;
      RequestExchange.answer(
          request, arriving, () -> arrived(request), protocol, caller, stream, cancels);
    }
  }

  /** A client without a session has no other way to cancel a call. */
  private static boolean cancelsByDisconnecting(HttpServerRequest request) {
    return modern(request) || request.getHeader(RequestExchange.SESSION) == null;
  }

  /** Rejects a caller. */
  private void refuse(
      HttpServerRequest request,
      @Nullable String principal,
      RpcException refusal,
      Function<RpcException, Response> refusing) {
    access.refusals().add(request, principal, refusal);
    RequestExchange.refuse(request, refusal, refusing);
  }

  private static void refuse(HttpServerRequest request, RpcException refusal) {
    RequestExchange.refuse(request, refusal, RequestExchange::errorResponse);
  }

  private static boolean modern(HttpServerRequest request) {
    Revision revision = Revision.of(request.getHeader(RequestExchange.VERSION));
    return revision != null && revision.modern();
  }
}
