package io.fermata.flow;

import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** A step of a compiled flow. */
sealed interface Node<S extends Record> {
  String id();

  /** Whether a person is asked here. */
  default boolean asks() {
    return true;
  }

  /** The fields that this node asks for. */
  List<String> fields();

  /** Asks one or several questions. */
  record Ask<S extends Record>(
      String id, List<Question<S>> questions, @Nullable Function<S, String> context)
      implements Node<S> {
    @Override
    public List<String> fields() {
      return questions.stream().map(Question::field).toList();
    }
  }

  record Question<S extends Record>(
      String field,
      Function<S, String> text,
      Function<S, List<String>> suggestions,
      @Nullable Function<S, String> context,
      @Nullable Check check) {}

  /** How an answer is checked. */
  sealed interface Check {}

  record Quick(Validator<Object> validator) implements Check {}

  record Async(AsyncValidator<Object> validator, Policy policy) implements Check {}

  /** Shows a widget. */
  record Show<S extends Record>(
      String id,
      String tool,
      @Nullable Function<S, Map<String, ?>> data,
      boolean interactive,
      @Nullable String field)
      implements Node<S> {
    @Override
    public List<String> fields() {
      return field == null ? List.of() : List.of(field);
    }
  }

  /** Acts on the world, or computes. */
  record Act<S extends Record>(String id, AsyncAction<S> action, Policy policy) implements Node<S> {
    @Override
    public boolean asks() {
      return false;
    }

    @Override
    public List<String> fields() {
      return List.of();
    }
  }
}
