package io.fermata.flow.engine;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Graph;
import io.fermata.flow.Node;
import io.fermata.flow.Step;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.RunState;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Paths;
import io.fermata.flow.schema.StateSchema;
import org.jspecify.annotations.Nullable;

/** A place with the step it is at and what its flow knows there, in that flow's own terms. */
final class TypedPlace<S extends Record> {
  private final Place place;
  private final Step<S> step;
  private final String prefix;
  private final ObjectNode whole;
  private @Nullable S view;

  TypedPlace(RunState state, Place place, Step<S> step) {
    this(state.memory(place.branch()).data(), place, step);
  }

  private TypedPlace(ObjectNode whole, Place place, Step<S> step) {
    this.place = place;
    this.step = step;
    this.prefix = step.scope().prefix(place);
    this.whole = whole;
  }

  static TypedPlace<?> of(RunState state, Place place, Graph graph) {
    return typed(state, place, graph.step(place));
  }

  private static <S extends Record> TypedPlace<S> typed(RunState state, Place place, Step<S> step) {
    return new TypedPlace<>(state, place, step);
  }

  /** A place that may have been left, with what was known there. */
  static TypedPlace<?> asOf(ObjectNode whole, Place place, Graph graph) {
    return new TypedPlace<>(whole, place, graph.step(place));
  }

  /** The same place, with what is known there in another state. */
  TypedPlace<S> now(RunState state) {
    return new TypedPlace<>(state, place, step);
  }

  Place place() {
    return place;
  }

  Step<S> step() {
    return step;
  }

  StateSchema<S> schema() {
    return step.scope().schema();
  }

  String prefix() {
    return prefix;
  }

  /** The path of one of its flow's fields in the state of the run. */
  String path(String field) {
    return prefix + field;
  }

  /** The state of its flow. */
  ObjectNode data() {
    return within(whole);
  }

  private ObjectNode within(ObjectNode data) {
    if (prefix.isEmpty()) {
      return data;
    }
    JsonNode own = Paths.get(data, prefix.substring(0, prefix.length() - 1));
    return own instanceof ObjectNode object ? object : Json.object();
  }

  S view() {
    if (view == null) {
      view = schema().view(data());
    }
    return view;
  }

  /** Refuses a state that cannot be read; what was readable before needs no second look. */
  void requireReadable(RunState before) {
    schema().requireReadable(data(), within(before.memory(place.branch()).data()));
  }

  Node.Waiting<S> waiting() {
    Node<S> node = step.node();
    return node == null ? Node.Waiting.none() : step.scope().flow().waiting(node.id());
  }

  Node.@Nullable Compensation<S> compensation() {
    return step.compensation();
  }

  boolean undoable() {
    return compensation() != null;
  }
}
