package io.fermata.bench;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.util.LinkedHashMap;
import java.util.Map;

/** A call of a tool without arguments, in a revision of the protocol. */
record PlainRequest(Map<String, String> headers, String body, boolean modern) {
  static final String MODERN = "2026-07-28";
  static final String LEGACY = "2025-11-25";

  static PlainRequest of(String tool, String revision) {
    ObjectNode message = Json.object().put("jsonrpc", "2.0").put("id", 1);
    ObjectNode params = message.put("method", "tools/call").putObject("params").put("name", tool);
    params.putObject("arguments");
    Map<String, String> headers = new LinkedHashMap<>();
    headers.put("Content-Type", "application/json");
    headers.put("Accept", "application/json, text/event-stream");
    headers.put("MCP-Protocol-Version", revision);
    boolean modern = revision.equals(MODERN);
    if (modern) {
      headers.put("Mcp-Method", "tools/call");
      headers.put("Mcp-Name", tool);
      ObjectNode meta = params.putObject("_meta");
      meta.put("io.modelcontextprotocol/protocolVersion", revision);
      meta.putObject("io.modelcontextprotocol/clientCapabilities");
      meta.putObject("io.modelcontextprotocol/clientInfo").put("name", "load").put("version", "1");
    }
    return new PlainRequest(headers, Json.text(message), modern);
  }

  HttpRequest to(URI endpoint) {
    HttpRequest.Builder request = HttpRequest.newBuilder(endpoint);
    headers.forEach(request::header);
    return request.POST(BodyPublishers.ofString(body)).build();
  }

  /** The text of the tool. */
  static String text(HttpResponse<String> answer) {
    return Json.parse(answer.body()).at("/result/content/0/text").asText();
  }
}
