package io.fermata.flow;

import java.util.Map;
import java.util.Objects;
import java.util.function.BiFunction;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * How a sub-flow is connected to the flow around it. It has a state of its own: what it is given
 * and what it gives back pass through here and nowhere else.
 *
 * @param <S> the state around it
 * @param <T> its own state
 */
public final class Mount<S extends Record, T extends Record> {
  private @Nullable Function<S, Map<String, ?>> input;
  private @Nullable BiFunction<S, T, Map<String, ?>> output;
  private @Nullable String into;

  Mount() {}

  /** The values its state begins with; questions for them are answered by that. */
  public Mount<S, T> input(Function<S, Map<String, ?>> values) {
    input = Objects.requireNonNull(values, "values");
    return this;
  }

  /** The fields around it to set when it has ended, from its last state. */
  public Mount<S, T> output(BiFunction<S, T, Map<String, ?>> values) {
    output = Objects.requireNonNull(values, "values");
    return this;
  }

  /** The field around it that its result goes to. */
  public Mount<S, T> into(String field) {
    into = Objects.requireNonNull(field, "field");
    return this;
  }

  Node<S> build(String id, Flow<T> flow) {
    return new Node.Mount<>(id, flow, input, output, into);
  }
}
