package io.fermata.flow;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.action.Action;
import io.fermata.flow.action.AsyncAction;
import io.fermata.flow.action.AsyncValidator;
import io.fermata.flow.action.Run;
import io.fermata.flow.action.StateValidator;
import io.fermata.flow.action.Validator;
import io.fermata.flow.event.Policy;
import io.fermata.flow.observe.Observation;
import io.fermata.flow.route.Joining;
import io.fermata.flow.schema.StateSchema;
import java.time.Duration;
import java.time.Instant;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.BiFunction;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** A step of a compiled flow. */
public sealed interface Node<S extends Record> {
  String id();

  /** What it is called to recorders. */
  Observation.Kind kind();

  /** Whether a person is asked here. */
  default boolean asks() {
    return this instanceof Ask || this instanceof Show;
  }

  /** Whether the run may pause here until something happens outside. */
  default boolean pauses() {
    return asks() || this instanceof Sleep || this instanceof Await;
  }

  /** The fields that this node asks for. */
  default List<String> fields() {
    return List.of();
  }

  /** Asks one or several questions. */
  record Ask<S extends Record>(
      String id, List<Question<S>> questions, @Nullable Function<S, String> context)
      implements Node<S> {
    @Override
    public Observation.Kind kind() {
      return Observation.Kind.ASK;
    }

    @Override
    public List<String> fields() {
      return questions.stream().map(Question::field).toList();
    }
  }

  /**
   * A question.
   *
   * @param optional the user may leave it open
   * @param byDefault the value that its field then takes; null if none
   */
  record Question<S extends Record>(
      String field,
      Function<S, String> text,
      Function<S, List<String>> suggestions,
      @Nullable Function<S, String> context,
      @Nullable Check check,
      boolean optional,
      @Nullable JsonNode byDefault) {
    /** The JSON Schema of its field, with the default. */
    public JsonNode schema(StateSchema<S> state) {
      ObjectNode schema = state.fieldSchema(field);
      return byDefault == null ? schema : schema.deepCopy().set("default", byDefault);
    }
  }

  /** How an answer is checked. */
  sealed interface Check {}

  record Quick(Validator<Object> validator) implements Check {
    /** The author named the field's type; a wrong one shows as a failed validator. */
    @SuppressWarnings("unchecked")
    static Quick of(Validator<?> validator) {
      return new Quick((Validator<Object>) validator);
    }
  }

  record Cross(StateValidator<Record, Object> validator) implements Check {
    /** The state is the one that the question belongs to. */
    @SuppressWarnings("unchecked")
    static Cross of(StateValidator<?, ?> validator) {
      return new Cross((StateValidator<Record, Object>) validator);
    }
  }

  record Async(AsyncValidator<Object> validator, Policy policy) implements Check {}

  /** Shows a widget. */
  record Show<S extends Record>(
      String id,
      String tool,
      @Nullable Function<S, Map<String, ?>> data,
      boolean interactive,
      @Nullable String field,
      @Nullable Check check)
      implements Node<S> {
    @Override
    public Observation.Kind kind() {
      return Observation.Kind.WIDGET;
    }

    @Override
    public List<String> fields() {
      return field == null ? List.of() : List.of(field);
    }
  }

  /**
   * Acts on the world, or computes.
   *
   * @param reads all that it may see of the state; empty if it may see everything
   */
  record Act<S extends Record>(String id, AsyncAction<S> action, Policy policy, List<String> reads)
      implements Node<S> {
    @Override
    public Observation.Kind kind() {
      return Observation.Kind.ACT;
    }
  }

  /**
   * Computes, within the step.
   *
   * @param values the new values of fields, by name; null takes a value away
   */
  record Compute<S extends Record>(
      String id, Function<S, ? extends Map<String, ? extends @Nullable Object>> values)
      implements Node<S> {
    /** The only field that it computes; null if the values name them. */
    public @Nullable String field() {
      return values instanceof OneField<?> one ? one.field() : null;
    }

    @Override
    public Observation.Kind kind() {
      return Observation.Kind.ACT;
    }
  }

