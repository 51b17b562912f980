/**
 * The program of a flow: which events follow an input, and what is to be performed next. A {@code
 * Drive} follows one input through the graph, with its {@code OpenQuestions}, its {@code
 * EffectAttempts}, its {@code Forks} and its {@code SubflowEntry}.
 */
@NullMarked
package io.fermata.flow.engine;

import org.jspecify.annotations.NullMarked;
