package io.fermata.mcp.rest;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Limits;
import io.fermata.mcp.http.HttpError;
import io.fermata.mcp.rpc.JsonRpcCodec;
import io.fermata.mcp.rpc.RpcException;
import io.fermata.session.admin.RunJson;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Reads the fields of a JSON body, and rejects the unknown ones. */
final class BodyFields {
  /** The fields that an error lists, and how many more are wrong. */
  private static final class WrongFields {
    private final Map<String, String> first = new LinkedHashMap<>();
    private int rest;

    void add(String field, String why) {
      if (first.size() < Limits.VIOLATIONS || first.containsKey(field)) {
        first.put(field, why);
      } else {
        rest++;
      }
    }

    void addIfAbsent(String field, String why) {
      if (!first.containsKey(field)) {
        add(field, why);
      }
    }

    void check() {
      if (rest > 0) {
        first.put("body", "has " + rest + " more invalid fields");
      }
      if (!first.isEmpty()) {
        throw HttpError.fields(first);
      }
    }
  }

  private final ObjectNode object;
  private final String path;
  private final WrongFields wrong;
  private final Set<String> read = new HashSet<>();

  private BodyFields(ObjectNode object, String path, WrongFields wrong) {
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
    return new BodyFields(object, "", new WrongFields());
  }

  /**
   * Must be called when all fields are read.
   *
   * @throws HttpError if a field is invalid or unknown
   */
  void check() {
    end();
    wrong.check();
  }

  /** Ends the reading of an array element, whose errors the parent reports. */
  void end() {
    object
        .fieldNames()
        .forEachRemaining(
            name -> {
              if (!read.contains(name)) {
                wrong(RpcException.abbreviate(name), "There is no such field");
              }
            });
  }

  void wrong(String name, String why) {
    wrong.add(path + name, why);
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
      wrong.addIfAbsent(path + name, "is required: a string");
      return "";
    }
    return text;
  }

  /** One of these constants, by its name in lower case; null if there is none. */
  <E extends Enum<E>> @Nullable E oneOf(String name, List<E> constants) {
    String text = text(name);
    for (E constant : constants) {
      if (RunJson.name(constant).equals(text)) {
        return constant;
      }
    }
    if (text != null) {
      wrong(name, "must be one of " + words(constants));
    }
    return null;
  }

  /** As {@link #oneOf}; if it is missing, reports that and returns the first. */
  <E extends Enum<E>> E neededOneOf(String name, List<E> constants) {
    E found = oneOf(name, constants);
    if (found == null) {
      wrong(name, "is required: one of " + words(constants));
      return constants.get(0);
    }
    return found;
  }

  private static String words(List<? extends Enum<?>> constants) {
    return constants.stream().map(RunJson::name).collect(Collectors.joining(", "));
  }

  /**
   * A whole number, or null if there is none.
   *
   * @param what what it has to be, in words
   */
  @Nullable Integer integer(String name, String what) {
    JsonNode value = any(name);
    if (value != null && !(value.isIntegralNumber() && value.canConvertToInt())) {
      wrong(name, "must be " + what);
      return null;
    }
    return value == null ? null : value.intValue();
  }

  /** As {@link #integer}; if it is missing, reports that and returns 0. */
  int neededInteger(String name, String what) {
    Integer number = integer(name, what);
    if (number == null) {
      wrong(name, "is required: " + what);
      return 0;
    }
    return number;
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
        wrong.add(place, "must be an object");
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
}
