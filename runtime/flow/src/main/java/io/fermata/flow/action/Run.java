package io.fermata.flow.action;

import com.fasterxml.jackson.databind.JavaType;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Input;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.StepEffect;
import io.fermata.flow.event.Tagging;
import io.fermata.flow.event.Write;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Paths;
import io.fermata.flow.json.Texts;
import io.fermata.flow.schema.FieldKind;
import io.fermata.flow.schema.StateSchema;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What an action sees of its run and how it writes to the state. Writes are collected and committed
 * together when the action succeeds; a handle that is kept beyond that is refused.
 *
 * <p>Not safe for use by several threads at once.
 */
public final class Run<S extends Record> {
  private static final Logger LOG = LoggerFactory.getLogger(Run.class);
  private static final int MOST_EMITTED = 100;

  private final StateSchema<S> schema;
  private final RunState run;
  private final StepEffect effect;
  private final String prefix;
  private final List<String> allowed;
  private final Progress progress;
  private final Caller caller;
  private final String principal;
  private final List<Write> writes = new ArrayList<>();
  private final Set<String> reads = new LinkedHashSet<>();
  private final List<Event.Emitted> emitted = new ArrayList<>();
  private Tagging tagging = Tagging.NONE;
  private @Nullable String ends;
  private final ObjectNode began;
  private ObjectNode data;
  private int applied;
  private @Nullable S view;
  private volatile boolean closed;
  private volatile boolean unreported;

  /**
   * @param data the state of the flow that the action belongs to
   * @param prefix what stands before its fields in the state of the run
   * @param allowed all that the action may read; empty for everything
   */
  public Run(
      StateSchema<S> schema,
      RunState run,
      StepEffect effect,
      ObjectNode data,
      String prefix,
      List<String> allowed,
      Progress progress,
      Caller caller,
      String principal) {
    this.schema = schema;
    this.run = run;
    this.effect = effect;
    this.prefix = prefix;
    this.allowed = allowed;
    this.progress = progress;
    this.caller = caller;
    this.principal = principal;
    this.began = data;
    this.data = data;
    for (String field : allowed) {
      reads.add(prefix + field);
    }
  }

  /**
   * The state as it was when the action began, with what the action has written since. An action
   * that declares what it reads finds nothing else in it. Its lists and maps are read where the
   * action looks at them and cannot be changed: a change is written.
   */
  public S state() {
    if (view == null) {
      if (allowed.isEmpty()) {
        reads.add(prefix.isEmpty() ? "" : prefix.substring(0, prefix.length() - 1));
      }
      view = schema.view(readable());
    }
    return view;
  }

  private ObjectNode readable() {
    if (allowed.isEmpty()) {
      return data();
    }
    ObjectNode part = Json.object();
    for (String field : allowed) {
      JsonNode value = Paths.get(began, field);
      part = value.isMissingNode() ? part : Paths.set(part, field, value);
    }
    return Write.all(part, writes);
  }

  /** What it began with, and what it has written since. */
  private ObjectNode data() {
    if (applied < writes.size()) {
      data = Write.all(data, writes.subList(applied, writes.size()));
      applied = writes.size();
    }
    return data;
  }

  /** One value of the state; null if there is none. The journal then says what the action read. */
  public <T> @Nullable T get(String path, Class<T> type) {
    requireField("reads", path);
    if (!allowed.isEmpty() && allowed.stream().noneMatch(field -> Paths.contains(field, path))) {
      throw new IllegalArgumentException(
          "Step " + effect.place() + " does not declare that it reads " + path);
    }
    reads.add(prefix + path);
    JsonNode value = Paths.get(data(), path);
    return Paths.filled(value) ? value(path, value, type) : null;
  }

  private <T> T value(String path, JsonNode value, Class<T> type) {
    try {
      return Json.value(value, type);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(
          "Step %s cannot read %s as %s, as %s; it holds JSON of type %s"
              .formatted(
                  effect.place(),
                  path,
                  type.getSimpleName(),
                  e.getMessage(),
                  value.getNodeType().name().toLowerCase(Locale.ROOT)),
          e);
    }
  }

  /** Why the user started this run, in the words the client gave. */
  public String intent() {
    return run.intent();
  }

  /**
   * Who started this run, as the host knows its callers. Of a run of an agent's tool it is {@code
   * fermata/tool}; of one in a {@code FlowProbe}, {@code tester}.
   */
  public String principal() {
    return principal;
  }

  /** The run's name. It says where a signal from outside belongs. */
  public String id() {
    return run.runId();
  }

  /**
   * The same for every attempt of this step and different for every other step: hand it to the
   * system that the action calls, so that a repeated attempt is recognised there.
   */
  public String idempotencyKey() {
    String reminder = effect.kind() == StepEffect.Kind.REMIND ? "/reminder/" + effect.field() : "";
    return run.runId() + "/" + effect.place() + reminder;
  }

  /** In a compensation the {@link #idempotencyKey} that the action had which is to be undone. */
  public String undoes() {
    return run.runId() + "/" + effect.place().undone();
  }

  /** 1 for the first attempt. A crash in the middle of an attempt counts it. */
  public int attempt() {
    return effect.attempt();
  }

  /**
   * The how-manieth pass this is, where the node lies in a loop, as {@code visits} counts them in a
   * condition: a correction takes back the passes that it forgets. In a compensation it is how
   * often the run had come to the action, corrections and all, which may be more.
   */
  public int visit() {
    Place place = effect.place();
    // What is undone may lie in a branch that is gone, or has been forgotten by a correction.
    return effect.kind() == StepEffect.Kind.UNDO
        ? place.visit()
        : run.passes(place.branch(), place.node());
  }

