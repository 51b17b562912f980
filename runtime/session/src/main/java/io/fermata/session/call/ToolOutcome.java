package io.fermata.session.call;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.FlowTool;
import io.fermata.session.Fermata;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The outcome of a call of a {@link FlowTool}. */
public sealed interface ToolOutcome {

  /**
   * The call has ended.
   *
   * @param error whether the text is an error message; it contains no internals
   * @param changes the changes that the flow's steps made to the calling thread
   */
  record Result(String text, boolean error, List<JsonNode> changes) implements ToolOutcome {
    public Result(String text, boolean error) {
      this(text, error, List.of());
    }
  }

  /**
   * The flow asks a person, so its caller must pause, too.
   *
   * @param question the question or widget, with the error of the last answer, as a client of the
   *     flow would get it
   */
  record Paused(ObjectNode question) implements ToolOutcome {}

  /**
   * The flow waits for a moment, a signal or another person; fetch its outcome later.
   *
   * @param waitsFor {@code time}, the name of a signal, or several
   * @param until when it continues by itself, as an ISO date and time; null if it never does
   */
  record Waiting(String waitsFor, @Nullable String until) implements ToolOutcome {}

  /**
   * The flow continues by itself, or the host cannot reach or end it now; fetch its outcome later.
   *
   * @param code {@code still_working}, {@code busy} …
   */
  record Unfinished(String code, String message) implements ToolOutcome {}

  /**
   * The run stopped at a {@code once} step that was interrupted, or at one whose compensation
   * failed: {@link Fermata#resolve resolve} it, or withdraw the call.
   *
   * @param code {@code outcome_unknown} or {@code compensation_failed}
   */
  record Undecided(String code, String message) implements ToolOutcome {}

  /**
   * The call was refused and changed nothing; a run that the use began is as it was.
   *
   * @param code {@code key_used}, {@code already_answered}, {@code damaged} …
   * @param message what is wrong
   * @param repair what the caller can do
   */
  record Refused(String code, String message, String repair) implements ToolOutcome {}
}
