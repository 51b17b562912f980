package io.fermata.mcp.http;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.mcp.protocol.RequestGate;
import io.fermata.mcp.rpc.JsonRpcCodec;
import io.fermata.mcp.rpc.Response;
import io.fermata.mcp.rpc.RpcException;
import io.fermata.session.ToolHost;
import io.fermata.session.call.ClusterHealth;
import io.fermata.session.call.Health;
import io.fermata.session.key.HandlerThreads;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerRequest;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The endpoints of operators: liveness, readiness, the details of both, and metrics. */
public final class OperationsEndpoints {
  private static final String HEALTH = "/health";
  private static final String LIVE = "/health/live";
  private static final String READY = "/health/ready";
  private static final String METRICS = "/metrics";

  /** How long a host may take to report its health. */
  private static final Duration HEALTH_TIMEOUT = Duration.ofSeconds(3);

  private static final CharSequence PLAIN = "text/plain; version=0.0.4; charset=utf-8";

  private static final ThreadFactory SCRAPERS = HandlerThreads.named("fermata-metrics-");

  private final ToolHost host;
  private final RequestGate gate;
  private final @Nullable Supplier<String> metrics;

  private @Nullable CompletableFuture<Response> scraping;

  /** Why the host cannot continue; null while it can. */
  private volatile @Nullable String lost;

  public OperationsEndpoints(ToolHost host, RequestGate gate, @Nullable Supplier<String> metrics) {
    this.host = host;
    this.gate = gate;
    this.metrics = metrics;
    host.lost().thenAccept(reason -> lost = reason);
  }

  String paths() {
    String health = LIVE + ", " + READY + ", " + HEALTH;
    return metrics == null ? health : health + ", " + METRICS;
  }

  /** Whether a path is that of a probe, which needs no authentication. */
  boolean servesProbes(String path) {
    return path.equals(LIVE) || path.equals(READY);
  }

  /** Whether a path is for operators, who need authentication: details of health, and metrics. */
  boolean servesOperators(String path) {
    return path.equals(HEALTH) || (metrics != null && path.equals(METRICS));
  }

  /**
   * @param arrived called as soon as all of the request is there
   */
  void serve(HttpServerRequest request, Runnable arrived) {
    HttpMethod method = request.method();
    if (!method.equals(HttpMethod.GET) && !method.equals(HttpMethod.HEAD)) {
      request.response().putHeader(HttpHeaders.ALLOW, "GET, HEAD");
      RequestExchange.refuse(
          request, RpcException.http(405, "Send a GET request."), HttpError::refused);
      return;
    }
    RequestExchange.answer(
        request,
        () -> {
          arrived.run();
          return answer(request.path());
        },
        HttpError::refused);
  }

  private CompletionStage<Response> answer(String path) {
    if (path.equals(LIVE)) {
      return CompletableFuture.completedFuture(live());
    }
    return path.equals(METRICS) ? scraped() : ready(path.equals(HEALTH));
  }

  private Response live() {
    String reason = lost;
    return reason == null
        ? json(200, Json.object().put("live", true))
        : json(503, Json.object().put("live", false).put("reason", reason));
  }

  /**
   * @param detailed whether to name the hosts of the cluster
   */
  private CompletionStage<Response> ready(boolean detailed) {
    return host.health()
        .toCompletableFuture()
        .copy()
        .orTimeout(HEALTH_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS)
        .handle((health, failure) -> ready(health, detailed));
  }

  private Response ready(@Nullable Health health, boolean detailed) {
    String problem = health == null ? "the store does not answer" : health.problem();
    boolean accepts = health != null && health.accepts() && !gate.closed();
    ClusterHealth cluster = health == null ? null : health.cluster();
    boolean ready = health != null && health.ready() && !gate.closed();
    ObjectNode body = Json.object().put("ready", ready);
    body.put("store", problem == null ? "accepts writes" : problem);
    body.put("calls", accepts ? "accepted" : "refused, the server is shutting down");
    if (cluster != null && detailed) {
      body.set("cluster", details(cluster));
    } else if (cluster != null) {
      body.put("cluster", summary(cluster));
    }
    return json(ready ? 200 : 503, body);
  }

  /** Names no host, as anybody may see it. */
  private static String summary(ClusterHealth cluster) {
    int up = cluster.count(ClusterHealth.Status.UP);
    int unreachable = cluster.count(ClusterHealth.Status.UNREACHABLE);
    String members = up == 1 ? "1 member is up" : up + " members are up";
    return cluster.problem() != null
        ? cluster.problem()
        : unreachable == 0 ? members : members + ", " + unreachable + " unreachable";
  }

  private static ObjectNode details(ClusterHealth cluster) {
    ObjectNode details = Json.object();
    details.put("id", cluster.id());
    details.put("host", cluster.address());
    details.put("shards", cluster.shards());
    details.put("renewedMillis", cluster.renewed().toMillis());
    ArrayNode members = details.putArray("members");
    for (ClusterHealth.Member member : cluster.members()) {
      members
          .addObject()
          .put("host", member.address())
          .put("status", member.status().name().toLowerCase(Locale.ROOT));
    }
    if (cluster.problem() != null) {
      details.put("problem", cluster.problem());
    }
    return details;
  }

  /**
   * Collecting metrics may block, and handlers may hold all their threads, so it has its own. Who
   * asks meanwhile gets the same metrics.
   */
  private synchronized CompletionStage<Response> scraped() {
    CompletableFuture<Response> answer = scraping;
    if (answer == null || answer.isDone()) {
      answer =
          CompletableFuture.supplyAsync(this::scrape, task -> SCRAPERS.newThread(task).start());
      scraping = answer;
    }
    return answer;
  }

  private Response scrape() {
    try {
      String text = metrics == null ? "" : metrics.get();
      return Response.of(200, PLAIN, text.getBytes(StandardCharsets.UTF_8));
    } catch (RuntimeException | Error e) {
      return HttpError.answer(e);
    }
  }

  private static Response json(int status, ObjectNode body) {
    return Response.of(status, JsonRpcCodec.bytes(body))
        .with(HttpHeaders.CACHE_CONTROL, "no-store");
  }
}
