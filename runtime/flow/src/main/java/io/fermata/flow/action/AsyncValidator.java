package io.fermata.flow.action;

import io.fermata.flow.event.Verdict;
import java.util.concurrent.CompletionStage;

/**
 * Checks one answer by asking the world, for instance whether an address exists. It is an effect:
 * the answer is journaled before it runs, and its verdict after.
 *
 * @param <V> the Java type of the field
 */
@FunctionalInterface
public interface AsyncValidator<V> {
  CompletionStage<Verdict> check(V answer) throws Exception;
}
