package io.fermata.flow.action;

import java.util.concurrent.CompletionStage;

/**
 * The work of an act node, or of a compensation, as a stage. What was written is committed when the
 * stage completes, all of it or, when it fails, nothing.
 */
@FunctionalInterface
public interface AsyncAction<S extends Record> {
  CompletionStage<?> perform(Run<S> run) throws Exception;
}
