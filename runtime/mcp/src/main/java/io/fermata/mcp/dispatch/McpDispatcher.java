package io.fermata.mcp.dispatch;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.logging.LoggedFailure;
import io.fermata.mcp.protocol.Client;
import io.fermata.mcp.protocol.LegacyEra;
import io.fermata.mcp.protocol.McpRequest;
import io.fermata.mcp.protocol.MessageSource;
import io.fermata.mcp.protocol.ModernClient;
import io.fermata.mcp.protocol.OutboundQueue;
import io.fermata.mcp.protocol.RequestGate;
import io.fermata.mcp.protocol.RpcMethod;
import io.fermata.mcp.protocol.TraceHeaders;
import io.fermata.mcp.rpc.JsonRpcCodec;
import io.fermata.mcp.rpc.Response;
import io.fermata.mcp.rpc.Revision;
import io.fermata.mcp.rpc.RpcException;
import io.fermata.mcp.rpc.RpcMessage;
import io.fermata.mcp.rpc.RpcResult;
import io.fermata.session.key.RootCauses;
import io.fermata.session.observe.Meter;
import io.fermata.session.observe.Telemetry;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The core that all transports share: from the bytes of a message to its response. It never blocks;
 * a response may complete on a thread of the host.
 */
public final class McpDispatcher {
  private static final Logger LOG = LoggerFactory.getLogger(McpDispatcher.class);

  /** The method in telemetry of requests that are rejected before dispatch. */
  private static final String UNKNOWN = "unknown";

  private final MethodTable methods;
  private final LegacyEra legacy;
  private final RequestGate gate;
  private final Telemetry telemetry;
  private final RevisionCheck revisions;

  public McpDispatcher(
      MethodTable methods, LegacyEra legacy, RequestGate gate, Telemetry telemetry) {
    this.methods = methods;
    this.legacy = legacy;
    this.gate = gate;
    this.telemetry = telemetry;
    this.revisions = new RevisionCheck(methods);
  }

  /**
   * Answers a message. The stage never fails.
   *
   * @param progress the queue of messages until then; null if the client accepts no stream
   */
  public CompletionStage<Response> answer(
      byte[] bytes, MessageSource arrival, @Nullable OutboundQueue progress) {
    JsonNode tree;
    try {
      tree = JsonRpcCodec.read(bytes);
    } catch (RpcException refusal) {
      return now(Response.error(arrival.unknownId(), refusal));
    }
    return answer(tree, arrival, progress);
  }

  /** Answers a message that has been read. The stage never fails. */
  public CompletionStage<Response> answer(
      JsonNode tree, MessageSource arrival, @Nullable OutboundQueue progress) {
    return tree.isArray()
        ? legacy.batch(tree, arrival, each -> single(each, arrival, true, null))
        : single(tree, arrival, false, progress);
  }

  private CompletionStage<Response> single(
      JsonNode tree, MessageSource arrival, boolean batched, @Nullable OutboundQueue progress) {
    JsonNode id = RpcMessage.idOf(tree, arrival.unknownId());
    long startedAt = telemetry == Telemetry.NONE ? 0 : System.nanoTime();
    try {
      if (RpcMessage.isResponse(tree)) {
        return now(response(tree, arrival));
      }
      RpcMessage message = RpcMessage.of(tree);
      if (message.notification()) {
        return now(notification(message, arrival));
      }
      if (message.method().equals("initialize") && !RevisionCheck.declaresVersion(message)) {
        if (batched) {
          throw RpcException.invalidRequest("The request initialize must not be part of a batch.");
        }
        return now(legacy.initialize(message, arrival));
      }
      return call(message, arrival, progress, startedAt);
    } catch (RpcException refusal) {
      report(UNKNOWN, startedAt, refusal);
      return now(Response.error(id, refusal));
    } catch (RuntimeException | IOException e) {
      return now(failed(id, e));
    }
  }

  /** Only clients of older revisions receive requests, so only they respond. */
  private Response response(JsonNode response, MessageSource arrival) {
    if (arrival instanceof MessageSource.Post && RevisionCheck.undeclared(arrival).modern()) {
      throw RpcException.invalidRequest(
          "Send requests and notifications only: responses are not expected.");
    }
    legacy.response(response, arrival);
    return Response.ACCEPTED;
  }

  private Response notification(RpcMessage message, MessageSource arrival) {
    if (!revisions.ofNotification(message, arrival).modern()) {
      legacy.notification(message, arrival);
    }
    return Response.ACCEPTED;
  }

  private CompletionStage<Response> call(
      RpcMessage message, MessageSource arrival, @Nullable OutboundQueue progress, long startedAt) {
    Revision revision = revisions.of(message, arrival);
    Client client = revision.modern() ? new ModernClient(message.meta()) : legacy.client(arrival);
    RpcMethod method = method(message.method(), revision);
    McpRequest request =
        new McpRequest(
            message.id(),
            revision,
            arrival.caller(),
            client,
            message.params(),
            TraceHeaders.of(message.meta(), arrival),
            progress,
            arrival instanceof MessageSource.Connection);
    CompletionStage<?> gone = arrival instanceof MessageSource.Post post ? post.gone() : null;
    if (gone != null && progress == null) {
      gone.thenRun(request::disconnect);
    }
    boolean ping = message.method().equals("ping");
    CompletionStage<RpcResult> answer =
        revision.modern()
            ? inside(method, request, ping)
            : legacy.orCancelled(request, () -> inside(method, request, ping));
    return answer.handle(
        (result, failure) -> {
          report(message.method(), startedAt, failure);
          return answered(message.id(), result, failure);
        });
  }

  private RpcMethod method(String name, Revision revision) {
    RpcMethod own = revision.modern() ? null : legacy.method(name);
    return own == null ? methods.named(name, revision) : own;
  }

  /** Counts the request in flight; ping is answered even while the server shuts down. */
  private CompletionStage<RpcResult> inside(RpcMethod method, McpRequest request, boolean ping) {
    if (ping) {
      return method.answer(request);
    }
    gate.enter();
    CompletionStage<RpcResult> answer;
    try {
      answer = method.answer(request);
    } catch (RuntimeException | Error e) {
      answer = CompletableFuture.failedFuture(e);
    }
    return gate.orIfCutOff(answer).whenComplete((result, failure) -> gate.leave());
  }

  private void report(String method, long startedAt, @Nullable Throwable failure) {
    if (telemetry != Telemetry.NONE) {
      String outcome =
          failure == null
              ? "ok"
              : RootCauses.of(failure) instanceof RpcException ? "refused" : "failed";
      long took = System.nanoTime() - startedAt;
      telemetry.measured(Meter.REQUESTS, (double) took, List.of(method, outcome));
    }
  }

  private static Response answered(
      JsonNode id, @Nullable RpcResult result, @Nullable Throwable failure) {
    if (result == null) {
      return failed(id, failure);
    }
    try {
      return Response.of(200, JsonRpcCodec.result(id, result));
    } catch (IOException | RuntimeException e) {
      return failed(id, e);
    }
  }

  private static Response failed(JsonNode id, @Nullable Throwable failure) {
    Throwable cause = failure == null ? null : RootCauses.of(failure);
    if (cause instanceof RpcException refusal) {
      return Response.error(id, refusal);
    }
    Throwable trace = cause == null ? null : LoggedFailure.of(cause);
    LOG.error("A request failed inside the server", trace);
    return Response.error(id, RpcException.internal());
  }

  private static CompletionStage<Response> now(Response answer) {
    return CompletableFuture.completedFuture(answer);
  }
}
