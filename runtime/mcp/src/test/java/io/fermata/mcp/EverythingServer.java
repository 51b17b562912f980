package io.fermata.mcp;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.mcp.feature.McpAsk;
import io.fermata.mcp.feature.McpBody;
import io.fermata.mcp.feature.McpContent;
import io.fermata.mcp.feature.McpHandler;
import io.fermata.mcp.feature.McpLevel;
import io.fermata.mcp.feature.McpMessage;
import io.fermata.mcp.feature.McpPrompt;
import io.fermata.mcp.feature.McpReply;
import io.fermata.mcp.feature.McpResource;
import io.fermata.mcp.feature.McpResult;
import io.fermata.mcp.feature.McpTemplate;
import io.fermata.mcp.feature.McpTool;
import io.fermata.session.Fermata;
import io.fermata.session.ToolHost;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** The server that the conformance suite expects, written as an author would. */
public final class EverythingServer {
  private static final byte[] PNG =
      Base64.getDecoder()
          .decode(
              "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==");
  private static final byte[] WAV =
      Base64.getDecoder().decode("UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=");

  private static final McpAsk NAME = form("What is your name?", "name", "string");
  private static final McpAsk CONFIRM = form("Please confirm", "ok", "boolean");

  private EverythingServer() {}

  /** Serves until it is killed, to try out clients by hand. */
  public static void main(String[] args) throws InterruptedException {
    Fermata host = EverythingJobs.host();
    if (args.length == 0) {
      builder(host).stdio(System.in, System.out).awaitEnd();
      host.close();
    } else {
      builder(host).port(Integer.parseInt(args[0])).start();
    }
  }

  public static McpServerBuilder builder(ToolHost host) {
    McpServerBuilder builder = McpServer.serving(host).name("everything").version("1");
    Stream.of(contents(), notifies(), asks(), rounds(), changes(), schemas())
        .flatMap(List::stream)
        .forEach(builder::tool);
    resources(builder);
    prompts(builder);
    return builder;
  }

  private static List<McpTool> contents() {
    return List.of(
        McpTool.of("test_simple_text", "Says something")
            .callAtOnce(call -> McpResult.text("This is a simple text response for testing.")),
        McpTool.of("test_image_content", "Shows something")
            .call(call -> McpResult.of(McpContent.image("image/png", PNG))),
        McpTool.of("test_audio_content", "Sounds like something")
            .call(call -> McpResult.of(McpContent.audio("audio/wav", WAV))),
        McpTool.of("test_embedded_resource", "Embeds a resource")
            .call(
                call ->
                    McpResult.of(
                        McpContent.resource(
                            McpBody.text(
                                "test://embedded-resource",
                                "text/plain",
                                "This is an embedded resource content.")))),
        McpTool.of("test_multiple_content_types", "Says and shows something")
            .call(
                call ->
                    McpResult.of(
                        McpContent.text("Multiple content types test:"),
                        McpContent.image("image/png", PNG),
                        McpContent.resource(
                            McpBody.text(
                                "test://mixed-content-resource",
                                "application/json",
                                "{\"test\":\"data\",\"value\":123}")))),
        McpTool.of("test_error_handling", "Fails")
            .call(call -> McpResult.error("This tool intentionally returns an error for testing")));
  }

  private static List<McpTool> notifies() {
    return List.of(
        McpTool.of("test_tool_with_logging", "Logs")
            .call(
                call -> {
                  call.log(McpLevel.INFO, "Tool execution started");
                  Thread.sleep(50);
                  call.log(McpLevel.INFO, "Tool processing data");
                  Thread.sleep(50);
                  call.log(McpLevel.INFO, "Tool execution completed");
                  return McpResult.text("Logged");
                }),
        McpTool.of("test_logging_tool", "Logs once")
            .call(
                call -> {
                  call.log(McpLevel.INFO, Map.of("said", "something"));
                  return McpResult.text("Logged");
                }),
        McpTool.of("test_reconnection", "Lets its client go and come back")
            .call(
                call -> {
                  call.releaseConnection();
                  Thread.sleep(100);
                  return McpResult.text("It came back.");
                }),
        McpTool.of("test_tool_with_progress", "Reports progress")
            .call(
                call -> {
                  call.progress(0, 100);
                  Thread.sleep(50);
                  call.progress(50, 100);
                  Thread.sleep(50);
                  call.progress(100, 100, "done");
                  return McpResult.text("Done");
                }));
  }

  record Prompt(String prompt) {}

  record Message(String message) {}

