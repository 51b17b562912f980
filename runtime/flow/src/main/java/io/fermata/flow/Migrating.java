package io.fermata.flow;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.Write;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Paths;
import io.fermata.flow.schema.StateViews;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * A state that is carried over to another version of its flow, with fields already renamed; what is
 * written to it is journaled.
 */
public final class Migrating {
  private final RunState run;
  private final Predicate<String> field;
  private final List<Write> writes = new ArrayList<>();
  private ObjectNode data;

  /**
   * @param field whether a path is one of a field
   */
  public Migrating(RunState run, ObjectNode data, Predicate<String> field) {
    this.run = run;
    this.data = data;
    this.field = field;
  }

  /** A copy of the state as it is by now. */
  public ObjectNode state() {
    return data.deepCopy();
  }

  /** The state as it is by now, as a record: that of the earlier version, for instance. */
  public <T extends Record> T state(Class<T> type) {
    return new StateViews<>(type).of(data);
  }

  /** One value of the state; null if there is none. */
  public <T> @Nullable T get(String path, Class<T> type) {
    JsonNode value = Paths.get(data, path);
    return Paths.filled(value) ? Json.value(value, type) : null;
  }

  /** The nodes at which the run is, by the names that they had. */
  public List<String> nodes() {
    return run.inOrder().stream().map(Place::node).distinct().toList();
  }

  /** The questions that were open, as they were put. */
  public List<Event.Question> open() {
    return run.inOrder().stream().flatMap(place -> run.at(place).open().stream()).toList();
  }

  /** Replaces the value at a path. Null deletes it. */
  public Migrating set(String path, @Nullable Object value) {
    return value == null ? delete(path) : write(Write.Verb.SET, path, Json.tree(value));
  }

  /** Merges an object into the one at a path, recursively. What it does not name is not written. */
  public Migrating merge(String path, Object value) {
    Write.merging(path, Json.tree(value), field).forEach(this::write);
    return this;
  }

  public Migrating delete(String path) {
    return write(Write.Verb.DELETE, path, null);
  }

  private Migrating write(Write.Verb verb, String path, @Nullable JsonNode value) {
    write(new Write(verb, path, value));
    return this;
  }

  private void write(Write write) {
    writes.add(write);
    data = write.applyTo(data);
  }

  public List<Write> writes() {
    return List.copyOf(writes);
  }
}
