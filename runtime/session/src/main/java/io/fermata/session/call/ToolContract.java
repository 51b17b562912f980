package io.fermata.session.call;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.TaskUse;
import io.fermata.flow.ToolHints;

/**
 * The description of a flow as a tool. The trees are shared and must not be modified.
 *
 * @param tasks when its calls return a task
 * @param job whether a call is a whole run: arguments in, result out
 * @param forms whether clients may show its questions as forms
 * @param hints what clients may assume of it
 * @param instructions what is true of all tools of its kind, to be published once for all of them
 */
public record ToolContract(
    String name,
    String title,
    String description,
    ObjectNode inputSchema,
    ObjectNode outputSchema,
    TaskUse tasks,
    boolean job,
    boolean forms,
    ToolHints hints,
    String instructions) {

  public ToolContract(
      String name,
      String title,
      String description,
      ObjectNode inputSchema,
      ObjectNode outputSchema) {
    this(
        name,
        title,
        description,
        inputSchema,
        outputSchema,
        TaskUse.WHEN_LATE,
        false,
        false,
        ToolHints.CHANGES,
        "");
  }
}
