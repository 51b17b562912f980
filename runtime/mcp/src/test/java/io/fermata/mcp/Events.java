package io.fermata.mcp;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** An answer that a client reads as it arrives: a stream of events, or one JSON text. */
public final class Events {
  private final HttpResponse<InputStream> raw;
  private final BufferedReader lines;
  private String lastId = "";

  Events(HttpResponse<InputStream> raw) {
    this.raw = raw;
    this.lines = new BufferedReader(new InputStreamReader(raw.body(), UTF_8));
  }

  public int status() {
    return raw.statusCode();
  }

  public String header(String name) {
    return raw.headers().firstValue(name).orElse("");
  }

  public boolean streamed() {
    return header("Content-Type").equals("text/event-stream");
  }

  /** The body of an answer that is plain JSON. */
  public JsonNode plain() throws IOException {
    assertThat(header("Content-Type")).isEqualTo("application/json");
    return Wired.JSON.readTree(lines);
  }

  /** The message of the next event; missing at the end. */
  public JsonNode next() throws IOException {
    String event = lines.readLine();
    while (event != null && !event.startsWith("event: ")) {
      skip(event);
      event = lines.readLine();
    }
    if (event == null) {
      return MissingNode.getInstance();
    }
    String data = lines.readLine();
    assertThat(event).isEqualTo("event: message");
    assertThat(data).startsWith("data: ");
    String end = lines.readLine();
    if (end.startsWith("id: ")) {
      lastId = end.substring("id: ".length());
      end = lines.readLine();
    }
    assertThat(end).isEmpty();
    return Wired.JSON.readTree(data.substring("data: ".length()));
  }

  /** A heartbeat, or the event that opens a resumable stream. */
  private void skip(String line) throws IOException {
    if (line.startsWith("id: ")) {
      lastId = line.substring("id: ".length());
      assertThat(lines.readLine()).startsWith("retry: ");
      assertThat(lines.readLine()).isEqualTo("data: ");
    } else {
      assertThat(line).isEqualTo(":");
    }
    assertThat(lines.readLine()).isEmpty();
  }

  /** The id of the last event; empty if events have none. */
  public String lastId() {
    return lastId;
  }

  /** Disconnects before the end. */
  public void breakOff() throws IOException {
    lines.close();
  }

  public List<JsonNode> rest() throws IOException {
    List<JsonNode> rest = new ArrayList<>();
    for (JsonNode next = next(); !next.isMissingNode(); next = next()) {
      rest.add(next);
    }
    return rest;
  }

  /** All notifications but the last message, which must be the response. */
  public static List<JsonNode> beforeTheResponse(List<JsonNode> messages) {
    List<JsonNode> before = messages.subList(0, messages.size() - 1);
    assertThat(before).allMatch(it -> it.path("method").asText().equals("notifications/progress"));
    assertThat(before).noneMatch(it -> it.has("id"));
    assertThat(messages.get(before.size()).has("id")).isTrue();
    return before;
  }

  public static String said(List<JsonNode> notifications) {
    return notifications.stream()
        .map(it -> it.at("/params/message").asText())
        .collect(Collectors.joining());
  }
}
