package io.fermata.flow.action;

/**
 * What an act node does. It may block: it never runs on an actor's thread. What it writes is
 * committed when it returns, all of it or, when it throws, nothing. A stage that it begins is not
 * waited for: return that from an {@link AsyncAction}.
 */
@FunctionalInterface
public interface Action<S extends Record> {
  void perform(Run<S> run) throws Exception;
}
