package io.fermata.mcp.protocol;

import com.fasterxml.jackson.core.JsonPointer;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A header that repeats an argument, as a schema requires with {@code x-mcp-header}.
 *
 * @param header the whole name of the header
 * @param place the place of its value in the arguments
 */
public record ParamHeader(String header, JsonPointer place) {
  private static final String KEYWORD = "x-mcp-header";
  private static final Pattern TOKEN = Pattern.compile("[!#$%&'*+.^_`|~0-9A-Za-z-]+");
  private static final Set<String> TYPES = Set.of("string", "integer", "boolean");

  /** Keywords of schemas by a name, which is no keyword itself. */
  private static final Set<String> NAMED =
      Set.of("patternProperties", "dependentSchemas", "$defs", "definitions");

  /** Keywords of values, which are no schemas. */
  private static final Set<String> VALUES = Set.of("const", "enum", "default", "examples");

  /**
   * All headers that a tool's schema requires.
   *
   * @throws IllegalArgumentException if one is invalid, so that clients would have to reject the
   *     tool
   */
  public static List<ParamHeader> of(String tool, ObjectNode schema) {
    Collector collector = new Collector(tool, new ArrayList<>(), new HashSet<>());
    collector.refuse(schema.get(KEYWORD), "the arguments themselves");
    collector.collect(schema, JsonPointer.empty());
    return List.copyOf(collector.all());
  }

  /** Gathers the headers of one tool. */
  private record Collector(String tool, List<ParamHeader> all, Set<String> taken) {

    /** Collects those of a schema that only {@code properties} lead to. */
    void collect(JsonNode schema, JsonPointer place) {
      for (Map.Entry<String, JsonNode> property : schema.path("properties").properties()) {
        JsonNode inner = property.getValue();
        JsonPointer at = place.appendProperty(property.getKey());
        if (inner.has(KEYWORD)) {
          add(inner, at);
        }
        collect(inner, at);
      }
      refuseElsewhere(schema, "properties");
    }

    private void add(JsonNode property, JsonPointer at) {
      String name = property.path(KEYWORD).asText();
      if (!TOKEN.matcher(name).matches()
          || !taken.add(name.toLowerCase(Locale.ROOT))
          || !TYPES.contains(property.path("type").asText())) {
        throw new IllegalArgumentException(
            "The tool %s requires the header \"%s\" at %s: x-mcp-header must be a header name, used once, of a string, an integer or a boolean"
                .formatted(tool, name, at));
      }
      all.add(new ParamHeader("Mcp-Param-" + name, at));
    }

    /**
     * Refuses the keyword in all subschemas but those of one keyword: what is there has no single
     * place in the arguments.
     */
    private void refuseElsewhere(JsonNode schema, String except) {
      for (Map.Entry<String, JsonNode> member : schema.properties()) {
        String keyword = member.getKey();
        if (NAMED.contains(keyword) || keyword.equals("properties")) {
          if (!keyword.equals(except)) {
            member.getValue().forEach(inner -> refuseWithin(inner, keyword));
          }
        } else if (!VALUES.contains(keyword) && !keyword.equals(KEYWORD)) {
          refuseWithin(member.getValue(), keyword);
        }
      }
    }

    private void refuseWithin(JsonNode schemas, String keyword) {
      if (schemas.isArray()) {
        schemas.forEach(inner -> refuseWithin(inner, keyword));
      } else if (schemas.isObject()) {
        refuse(schemas.get(KEYWORD), keyword);
        refuseElsewhere(schemas, "");
      }
    }

    void refuse(@Nullable JsonNode header, String where) {
      if (header != null) {
        throw new IllegalArgumentException(
            "The tool %s requires the header \"%s\" at %s: x-mcp-header must be at a property that properties alone lead to"
                .formatted(tool, header.asText(), where));
      }
    }
  }
}
