package io.fermata.mcp.legacy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.mcp.access.AuthenticatedCaller;
import io.fermata.mcp.access.FairShares;
import io.fermata.mcp.access.PrincipalCounts;
import io.fermata.mcp.feature.McpAsk;
import io.fermata.mcp.protocol.Client;
import io.fermata.mcp.protocol.OutboundQueue;
import io.fermata.mcp.rpc.JsonRpcCodec;
import io.fermata.mcp.rpc.RpcException;
import io.fermata.session.key.Handles;
import io.fermata.session.key.RootCauses;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * Requests of the server to clients of revisions before 2026-07-28, over the stream of an open
 * request. Clients reply with messages of their own.
 */
public final class ClientRequests {
  /** How long clients have to reply. */
  public static final Duration TIMEOUT = Duration.ofMinutes(30);

  private static final int REMEMBERED = 10_000;

  private record Open(
      String key, McpAsk ask, Client.Asker asker, CompletableFuture<JsonNode> reply) {
    void completeWith(JsonNode result) {
      if (ask.fits(result)) {
        reply.complete(result);
      } else {
        // Asking again is useless: a program would send the same reply.
        reply.completeExceptionally(
            RpcException.clientFailed("its reply to " + key + " is not what was asked for"));
      }
    }
  }

  private final Map<String, Open> open = new ConcurrentHashMap<>();
  private final Handles handles;
  private final SecureRandom random = new SecureRandom();

  /** The requests of other hosts whose replies were passed on most recently. */
  private final FairShares<String, Boolean> passed;

  private final Duration timeout;

  private final PrincipalCounts asked;

  /**
   * @param each how many questions of one principal may be open
   */
  public ClientRequests(Handles handles, Duration timeout, int each) {
    this.handles = handles;
    this.passed = new FairShares<>(each, REMEMBERED, (principal, forgotten) -> {});
    this.timeout = timeout;
    this.asked = new PrincipalCounts(each);
  }

  /**
   * Asks all questions at once and yields the replies. Fails with a refusal if the client fails or
   * does not reply in time, which is over when its token expires.
   *
   * @throws RpcException if too many questions of the principal are open already
   */
  public CompletionStage<ObjectNode> ask(
      Map<String, McpAsk> asks, Client.Asker asker, OutboundQueue queue) {
    if (!asked.tryEnter(asker.caller().principal(), asks.size())) {
      throw RpcException.tooManyQuestions();
    }
    Map<String, CompletableFuture<JsonNode>> replies = new LinkedHashMap<>();
    // The connection is silent until a person has answered.
    queue.keepAlive();
    asks.forEach((key, ask) -> replies.put(key, ask(key, ask, asker, queue)));
    queue.onDisconnect(() -> fail(replies, RpcException.cancelled()));
    CompletableFuture<Void> expired = new CompletableFuture<>();
    asker.caller().completeAtExpiry(expired);
    CompletionStage<Void> expiry = expired;
    expiry.thenRun(() -> fail(replies, RpcException.clientFailed("its access token has expired")));
    return CompletableFuture.allOf(replies.values().toArray(CompletableFuture<?>[]::new))
        .handle(
            (done, failure) -> {
              expired.cancel(false);
              if (failure != null) {
                throw refused(failure);
              }
              ObjectNode all = Json.object();
              replies.forEach((key, reply) -> all.set(key, reply.join()));
              return all;
            });
  }

  private static void fail(Map<String, CompletableFuture<JsonNode>> replies, RpcException refusal) {
    replies.values().forEach(each -> each.completeExceptionally(refusal));
  }

  private static RuntimeException refused(Throwable failure) {
    Throwable cause = RootCauses.of(failure);
    return cause instanceof TimeoutException
        ? RpcException.clientFailed("it did not reply in time")
        : new CompletionException(cause);
  }

  private CompletableFuture<JsonNode> ask(
      String key, McpAsk ask, Client.Asker asker, OutboundQueue queue) {
    String id = newId();
    CompletableFuture<JsonNode> reply = new CompletableFuture<>();
    open.put(id, new Open(key, ask, asker, reply));
    queue.send(JsonRpcCodec.request(id, ask.method(), params(ask, id)));
    CompletionStage<JsonNode> replied = reply.orTimeout(timeout.toMillis(), TimeUnit.MILLISECONDS);
    replied.whenComplete(
        (done, failure) -> {
          open.remove(id);
          asked.leave(asker.caller().principal(), 1);
        });
    return reply;
  }

  /** A page has an id of its own, which revision 2025-11-25 requires. */
  private static ObjectNode params(McpAsk ask, String id) {
    return "url".equals(JsonRpcCodec.text(ask.params(), "mode"))
        ? ask.params().deepCopy().put("elicitationId", id)
        : ask.params();
  }

  private String newId() {
    byte[] bytes = new byte[16];
    random.nextBytes(bytes);
    return signed(Base64.getUrlEncoder().withoutPadding().encodeToString(bytes));
  }

  private String signed(String nonce) {
    // This name has no line break, so no session's handle is derived from it.
    return nonce + "." + handles.derive("question " + nonce);
  }

  /** Cancels what is asked in a session, to which nobody can reply any more. */
  void end(String session, String principal) {
    open.values().stream()
        .filter(asked -> asked.asker().is(principal, session))
        .forEach(asked -> asked.reply().completeExceptionally(RpcException.cancelled()));
  }

  /**
   * Whether the response is to a request that is not open here, but may be on another host. This is
   * so once for each request, as nobody needs to pass a reply on twice.
   */
  boolean isElsewhere(JsonNode response, AuthenticatedCaller caller, @Nullable String session) {
    String id = response.path("id").asText();
    int dot = id.indexOf('.');
    return dot > 0
        && !open.containsKey(id)
        && signed(id.substring(0, dot)).equals(id)
        && passed(caller, session, id);
  }

  private synchronized boolean passed(
      AuthenticatedCaller caller, @Nullable String session, String id) {
    // Who may not reply, whose reply counts nowhere, must not keep that of the right one back.
    String key = id + caller.principal() + session + caller.scopes();
    boolean first = !passed.has(key);
    passed.put(caller.principal(), key, true);
    return first;
  }

  /**
   * Takes a response of a client. A response to no open request of its session is ignored.
   *
   * @throws RpcException if the caller may not make the request that asks
   */
  void complete(JsonNode response, AuthenticatedCaller caller, @Nullable String session) {
    Open asked = open.get(response.path("id").asText());
    if (asked == null || !asked.asker().is(caller.principal(), session)) {
      return;
    }
    asked.asker().permission().accept(caller);
    JsonNode result = response.get("result");
    if (result != null) {
      asked.completeWith(result);
    } else {
      asked
          .reply()
          .completeExceptionally(
              RpcException.clientFailed(response.path("error").path("message").asText()));
    }
  }
}
