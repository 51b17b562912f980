package io.fermata.flow;

import io.fermata.flow.json.Fixed;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The questions of an ask node, in the order they are put. Texts may depend on the state; they are
 * built once per visit and journaled, so they must be quick and touch nothing outside.
 */
public final class Questions<S extends Record> {
  private final List<Node.Question<S>> questions = new ArrayList<>();
  private final List<String> checkedTwice = new ArrayList<>();
  private @Nullable Function<S, String> context;

  Questions() {}

  /** Asks for a field: {@code name}, or {@code driver.name} inside a nested record. */
  public Questions<S> question(String field, String text) {
    return question(field, text, options -> {});
  }

  public Questions<S> question(String field, String text, Consumer<QuestionOptions<S>> options) {
    return question(field, new Fixed<>(text), options);
  }

  /** Asks in words that depend on the state. */
  public Questions<S> question(String field, Function<S, String> text) {
    return question(field, text, options -> {});
  }

  public Questions<S> question(
      String field, Function<S, String> text, Consumer<QuestionOptions<S>> options) {
    QuestionOptions<S> chosen = new QuestionOptions<>();
    options.accept(chosen);
    questions.add(chosen.build(field, text));
    if (chosen.isCheckedTwice()) {
      checkedTwice.add(field);
    }
    return this;
  }

  /** A hint for the model about all questions of the node; the user does not see it. */
  public Questions<S> context(String hint) {
    return context(new Fixed<>(hint));
  }

  public Questions<S> context(Function<S, String> hint) {
    context = Objects.requireNonNull(hint, "hint");
    return this;
  }

  /** The fields whose questions have more than one validator. */
  List<String> checkedTwice() {
    return checkedTwice;
  }

  Node.Ask<S> build(String id) {
    return new Node.Ask<>(id, List.copyOf(questions), context);
  }
}
