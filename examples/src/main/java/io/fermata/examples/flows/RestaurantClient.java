package io.fermata.examples.flows;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.fermata.flow.action.StepException;
import io.fermata.flow.json.Json;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.time.LocalDate;
import java.time.LocalTime;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/** Calls a restaurant over HTTP. Nothing blocks: every reply is a stage. */
public final class RestaurantClient {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  private final URI restaurant;

  public RestaurantClient(URI restaurant) {
    this.restaurant = restaurant;
  }

  /** The tables that are free at that time, and other times with free tables. */
  public record Found(List<TableFlow.Table> free, List<String> otherTimes) {}

  /** A reservation to make. */
  public record Order(
      String date, String time, int guests, String table, String name, @Nullable String phone) {
    static Order of(TableFlow.Booking b) {
      return new Order(
          b.date().toString(), b.time().toString(), b.guests(), b.table(), b.name(), b.phone());
    }
  }

  record Receipt(String reference) {}

  public CompletionStage<Found> tables(LocalDate date, LocalTime time, int guests) {
    String path = "/tables?date=%s&time=%s&guests=%s".formatted(date, time, guests);
    return send(HttpRequest.newBuilder(restaurant.resolve(path)).GET().build())
        .thenApply(response -> read(response, Found.class));
  }

  /**
   * Reserves a table.
   *
   * @param key the same for every attempt, so that the restaurant books once
   * @return the booking's reference, or empty if somebody else has the table
   */
  public CompletionStage<Optional<String>> book(Order order, String key) {
    HttpRequest request =
        HttpRequest.newBuilder(restaurant.resolve("/bookings"))
            .header("Idempotency-Key", key)
            .header("Content-Type", "application/json")
            .POST(BodyPublishers.ofString(Json.text(Json.tree(order))))
            .build();
    return send(request)
        .thenApply(
            response ->
                response.statusCode() == 409
                    ? Optional.empty()
                    : Optional.of(read(response, Receipt.class).reference()));
  }

  private CompletionStage<HttpResponse<String>> send(HttpRequest request) {
    return Http.CLIENT.sendAsync(request, BodyHandlers.ofString());
  }

  /** Made when the first request is sent: it reads the certificates that the JDK trusts. */
  private static final class Http {
    static final HttpClient CLIENT =
        HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(2)).build();
  }

  private static <T> T read(HttpResponse<String> response, Class<T> type) {
    if (response.statusCode() >= 300) {
      throw new StepException("The restaurant cannot answer right now.");
    }
    try {
      return MAPPER.readValue(response.body(), type);
    } catch (JsonProcessingException e) {
      throw new StepException("The restaurant sent a reply that cannot be read.", e);
    }
  }
}
