package io.fermata.flow.action;

import io.fermata.flow.event.Verdict;

/**
 * Checks one answer against the rest of the state, quickly and without touching the world: it runs
 * inside the step.
 *
 * @param <S> the state, with the answer in it
 * @param <V> the Java type of the field
 */
@FunctionalInterface
public interface StateValidator<S extends Record, V> {
  Verdict check(S state, V answer);
}
