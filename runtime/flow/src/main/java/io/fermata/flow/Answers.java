package io.fermata.flow;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Tells an answer to an open question from one that was given before: a repeated delivery must not
 * become the answer to the next question, and an earlier answer changes only by a correction.
 */
final class Answers<S extends Record> {
  private final Flow<S> flow;
  private final RunState state;
  private final Set<String> ahead;

  Answers(Flow<S> flow, RunState state) {
    this.flow = flow;
    this.state = state;
    this.ahead =
        GraphCheck.reachable(
            flow,
            state.places().keySet().stream()
                .flatMap(place -> flow.targets(place.node()).stream())
                .toList());
  }

  /** The values that would change an answer which the run has already built on. */
  List<Violation> conflicts(Map<String, JsonNode> values) {
    List<Violation> conflicts = new ArrayList<>();
    values.forEach(
        (field, value) -> {
          if (settled(field) && !known(field, value)) {
            conflicts.add(
                new Violation(field, "was answered before; use action reset to correct it"));
          }
        });
    return conflicts;
  }

  /** The values without those that only repeat what the run knows. */
  Map<String, JsonNode> news(Map<String, JsonNode> values) {
    Map<String, JsonNode> news = new LinkedHashMap<>(values);
    news.entrySet().removeIf(entry -> settled(entry.getKey()));
    return news;
  }

  /** Whether a question for the field was passed, is not open now and will not come again. */
  private boolean settled(String field) {
    boolean passed = false;
    for (Node<S> node : flow.nodes().values()) {
      if (node.fields().stream().noneMatch(asked -> Paths.related(asked, field))) {
        continue;
      }
      for (Map.Entry<Place, At> entry : state.places().entrySet()) {
        if (entry.getKey().node().equals(node.id())) {
          return acceptedHere(entry.getValue(), field);
        }
      }
      if (ahead.contains(node.id())) {
        return false;
      }
      passed |= state.memory().left().containsKey(node.id());
    }
    return passed;
  }

  private static boolean acceptedHere(At at, String field) {
    return at.accepted().stream().anyMatch(accepted -> Paths.related(accepted, field));
  }

  private boolean known(String field, JsonNode value) {
    Memory.Answer given = state.memory().answers().get(field);
    return (given != null && given.value().equals(value))
        || Paths.get(state.data(), field).equals(value);
  }
}
