package io.fermata.flow.event;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.json.Violation;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The outcome of a call: one of the statuses of the contract. */
public sealed interface Outcome {

  /** Ask the user; never without a question. */
  record Interrupt(List<Event.Question> questions, @Nullable String context) implements Outcome {}

  /** Show a widget. */
  record ShowWidget(Event.Widget widget) implements Outcome {}

  /**
   * Nothing is wrong, and nobody is to be asked: the run waits for a moment or a signal, and then
   * continues by itself.
   *
   * @param waitsFor {@code time}, or {@code signal} and its name; several are separated by commas
   * @param until when it continues at the latest, in milliseconds of the epoch; null if only a
   *     signal makes it continue
   * @param description what a model should know and do
   */
  record Waiting(String waitsFor, @Nullable Long until, String description) implements Outcome {}

  /**
   * The run has reached its end.
   *
   * @param reason why it ended early; null if it went all its way
   * @param violations what was not taken of the values of the call that completed it
   */
  record Complete(@Nullable JsonNode result, @Nullable String reason, List<Violation> violations)
      implements Outcome {
    public Complete(@Nullable JsonNode result) {
      this(result, null);
    }

    public Complete(@Nullable JsonNode result, @Nullable String reason) {
      this(result, reason, List.of());
    }
  }

  /**
   * Something is wrong.
   *
   * @param open what the run still waits for, so that a model can ask again in the same turn
   */
  record Failure(
      String code,
      String message,
      @Nullable String field,
      List<Violation> violations,
      @Nullable Outcome open)
      implements Outcome {

    public static Failure of(ErrorCode code) {
      return new Failure(code.wireName(), code.explained(), null, List.of(), null);
    }

    public static Failure of(ErrorCode code, String message) {
      return new Failure(code.wireName(), message, null, List.of(), null);
    }

    public static Failure of(ErrorCode code, List<Violation> all) {
      List<Violation> violations = Violation.first(all);
      String message = Violation.listed(code.cause(), violations) + ' ' + code.repair() + '.';
      String field = violations.size() == 1 ? violations.get(0).field() : null;
      return new Failure(code.wireName(), message, field, violations, null);
    }

    public Failure with(List<Violation> also) {
      return new Failure(code, message, field, also, open);
    }

    public Failure open(@Nullable Outcome pause) {
      return new Failure(code, message, field, violations, pause);
    }
  }
}
