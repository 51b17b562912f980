package io.fermata.testkit.eval;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.RequestedCall;
import io.fermata.agent.message.ToolResult;
import io.fermata.flow.json.Json;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The results that the calls of a recorded thread had. A call that is made again gets its results
 * in their order, the last of them from then on.
 */
final class RecordedResults {
  private final List<Ended> rest;
  private final List<Ended> used = new ArrayList<>();

  /** A call that has ended. */
  record Ended(RequestedCall call, Message result) {
    private boolean is(String tool, JsonNode arguments) {
      return call.name().equals(tool) && Json.same(arguments(call), arguments);
    }

    private ToolResult toolResult() {
      String text = String.valueOf(result.content());
      JsonNode details = result.metadata();
      JsonNode code = details == null ? null : details.get("code");
      JsonNode data = details == null ? null : details.get("data");
      return new ToolResult(
          result.failed(),
          result.failed() && text.startsWith(ToolResult.FAILED)
              ? text.substring(ToolResult.FAILED.length())
              : text,
          code == null ? null : code.asText(),
          data,
          List.of());
    }
  }

  /** What a model sent as arguments; a text if it is not JSON. */
  static JsonNode arguments(RequestedCall call) {
    String text = call.function().arguments();
    try {
      return text.isBlank() ? Json.object() : Json.parse(text);
    } catch (IllegalArgumentException e) {
      return Json.tree(text);
    }
  }

  /**
   * @param before those that had ended before the trial begins
   * @param after those that ended later, which come first
   */
  RecordedResults(List<Ended> before, List<Ended> after) {
    used.addAll(before);
    rest = new ArrayList<>(after);
  }

  /** The next result of a call; null if the recording has no such call. */
  synchronized @Nullable ToolResult next(String tool, JsonNode arguments) {
    for (int i = 0; i < rest.size(); i++) {
      if (rest.get(i).is(tool, arguments)) {
        Ended next = rest.remove(i);
        used.add(next);
        return next.toolResult();
      }
    }
    for (int i = used.size() - 1; i >= 0; i--) {
      if (used.get(i).is(tool, arguments)) {
        return used.get(i).toolResult();
      }
    }
    return null;
  }
}
