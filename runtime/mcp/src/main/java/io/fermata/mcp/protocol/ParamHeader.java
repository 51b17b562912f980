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

/**
 * A header that repeats an argument, as a schema requires with {@code x-mcp-header}.
 *
 * @param header the whole name of the header
 * @param place the place of its value in the arguments
 */
public record ParamHeader(String header, JsonPointer place) {
  private static final String KEYWORD = "x-mcp-header";
  private static final Pattern TOKEN = Pattern.compile("[!#$%&'*+.^_`|~0-9A-Za-z-]+");
  private static final Set<String> PRIMITIVES = Set.of("string", "integer", "number", "boolean");

  /**
   * All headers that a tool's schema requires.
   *
   * @throws IllegalArgumentException if one is invalid, so that clients would have to reject the
   *     tool
   */
  public static List<ParamHeader> of(String tool, ObjectNode schema) {
    List<ParamHeader> all = new ArrayList<>();
    collect(tool, schema, JsonPointer.empty(), all, new HashSet<>());
    return List.copyOf(all);
  }

  private static void collect(
      String tool, JsonNode schema, JsonPointer place, List<ParamHeader> all, Set<String> taken) {
    for (Map.Entry<String, JsonNode> property : schema.path("properties").properties()) {
      JsonNode inner = property.getValue();
      JsonPointer at = place.appendProperty(property.getKey());
      JsonNode suffix = inner.path(KEYWORD);
      if (!suffix.isMissingNode()) {
        String name = suffix.asText();
        if (!TOKEN.matcher(name).matches()
            || !taken.add(name.toLowerCase(Locale.ROOT))
            || !PRIMITIVES.contains(inner.path("type").asText())) {
          throw new IllegalArgumentException(
              "The tool %s requires the header \"%s\" at %s: x-mcp-header must be a header name, used once, of a string, number or boolean"
                  .formatted(tool, name, at));
        }
        all.add(new ParamHeader("Mcp-Param-" + name, at));
      }
      collect(tool, inner, at, all, taken);
    }
  }
}
