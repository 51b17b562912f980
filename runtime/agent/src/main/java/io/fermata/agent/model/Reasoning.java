package io.fermata.agent.model;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.model.chat.request.ChatRequest;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a provider wants back with a call of its model: what that thought, and signatures. It is for
 * that model alone, and shown to nobody.
 *
 * @param model the name of the model
 * @param attributes those of langchain4j's message that are texts, or lists or maps of texts
 */
public record Reasoning(String model, @Nullable String thinking, @Nullable JsonNode attributes) {
  private static final JsonNodeFactory JSON = JsonNodeFactory.instance;

  /** How much is kept of one reply, in characters; a part of it would be of no use. */
  private static final int MOST = 256 * 1024;

  /** Marks a message of a request, whose other attributes are for the model of that name. */
  private static final String MODEL = "fermata.model";

  /** That of a reply; null if there is none, or too much. */
  public static @Nullable Reasoning of(String model, AiMessage reply) {
    String thinking = reply.thinking();
    ObjectNode attributes = JSON.objectNode();
    reply
        .attributes()
        .forEach(
            (name, value) -> {
              JsonNode texts = texts(value);
              if (texts != null) {
                attributes.set(name, texts);
              }
            });
    Reasoning all =
        new Reasoning(
            model,
            thinking == null || thinking.isEmpty() || !isSound(thinking) ? null : thinking,
            attributes.isEmpty() ? null : attributes);
    return (all.thinking == null && all.attributes == null) || all.size() > MOST ? null : all;
  }

  /** As JSON that is read back as the same; null for anything else. */
  private static @Nullable JsonNode texts(@Nullable Object value) {
    if (value instanceof String text) {
      return isSound(text) ? JSON.textNode(text) : null;
    } else if (value instanceof List<?> list) {
      ArrayNode all = JSON.arrayNode();
      for (Object each : list) {
        JsonNode texts = texts(each);
        if (texts == null) {
          return null;
        }
        all.add(texts);
      }
      return all;
    } else if (value instanceof Map<?, ?> map) {
      ObjectNode all = JSON.objectNode();
      for (Map.Entry<?, ?> each : map.entrySet()) {
        JsonNode texts = texts(each.getValue());
        if (texts == null || !(each.getKey() instanceof String name)) {
          return null;
        }
        all.set(name, texts);
      }
      return all;
    }
    return null;
  }

  /** Without half of a surrogate pair, which no encoding can write. */
  private static boolean isSound(String text) {
    return StandardCharsets.UTF_8.newEncoder().canEncode(text);
  }

  private static Object value(JsonNode texts) {
    if (texts.isArray()) {
      List<Object> all = new ArrayList<>();
      texts.forEach(each -> all.add(value(each)));
      return all;
    } else if (texts.isObject()) {
      Map<String, Object> all = new HashMap<>();
      texts.properties().forEach(each -> all.put(each.getKey(), value(each.getValue())));
      return all;
    }
    return texts.asText();
  }

  /** In characters. */
  public int size() {
    return (thinking == null ? 0 : thinking.length())
        + (attributes == null ? 0 : attributes.toString().length());
  }

  /** A message with what its model said here. */
  public AiMessage.Builder in(AiMessage.Builder message) {
    return message.thinking(thinking).attributes(values());
  }

  /** The same in a request that may go to other models, too: they are not sent it. */
  public AiMessage.Builder forItsModel(AiMessage.Builder message) {
    Map<String, Object> marked = values();
    marked.put(MODEL, model);
    return message.thinking(thinking).attributes(marked);
  }

  private Map<String, Object> values() {
    Map<String, Object> values = new HashMap<>();
    if (attributes != null) {
      attributes.properties().forEach(each -> values.put(each.getKey(), value(each.getValue())));
    }
    return values;
  }

  /** A request as a model is sent it. */
  static ChatRequest sentTo(String model, ChatRequest request) {
    return request.toBuilder()
        .messages(request.messages().stream().map(message -> sentTo(model, message)).toList())
        .build();
  }

  private static ChatMessage sentTo(String model, ChatMessage message) {
    if (!(message instanceof AiMessage said) || !said.attributes().containsKey(MODEL)) {
      return message;
    }
    Map<String, Object> sent = new HashMap<>(said.attributes());
    boolean own = model.equals(sent.remove(MODEL));
    return said.toBuilder()
        .thinking(own ? said.thinking() : null)
        .attributes(own ? sent : Map.of())
        .build();
  }
}