  private static List<McpTool> asks() {
    return List.of(
        McpTool.of("test_sampling", "Has the client's model say something")
            .input(Prompt.class)
            .call(
                call ->
                    McpResult.text(
                        "LLM response: "
                            + call.ask("said", McpAsk.model(call.argument("prompt"), 100)).text())),
        McpTool.of("test_elicitation", "Asks the user")
            .input(Message.class)
            .call(
                call ->
                    described(
                        call.ask("user", form(call.argument("message"), "username", "string")))),
        McpTool.of("test_elicitation_sep1034_defaults", "Asks with defaults")
            .call(
                call ->
                    described(call.ask("user", McpAsk.form("Please review", parsed(DEFAULTS))))),
        McpTool.of("test_elicitation_sep1330_enums", "Asks with choices")
            .call(
                call -> described(call.ask("user", McpAsk.form("Please choose", parsed(CHOICES))))),
        McpTool.of("test_missing_capability", "Needs the client's model")
            .call(call -> McpResult.text(call.ask("said", McpAsk.model("Hello", 10)).text())),
        McpTool.of("test_streaming_elicitation", "Asks the user for a name")
            .call(call -> described(call.ask("user", NAME))));
  }

  private static McpResult described(McpReply reply) {
    return McpResult.text(
        "Elicitation completed: action=%s, content=%s".formatted(reply.action(), reply.content()));
  }

  private static List<McpTool> rounds() {
    McpAsk capital = McpAsk.model("What is the capital of France?", 100);
    return List.of(
        round("elicitation", call -> greeted(call.ask("user_name", NAME))),
        round("sampling", call -> McpResult.text(call.ask("capital_question", capital).text())),
        round(
            "list_roots",
            call -> {
              JsonNode roots = call.ask("client_roots", McpAsk.roots()).json().path("roots");
              return McpResult.text("Roots: " + roots);
            }),
        round(
            "request_state",
            call -> {
              call.remember("asked");
              call.ask("confirm", CONFIRM);
              return McpResult.text(call.remembered() == null ? "lost" : "state-ok");
            }),
        round(
            "multiple_inputs",
            call -> {
              Map<String, McpAsk> all = new LinkedHashMap<>();
              all.put("user_name", NAME);
              all.put("greeting", McpAsk.model("Generate a greeting", 50));
              all.put("client_roots", McpAsk.roots());
              Map<String, McpReply> replies = call.ask(all);
              return McpResult.text(replies.keySet().toString());
            }),
        round(
            "multi_round",
            call -> {
              String name = field(call.ask("step1", NAME), "name");
              McpAsk question = form("Which colour does " + name + " like?", "color", "string");
              return McpResult.text(name + " likes " + field(call.ask("step2", question), "color"));
            }),
        round(
            "tampered_state",
            call -> {
              call.ask("confirm", CONFIRM);
              return McpResult.text("confirmed");
            }),
        round(
            "capabilities",
            call ->
                call.declares("elicitation")
                    ? greeted(call.ask("user_name", NAME))
                    : McpResult.text(call.ask("greeting", capital).text())));
  }

  private static McpTool round(String name, McpHandler<McpResult> handler) {
    return McpTool.of("test_input_required_result_" + name, "Asks before it answers").call(handler);
  }

  private static McpResult greeted(McpReply reply) {
    return McpResult.text("Hello, " + field(reply, "name") + "!");
  }

  private static String field(McpReply reply, String name) {
    return reply.content().path(name).asText();
  }

  private static List<McpTool> changes() {
    McpTool late = McpTool.of("late", "Came late").callAtOnce(call -> McpResult.text("Here"));
    McpPrompt prompt = McpPrompt.of("late", "Came late").get(call -> List.of());
    return List.of(
        McpTool.of("test_trigger_tool_change", "Offers another tool")
            .call(
                call -> {
                  call.changes().tool(late);
                  return McpResult.text("Changed");
                }),
        McpTool.of("test_trigger_prompt_change", "Offers another prompt")
            .call(
                call -> {
                  call.changes().prompt(prompt);
                  return McpResult.text("Changed");
                }));
  }

  private static List<McpTool> schemas() {
    return List.of(
        McpTool.of("json_schema_2020_12_tool", "Tool with JSON Schema 2020-12 features")
            .input(SCHEMA)
            .callAtOnce(call -> McpResult.structured(call.arguments())),
        McpTool.of("test_header", "Has an argument that a header repeats")
            .input(
                "{'type':'object','properties':{'region':{'type':'string','x-mcp-header':'Region'}}}"
                    .replace('\'', '"'))
            .callAtOnce(call -> McpResult.text(call.argument("region"))));
  }

