package io.fermata.session.observe;

import io.fermata.flow.event.Input;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.StepEffect;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;

/**
 * Stands between the runs of a host and the code of their steps: it sees every effect that a run
 * asks for, and performs it or decides how it ends. For tests.
 */
public interface StepInterceptor {
  /** Performs every effect. */
  StepInterceptor NONE = (run, effect, performing) -> performing.get();

  /**
   * Performs an effect, on a thread that it may block.
   *
   * @param run the state that the effect sees
   * @param performing runs the author's code
   * @return how it ended; a stage that never completes is an effect that never ends
   */
  CompletionStage<Input.Result> perform(
      RunState run, StepEffect effect, Supplier<CompletionStage<Input.Result>> performing);

  /** The author's code threw outside of effects: a quick validator, a decision, a question text. */
  default void threw(Throwable thrown) {}

  /** A step wrote after it had succeeded; that is lost. */
  default void refused(IllegalStateException refusal) {}
}
