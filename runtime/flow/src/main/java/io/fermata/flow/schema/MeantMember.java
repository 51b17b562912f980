package io.fermata.flow.schema;

import com.fasterxml.jackson.databind.JsonNode;
import com.networknt.schema.Error;
import com.networknt.schema.path.NodePath;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * The member of a union that a value is compared with.
 *
 * @param way leads to it in the schema
 * @param place leads to the value
 */
record MeantMember(List<Object> way, List<Object> place) {
  private static final Set<Object> UNIONS = Set.of("anyOf", "oneOf");

  /**
   * A value that names its member by a constant, such as {@code "kind": "cash"}, is compared with
   * all members; of these errors only those of the one that is meant.
   */
  static List<Error> of(List<Error> errors, JsonNode schema) {
    Map<MeantMember, Object> others = new HashMap<>();
    errors.forEach(error -> addOther(error, others));
    Set<MeantMember> unwanted =
        others.keySet().stream()
            .filter(member -> member.anotherIsMeant(schema, others))
            .collect(Collectors.toSet());
    return unwanted.isEmpty()
        ? errors
        : errors.stream().filter(error -> around(error).noneMatch(unwanted::contains)).toList();
  }

  /** The error {@code anyOf/0/properties/kind/const} says that the value is not the first one. */
  private static void addOther(Error error, Map<MeantMember, Object> others) {
    NodePath way = error.getEvaluationPath();
    int at = way.getNameCount() - 4;
    if ("const".equals(error.getKeyword())
        && isMember(way, at)
        && way.getElement(at + 1).equals("properties")) {
      NodePath place = error.getInstanceLocation();
      MeantMember other =
          new MeantMember(first(way, at + 1), first(place, place.getNameCount() - 1));
      others.put(other, way.getElement(at + 2));
    }
  }

  private boolean anotherIsMeant(JsonNode schema, Map<MeantMember, Object> others) {
    String property = String.valueOf(others.get(this));
    List<Object> union = way.subList(0, way.size() - 1);
    JsonNode members = schema;
    for (Object step : union) {
      members = step instanceof Integer index ? members.path(index) : members.path(step.toString());
    }
    JsonNode all = members;
    return IntStream.range(0, all.size())
        .filter(i -> all.path(i).path("properties").path(property).has("const"))
        .mapToObj(i -> new MeantMember(Stream.concat(union.stream(), Stream.of(i)).toList(), place))
        .anyMatch(member -> !others.containsKey(member));
  }

  /** The members that an error is in, each with every place that its value may have. */
  private static Stream<MeantMember> around(Error error) {
    NodePath way = error.getEvaluationPath();
    NodePath place = error.getInstanceLocation();
    return IntStream.range(0, way.getNameCount())
        .filter(at -> isMember(way, at))
        .mapToObj(at -> first(way, at + 1))
        .flatMap(
            member ->
                IntStream.rangeClosed(0, place.getNameCount())
                    .mapToObj(depth -> new MeantMember(member, first(place, depth))));
  }

  private static boolean isMember(NodePath way, int at) {
    return at > 0
        && way.getElement(at) instanceof Integer
        && UNIONS.contains(way.getElement(at - 1));
  }

  private static List<Object> first(NodePath path, int steps) {
    return IntStream.range(0, steps).mapToObj(path::getElement).toList();
  }
}
