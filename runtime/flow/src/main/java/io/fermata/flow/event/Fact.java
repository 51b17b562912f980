package io.fermata.flow.event;

/** What can be said of a run: an event of its journal, or what is derived from one. */
public interface Fact {}
