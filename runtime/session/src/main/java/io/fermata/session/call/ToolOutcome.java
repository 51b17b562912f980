package io.fermata.session.call;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.session.Fermata;
import java.util.List;

/** What a call of a {@link FlowTool} has come to. */
public sealed interface ToolOutcome {

  /**
   * The call is over.
   *
   * @param error the text says what went wrong, without internals
   * @param changes what the steps of the flow did to the thread that called it
   */
  record Result(String text, boolean error, List<JsonNode> changes) implements ToolOutcome {
    public Result(String text, boolean error) {
      this(text, error, List.of());
    }
  }

  /**
   * The flow asks a person, so its caller has to pause with it.
   *
   * @param question the question or the widget, and what was wrong with the last answer, in the
   *     form in which a client of the flow would see it
   */
  record Paused(ObjectNode question) implements ToolOutcome {}

  /**
   * The flow goes on by itself, later or elsewhere: ask again.
   *
   * @param code {@code waiting}, {@code still_working}, {@code busy} …
   */
  record Unfinished(String code, String message) implements ToolOutcome {}

  /**
   * The run stands at a step that was cut off and may run only once, or that could not be undone:
   * {@link Fermata#resolve resolve} it, or withdraw the call.
   *
   * @param code {@code outcome_unknown} or {@code compensation_failed}
   */
  record Undecided(String code, String message) implements ToolOutcome {}
}
