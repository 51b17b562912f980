package io.fermata.flow;

import io.fermata.flow.route.Joining;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.BiFunction;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * How a sub-flow runs for every item of a list, side by side.
 *
 * @param <S> the state around it
 * @param <I> the items
 */
public final class ForEach<S extends Record, I> {
  private @Nullable Function<S, List<I>> items;
  private @Nullable BiFunction<S, I, Map<String, ?>> input;
  private int atMost;
  private @Nullable String into;
  private Joining joining = Joining.ALL;

  ForEach() {}

  /** The items, as they are when the node is entered. An empty list means nothing to do. */
  public ForEach<S, I> items(Function<S, List<I>> from) {
    items = Objects.requireNonNull(from, "from");
    return this;
  }

  /** The values that the state of an item's sub-flow begins with. */
  public ForEach<S, I> input(BiFunction<S, I, Map<String, ?>> values) {
    input = Objects.requireNonNull(values, "values");
    return this;
  }

  /** How many items there may be; more stop the run with an error. Required. */
  public ForEach<S, I> atMost(int bound) {
    atMost = bound;
    return this;
  }

  /** The list that the results go to, in the order of the items. */
  public ForEach<S, I> into(String field) {
    into = Objects.requireNonNull(field, "field");
    return this;
  }

  /** Continues as soon as one item is done; the others are dropped, and undone. */
  public ForEach<S, I> first() {
    return quorum(1);
  }

  /** Continues as soon as so many items are done; the others are dropped, and undone. */
  public ForEach<S, I> quorum(int results) {
    joining = joining.needed(results);
    return this;
  }

  /** When an item fails, the others stop at once, and continue when the failed step is retried. */
  public ForEach<S, I> failFast() {
    joining = joining.failFast();
    return this;
  }

  /**
   * An item that fails is dropped, and its place in the results is null.
   *
   * @param field a list that gets each failure: {@code branch}, {@code code}, {@code message}
   */
  public ForEach<S, I> collect(String field) {
    joining = joining.collect(field);
    return this;
  }

  boolean complete() {
    return items != null && atMost > 0;
  }

  @SuppressWarnings("unchecked") // the items come from the function that is paired with this one
  <T extends Record> Node<S> build(String id, Flow<T> flow) {
    Function<S, List<I>> from = items;
    BiFunction<S, I, Map<String, ?>> given = input;
    return new Node.Each<>(
        id,
        flow,
        state -> from == null ? List.of() : from.apply(state),
        given == null ? null : (state, item) -> given.apply(state, (I) item),
        atMost,
        into,
        joining);
  }
}
