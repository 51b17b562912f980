package io.fermata.mcp.rest;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.mcp.http.HttpError;
import io.fermata.mcp.rpc.JsonRpcCodec;
import io.fermata.mcp.rpc.RpcException;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Reads the fields of a JSON body, and rejects the unknown ones. */
final class BodyFields {
  private final ObjectNode object;
  private final String path;
  private final Map<String, String> wrong;
  private final Set<String> read = new HashSet<>();

  private BodyFields(ObjectNode object, String path, Map<String, String> wrong) {
    this.object = object;
    this.path = path;
    this.wrong = wrong;
  }

  /** The fields of a body; an empty body has none, and is rejected only if a body is needed. */
  static BodyFields of(byte[] body, boolean needed) {
    JsonNode tree = body.length == 0 && !needed ? Json.object() : JsonRpcCodec.read(body);
    if (!(tree instanceof ObjectNode object)) {
      throw HttpError.of(400, "bad_request", "The body must be a JSON object");
    }
    return new BodyFields(object, "", new LinkedHashMap<>());
  }

  /**
   * Must be called when all fields are read.
   *
   * @throws HttpError if a field is invalid or unknown
   */
  void check() {
    unknownFields();
    if (!wrong.isEmpty()) {
      throw HttpError.fields(wrong);
    }
  }

  private void unknownFields() {
    object
        .fieldNames()
        .forEachRemaining(
            name -> {
              if (!read.contains(name)) {
                wrong.put(path + RpcException.abbreviate(name), "There is no such field");
              }
            });
  }

  void wrong(String name, String why) {
    wrong.put(path + name, why);
  }

  boolean has(String name) {
    return object.hasNonNull(name);
  }

  /** The value, or null if there is none. */
  @Nullable JsonNode any(String name) {
    read.add(name);
    JsonNode value = object.get(name);
    return value == null || value.isNull() ? null : value;
  }

  @Nullable String text(String name) {
    JsonNode value = any(name);
    if (value != null && !value.isTextual()) {
      wrong(name, "must be a string");
    }
    return value == null ? null : value.textValue();
  }

  /** A required text; if it is missing, reports that and returns an empty text. */
  String needed(String name) {
    String text = text(name);
    if (text == null || text.isBlank()) {
      wrong.putIfAbsent(path + name, "is required: a string");
      return "";
    }
    return text;
  }

  /** One of these words, or null if there is none. */
  @Nullable String oneOf(String name, List<String> words) {
    String text = text(name);
    if (text != null && !words.contains(text)) {
      wrong(name, "must be one of " + String.join(", ", words));
      return null;
    }
    return text;
  }

  @Nullable Boolean flag(String name) {
    JsonNode value = any(name);
    if (value != null && !value.isBoolean()) {
      wrong(name, "must be true or false");
      return null;
    }
    return value == null ? null : value.booleanValue();
  }

  @Nullable ObjectNode object(String name) {
    JsonNode value = any(name);
    if (value != null && !value.isObject()) {
      wrong(name, "must be an object");
      return null;
    }
    return (ObjectNode) value;
  }

  /** The texts of an array, or null if there is none. */
  @Nullable List<String> texts(String name) {
    JsonNode value = any(name);
    if (value == null) {
      return null;
    }
    List<String> texts = new ArrayList<>();
    value.forEach(
        each -> {
          if (each.isTextual()) {
            texts.add(each.textValue());
          }
        });
    if (!value.isArray() || texts.size() != value.size()) {
      wrong(name, "must be an array of strings");
    }
    return texts;
  }

  /** The objects of an array; none if it is absent. */
  List<BodyFields> objects(String name, int most) {
    JsonNode value = any(name);
    List<BodyFields> all = new ArrayList<>();
    if (value == null) {
      return all;
    }
    if (!value.isArray() || value.size() > most) {
      wrong(name, "must be an array of at most " + most + " objects");
      return all;
    }
    for (JsonNode each : value) {
      String place = path + name + "[" + all.size() + "]";
      if (!(each instanceof ObjectNode member)) {
        wrong.put(place, "must be an object");
        return all;
      }
      all.add(new BodyFields(member, place + ".", wrong));
    }
    return all;
  }

  /** An object's members, all of them strings or null. */
  Map<String, @Nullable String> strings(String name) {
    ObjectNode members = object(name);
    Map<String, @Nullable String> all = new LinkedHashMap<>();
    if (members == null) {
      return all;
    }
    for (Map.Entry<String, JsonNode> member : members.properties()) {
      if (!member.getValue().isTextual() && !member.getValue().isNull()) {
        wrong(name + "." + RpcException.abbreviate(member.getKey()), "must be a string");
      }
      all.put(member.getKey(), member.getValue().textValue());
    }
    return all;
  }

  /** Required bytes in base64; if they are missing, reports that and returns none. */
  byte[] bytes(String name) {
    JsonNode value = any(name);
    try {
      if (value != null && value.isTextual()) {
        return Base64.getDecoder().decode(value.textValue());
      }
    } catch (IllegalArgumentException e) {
      // Reported below.
    }
    wrong(name, "is required: bytes in base64");
    return new byte[0];
  }

  /** Ends the reading of an array element, whose errors the parent reports. */
  void end() {
    unknownFields();
  }
}
