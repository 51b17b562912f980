package io.fermata.agent.mcp;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What a small MCP server of 2025-11-25 has to say, whatever way it is asked. */
final class Shop {
  private static final List<String> PAGES =
      List.of(
          """
          {"tools":[
            {"name":"find","description":"Finds.","annotations":{"readOnlyHint":true},
             "inputSchema":{"type":"object","properties":{"name":{"type":"string"},
               "price":{"type":"number"}},"required":["name"]}},
            {"name":"pay.back","title":"Pay back","inputSchema":{"type":"object"}}],
           "nextCursor":"p2"}""",
          """
          {"tools":[
            {"name":"say","description":"Says.","inputSchema":{"type":"object",
              "$schema":"http://json-schema.org/draft-07/schema#",
              "properties":{"how":{"type":"string"}}}}]}""");

  private Shop() {}

  /** The answer to a message; null if it asks for none. */
  static @Nullable ObjectNode answer(JsonNode message) {
    JsonNode id = message.get("id");
    if (id == null) {
      return null;
    }
    ObjectNode answer = Json.object().put("jsonrpc", "2.0");
    answer.set("id", id);
    JsonNode params = message.path("params");
    switch (message.path("method").asText()) {
      case "initialize" ->
          answer.set(
              "result",
              Json.parse(
                  """
                  {"protocolVersion":"2025-11-25","capabilities":{"tools":{}},
                   "serverInfo":{"name":"shop","version":"1"}}"""));
      case "tools/list" ->
          answer.set("result", Json.parse(PAGES.get(params.has("cursor") ? 1 : 0)));
      case "tools/call" -> called(answer, params);
      default -> answer.putObject("error").put("code", -32601).put("message", "Not known here");
    }
    return answer;
  }

  private static void called(ObjectNode answer, JsonNode params) {
    JsonNode arguments = params.path("arguments");
    String text =
        switch (params.path("name").asText()) {
          case "find" ->
              """
              {"content":[{"type":"text","text":"found"},
                {"type":"resource_link","name":"card","uri":"shop://card"}],
               "structuredContent":{"ignored":true},"isError":false}""";
          case "pay.back" ->
              "{\"content\":[],\"structuredContent\":{\"paid\":%s}}"
                  .formatted(params.path("_meta").path("fermata/callId"));
          default -> said(arguments.path("how").asText());
        };
    if (text.isEmpty()) {
      answer
          .putObject("error")
          .put("code", -32602)
          .put("message", "Nobody can say it like " + arguments.path("how").asText());
    } else {
      answer.set("result", Json.parse(text));
    }
  }

  private static String said(String how) {
    return switch (how) {
      case "badly" -> "{\"content\":[{\"type\":\"text\",\"text\":\"no\"}],\"isError\":true}";
      case "in pictures" ->
          """
          {"content":[{"type":"image","mimeType":"image/png","data":"AQID"},
            {"type":"resource","resource":{"uri":"shop://a","mimeType":"text/plain","text":"ad"}},
            {"type":"image","mimeType":"image/png","data":"%"}]}""";
      case "well" -> "{\"content\":[{\"type\":\"text\",\"text\":\"well\"}]}";
      case "nothing" -> "{\"content\":[]}";
      default -> "";
    };
  }
}
