package io.fermata.agent.model;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import com.sun.net.httpserver.HttpServer;
import dev.langchain4j.http.client.HttpMethod;
import dev.langchain4j.http.client.HttpRequest;
import dev.langchain4j.http.client.sse.DefaultServerSentEventParser;
import dev.langchain4j.http.client.sse.ServerSentEvent;
import dev.langchain4j.http.client.sse.ServerSentEventContext;
import dev.langchain4j.http.client.sse.ServerSentEventListener;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What providers report within a reply whose status is 200. */
@Timeout(60)
class ModelHttpTest {
  private static final String TEXT = "{\"choices\":[{\"delta\":{\"content\":\"Hell\"}}]}";

  private HttpServer server;
  private String reply = "";

  @BeforeEach
  void serve() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext(
        "/",
        exchange -> {
          byte[] body = reply.getBytes(StandardCharsets.UTF_8);
          exchange.sendResponseHeaders(200, body.length);
          exchange.getResponseBody().write(body);
          exchange.close();
        });
    server.start();
  }

  @AfterEach
  void close() {
    server.stop(0);
  }

  private HttpRequest request() {
    String url = "http://localhost:" + server.getAddress().getPort() + "/";
    return HttpRequest.builder().method(HttpMethod.POST).url(url).body("{}").build();
  }

  /** What a client receives of a stream: the data of its events, and the failure that ended it. */
  private static final class Received implements ServerSentEventListener {
    private final List<String> events = new ArrayList<>();
    private final CompletableFuture<@Nullable Failure> end = new CompletableFuture<>();

    @Override
    public void onEvent(ServerSentEvent event, ServerSentEventContext context) {
      events.add(event.data());
    }

    @Override
    public void onError(Throwable thrown) {
      end.complete(Failure.of(thrown));
    }

    @Override
    public void onClose() {
      end.complete(null);
    }

    @Nullable ModelError error() {
      Failure failure = end.orTimeout(60, TimeUnit.SECONDS).join();
      return failure == null ? null : failure.code();
    }
  }

  private Received streamed(String... events) {
    reply = "data: " + String.join("\n\ndata: ", events) + "\n\n";
    Received received = new Received();
    ModelHttp.builder().build().execute(request(), new DefaultServerSentEventParser(), received);
    return received;
  }

  private @Nullable ModelError whole(String body) {
    reply = body;
    Throwable thrown = catchThrowable(() -> ModelHttp.builder().build().execute(request()));
    return thrown == null ? null : Failure.of(thrown).code();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{'code':503,'message':'Busy','status':'UNAVAILABLE'} | UNAVAILABLE",
        "{'code':402,'message':'Busy'} | INVALID_REQUEST",
        "{'code':'429','message':'Busy'} | RATE_LIMITED",
        "{'code':'rate_limit_exceeded','type':'requests','message':'Busy'} | RATE_LIMITED",
        "{'code':null,'type':'server_error','message':'Busy'} | UNAVAILABLE",
        "{'type':'overloaded_error','message':'Busy'} | UNAVAILABLE",
        "{'type':'rate_limit_error','message':'Busy'} | RATE_LIMITED",
        "{'type':'permission_error','message':'Busy'} | UNAUTHORIZED",
        "{'type':'invalid_request_error','message':'Busy'} | INVALID_REQUEST"
      },
      quoteCharacter = '`')
  void aFailureThatAProviderReportsWithinAReplyKeepsItsCode(String error, ModelError code) {
    String failed = "{\"type\":\"error\",\"error\":%s}".formatted(error.replace('\'', '"'));

    Received received = streamed(TEXT, failed, TEXT);

    assertThat(received.error()).isEqualTo(code);
    assertThat(received.events).containsExactly(TEXT);
    assertThat(whole(failed)).isEqualTo(code);
  }

  @Test
  void whatAProviderSaysOfAFailureWithinAReplyIsReported() {
    Failure failure =
        streamed("{\"error\":{\"code\":503,\"message\":\"Busy\"}}")
            .end
            .orTimeout(60, TimeUnit.SECONDS)
            .join();

    assertThat(failure).extracting(Failure::message).isEqualTo("Busy");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"refusal\"}}",
        "{\"type\":\"message\",\"content\":[],\"stop_reason\":\"refusal\"}",
        "{\"promptFeedback\":{\"blockReason\":\"SAFETY\"},\"usageMetadata\":{}}"
      })
  void aModelThatRefusesToReplyHasRefused(String refusal) {
    assertThat(streamed(refusal).error()).isEqualTo(ModelError.REFUSED);
    assertThat(whole(refusal)).isEqualTo(ModelError.REFUSED);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        TEXT,
        "{\"choices\":[{\"finish_reason\":null}],\"usage\":{\"total_tokens\":9}}",
        "{\"candidates\":[{\"content\":{}}],\"usageMetadata\":{\"totalTokenCount\":9}}"
      })
  void aStreamThatClosesWithoutAFinishHasBrokenOffWhateverTokensItReports(String last) {
    assertThat(streamed(TEXT, last).error()).isEqualTo(ModelError.UNAVAILABLE);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "[DONE]",
        "{\"choices\":[{\"finish_reason\":\"eos\"}]}",
        "{\"candidates\":[{\"finishReason\":\"STOP\"}]}"
      })
  void aStreamWithAFinishIsWholeWhateverItIs(String last) {
    Received received = streamed(TEXT, last, "{\"choices\":[]}");

    assertThat(received.error()).isNull();
    assertThat(received.events).containsExactly(TEXT, last, "{\"choices\":[]}");
  }

  @Test
  void aStreamOfAnyOtherProviderEndsWhereItCloses() {
    assertThat(streamed("{\"type\":\"message_stop\"}").error()).isNull();
    assertThat(streamed("{\"error\":null,\"done\":true}").error()).isNull();
    assertThat(streamed("no JSON").error()).isNull();
    assertThat(whole("no JSON")).isNull();
  }
}
