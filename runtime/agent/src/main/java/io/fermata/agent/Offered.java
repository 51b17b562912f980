package io.fermata.agent;

import io.fermata.flow.schema.ArgumentSchema;

/**
 * Something that a prompt offers its model to call: a {@link Tool}, another {@link Prompt} as a
 * {@link SubPrompt}, a {@link FlowTool}, a {@link SubAgent}, or a {@link Handoff}.
 */
public sealed interface Offered permits Tool, SubPrompt, FlowTool, SubAgent, Handoff {
  /** The name for the model. */
  String name();

  /** When a model should call it. */
  String description();

  /** The schema of the arguments. */
  ArgumentSchema arguments();

  /** A copy that models read another description of. */
  Offered withDescription(String text);
}
