package io.fermata.mcp;

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
import io.vertx.core.http.HttpVersion;
import io.vertx.core.net.SocketAddress;
import java.time.Duration;
import java.util.Locale;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The HTTP door, once per event loop: checks what can be told from the headers. */
final class HttpEdge extends VerticleBase {
  static final String PATH = "/mcp";
  private static final Logger LOG = LoggerFactory.getLogger(HttpEdge.class);
  private static final Pattern UTF_8 = Pattern.compile("charset=\"?utf-?8\"?\\s*(;|$)");
  private static final Duration GRACE = Duration.ofSeconds(5);

  private final Protocol protocol;
  private final Operations operations;
  private final Gate gate;
  private final @Nullable ThreadsApi threads;
  private final @Nullable RunsApi runs;
  private final Sessions sessions;
  private final Guard guard;
  private final Cors cors;
  private final Callers callers;
  private final @Nullable ProtectedResource resource;
  private final Quotas quotas;
  private final HttpLimits limits;
  private final AtomicInteger connections;
  private final SocketAddress address;
  private @Nullable HttpServer server;

  HttpEdge(
      Protocol protocol,
      Operations operations,
      Gate gate,
      @Nullable ThreadsApi threads,
      @Nullable RunsApi runs,
      Sessions sessions,
      Guard guard,
      Cors cors,
      Callers callers,
      @Nullable ProtectedResource resource,
      Quotas quotas,
      HttpLimits limits,
      AtomicInteger connections,
      SocketAddress address) {
    this.protocol = protocol;
    this.operations = operations;
    this.gate = gate;
    this.threads = threads;
    this.runs = runs;
    this.sessions = sessions;
    this.guard = guard;
    this.cors = cors;
    this.callers = callers;
    this.resource = resource;
    this.quotas = quotas;
    this.limits = limits;
    this.connections = connections;
    this.address = address;
  }

  /** The address to listen on; with port 0, all event loops share one that the system chooses. */
  static SocketAddress address(String host, int port) {
    return port == 0
        ? SocketAddress.sharedRandomPort(1, host)
        : SocketAddress.inetSocketAddress(port, host);
  }

  private static HttpServerOptions options(HttpLimits limits) {
    return new HttpServerOptions()
        .setMaxHeaderSize(HttpLimits.MAX_HEADERS)
        .setMaxInitialLineLength(HttpLimits.MAX_FIRST_LINE)
        .setHttp2ClearTextEnabled(false)
        .setIdleTimeout((int) limits.idleTimeout().toSeconds())
        .setIdleTimeoutUnit(TimeUnit.SECONDS);
  }

  @Override
  public Future<?> start() {
    HttpServer starting =
        vertx
            .createHttpServer(options(limits))
            .connectionHandler(this::count)
            // Clients that break off are the network's daily bread, not news.
            .exceptionHandler(broken -> {})
            .requestHandler(this::serve);
    server = starting;
    return starting.listen(address);
  }

  @Override
  public Future<?> stop() {
    return server == null ? Future.succeededFuture() : server.shutdown(GRACE);
  }

  int port() {
    return Objects.requireNonNull(server).actualPort();
  }

  private void count(HttpConnection connection) {
    connection.closeHandler(closed -> connections.decrementAndGet());
    if (connections.incrementAndGet() > limits.maxConnections()) {
      connection.close();
    }
  }

  private void serve(HttpServerRequest request) {
    boolean toThreads = threads != null && ThreadsApi.serves(request.path());
    boolean toRuns = runs != null && RunsApi.serves(request.path());
    boolean toMetrics = operations.servesMetrics(request.path());
    Function<Refusal, Answer> refusing =
        toThreads || toRuns || toMetrics ? HttpError::refused : Exchange::refused;
    MultiMap headers = request.headers();
    Refusal objection =
        guard.objection(headers.getAll(HttpHeaders.HOST), headers.getAll(HttpHeaders.ORIGIN));
    if (objection != null) {
      Exchange.refuse(request, objection, refusing);
    } else if (cors.answers(request)) {
      return;
    } else if (resource != null && resource.serves(request.path())) {
      describe(request, resource);
    } else if (operations.servesHealth(request.path())) {
      operations.serve(request);
    } else if (!toThreads && !toRuns && !toMetrics && !PATH.equals(request.path())) {
      refuse(request, Refusal.transport(404, "There is nothing here. Served are " + served()));
    } else {
      admit(request, refusing);
    }
  }

