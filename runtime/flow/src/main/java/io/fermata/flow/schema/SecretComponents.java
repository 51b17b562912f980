package io.fermata.flow.schema;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import io.fermata.flow.json.Paths;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The parts that a schema calls {@code writeOnly}, as it does for {@link Secret}, wherever it has
 * them: in records and other classes, also within lists, maps and optionals.
 */
public final class SecretComponents {
  private static final String MARK = "writeOnly";

  /** Of the parts of a schema; one that has more ways to its parts is secret as a whole. */
  private static final int MOST = 20_000;

  private final JsonNode schema;
  private final Set<String> paths = new LinkedHashSet<>();

  /** Where a type contains itself, by where. */
  private final Map<String, String> repeated = new LinkedHashMap<>();

  private int parts;

  private SecretComponents(JsonNode schema) {
    this.schema = schema;
  }

  /**
   * Their paths; {@code *} for the elements of a list and the values of a map, {@code **} for the
   * ways through a type that contains itself. An empty path is the whole.
   */
  public static Set<String> of(JsonNode schema) {
    if (schema.findValue(MARK) == null) {
      return Set.of();
    }
    SecretComponents found = new SecretComponents(schema);
    found.in(schema, "", Map.of("#", ""));
    if (found.parts > MOST) {
      return Set.of("");
    }
    Set<String> all = new LinkedHashSet<>(found.paths);
    found.repeated.forEach(
        (path, whole) ->
            found.paths.stream()
                .filter(secret -> secret.startsWith(whole))
                .forEach(secret -> all.add(path + "**." + secret.substring(whole.length()))));
    return all;
  }

  /**
   * @param path where the part is, with a dot behind it
   * @param followed the references that led here, and where they were
   */
  private void in(JsonNode part, String path, Map<String, String> followed) {
    parts++;
    if (parts > MOST) {
      return;
    }
    if (part.path(MARK).asBoolean()) {
      add(path);
      return;
    }
    part.path("properties")
        .properties()
        .forEach(property -> in(property.getValue(), path + property.getKey() + ".", followed));
    for (String each : List.of("items", "contains", "additionalProperties")) {
      if (part.has(each)) {
        in(part.get(each), path + Paths.ANY + ".", followed);
      }
    }
    for (String several : List.of("prefixItems", "patternProperties")) {
      part.path(several).forEach(one -> in(one, path + Paths.ANY + ".", followed));
    }
    for (String several : List.of("anyOf", "oneOf", "allOf")) {
      part.path(several).forEach(one -> in(one, path, followed));
    }
    for (String each : List.of("if", "then", "else")) {
      if (part.has(each)) {
        in(part.get(each), path, followed);
      }
    }
    String reference = part.path("$ref").asText();
    if (followed.containsKey(reference)) {
      repeated.put(path, followed.get(reference));
    } else if (!reference.isEmpty()) {
      JsonNode referred =
          reference.startsWith("#/")
              ? schema.at(reference.substring(1))
              : MissingNode.getInstance();
      if (referred.isMissingNode()) {
        // An anchor, for example, behind which anything may be marked.
        add(path);
        return;
      }
      Map<String, String> further = new HashMap<>(followed);
      further.put(reference, path);
      in(referred, path, further);
    }
  }

  private void add(String path) {
    paths.add(path.isEmpty() ? path : path.substring(0, path.length() - 1));
  }
}
