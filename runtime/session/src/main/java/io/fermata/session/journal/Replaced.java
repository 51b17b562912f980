package io.fermata.session.journal;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.SecretFields;
import io.fermata.flow.event.RunState;
import io.fermata.flow.json.Json;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * An unfinished run that a start has ended, until the caller of that start has its reply.
 *
 * @param answers the answers that the run had, by field, as the client gave them
 */
public record Replaced(String runId, ObjectNode answers) {

  /** The run that ends in this state; null if its entries are no longer in the journal. */
  public static @Nullable Replaced of(Object program) {
    if (!(program instanceof RunState run) || !run.running()) {
      return null;
    }
    return new Replaced(run.runId(), Json.object().setAll(run.answers()));
  }

  /** What a client should know of it. The values of secret fields are left out. */
  public String hint(SecretFields secrets) {
    ObjectNode shown = Json.object();
    List<String> hidden = new ArrayList<>();
    for (Map.Entry<String, JsonNode> answer : answers.properties()) {
      JsonNode masked = secrets.masked(answer.getKey(), answer.getValue());
      if (masked.equals(answer.getValue())) {
        shown.set(answer.getKey(), masked);
      } else {
        hidden.add(answer.getKey());
      }
    }
    String ended = "This start ended an unfinished run of the same session.";
    String values = shown.isEmpty() ? "" : " It had these answers: " + shown + ".";
    String unseen =
        hidden.isEmpty()
            ? ""
            : " It had secret answers to " + String.join(", ", hidden) + ", not repeated here.";
    return values.isEmpty() && unseen.isEmpty()
        ? ended
        : ended
            + values
            + unseen
            + " Unless the user wanted to start over, send them again in stateUpdates.";
  }
}