  private static void resources(McpServerBuilder builder) {
    builder
        .resource(
            McpResource.text(
                "test://static-text",
                "Static Text Resource",
                "text/plain",
                () -> "This is the content of the static text resource."))
        .resource(
            McpResource.bytes(
                "test://static-binary", "Static Binary Resource", "image/png", () -> PNG))
        .resource(
            McpResource.text(
                "test://watched-resource", "Watched Resource", "text/plain", () -> "Watched"))
        .template(
            McpTemplate.of(
                    "test://template/{id}/data",
                    "Resource Template",
                    "application/json",
                    call ->
                        McpBody.text(
                            call.name(),
                            "application/json",
                            Json.text(Json.object().put("id", call.argument("id")))))
                .completing("id", (begun, others) -> List.of(begun + "1", begun + "2")));
  }

  private static void prompts(McpServerBuilder builder) {
    builder
        .prompt(
            McpPrompt.of("test_simple_prompt", "Says something")
                .get(call -> List.of(McpMessage.user("This is a simple prompt for testing."))))
        .prompt(
            McpPrompt.of("test_prompt_with_arguments", "Says what it is given")
                .required("arg1", "First test argument")
                .required("arg2", "Second test argument")
                .completing("arg1", (begun, others) -> List.of(begun + "ing"))
                .get(
                    call ->
                        List.of(
                            McpMessage.user(
                                "Prompt with arguments: arg1='%s', arg2='%s'"
                                    .formatted(call.argument("arg1"), call.argument("arg2"))))))
        .prompt(
            McpPrompt.of("test_prompt_with_embedded_resource", "Embeds a resource")
                .required("resourceUri", "URI of the resource to embed")
                .get(
                    call ->
                        List.of(
                            McpMessage.user(
                                McpContent.resource(
                                    McpBody.text(
                                        call.argument("resourceUri"),
                                        "text/plain",
                                        "Embedded resource content for testing."))),
                            McpMessage.user("Please process the embedded resource above."))))
        .prompt(
            McpPrompt.of("test_prompt_with_image", "Shows something")
                .get(
                    call ->
                        List.of(
                            McpMessage.user(McpContent.image("image/png", PNG)),
                            McpMessage.user("Please analyze the image above."))))
        .prompt(
            McpPrompt.of("test_input_required_result_prompt", "Asks before it says anything")
                .get(
                    call -> {
                      McpAsk ask = form("What context should the prompt use?", "context", "string");
                      return List.of(
                          McpMessage.user(field(call.ask("user_context", ask), "context")));
                    }));
  }

  private static McpAsk form(String message, String field, String type) {
    ObjectNode schema = Json.object().put("type", "object");
    schema.putObject("properties").putObject(field).put("type", type);
    schema.putArray("required").add(field);
    return McpAsk.form(message, schema);
  }

  private static ObjectNode parsed(String json) {
    return (ObjectNode) Json.parse(json);
  }

  private static final String DEFAULTS =
      """
      {"type": "object", "properties": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {
          "type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": true}},
       "required": []}
      """;

  private static final String CHOICES =
      """
      {"type": "object", "properties": {
        "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
        "titledSingle": {"type": "string", "oneOf": [
          {"const": "value1", "title": "First Option"},
          {"const": "value2", "title": "Second Option"},
          {"const": "value3", "title": "Third Option"}]},
        "legacyEnum": {
          "type": "string",
          "enum": ["opt1", "opt2", "opt3"],
          "enumNames": ["Option One", "Option Two", "Option Three"]},
        "untitledMulti": {
          "type": "array",
          "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
        "titledMulti": {"type": "array", "items": {"anyOf": [
          {"const": "value1", "title": "First Choice"},
          {"const": "value2", "title": "Second Choice"},
          {"const": "value3", "title": "Third Choice"}]}}},
       "required": []}
      """;

  private static final String SCHEMA =
      """
      {"$schema": "https://json-schema.org/draft/2020-12/schema",
       "type": "object",
       "$defs": {"address": {
         "$anchor": "addressDef",
         "type": "object",
         "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
       "properties": {
         "name": {"type": "string"},
         "address": {"$ref": "#/$defs/address"},
         "contactMethod": {"type": "string", "enum": ["phone", "email"]},
         "phone": {"type": "string"},
         "email": {"type": "string"}},
       "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
       "if": {
         "properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
       "then": {"required": ["phone"]},
       "else": {"required": ["email"]},
       "additionalProperties": false}
      """;
}
