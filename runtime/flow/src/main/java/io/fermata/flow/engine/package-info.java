/**
 * The program of a flow: which events follow an input, and what is to be performed next. A {@link
 * io.fermata.flow.engine.FlowProgram} leaves the inputs of callers to its {@code CallerInputs}. A
 * {@code Drive} follows one input through the graph, with its {@code OpenQuestions}, its {@code
 * EffectAttempts}, its {@code Forks} and its {@code SubflowEntry}.
 */
@NullMarked
package io.fermata.flow.engine;

import org.jspecify.annotations.NullMarked;
