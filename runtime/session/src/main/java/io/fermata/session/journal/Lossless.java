package io.fermata.session.journal;

import com.fasterxml.jackson.core.JsonFactoryBuilder;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.cfg.JsonNodeFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import java.io.IOException;
import java.math.BigDecimal;
import java.util.Base64;
import java.util.Set;

/**
 * Converts the content of a journal to readable JSON and back, without loss: bytes are {@code
 * {"$binary": base64}}, and a decimal number that looks like an integer is {@code {"$decimal":
 * text}}. An object that looks like one of these gets an additional {@code $}.
 */
public final class Lossless {
  private static final String BINARY = "$binary";
  private static final String DECIMAL = "$decimal";
  private static final Set<String> MARKS = Set.of("binary", "decimal");

  private static final JsonMapper TEXT =
      JsonMapper.builder(Json.unlimited(new JsonFactoryBuilder()))
          .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
          .disable(JsonNodeFeature.STRIP_TRAILING_BIGDECIMAL_ZEROES)
          .build();

  private Lossless() {}

  public static String text(JsonNode json) {
    try {
      return TEXT.writeValueAsString(json);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("A tree could not be serialized as JSON", e);
    }
  }

  public static JsonNode parse(String line) throws IOException {
    return TEXT.readTree(line);
  }

  public static JsonNode json(byte[] payload) throws IOException {
    JsonNode entry = JournalSerializer.tree(payload);
    if (!entry.isObject()) {
      throw new IOException("It is no map, as entries and snapshots are");
    }
    return marked(entry);
  }

  public static byte[] payload(JsonNode json) throws IOException {
    return JournalSerializer.cbor(unmarked(json));
  }

  private static JsonNode marked(JsonNode node) throws IOException {
    if (node.isBinary()) {
      return Json.object().put(BINARY, Base64.getEncoder().encodeToString(node.binaryValue()));
    } else if (node.isBigDecimal() && node.asText().chars().noneMatch(Lossless::tellsDecimals)) {
      return Json.object().put(DECIMAL, node.asText());
    } else if (node instanceof ArrayNode array) {
      ArrayNode all = array.arrayNode(array.size());
      for (JsonNode element : array) {
        all.add(marked(element));
      }
      return all;
    } else if (node instanceof ObjectNode object) {
      ObjectNode all = Json.object();
      boolean alone = object.size() == 1;
      for (var field : object.properties()) {
        String name = field.getKey();
        all.set(alone && isMark(name) ? "$" + name : name, marked(field.getValue()));
      }
      return all;
    }
    return node;
  }

  private static boolean tellsDecimals(int character) {
    return character == '.' || character == 'E' || character == 'e';
  }

  private static boolean isMark(String name) {
    return name.startsWith("$") && MARKS.contains(name.replaceFirst("^\\$+", ""));
  }

  private static JsonNode unmarked(JsonNode node) throws IOException {
    if (node instanceof ArrayNode array) {
      ArrayNode all = array.arrayNode(array.size());
      for (JsonNode element : array) {
        all.add(unmarked(element));
      }
      return all;
    } else if (!(node instanceof ObjectNode)) {
      return node;
    }
    ObjectNode object = (ObjectNode) node;
    ObjectNode all = Json.object();
    for (var field : object.properties()) {
      String name = field.getKey();
      JsonNode value = field.getValue();
      if (object.size() == 1 && name.equals(BINARY)) {
        return all.binaryNode(value.binaryValue());
      } else if (object.size() == 1 && name.equals(DECIMAL)) {
        return all.numberNode(new BigDecimal(value.asText()));
      }
      boolean escaped = object.size() == 1 && isMark(name);
      all.set(escaped ? name.substring(1) : name, unmarked(value));
    }
    return all;
  }
}