  private String served() {
    StringBuilder served = new StringBuilder(PATH + " (MCP)");
    if (threads != null) {
      served.append(", ").append(ThreadsApi.PATH);
    }
    if (runs != null) {
      served.append(", ").append(RunsApi.PATH);
    }
    return served.append(", ").append(operations.paths()).append('.').toString();
  }

  private static void describe(HttpServerRequest request, ProtectedResource resource) {
    if (request.method().equals(HttpMethod.GET)) {
      Answer metadata = resource.metadata();
      Exchange.answer(
          request, body -> CompletableFuture.completedFuture(metadata), Exchange::refused);
    } else {
      request.response().putHeader(HttpHeaders.ALLOW, "GET");
      refuse(request, Refusal.transport(405, "This is for reading: use GET."));
    }
  }

  private static CompletionStage<Answer> now(Answer answer) {
    return CompletableFuture.completedFuture(answer);
  }

  private void admit(HttpServerRequest request, Function<Refusal, Answer> refusing) {
    CompletionStage<Caller> asked = callers.of(request.headers().getAll(HttpHeaders.AUTHORIZATION));
    CompletableFuture<Caller> caller = asked.toCompletableFuture();
    if (caller.isDone()) {
      admit(request, refusing, caller);
      return;
    }
    Context context = Objects.requireNonNull(Vertx.currentContext());
    request.pause();
    asked.whenComplete(
        (known, failure) ->
            context.runOnContext(
                home -> {
                  if (!request.response().closed()) {
                    admit(request, refusing, caller);
                    request.resume();
                  }
                }));
  }

  private void admit(
      HttpServerRequest request,
      Function<Refusal, Answer> refusing,
      CompletableFuture<Caller> known) {
    Caller caller;
    try {
      caller = callers.admitted(known.join());
      quotas.arrived(caller.principal(), 1);
    } catch (Refusal refusal) {
      Exchange.refuse(request, refusal, refusing);
      return;
    } catch (CompletionException e) {
      Exchange.refuse(request, refusal(e), refusing);
      return;
    }
    boolean toThreads = ThreadsApi.serves(request.path());
    boolean toRuns = RunsApi.serves(request.path());
    if (operations.servesMetrics(request.path())) {
      operations.serve(request);
    } else if ((toThreads || toRuns) && gate.closed()) {
      Exchange.answer(request, body -> now(HttpError.answer(HttpError.shuttingDown())), refusing);
    } else if (threads != null && toThreads) {
      threads.serve(request, caller);
    } else if (runs != null && toRuns) {
      runs.serve(request, caller);
    } else {
      authenticated(request, caller);
    }
  }

  private static Refusal refusal(CompletionException e) {
    if (e.getCause() instanceof Refusal refusal) {
      return refusal;
    }
    LOG.error("Who calls could not be found out", e.getCause());
    return Refusal.internal();
  }

  private void authenticated(HttpServerRequest request, Caller caller) {
    if (request.method().equals(HttpMethod.POST)) {
      post(request, caller);
    } else if (request.method().equals(HttpMethod.DELETE) && inSession(request)) {
      end(request, caller.principal());
    } else if (request.method().equals(HttpMethod.GET) && inSession(request)) {
      listen(request, caller);
    } else {
      request.response().putHeader("allow", "GET, POST, DELETE");
      refuse(request, Refusal.transport(405, posted(request)));
    }
  }

  private static String posted(HttpServerRequest request) {
    String posted = "Send messages with POST.";
    if (modern(request)) {
      return posted;
    } else if (request.method().equals(HttpMethod.DELETE)) {
      return "Mcp-Session-Id is missing: it names the session to end.";
    }
    return request.method().equals(HttpMethod.GET)
        ? posted + " To listen with GET, name the session in Mcp-Session-Id."
        : posted;
  }

