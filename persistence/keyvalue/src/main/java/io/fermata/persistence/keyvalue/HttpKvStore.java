package io.fermata.persistence.keyvalue;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.persistence.spi.StoreException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * The key-value API of a WaniWani account: {@code get}, {@code set} and {@code delete} of JSON
 * objects, posted with a bearer key. It has no versions and does not compare, so each value
 * contains its version.
 */
final class HttpKvStore implements KvStore {

  static final String DEFAULT_BASE = "https://app.waniwani.ai";

  private static final String PATH = "/api/mcp/redis/";
  private static final String CHECK_ADDRESS = "; check that a WaniWani API is at that address";
  private static final Duration CONNECTS = Duration.ofSeconds(5);
  private static final Duration ANSWERS = Duration.ofSeconds(8);
  private static final ObjectMapper JSON = new ObjectMapper();

  private final URI base;
  private final String apiKey;
  private final HttpClient client;

  HttpKvStore(URI base, String apiKey) {
    this.base = base;
    this.apiKey = apiKey;
    this.client = HttpClient.newBuilder().connectTimeout(CONNECTS).build();
  }

  @Override
  public String describe() {
    return "waniwani:" + base;
  }

  @Override
  public boolean compares() {
    return false;
  }

  @Override
  public CompletionStage<Optional<Versioned>> get(String key) {
    return post("get", body(key)).thenApply(data -> versioned(key, data));
  }

  @Override
  public CompletionStage<Optional<String>> set(
      String key, byte[] value, @Nullable String expectedVersion, @Nullable Duration timeToLive) {
    String version = UUID.randomUUID().toString();
    ObjectNode body = body(key);
    body.putObject("value")
        .put("fermata", version)
        .put("value", Base64.getEncoder().encodeToString(value));
    if (timeToLive != null) {
      body.put("ttlSeconds", Math.max(1, timeToLive.toSeconds()));
    }
    return post("set", body).thenApply(done -> Optional.of(version));
  }

  @Override
  public CompletionStage<@Nullable Void> delete(String key) {
    return post("delete", body(key)).thenApply(done -> null);
  }

  private static ObjectNode body(String key) {
    return JSON.createObjectNode().put("key", key);
  }

  private static Optional<Versioned> versioned(String key, JsonNode data) {
    if (data.isNull()) {
      return Optional.empty();
    }
    JsonNode version = data.path("fermata");
    JsonNode value = data.path("value");
    if (!version.isTextual() || !value.isTextual()) {
      throw new StoreException(
          "The value of "
              + key
              + " was not written by Fermata; use a separate API key"
              + " for Fermata");
    }
    return Optional.of(
        new Versioned(Base64.getDecoder().decode(value.textValue()), version.textValue()));
  }

  private CompletableFuture<JsonNode> post(String operation, ObjectNode body) {
    HttpRequest request =
        HttpRequest.newBuilder(
                URI.create(base.toString().replaceFirst("/+$", "") + PATH + operation))
            .timeout(ANSWERS)
            .header("Authorization", "Bearer " + apiKey)
            .header("Content-Type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(body.toString()))
            .build();
    return client
        .sendAsync(request, HttpResponse.BodyHandlers.ofString())
        .thenApply(HttpKvStore::data);
  }

  private static JsonNode data(HttpResponse<String> response) {
    int status = response.statusCode();
    String http = "HTTP " + status + " for " + response.uri().getPath();
    if (status == 401 || status == 403) {
      throw refused("it rejects the key (HTTP " + status + "); check WANIWANI_API_KEY");
    } else if (status == 404 || status == 405 || status / 100 == 3) {
      throw refused("it responded with " + http + CHECK_ADDRESS);
    } else if (status / 100 != 2) {
      throw refused("it responded with " + http + "; retry, and see what its operator says");
    }
    JsonNode answer = json(response);
    JsonNode data = answer.get("data");
    if (data == null) {
      throw refused("its response to " + response.uri().getPath() + " is " + shape(answer));
    }
    return data;
  }

  private static JsonNode json(HttpResponse<String> response) {
    try {
      return JSON.readTree(response.body());
    } catch (JsonProcessingException notJson) {
      throw refused("its response to " + response.uri().getPath() + " is not JSON" + CHECK_ADDRESS);
    }
  }

  /** Names fields, no values, which may be secret. */
  private static String shape(JsonNode answer) {
    List<String> fields = new ArrayList<>();
    answer.fieldNames().forEachRemaining(fields::add);
    String type = answer.getNodeType().name().toLowerCase(Locale.ROOT);
    return "not {\"data\": …} but of type " + type + " with the fields " + fields + CHECK_ADDRESS;
  }

  private static CompletionException refused(String why) {
    return new CompletionException(new KvCalls.Refusal(why));
  }
}
