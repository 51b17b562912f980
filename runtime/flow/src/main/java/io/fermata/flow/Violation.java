package io.fermata.flow;

/** One reason why a call's values were refused: which field, and what is wrong with it. */
public record Violation(String field, String message) {}
