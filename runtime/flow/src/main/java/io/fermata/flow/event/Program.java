package io.fermata.flow.event;

import java.util.List;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * A deterministic state machine: it decides what happens, and never does it.
 *
 * <p>The session actor runs it: it journals what {@link #accept} yields, continues with the state
 * {@link #after} it, asks {@link #next}, performs the effects that this names, and feeds their
 * results back as inputs. Replaying a journal calls {@link #apply} alone, and with it no code of
 * the author.
 *
 * @param <S> the state, a fold of events
 * @param <I> what comes in: calls, results of effects, time
 * @param <E> what happened
 * @param <F> what it wants done
 * @param <R> how an effect ended
 * @param <W> what an effect can reach while it runs
 */
public interface Program<S, I, E, F extends Effect, R, W> {
  S initial();

  /**
   * The state after some events: the only change of state there is.
   *
   * @param seq the number of the journal entry that holds the events
   */
  S apply(S state, List<E> events, long seq);

  /** What an input means in this state. Changes nothing. */
  Acceptance<S, E> accept(S state, I input);

  /**
   * The state after an input that was accepted.
   *
   * @param state the one that it was accepted in
   * @param seq the number of the journal entry that holds the events
   */
  default S after(S state, Accepted<S, E> accepted, long seq) {
    S reached = accepted.reached();
    return reached == null ? apply(state, accepted.events(), seq) : reached;
  }

  /** What is to be done now. Changes nothing and calls no code of the author. */
  Next<F> next(S state);

  /**
   * Carries out an effect: the only method that calls actions, tools and models. It may block, so
   * its caller chooses the thread. The stage never fails; failures are results.
   */
  CompletionStage<R> perform(S state, F effect, W world);

  /** The result of an effect that threw. */
  R failed(F effect, Throwable cause);

  /** The result of an effect that did not complete within its timeout. */
  R timedOut(F effect);

  /** The input that an effect has ended. */
  I completed(F effect, R result, long at);

  /** The input that the moment of a timer has come. */
  I due(F timer, long at);

  /** Events that follow from an input, or the reason why it is refused. */
  sealed interface Acceptance<S, E> {
    /** What the author's code threw meanwhile, for logs and tests only. */
    List<Throwable> thrown();
  }

  /**
   * What happened because of an input; nothing if the input only asks again.
   *
   * @param reached the state that the events lead to, if deciding them has folded them already, so
   *     that nobody needs to fold them again
   * @param thrown what the author's code threw meanwhile; events describe it
   */
  record Accepted<S, E>(List<E> events, @Nullable S reached, List<Throwable> thrown)
      implements Acceptance<S, E> {
    public Accepted(List<E> events) {
      this(events, List.of());
    }

    public Accepted(List<E> events, List<Throwable> thrown) {
      this(events, null, thrown);
    }
  }

  /** The input changes nothing. */
  record Refused<S, E>(Outcome.Failure failure, List<Throwable> thrown)
      implements Acceptance<S, E> {
    public Refused(Outcome.Failure failure) {
      this(failure, List.of());
    }
  }

  /** What a program wants of its session actor. */
  sealed interface Next<F extends Effect> {}

  /** Perform these effects and keep these timers, those that are not running already. */
  record Perform<F extends Effect>(List<F> effects) implements Next<F> {}

  /**
   * Wait for a person, or for a moment.
   *
   * @param timers the moments at which it wants to be resumed
   * @param until when it resumes by itself; null if it waits for a person
   */
  record Pause<F extends Effect>(Outcome outcome, List<F> timers, @Nullable Long until)
      implements Next<F> {}

  /** It is over. */
  record Finish<F extends Effect>(Outcome outcome) implements Next<F> {}
}
