package io.fermata.examples.flows;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.model.chat.request.ChatRequest;
import io.fermata.agent.model.Model;
import io.fermata.flow.json.Json;
import io.fermata.testkit.ScriptedModel;
import io.fermata.testkit.Turn;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Stands in for a model that drives a flow by its tool as the tool's text says. It decides from the
 * request alone, and understands what the scripted users of {@link FlowToolEvaluation} say.
 */
public final class ScriptedDriver {
  private static final Map<String, Pattern> FACTS = facts();

  private ScriptedDriver() {}

  private static Map<String, Pattern> facts() {
    Map<String, Pattern> facts = new LinkedHashMap<>();
    facts.put("name", Pattern.compile("I am (\\p{Lu}\\w+ \\p{Lu}\\w+)"));
    facts.put("email", Pattern.compile("([\\w.]+@[\\w-]+(?:\\.\\w+)+)"));
    facts.put("seats", Pattern.compile("(\\d+) seats"));
    facts.put("companySize", Pattern.compile("(51\\+|11-50|1-10)"));
    facts.put("selectedPlan", Pattern.compile("(silver|gold|platinum) plan"));
    facts.put("phone", Pattern.compile("(\\+[\\d ]+\\d)"));
    facts.put("time", Pattern.compile("(\\d{1,2}:\\d{2})"));
    return facts;
  }

  public static Model model() {
    return ScriptedModel.script()
        .remember(1)
        .otherwise()
        .answer(ScriptedDriver::turn)
        .model("scripted");
  }

  static Turn turn(ChatRequest request) {
    List<ChatMessage> messages = request.messages();
    ChatMessage last = ScriptedModel.last(request);
    String tool = request.toolSpecifications().get(0).name();
    if (last instanceof ToolExecutionResultMessage result) {
      return result.toolName().equals(tool)
          ? relayed(Json.parse(result.text()))
          : Turn.say("Which of these plans do you choose?");
    }
    return next(
        tool,
        last instanceof UserMessage user ? ScriptedModel.text(user) : "",
        latest(messages, tool));
  }

  // --- what the flow says ----------------------------------------------------------------------

  private static Turn relayed(JsonNode result) {
    return switch (result.path("status").asText()) {
      case "interrupt" -> Turn.say(String.join(" ", questions(result)));
      case "widget" -> {
        ObjectNode data = Json.object();
        data.setAll((ObjectNode) result.path("data"));
        data.set("sessionId", result.path("sessionId"));
        yield Turn.call(result.path("tool").asText(), data);
      }
      case "complete" ->
          Turn.say(result.has("cancelled") ? "It is cancelled." : "Done: " + result.get("result"));
      case "error" ->
          Turn.say("That went wrong: " + result.path("error").asText() + " Shall I try again?");
      default -> Turn.say(result.path("description").asText());
    };
  }

  private static List<String> questions(JsonNode result) {
    List<String> questions = new ArrayList<>();
    if (result.has("question")) {
      questions.add(result.path("question").asText());
    }
    result.path("questions").forEach(each -> questions.add(each.path("question").asText()));
    return questions;
  }

  /** What the flow said last; null if it was not called yet. */
  private static @Nullable JsonNode latest(List<ChatMessage> messages, String tool) {
    JsonNode latest = null;
    for (ChatMessage message : messages) {
      if (message instanceof ToolExecutionResultMessage result && result.toolName().equals(tool)) {
        latest = Json.parse(result.text());
      }
    }
    return latest;
  }

  /** The handle of the run that the flow was called for last. */
  static String handle(ChatRequest request) {
    JsonNode run = latest(request.messages(), request.toolSpecifications().get(0).name());
    return run == null ? "" : run.path("sessionId").asText();
  }

  // --- what the user says ----------------------------------------------------------------------

  private static Turn next(String tool, String said, @Nullable JsonNode run) {
    Map<String, Object> facts = new LinkedHashMap<>();
    FACTS.forEach(
        (field, pattern) -> {
          Matcher fact = pattern.matcher(said);
          if (fact.find()) {
            boolean number = field.equals("seats");
            facts.put(field, number ? Integer.valueOf(fact.group(1)) : fact.group(1));
          }
        });
    if (run == null || run.path("status").asText().equals("complete")) {
      return Turn.call(tool, Map.of("action", "start", "intent", said, "stateUpdates", facts));
    } else if (said.contains("Forget it")) {
      return Turn.call(tool, call(run, "cancel", Map.of()));
    }
    List<String> open = new ArrayList<>(run.findValuesAsText("field"));
    Map<String, Object> answers = new LinkedHashMap<>(facts);
    answers.keySet().retainAll(open);
    facts.keySet().removeAll(open);
    Turn answered = Turn.call(tool, call(run, "continue", answers));
    if (facts.isEmpty()) {
      return answered;
    }
    ObjectNode corrected = call(run, "reset", facts);
    return answers.isEmpty() ? Turn.call(tool, corrected) : answered.andCall(tool, corrected);
  }

  private static ObjectNode call(JsonNode run, String action, Map<String, Object> updates) {
    ObjectNode arguments = Json.object().put("action", action);
    arguments.set("sessionId", run.path("sessionId"));
    if (!updates.isEmpty()) {
      arguments.set("stateUpdates", Json.tree(updates));
    }
    return arguments;
  }
}
