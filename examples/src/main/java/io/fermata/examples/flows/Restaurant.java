package io.fermata.examples.flows;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandler;
import com.sun.net.httpserver.HttpServer;
import io.fermata.flow.json.Json;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.DayOfWeek;
import java.time.LocalDate;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A small restaurant on a free port of this machine, which stands in for an external service. It
 * loses its bookings with the process, is closed on Mondays, and books once per idempotency key.
 */
public final class Restaurant implements AutoCloseable {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final List<String> TIMES =
      List.of("18:00", "18:30", "19:00", "19:30", "20:00", "20:30");
  private static final List<TableFlow.Table> TABLES =
      List.of(
          new TableFlow.Table("window", 2, "by the window"),
          new TableFlow.Table("corner", 4, "in the quiet corner"),
          new TableFlow.Table("garden", 4, "in the garden"),
          new TableFlow.Table("round", 8, "the round one in the middle"));

  private final HttpServer server;
  private final Map<String, String> references = new LinkedHashMap<>();
  private final Map<String, RestaurantClient.Order> booked = new LinkedHashMap<>();
  private final AtomicInteger failures = new AtomicInteger();

  private Restaurant(HttpServer server) {
    this.server = server;
    server.createContext("/tables", guarded(this::tables));
    server.createContext("/bookings", guarded(this::book));
    server.start();
  }

  public static Restaurant open() {
    try {
      return new Restaurant(
          HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0));
    } catch (IOException e) {
      throw new UncheckedIOException("The restaurant finds no free port", e);
    }
  }

  public URI uri() {
    return URI.create("http://localhost:" + server.getAddress().getPort());
  }

  /** Makes the next few requests fail. */
  public void failNext(int requests) {
    failures.set(requests);
  }

  /** All bookings, in the order they were made. */
  public synchronized List<RestaurantClient.Order> bookings() {
    return List.copyOf(booked.values());
  }

  @Override
  public void close() {
    server.stop(0);
  }

  private record Response(int status, Object body) {}

  private interface Service {
    Response answer(HttpExchange exchange) throws IOException;
  }

  private synchronized Response tables(HttpExchange exchange) {
    Map<String, String> query = query(exchange);
    String date = query.getOrDefault("date", "");
    int guests = Integer.parseInt(query.getOrDefault("guests", "1"));
    boolean closed = LocalDate.parse(date).getDayOfWeek() == DayOfWeek.MONDAY;
    List<String> otherTimes =
        TIMES.stream().filter(t -> !closed && !free(date, t, guests).isEmpty()).toList();
    String time = query.getOrDefault("time", "");
    List<TableFlow.Table> free = otherTimes.contains(time) ? free(date, time, guests) : List.of();
    return new Response(200, new RestaurantClient.Found(free, otherTimes));
  }

  private List<TableFlow.Table> free(String date, String time, int guests) {
    return TABLES.stream()
        .filter(
            table -> table.seats() >= guests && !booked.containsKey(slot(date, time, table.id())))
        .toList();
  }

  private synchronized Response book(HttpExchange exchange) throws IOException {
    String key = Objects.requireNonNullElse(header(exchange), "");
    String reference = references.get(key);
    if (reference == null) {
      RestaurantClient.Order order = order(exchange);
      boolean free =
          free(order.date(), order.time(), order.guests()).stream()
              .anyMatch(table -> table.id().equals(order.table()));
      if (!free) {
        return new Response(409, Map.of("error", "The table is taken"));
      }
      booked.put(slot(order.date(), order.time(), order.table()), order);
      reference = "R" + (1000 + booked.size());
      references.put(key, reference);
    }
    return new Response(201, new RestaurantClient.Receipt(reference));
  }

  private static String header(HttpExchange exchange) {
    return exchange.getRequestHeaders().getFirst("Idempotency-Key");
  }

  private static RestaurantClient.Order order(HttpExchange exchange) throws IOException {
    return MAPPER.readValue(exchange.getRequestBody(), RestaurantClient.Order.class);
  }

  private static String slot(String date, String time, String table) {
    return date + " " + time + " " + table;
  }

  private static Map<String, String> query(HttpExchange exchange) {
    Map<String, String> query = new LinkedHashMap<>();
    for (String pair : exchange.getRequestURI().getQuery().split("&", -1)) {
      int equals = pair.indexOf('=');
      query.put(pair.substring(0, equals), pair.substring(equals + 1));
    }
    return query;
  }

  private HttpHandler guarded(Service service) {
    return exchange -> {
      try (exchange) {
        boolean fails = failures.getAndUpdate(left -> Math.max(0, left - 1)) > 0;
        send(exchange, fails ? outOfOrder() : service.answer(exchange));
      }
    };
  }

  private static Response outOfOrder() {
    return new Response(503, Map.of("error", "The kitchen is on fire"));
  }

  private static void send(HttpExchange exchange, Response response) throws IOException {
    byte[] body = text(response.body()).getBytes(StandardCharsets.UTF_8);
    exchange.getResponseHeaders().set("Content-Type", "application/json");
    exchange.sendResponseHeaders(response.status(), body.length);
    exchange.getResponseBody().write(body);
  }

  private static String text(Object body) throws JsonProcessingException {
    return Json.text(Json.tree(body));
  }
}
