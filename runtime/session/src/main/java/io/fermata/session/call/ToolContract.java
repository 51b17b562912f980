package io.fermata.session.call;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.TaskUse;
import io.fermata.flow.ToolHints;

/**
 * The description of a flow or an agent as a tool. The trees are shared and must not be modified.
 *
 * @param tasks when its calls return a task
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
    Kind kind,
    ToolHints hints,
    String instructions) {
  /** The tool that explains a run of another: its argument {@code flow} names which. */
  public static final String EXPLAIN_RUN = "explain_run";

  /** How a tool is called. */
  public enum Kind {
    /** The model asks the questions of the flow. */
    FLOW,
    /** Clients may show the questions of the flow as forms. */
    FLOW_WITH_FORMS,
    /** A call is a whole run: arguments in, result out. */
    JOB,
    /** A call is a message to an agent, or an answer to it. */
    AGENT
  }

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
        Kind.FLOW,
        ToolHints.CHANGES,
        "");
  }
}
