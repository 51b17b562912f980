package io.fermata.flow.action;

import io.fermata.flow.event.Verdict;

/**
 * Checks one answer, quickly and without touching the world: it runs inside the step.
 *
 * @param <V> the Java type of the field
 */
@FunctionalInterface
public interface Validator<V> {
  Verdict check(V answer);
}
