package io.fermata.agent.engine;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.agent.tool.ToolSpecification;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.Content;
import dev.langchain4j.data.message.ImageContent;
import dev.langchain4j.data.message.SystemMessage;
import dev.langchain4j.data.message.TextContent;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.model.chat.request.json.JsonObjectSchema;
import dev.langchain4j.model.chat.request.json.JsonRawSchema;
import dev.langchain4j.model.chat.request.json.JsonSchemaElement;
import io.fermata.agent.Offered;
import io.fermata.agent.Prompt;
import io.fermata.agent.Tool;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.RequestedCall;
import io.fermata.agent.message.Role;
import io.fermata.agent.message.Side;
import io.fermata.agent.model.Reasoning;
import io.fermata.agent.state.History;
import io.fermata.agent.state.ThreadFold;
import io.fermata.agent.state.ThreadStorage;
import io.fermata.flow.json.Json;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The request to the model of one side: messages of its side have the role assistant, those of the
 * other the role user, and every call is followed by its result.
 */
final class ModelRequest {
  /** How many of the latest messages include their pictures. */
  private static final int PICTURES = 10;

  /** The declared types of what may be shown; files of others are not read. */
  private static final Pattern SHOWN =
      Pattern.compile("image/(?:png|jpe?g|webp)\\s*(?:;.*)?", Pattern.CASE_INSENSITIVE);

  /** How many bytes of a picture say of which type it is. */
  private static final int HEADER = 12;

  private static final Pattern WIRE_ID = Pattern.compile("[a-zA-Z0-9_-]{1,40}");

  private static final Pattern NOT_OF_NAMES = Pattern.compile("[^a-zA-Z0-9_-]");

  private static final String DEFINITIONS = "$defs";

  /** Where schemas before 2019-09 keep them. */
  private static final String OLDER_DEFINITIONS = "definitions";

  private static final String MISSING =
      "The call was interrupted and its result is unknown. Treat it as failed, or check"
          + " before you repeat it.";

  private final Side side;
  private final boolean pastTools;
  private final ChangeRecorder recorder;

  ModelRequest(Side side, boolean pastTools, ChangeRecorder recorder) {
    this.side = side;
    this.pastTools = pastTools;
    this.recorder = recorder;
  }

  List<ChatMessage> of(List<Message> messages) throws InterruptedException {
    Map<String, Message> results = new HashMap<>();
    Set<String> recent = new HashSet<>();
    int turn = pastTools ? 0 : beginOfTurn(messages);
    for (int i = 0; i < messages.size(); i++) {
      Message message = messages.get(i);
      String call = message.toolCallId();
      if (message.role() == Role.TOOL && message.side() == side && call != null) {
        results.put(call, message);
        if (i >= turn) {
          recent.add(call);
        }
      }
    }
    List<ChatMessage> shown = new ArrayList<>();
    for (int i = 0; i < messages.size(); i++) {
      Message message = messages.get(i);
      if (message.status() == Message.Status.COMPLETED) {
        boolean picture = i >= messages.size() - PICTURES;
        boolean past =
            i < turn && message.toolCalls().stream().noneMatch(call -> recent.contains(call.id()));
        add(shown, message, results, past, picture);
      }
    }
    return shown;
  }

  /** Where the current turn started: after the other side's last message. */
  private int beginOfTurn(List<Message> messages) {
    for (int i = messages.size() - 1; i >= 0; i--) {
      if (messages.get(i).role() == side.other().role()) {
        return i;
      }
    }
    return 0;
  }

  private void add(
      List<ChatMessage> shown,
      Message message,
      Map<String, Message> results,
      boolean past,
      boolean picture)
      throws InterruptedException {
    if (message.role() == side.role()) {
      own(shown, message, results, past);
    } else if (message.role() == side.other().role()) {
      List<Content> contents = contents(message, picture);
      if (!contents.isEmpty()) {
        shown.add(UserMessage.from(contents));
      }
    } else if (message.role() == Role.SYSTEM && !ThreadFold.blank(message.content())) {
      shown.add(SystemMessage.from(String.valueOf(message.content())));
    }
  }

  private void own(
      List<ChatMessage> shown, Message message, Map<String, Message> results, boolean past) {
    List<ToolExecutionRequest> calls =
        past ? List.of() : message.toolCalls().stream().map(ModelRequest::request).toList();
    String text = message.content();
    if (calls.isEmpty()) {
      if (!ThreadFold.blank(text)) {
        shown.add(AiMessage.from(String.valueOf(text)));
      }
      return;
    }
    AiMessage.Builder said = AiMessage.builder().toolExecutionRequests(calls);
    Reasoning reasoning = recorder.state().history().reasoning().get(message.id());
    if (reasoning != null) {
      said = reasoning.forItsModel(said);
    }
    shown.add(ThreadFold.blank(text) ? said.build() : said.text(String.valueOf(text)).build());
    for (int i = 0; i < calls.size(); i++) {
      ToolExecutionRequest call = calls.get(i);
      Message result = results.get(message.toolCalls().get(i).id());
      String words = result == null ? MISSING : String.valueOf(result.content());
      shown.add(ToolExecutionResultMessage.from(call, words));
    }
  }

