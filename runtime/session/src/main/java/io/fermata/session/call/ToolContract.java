package io.fermata.session.call;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.TaskUse;

/**
 * How a flow presents itself as a tool. The trees are shared: they must not be changed.
 *
 * @param tasks when its calls are answered with a task
 * @param job whether a call is the whole of a run: it gives arguments and is told the result
 * @param forms whether clients may show its questions as forms
 */
public record ToolContract(
    String name,
    String title,
    String description,
    ObjectNode inputSchema,
    ObjectNode outputSchema,
    TaskUse tasks,
    boolean job,
    boolean forms) {

  public ToolContract(
      String name,
      String title,
      String description,
      ObjectNode inputSchema,
      ObjectNode outputSchema) {
    this(name, title, description, inputSchema, outputSchema, TaskUse.WHEN_LATE, false, false);
  }
}
