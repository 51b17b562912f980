package io.fermata.flow;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.action.AsyncValidator;
import io.fermata.flow.action.EffectOptions;
import io.fermata.flow.action.StateValidator;
import io.fermata.flow.action.Validator;
import io.fermata.flow.json.Fixed;
import io.fermata.flow.json.Given;
import io.fermata.flow.json.Json;
import java.util.List;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** What belongs to one question beside its text. */
public final class QuestionOptions<S extends Record> {
  private Function<S, List<String>> suggestions = state -> List.of();
  private @Nullable Function<S, String> context;
  private Node.@Nullable Check check;
  private boolean checkedTwice;
  private boolean optional;
  private @Nullable JsonNode byDefault;

  QuestionOptions() {}

  /** Answers to offer. */
  public QuestionOptions<S> suggest(String... answers) {
    suggestions = new Fixed<>(Given.listed(answers));
    return this;
  }

  public QuestionOptions<S> suggest(Function<S, List<String>> answers) {
    suggestions = answers;
    return this;
  }

  /** A hint for the model about this question; the user does not see it. */
  public QuestionOptions<S> context(String hint) {
    return context(new Fixed<>(hint));
  }

  public QuestionOptions<S> context(Function<S, String> hint) {
    context = Objects.requireNonNull(hint, "hint");
    return this;
  }

  /**
   * The user may leave the question open: once it was put, a {@code continue} that answers all that
   * is required, or one without {@code stateUpdates} where nothing is, passes it. Its field is then
   * empty.
   */
  public QuestionOptions<S> optional() {
    optional = true;
    return this;
  }

  /**
   * The value that the field takes if the user leaves the question open. It must be valid: the
   * field's schema and a {@link Validator} are asked at compile time, and no other validator is.
   */
  public QuestionOptions<S> defaultsTo(Object value) {
    byDefault = Json.tree(value);
    return optional();
  }

  /**
   * Checks each answer as soon as it is given, within the step: quickly and without touching the
   * world. {@code V} is the Java type of the field.
   */
  public <V> QuestionOptions<S> validate(Validator<V> validator) {
    return check(Node.Quick.of(validator));
  }

  /**
   * Checks each answer against the rest of the state, which has the answer already, and the other
   * answers of the call; otherwise as {@link #validate(Validator)}.
   */
  public <V> QuestionOptions<S> validate(StateValidator<S, V> validator) {
    return check(Node.Cross.of(validator));
  }

  /** Checks each answer by an effect. */
  public <V> QuestionOptions<S> validateAsync(AsyncValidator<V> validator) {
    return validateAsync(validator, options -> {});
  }

  public <V> QuestionOptions<S> validateAsync(
      AsyncValidator<V> validator, Consumer<EffectOptions> options) {
    EffectOptions chosen = new EffectOptions();
    options.accept(chosen);
    return check(new Node.Async(untypedAsync(validator), chosen.policy()));
  }

  private QuestionOptions<S> check(Node.Check validator) {
    checkedTwice |= check != null;
    check = validator;
    return this;
  }

  boolean isCheckedTwice() {
    return checkedTwice;
  }

  /** The author named the field's type; a wrong one shows as a failed validator. */
  @SuppressWarnings("unchecked")
  private static AsyncValidator<Object> untypedAsync(AsyncValidator<?> validator) {
    return (AsyncValidator<Object>) validator;
  }

  Node.Question<S> build(String field, Function<S, String> text) {
    return new Node.Question<>(field, text, suggestions, context, check, optional, byDefault);
  }
}