  /** A computed value by the name of its field. */
  record OneField<S extends Record>(String field, Function<S, ?> value)
      implements Function<S, Map<String, ? extends @Nullable Object>> {
    @Override
    public Map<String, ? extends @Nullable Object> apply(S state) {
      return Collections.singletonMap(field, value.apply(state));
    }
  }

  /** Waits for a moment. */
  record Sleep<S extends Record>(String id, Until<S> until) implements Node<S> {
    /** How long, if that is what the author said. */
    public @Nullable Function<S, Duration> time() {
      return until instanceof After<S> after ? after.time() : null;
    }

    /** The moment at which it ends. */
    public Instant ends(S state, Instant now) {
      return Objects.requireNonNull(
          until.of(state, now),
          () -> "The function of sleep node " + id + " returned null; return when it ends");
    }

    @Override
    public Observation.Kind kind() {
      return Observation.Kind.SLEEP;
    }
  }

  /** When a sleep ends. */
  sealed interface Until<S extends Record> {
    @Nullable Instant of(S state, Instant now);
  }

  record After<S extends Record>(Function<S, Duration> time) implements Until<S> {
    @Override
    public @Nullable Instant of(S state, Instant now) {
      Duration known = time.apply(state);
      return known == null ? null : now.plus(known);
    }
  }

  record Moment<S extends Record>(Function<S, Instant> moment) implements Until<S> {
    @Override
    public @Nullable Instant of(S state, Instant now) {
      return moment.apply(state);
    }
  }

  /** Waits for a signal from outside. */
  record Await<S extends Record>(String id, String signal, @Nullable String field)
      implements Node<S> {
    @Override
    public Observation.Kind kind() {
      return Observation.Kind.SIGNAL;
    }
  }

  /** A flow within the flow. */
  sealed interface Nested<S extends Record> extends Node<S> {
    Flow<?> flow();

    @Override
    default boolean asks() {
      return flow().nodes().values().stream().anyMatch(Node::asks);
    }

    @Override
    default boolean pauses() {
      return flow().nodes().values().stream().anyMatch(Node::pauses);
    }
  }

  /** A sub-flow that runs once. */
  record Mount<S extends Record, T extends Record>(
      String id,
      Flow<T> flow,
      @Nullable Function<S, Map<String, ?>> input,
      @Nullable BiFunction<S, T, Map<String, ?>> output,
      @Nullable String into)
      implements Nested<S> {
    @Override
    public Observation.Kind kind() {
      return Observation.Kind.SUBFLOW;
    }
  }

  /**
   * A sub-flow that runs once for each item of a list, side by side.
   *
   * @param into the field that the results go to, in the order of the items
   */
  record Each<S extends Record, T extends Record>(
      String id,
      Flow<T> flow,
      Function<S, List<?>> items,
      @Nullable BiFunction<S, Object, Map<String, ?>> input,
      int atMost,
      @Nullable String into,
      Joining joining)
      implements Nested<S> {
    @Override
    public Observation.Kind kind() {
      return Observation.Kind.LIST;
    }
  }

  /** How a node's wait is bounded, and who is reminded of it. */
  record Waiting<S extends Record>(
      @Nullable Function<S, Duration> deadline,
      @Nullable String target,
      @Nullable Duration every,
      int reminders,
      @Nullable AsyncAction<S> reminder) {
    public static <S extends Record> Waiting<S> none() {
      return new Waiting<>(null, null, null, 0, null);
    }
  }

  /** An action that blocks, as a stage. */
  record Staged<S extends Record>(Action<S> action) implements AsyncAction<S> {
    @Override
    public CompletionStage<?> perform(Run<S> run) throws Exception {
      action.perform(run);
      return CompletableFuture.completedStage(null);
    }
  }

  /** How an action is undone. */
  record Compensation<S extends Record>(AsyncAction<S> action, Policy policy) {}
}