  private void post(HttpServerRequest request, Caller caller) {
    if (!isJson(request.getHeader(HttpHeaders.CONTENT_TYPE))) {
      refuse(
          request, Refusal.transport(415, "The Content-Type must be application/json, in UTF-8."));
    } else if (!accepts(request)) {
      refuse(
          request,
          Refusal.transport(406, "Accept must list application/json and text/event-stream."));
    } else {
      Exchange.answer(request, protocol, caller, streams(request));
    }
  }

  private static void refuse(HttpServerRequest request, Refusal refusal) {
    Exchange.refuse(request, refusal, Exchange::refused);
  }

  private static boolean inSession(HttpServerRequest request) {
    return request.headers().contains(Exchange.SESSION) && !modern(request);
  }

  private static boolean modern(HttpServerRequest request) {
    Revision revision = Revision.of(request.getHeader("mcp-protocol-version"));
    return revision != null && revision.modern();
  }

  /** The stream of a session, which tells of changes until the client closes it. */
  private void listen(HttpServerRequest request, Caller caller) {
    if (!streams(request)) {
      refuse(request, Refusal.transport(406, "Accept must list text/event-stream."));
      return;
    }
    String lastEvent = request.getHeader("last-event-id");
    if (lastEvent != null) {
      resume(request, caller.principal(), lastEvent);
      return;
    }
    EventStream stream = new EventStream(request.response());
    Context context = Objects.requireNonNull(Vertx.currentContext());
    CompletableFuture<Void> ended = new CompletableFuture<>();
    String session = Objects.requireNonNull(request.getHeader(Exchange.SESSION));
    try {
      protocol.listen(session, caller, stream.progress(), ended);
      CompletionStage<Void> over = ended;
      over.thenRun(() -> context.runOnContext(home -> stream.end()));
    } catch (Refusal refusal) {
      refuse(request, refusal);
    }
  }

  /** The rest of a call's stream, for a client whose connection broke. */
  private void resume(HttpServerRequest request, String principal, String lastEvent) {
    String session = Objects.requireNonNull(request.getHeader(Exchange.SESSION));
    try {
      Resumption.begin(request.response(), protocol.resumed(session, principal, lastEvent));
    } catch (Refusal refusal) {
      refuse(request, refusal);
    }
  }

  private void end(HttpServerRequest request, String principal) {
    try {
      sessions.end(Objects.requireNonNull(request.getHeader(Exchange.SESSION)), principal);
      request.response().setStatusCode(204).end();
    } catch (Refusal refusal) {
      refuse(request, refusal);
    }
  }

  static boolean isJson(@Nullable String type) {
    if (type == null) {
      return false;
    }
    String lower = type.toLowerCase(Locale.ROOT);
    int semicolon = lower.indexOf(';');
    String media = semicolon < 0 ? lower : lower.substring(0, semicolon);
    return media.strip().equals("application/json")
        && (!lower.contains("charset=") || UTF_8.matcher(lower).find());
  }

  /** Modern clients must take both kinds of answers; of others, JSON is all that is asked. */
  private static boolean accepts(HttpServerRequest request) {
    String accept = accepted(request);
    if (accept.isEmpty() || accept.contains("*/*")) {
      return true;
    }
    boolean json = accept.contains("application/json") || accept.contains("application/*");
    return json && (listsStreams(accept) || !modern(request));
  }

  /** Whether the answer may be a stream; who does not say so gets what all clients can read. */
  private static boolean streams(HttpServerRequest request) {
    String accept = accepted(request);
    return (listsStreams(accept) || accept.contains("*/*"))
        && request.version() != HttpVersion.HTTP_1_0;
  }

  static boolean listsStreams(String accept) {
    return accept.contains("text/event-stream") || accept.contains("text/*");
  }

  static String accepted(HttpServerRequest request) {
    return String.join(",", request.headers().getAll(HttpHeaders.ACCEPT)).toLowerCase(Locale.ROOT);
  }
}
