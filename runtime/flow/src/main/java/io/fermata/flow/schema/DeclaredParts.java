package io.fermata.flow.schema;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.json.Paths;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/**
 * What a schema declares, looked up by the parts of a path: {@code *} is one part, and {@code **}
 * any number. The names of a map are not declared, so only {@code *} leads to its values; below
 * what has no schema nothing is declared.
 */
final class DeclaredParts {
  private static final String MANY = "**";

  private static final Predicate<String> INDEX = Pattern.compile("[0-9]+").asMatchPredicate();

  private final JsonNode schema;

  /** With which paths references were followed, which may lead back to themselves. */
  private final Set<List<String>> followed = new HashSet<>();

  private DeclaredParts(JsonNode schema) {
    this.schema = schema;
  }

  static boolean have(JsonNode schema, List<String> path) {
    return new DeclaredParts(schema).in(schema, path);
  }

  /** Whether nothing of a path need be left. */
  static boolean ended(List<String> path) {
    return path.stream().allMatch(MANY::equals);
  }

  /** What may be left of a path below a name. */
  static Stream<List<String>> below(String name, List<String> path) {
    return below(name::equals, path);
  }

  /** What may be left of a path below an item of a list. */
  static Stream<List<String>> belowItem(List<String> path) {
    return below(INDEX, path);
  }

  private static Stream<List<String>> below(Predicate<String> names, List<String> path) {
    if (path.isEmpty()) {
      return Stream.empty();
    }
    String first = path.get(0);
    List<String> rest = path.subList(1, path.size());
    if (first.equals(MANY)) {
      return Stream.concat(Stream.of(path), below(names, rest));
    }
    return first.equals(Paths.ANY) || names.test(first) ? Stream.of(rest) : Stream.empty();
  }

  private boolean in(JsonNode part, List<String> path) {
    return ended(path)
        || part.path("properties").properties().stream()
            .anyMatch(
                each -> below(each.getKey(), path).anyMatch(rest -> in(each.getValue(), rest)))
        || schemas(part, "items", "prefixItems")
            .anyMatch(item -> belowItem(path).anyMatch(rest -> in(item, rest)))
        || schemas(part, "additionalProperties")
            .anyMatch(value -> below(name -> false, path).anyMatch(rest -> in(value, rest)))
        || schemas(part, "anyOf", "oneOf", "allOf").anyMatch(one -> in(one, path))
        || referred(part.path("$ref").asText(), path);
  }

  private static Stream<JsonNode> schemas(JsonNode part, String... names) {
    return Stream.of(names)
        .map(part::path)
        .flatMap(
            one ->
                one.isArray()
                    ? StreamSupport.stream(one.spliterator(), false)
                    : Stream.of(one).filter(JsonNode::isObject));
  }

  private boolean referred(String reference, List<String> path) {
    return reference.startsWith("#")
        && followed.add(Stream.concat(Stream.of(reference), path.stream()).toList())
        && in(schema.at(reference.substring(1)), path);
  }
}