  /**
   * The caller of the flow as a tool, if there is one of this type: a thread of an agent is its
   * {@code FlowState}. Changes to it are kept when the step succeeds, visible to later steps, and
   * passed to the caller when the run completes; they are discarded if the run fails.
   */
  public <T> Optional<T> caller(Class<T> type) {
    requireOpen("does to its caller");
    return caller.as(type);
  }

  /** Replaces the value at a path. Null deletes it. */
  public Run<S> set(String path, @Nullable Object value) {
    return value == null ? delete(path) : write(Write.Verb.SET, path, tree("writes", path, value));
  }

  /** Merges an object into the one at a path, recursively. What it does not name is not written. */
  public Run<S> merge(String path, Object value) {
    return write(
        path,
        Write.merging(path, tree("writes", path, value), name -> schema.ownField(name) != null));
  }

  /** Appends an element to the list at a path. */
  public Run<S> append(String path, Object element) {
    requireList(path);
    return write(Write.Verb.APPEND, path, tree("writes", path, element));
  }

  public Run<S> delete(String path) {
    return write(Write.Verb.DELETE, path, null);
  }

  /**
   * Publishes something by name. Subscribed clients receive it at once; recorders receive it when
   * the action has succeeded.
   */
  public Run<S> emit(String name, @Nullable Object payload) {
    requireOpen("emits");
    Event.Emitted event =
        new Event.Emitted(Texts.sound(name), payload == null ? null : tree("emits", name, payload));
    if (event.toCaller()) {
      throw new IllegalArgumentException(name + " is a name that Fermata keeps; take another");
    }
    if (emitted.size() >= MOST_EMITTED) {
      throw new IllegalStateException(
          "Step " + effect.place() + " emits more than " + MOST_EMITTED + " events; emit fewer");
    }
    emitted.add(event);
    progress.emitted(effect.place(), name, event.payload());
    return this;
  }

  /**
   * Gives the run a tag, by which it is found in the directory of runs once the action has
   * succeeded. A run has up to {@value Tagging#MOST} tags of up to {@value Tagging#LENGTH}
   * characters, and keeps them until they are taken away.
   */
  public Run<S> tag(String tag) {
    requireOpen("tags");
    return tagging(tagging.add(tag));
  }

  /** Takes a tag away. */
  public Run<S> untag(String tag) {
    requireOpen("tags");
    return tagging(tagging.remove(tag));
  }

  private Run<S> tagging(Tagging changed) {
    if (!changed.fits(run.tags())) {
      throw new IllegalStateException(
          "Step %s gives the run more than %s tags; take others away with untag(…)"
              .formatted(effect.place(), Tagging.MOST));
    }
    tagging = changed;
    return this;
  }

  /** The tags that the run has, with what the action has done to them. */
  public List<String> tags() {
    return tagging.of(run.tags());
  }

  /** Sends a piece of text to clients that listen. It is not journaled. */
  public Run<S> stream(String text) {
    requireOpen("streams");
    progress.streamed(effect.place(), text);
    return this;
  }

  /**
   * Ends the flow early when the action has succeeded; in a sub-flow the flow around it continues.
   *
   * @param reason for the journal, and for the client if the run ends by it
   */
  public Run<S> end(String reason) {
    requireOpen("ends");
    ends = Texts.sound(reason);
    return this;
  }

  private Run<S> write(Write.Verb verb, String path, @Nullable JsonNode value) {
    return write(path, List.of(new Write(verb, path, value)));
  }

  private Run<S> write(String path, List<Write> parts) {
    requireOpen("writes");
    requireField("writes", path);
    writes.addAll(parts);
    view = null;
    return this;
  }

  private JsonNode tree(String does, String name, Object value) {
    try {
      return Json.tree(value);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(
          "Step " + effect.place() + " " + does + " " + name + ": " + e.getMessage(), e);
    }
  }

  private void requireField(String does, String path) {
    try {
      schema.requireWritable(path);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(
          "Step " + effect.place() + " " + does + " " + path + ": " + e.getMessage(), e);
    }
  }

  private void requireList(String path) {
    JavaType type = schema.typeAt(path);
    if (type != null && FieldKind.of(type).single()) {
      throw new IllegalArgumentException(
          "Step %s appends to %s, which is no list but %s; use set(…), or make the field a list"
              .formatted(effect.place(), path, FieldKind.words(type)));
    }
  }

  private void requireOpen(String does) {
    if (closed) {
      IllegalStateException refusal =
          new IllegalStateException(
              "Step %s is over; what it %s after that would be lost. Wait for it in the step, or return its stage from actAsync or compensateAsync"
                  .formatted(effect.place(), does));
      report(refusal);
      throw refusal;
    }
  }

  /** Nobody may read the exception, as it is thrown to a stage that was not returned. */
  private void report(IllegalStateException refusal) {
    if (unreported) {
      unreported = false;
      LOG.warn("Run {}: {}", run.runId(), Texts.inOneLine(String.valueOf(refusal.getMessage())));
      progress.refused(refusal);
    }
  }

  /** The writes in the state of the whole run. */
  private List<Write> journaled() {
    if (prefix.isEmpty()) {
      return List.copyOf(writes);
    }
    List<Write> whole = new ArrayList<>(writes.size());
    for (Write write : writes) {
      whole.add(write.under(prefix));
    }
    return whole;
  }

  /**
   * What the step has written; it may write no more.
   *
   * @param succeeded whether its writes are committed: later ones are reported then
   */
  public Input.Wrote close(boolean succeeded) {
    unreported = succeeded;
    closed = true;
    List<JsonNode> changes = caller.changes();
    if (!changes.isEmpty()) {
      emitted.add(Event.Emitted.toCaller(changes));
    }
    return new Input.Wrote(journaled(), List.copyOf(reads), List.copyOf(emitted), tagging, ends);
  }
}
