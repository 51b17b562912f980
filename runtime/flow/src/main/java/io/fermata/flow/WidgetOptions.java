package io.fermata.flow;

import io.fermata.flow.action.StateValidator;
import io.fermata.flow.action.Validator;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** What a widget node shows and what it waits for. */
public final class WidgetOptions<S extends Record> {
  private final String node;
  private String tool;
  private @Nullable Function<S, Map<String, ?>> data;
  private boolean interactive = true;
  private @Nullable String field;
  private Node.@Nullable Check check;
  private boolean checkedTwice;

  WidgetOptions(String node) {
    this.node = node;
    this.tool = node;
  }

  /** The display tool that renders it; without this it has the name of the node. */
  public WidgetOptions<S> tool(String name) {
    tool = name;
    return this;
  }

  /** What the display tool is given. Quick, and touches nothing outside. */
  public WidgetOptions<S> data(Function<S, Map<String, ?>> from) {
    data = Objects.requireNonNull(from, "from");
    return this;
  }

  /**
   * The field that the user's choice goes to. The run waits until it has a value, and skips the
   * widget when it has one. Without a field a {@code continue} that carries no values passes it.
   */
  public WidgetOptions<S> field(String name) {
    field = Objects.requireNonNull(name, "name");
    return this;
  }

  /**
   * Checks the choice, within the step: quickly and without touching the world. {@code V} is the
   * Java type of the field.
   */
  public <V> WidgetOptions<S> validate(Validator<V> validator) {
    return check(Node.Quick.of(validator));
  }

  /** Checks the choice against the rest of the state, which has the choice already. */
  public <V> WidgetOptions<S> validate(StateValidator<S, V> validator) {
    return check(Node.Cross.of(validator));
  }

  private WidgetOptions<S> check(Node.Check validator) {
    checkedTwice |= check != null;
    check = validator;
    return this;
  }

  boolean isCheckedTwice() {
    return checkedTwice;
  }

  /** The widget only shows; the user answers in words, or not at all. */
  public WidgetOptions<S> displayOnly() {
    interactive = false;
    return this;
  }

  Node.Show<S> build() {
    return new Node.Show<>(node, tool, data, interactive, field, check);
  }
}
