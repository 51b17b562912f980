package io.fermata.testkit.eval;

import com.fasterxml.jackson.databind.JsonNode;

/**
 * A call of a tool that a model requested, and what came back.
 *
 * @param arguments what the model sent; a text if it is not JSON
 * @param result what the model read; empty if the conversation ended before
 */
public record EvalCall(String tool, JsonNode arguments, String result, boolean failed) {}
