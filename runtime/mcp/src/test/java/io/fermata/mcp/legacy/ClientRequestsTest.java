package io.fermata.mcp.legacy;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.mcp.FakeHost;
import io.fermata.mcp.access.AuthenticatedCaller;
import io.fermata.mcp.access.CallQuotas;
import io.fermata.mcp.catalog.StreamQuota;
import io.fermata.mcp.catalog.Subscriptions;
import io.fermata.mcp.feature.McpAsk;
import io.fermata.mcp.protocol.Client;
import io.fermata.mcp.protocol.MessageSource;
import io.fermata.mcp.protocol.OutboundQueue;
import io.fermata.mcp.protocol.PeerServers;
import io.fermata.mcp.protocol.RequestGate;
import io.fermata.mcp.rpc.RpcException;
import io.fermata.mcp.settings.PrincipalLimits;
import io.fermata.session.key.TestHandles;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Questions to clients, and those that no client replies to. */
@Timeout(60)
class ClientRequestsTest {
  private final OutboundQueue way = new OutboundQueue(woken -> {});

  private static final Client.Asker ADA = asker(AuthenticatedCaller.trusted("ada"));

  private static Client.Asker asker(AuthenticatedCaller caller) {
    return new Client.Asker(caller, null, anyone -> {});
  }

  private RpcException refusal(Duration timeout, Runnable meanwhile) {
    return refusal(ADA, timeout, meanwhile);
  }

  private RpcException refusal(Client.Asker asker, Duration timeout, Runnable meanwhile) {
    CompletableFuture<Throwable> failed = new CompletableFuture<>();
    new ClientRequests(TestHandles.ofStore("here"), timeout, 10)
        .ask(Map.of("roots", McpAsk.roots()), asker, way)
        .whenComplete((replies, failure) -> failed.complete(failure));
    meanwhile.run();
    Throwable failure = failed.orTimeout(50, TimeUnit.SECONDS).join();
    Throwable cause = failure instanceof CompletionException ? failure.getCause() : failure;
    return (RpcException) Objects.requireNonNull(cause);
  }

  @Test
  void aClientThatLeavesCancelsItsRequest() {
    assertThat(refusal(ClientRequests.TIMEOUT, way::disconnect).reason).contains("cancelled");
  }

  @Test
  void aClientThatDoesNotReplyInTimeIsRefused() {
    RpcException refusal = refusal(Duration.ofMillis(1), () -> {});

    assertThat(refusal.status).isEqualTo(200);
    assertThat(refusal.reason).contains("in time");
  }

  @Test
  void aQuestionIsOpenNoLongerThanTheTokenOfItsCallIsValid() {
    long soon = System.currentTimeMillis() + 50;
    AuthenticatedCaller ada = new AuthenticatedCaller("ada", Set.of(), soon);

    RpcException refusal = refusal(asker(ada), ClientRequests.TIMEOUT, () -> {});

    assertThat(refusal.status).isEqualTo(200);
    assertThat(refusal.reason).contains("token has expired");
    assertThat(System.currentTimeMillis()).isGreaterThanOrEqualTo(soon);
  }

  @Test
  void aPageIsAskedForWithAnIdOfItsOwn() {
    CompletionStage<ObjectNode> asking =
        new ClientRequests(TestHandles.ofStore("here"), ClientRequests.TIMEOUT, 10)
            .ask(Map.of("page", McpAsk.page("Log in", "https://example.com")), ADA, way);

    JsonNode request = Json.parse(new String(way.take().get(0), UTF_8));

    assertThat(asking.toCompletableFuture()).isNotDone();
    assertThat(request.at("/params/mode").asText()).isEqualTo("url");
    assertThat(request.at("/params/elicitationId").asText())
        .isNotEmpty()
        .isEqualTo(request.path("id").asText());
  }

  @Test
  void aQuestionThatIsAskedWhileItsSessionIsDeletedIsCancelled() {
    FakeHost host = new FakeHost();
    LegacyProtocol protocol =
        new LegacyProtocol(
            host,
            new PeerServers(host.bus()),
            new Subscriptions(new StreamQuota(10)),
            new RequestGate(),
            new CallQuotas(PrincipalLimits.DEFAULT, System::nanoTime),
            revision -> Json.object());
    String session = protocol.sessions().open("ada", Json.object());
    AuthenticatedCaller ada = AuthenticatedCaller.trusted("ada");
    Client client = protocol.client(post(ada, session));
    // The transport wakes between the check of the session and its first question.
    AtomicBoolean deleted = new AtomicBoolean();
    OutboundQueue deleting =
        new OutboundQueue(
            woken -> {
              if (deleted.compareAndSet(false, true)) {
                protocol.end(session, "ada");
              }
            });

    CompletionStage<ObjectNode> asking =
        Objects.requireNonNull(client.questions())
            .ask(
                Map.of("roots", McpAsk.roots()),
                new Client.Asker(ada, session, anyone -> {}),
                deleting);

    assertThat(asking.toCompletableFuture()).isCompletedExceptionally();
  }

  private static MessageSource post(AuthenticatedCaller caller, String session) {
    return new MessageSource.Post(caller, null, null, null, session, name -> null, null);
  }
}
