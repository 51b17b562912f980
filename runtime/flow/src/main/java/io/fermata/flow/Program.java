package io.fermata.flow;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A deterministic machine: it decides what happens, and never does it.
 *
 * <p>The shell around it journals what {@link #accept} yields, folds it with {@link #apply}, asks
 * {@link #next}, performs the effects that this names, and feeds their results back as inputs.
 * Folding a journal calls no code of the author.
 *
 * @param <S> the state, a fold of events
 * @param <I> what comes in: calls, results of effects, time
 * @param <E> what happened
 * @param <F> what it wants done
 */
public interface Program<S, I, E, F extends Effect> {
  S initial();

  S apply(S state, E event);

  /** What an input means in this state. Changes nothing. */
  Acceptance<E> accept(S state, I input);

  /** What is to be done now. Changes nothing and calls no code of the author. */
  Next<F> next(S state);

  /** Events that follow from an input, or the reason why it is refused. */
  sealed interface Acceptance<E> {}

  /** What happened because of an input; nothing if the input only asks again. */
  record Accepted<E>(List<E> events) implements Acceptance<E> {}

  /** The input changes nothing. */
  record Refused<E>(Outcome.Failure failure) implements Acceptance<E> {}

  /** What a program wants of its shell. */
  sealed interface Next<F extends Effect> {}

  /** Perform these effects and keep these timers, those that are not under way already. */
  record Perform<F extends Effect>(List<F> effects) implements Next<F> {}

  /**
   * Wait for somebody, or for a moment.
   *
   * @param timers the moments at which it wants to be told
   * @param until when it goes on by itself; null if it waits for somebody
   */
  record Pause<F extends Effect>(Outcome outcome, List<F> timers, @Nullable Long until)
      implements Next<F> {}

  /** It is over. */
  record Finish<F extends Effect>(Outcome outcome) implements Next<F> {}
}
