package io.fermata.flow;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What an action sees of its run and how it writes to the state. Writes are collected and committed
 * together when the action succeeds; a handle that is kept beyond that is refused.
 *
 * <p>Not safe for use by several threads at once.
 */
public final class Run<S extends Record> {
  private final StateSchema<S> schema;
  private final RunState run;
  private final Place place;
  private final int attempt;
  private final List<Write> writes = new ArrayList<>();
  private ObjectNode data;
  private @Nullable S view;
  private boolean closed;

  Run(StateSchema<S> schema, RunState run, Place place, int attempt) {
    this.schema = schema;
    this.run = run;
    this.place = place;
    this.attempt = attempt;
    this.data = run.memory().data();
  }

  /** The state as it was when the action began, with what the action has written since. */
  public S state() {
    if (view == null) {
      view = schema.view(data);
    }
    return view;
  }

  /** Why the user started this run, in the words the client gave. */
  public String intent() {
    return run.intent();
  }

  public String id() {
    return run.runId();
  }

  /**
   * The same for every attempt of this step and different for every other step: hand it to the
   * system that the action calls, so that a repeated attempt is recognised there.
   */
  public String idempotencyKey() {
    return run.runId() + "/" + place;
  }

  /** 1 for the first attempt. A crash in the middle of an attempt counts it. */
  public int attempt() {
    return attempt;
  }

  /** Replaces the value at a path. Null deletes it. */
  public Run<S> set(String path, @Nullable Object value) {
    return value == null ? delete(path) : write(Write.Verb.SET, path, Json.tree(value));
  }

  /** Merges an object into the one at a path, recursively. */
  public Run<S> merge(String path, Object value) {
    return write(Write.Verb.MERGE, path, Json.tree(value));
  }

  /** Appends an element to the list at a path. */
  public Run<S> append(String path, Object element) {
    return write(Write.Verb.APPEND, path, Json.tree(element));
  }

  public Run<S> delete(String path) {
    return write(Write.Verb.DELETE, path, null);
  }

  private Run<S> write(Write.Verb verb, String path, @Nullable JsonNode value) {
    if (closed) {
      throw new IllegalStateException(
          "Step " + place + " is over; what it writes after that would be lost");
    }
    schema.requireWritable(path);
    Write write = new Write(verb, path, value);
    writes.add(write);
    data = write.applyTo(data);
    view = null;
    return this;
  }

  List<Write> close() {
    closed = true;
    return List.copyOf(writes);
  }
}