  /**
   * A call as every provider takes it. A model may invent names, and leave arguments unfinished;
   * the result says what was wrong with them.
   */
  private static ToolExecutionRequest request(RequestedCall call) {
    String arguments = call.function().arguments();
    boolean object = !arguments.isBlank() && ToolCalls.arguments(call) != null;
    return ToolExecutionRequest.builder()
        .id(wire(call.id()))
        .name(name(call.name()))
        .arguments(object ? arguments : "{}")
        .build();
  }

  private static String name(String name) {
    Matcher legal = Tool.NAME.matcher(NOT_OF_NAMES.matcher(name).replaceAll("_"));
    return legal.lookingAt() ? legal.group() : "_";
  }

  /** The id of a call as every provider takes it; the same in every request. */
  private static String wire(String id) {
    return WIRE_ID.matcher(id).matches()
        ? id
        : UUID.nameUUIDFromBytes(id.getBytes(StandardCharsets.UTF_8)).toString();
  }

  private List<Content> contents(Message message, boolean pictures) throws InterruptedException {
    List<Content> contents = new ArrayList<>();
    StringBuilder text = new StringBuilder(message.content() == null ? "" : message.content());
    for (String path : message.attachments()) {
      ThreadStorage.StoredFile file = recorder.state().stored().files().get(path);
      if (file == null) {
        continue;
      }
      text.append(text.isEmpty() ? "" : "\n").append("Attachment: ").append(path);
      if (pictures && file.size() > 0 && SHOWN.matcher(file.mimeType()).matches()) {
        byte[] data = recorder.bytes(file);
        String type = type(data);
        if (type != null) {
          contents.add(ImageContent.from(Base64.getEncoder().encodeToString(data), type));
        }
      }
    }
    if (!text.toString().isBlank()) {
      contents.add(0, TextContent.from(text.toString()));
    }
    return contents;
  }

  /**
   * The type of a picture that Anthropic, Bedrock, Gemini and OpenAI all take, by its bytes, as
   * they refuse a request with another; null for any other file.
   */
  private static @Nullable String type(byte[] data) {
    String header = new String(data, 0, Math.min(HEADER, data.length), StandardCharsets.ISO_8859_1);
    if (header.startsWith("\u0089PNG\r\n\u001a\n")) {
      return "image/png";
    } else if (header.startsWith("\u00ff\u00d8\u00ff")) {
      return "image/jpeg";
    }
    return header.startsWith("RIFF") && header.startsWith("WEBP", 8) ? "image/webp" : null;
  }

  // --- what goes with it -----------------------------------------------------------------------

  /** The instructions of a prompt, put together with variables of the environment. */
  static String instructions(Prompt prompt, Function<String, @Nullable String> environment) {
    return instructions(prompt, environment, new HashSet<>());
  }

  private static String instructions(
      Prompt prompt, Function<String, @Nullable String> environment, Set<Prompt> seen) {
    List<String> pieces = new ArrayList<>();
    seen.add(prompt);
    for (Prompt.Part part : prompt.parts()) {
      if (part instanceof Prompt.Text text) {
        pieces.add(text.content());
      } else if (part instanceof Prompt.Env env) {
        String value = environment.apply(env.property());
        pieces.add(value == null ? "" : value);
      } else {
        Prompt other = ((Prompt.Include) part).prompt();
        if (!seen.contains(other)) {
          pieces.add(instructions(other, environment, seen));
        }
      }
    }
    seen.remove(prompt);
    pieces.removeIf(String::isBlank);
    return String.join("\n\n", pieces);
  }

  static List<ToolSpecification> tools(List<Offered> tools) {
    return tools.stream().map(ModelRequest::specification).toList();
  }

  private static ToolSpecification specification(Offered offered) {
    ObjectNode schema = offered.arguments().json();
    List<String> required = new ArrayList<>();
    schema.path("required").forEach(name -> required.add(name.asText()));
    JsonObjectSchema.Builder parameters =
        JsonObjectSchema.builder()
            .description(schema.path("description").textValue())
            .addProperties(schemas(schema, "properties"))
            .required(required);
    if (schema.path("additionalProperties").isBoolean()) {
      parameters.additionalProperties(schema.path("additionalProperties").booleanValue());
    }
    Map<String, JsonSchemaElement> definitions = schemas(schema, OLDER_DEFINITIONS);
    definitions.putAll(schemas(schema, DEFINITIONS));
    if (!definitions.isEmpty()) {
      parameters.definitions(definitions);
    }
    return ToolSpecification.builder()
        .name(offered.name())
        .description(offered.description())
        .parameters(parameters.build())
        .build();
  }

  /** The schemas of one keyword, which refer to definitions where a request has them. */
  private static Map<String, JsonSchemaElement> schemas(ObjectNode schema, String keyword) {
    Map<String, JsonSchemaElement> schemas = new LinkedHashMap<>();
    for (Map.Entry<String, JsonNode> each : schema.path(keyword).properties()) {
      String text =
          Json.text(each.getValue()).replace(reference(OLDER_DEFINITIONS), reference(DEFINITIONS));
      schemas.put(each.getKey(), JsonRawSchema.from(text));
    }
    return schemas;
  }

  private static String reference(String definitions) {
    return "\"$ref\":\"#/" + definitions + "/";
  }

  static @Nullable String summary(History history) {
    String summary = history.summary();
    return summary == null ? null : "Summary of the conversation so far:\n" + summary;
  }
}
