package io.fermata.agent.model;

import dev.langchain4j.exception.UnsupportedFeatureException;
import dev.langchain4j.http.client.HttpClient;
import dev.langchain4j.http.client.HttpClientBuilder;
import dev.langchain4j.http.client.HttpRequest;
import dev.langchain4j.http.client.SuccessfulHttpResponse;
import dev.langchain4j.http.client.sse.ServerSentEventListener;
import dev.langchain4j.http.client.sse.ServerSentEventParser;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.HttpTimeoutException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeParseException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * The HTTP client for langchain4j's clients: {@code
 * OpenAiStreamingChatModel.builder().httpClientBuilder(ModelHttp.builder())}. In addition to their
 * own, it reports the delay that a provider requests, and the failures and refusals within replies,
 * and can end a stream that has not started.
 */
public final class ModelHttp implements HttpClientBuilder {
  private @Nullable Duration connectTimeout;
  private @Nullable Duration readTimeout;

  private ModelHttp() {}

  public static ModelHttp builder() {
    return new ModelHttp();
  }

  @Override
  public @Nullable Duration connectTimeout() {
    return connectTimeout;
  }

  /**
   * The value of a header, which may be secret: without the line break that a file may end with.
   *
   * @throws IllegalArgumentException if no header may have it; the message does not quote it
   */
  public static String headerValue(String name, String value) {
    String stripped = value.strip();
    if (!stripped.chars().allMatch(c -> c == '\t' || (c >= ' ' && c <= 0xFF && c != 0x7F))) {
      throw new IllegalArgumentException(
          "The value of the header %s has a character that no header may have; correct it"
              .formatted(name));
    }
    return stripped;
  }

  @Override
  public ModelHttp connectTimeout(Duration timeout) {
    connectTimeout = timeout;
    return this;
  }

  @Override
  public @Nullable Duration readTimeout() {
    return readTimeout;
  }

  @Override
  public ModelHttp readTimeout(Duration timeout) {
    readTimeout = timeout;
    return this;
  }

  @Override
  public HttpClient build() {
    java.net.http.HttpClient.Builder http = java.net.http.HttpClient.newBuilder();
    if (connectTimeout != null) {
      http.connectTimeout(connectTimeout);
    }
    return new Client(http.build(), readTimeout);
  }

  /** The delay that a provider requests; null for none. */
  static @Nullable Duration retryAfter(HttpHeaders headers, Instant now) {
    try {
      String millis = headers.firstValue("retry-after-ms").orElse(null);
      if (millis != null) {
        return Duration.ofNanos((long) (Double.parseDouble(millis) * 1e6));
      }
      String after = headers.firstValue("retry-after").orElse(null);
      if (after == null) {
        return null;
      } else if (Character.isDigit(after.charAt(0))) {
        return Duration.ofNanos((long) (Double.parseDouble(after) * 1e9));
      }
      Instant at = ZonedDateTime.parse(after, DateTimeFormatter.RFC_1123_DATE_TIME).toInstant();
      return at.isAfter(now) ? Duration.between(now, at) : null;
    } catch (NumberFormatException | DateTimeParseException | IndexOutOfBoundsException e) {
      return null;
    }
  }

  private record Client(java.net.http.HttpClient http, @Nullable Duration readTimeout)
      implements HttpClient {

    @Override
    public SuccessfulHttpResponse execute(HttpRequest request) {
      try {
        java.net.http.HttpRequest.Builder sent = sent(request);
        if (readTimeout != null) {
          sent.timeout(readTimeout);
        }
        HttpResponse<byte[]> response = http.send(sent.build(), BodyHandlers.ofByteArray());
        if (refused(response)) {
          throw refusal(response, response.body());
        }
        RuntimeException failure = ReplyPart.of(text(response.body())).failure();
        if (failure != null) {
          throw failure;
        }
        return accepted(response).body(response.body()).build();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new CompletionException(e);
      }
    }

    @Override
    public void execute(
        HttpRequest request, ServerSentEventParser parser, ServerSentEventListener listener) {
      CompletableFuture<HttpResponse<InputStream>> answer =
          http.sendAsync(sent(request).build(), BodyHandlers.ofInputStream());
      StreamedReply.opened(() -> end(answer));
      CompletableFuture<Void> unused =
          begun(answer)
              .thenAccept(response -> read(response, parser, new ReplyParts(listener)))
              .exceptionally(
                  thrown -> {
                    listener.onError(failure(thrown));
                    end(answer);
                    return null;
                  });
    }

    /** From JDK 26 on, the timeout of a request includes its body, which a stream must not. */
    private CompletableFuture<HttpResponse<InputStream>> begun(
        CompletableFuture<HttpResponse<InputStream>> answer) {
      return readTimeout == null
          ? answer
          : answer.copy().orTimeout(readTimeout.toNanos(), TimeUnit.NANOSECONDS);
    }

    private Throwable failure(Throwable thrown) {
      Throwable cause = thrown instanceof CompletionException ? thrown.getCause() : thrown;
      if (cause instanceof TimeoutException) {
        return new HttpTimeoutException("The stream did not start within " + readTimeout);
      }
      return cause == null ? thrown : cause;
    }

    private static void end(CompletableFuture<HttpResponse<InputStream>> answer) {
      if (!answer.cancel(true) && !answer.isCompletedExceptionally()) {
        close(answer.join().body());
      }
    }

    private static void close(InputStream body) {
      try {
        body.close();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    private static void read(
        HttpResponse<InputStream> response,
        ServerSentEventParser parser,
        ServerSentEventListener listener) {
      try (InputStream body = response.body()) {
        if (refused(response)) {
          throw refusal(response, body.readAllBytes());
        }
        listener.onOpen(accepted(response).build());
        parser.parse(body, listener);
        listener.onClose();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    private static java.net.http.HttpRequest.Builder sent(HttpRequest request) {
      if (!request.formDataFields().isEmpty() || !request.formDataFiles().isEmpty()) {
        throw new UnsupportedFeatureException(
            "ModelHttp does not support forms; use" + " another client for them");
      }
      String body = request.body();
      BodyPublisher publisher =
          body == null ? BodyPublishers.noBody() : BodyPublishers.ofString(body);
      java.net.http.HttpRequest.Builder sent =
          java.net.http.HttpRequest.newBuilder(URI.create(request.url()))
              .method(request.method().name(), publisher);
      request
          .headers()
          .forEach(
              (name, values) ->
                  values.forEach(value -> sent.header(name, headerValue(name, value))));
      return sent;
    }

    private static boolean refused(HttpResponse<?> response) {
      return response.statusCode() / 100 != 2;
    }

    private static ProviderException refusal(HttpResponse<?> response, byte[] body) {
      return new ProviderException(
          response.statusCode(), text(body), retryAfter(response.headers(), Instant.now()));
    }

    private static String text(byte[] body) {
      return new String(body, StandardCharsets.UTF_8);
    }

    private static SuccessfulHttpResponse.Builder accepted(HttpResponse<?> response) {
      return SuccessfulHttpResponse.builder()
          .statusCode(response.statusCode())
          .headers(response.headers().map());
    }
  }
}
