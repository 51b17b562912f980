/**
 * Evaluations of agents and of flow tools: recorded threads and scripted users, continued with
 * other models, prompts and tool texts, judged by code or by a model, as a table of outcomes,
 * calls, tokens and cost. {@link io.fermata.testkit.eval.Evaluation} is where to begin.
 *
 * <p>Each trial has a host of its own in memory, and no tool is performed that the evaluation does
 * not name.
 */
@NullMarked
package io.fermata.testkit.eval;

import org.jspecify.annotations.NullMarked;
