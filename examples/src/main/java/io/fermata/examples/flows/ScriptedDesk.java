package io.fermata.examples.flows;

import static io.fermata.testkit.ScriptedModel.last;
import static io.fermata.testkit.ScriptedModel.lastIsResultOf;
import static io.fermata.testkit.ScriptedModel.lastUserContains;
import static io.fermata.testkit.ScriptedModel.systemContains;

import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.model.chat.request.ChatRequest;
import io.fermata.agent.model.Model;
import io.fermata.testkit.ScriptedModel;
import io.fermata.testkit.Turn;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Stands in for a model at the support desk, without a network. It decides from the request alone,
 * so it continues after a restart as if nothing had happened.
 */
final class ScriptedDesk {
  private static final Pattern ORDER = Pattern.compile("\\b[A-Z]-\\d{3,}\\b");
  private static final String FAILED = "Failed to execute tool: ";

  private ScriptedDesk() {}

  static Model model() {
    ScriptedModel model = ScriptedModel.script().remember(1);
    model.when(systemContains("You sum up")).answer(request -> say(summary(request)));
    model.when(systemContains("Summarize the conversation")).answer(r -> say("They talked."));
    billing(model);
    desk(model);
    return model.model("scripted");
  }

  private static void desk(ScriptedModel model) {
    model
        .when(lastIsResultOf("look_up_order"))
        .answer(request -> wantsRefund(request) ? refund(request) : say(describe(request)));
    model.when(lastIsResultOf("refund")).answer(request -> say(refunded(request)));
    model
        .when(lastIsResultOf("summary"))
        .answer(request -> Turn.call("billing", Map.of("message", result(request))));
    model
        .when(lastUserContains("invoice"))
        .call("summary", Map.of("message", "Sum up what billing has to know"));
    model
        .when(lastUserSays(ORDER))
        .answer(request -> Turn.call("look_up_order", Map.of("number", order(request))));
    model
        .when(ScriptedDesk::wantsRefund)
        .answer(r -> say("Which order is it? It looks like B-1001."));
    model
        .otherwise()
        .answer(
            r ->
                say(
                    "This is the support desk. I can look up orders, refund them, and find"
                        + " you somebody for invoices."));
  }

  private static void billing(ScriptedModel model) {
    Predicate<ChatRequest> isBilling = systemContains("You are the billing office");
    model
        .when(isBilling.and(lastIsResultOf("send_invoice")))
        .answer(request -> say(describe(request)));
    model
        .when(isBilling.and(lastUserSays(ORDER)))
        .answer(request -> Turn.call("send_invoice", Map.of("order", order(request))));
    model
        .when(isBilling)
        .answer(request -> say("This is billing. Which order's invoice do you need?"));
  }

  private static Turn refund(ChatRequest request) {
    return result(request).startsWith(FAILED)
        ? say(describe(request))
        : Turn.call("refund", Map.of("order", order(request)));
  }

  private static String refunded(ChatRequest request) {
    String result = result(request);
    return result.startsWith(FAILED)
        ? "I could not refund it. " + describe(request)
        : "Your money is on its way: " + result;
  }

  private static String describe(ChatRequest request) {
    String result = result(request);
    return result.startsWith(FAILED) ? result.substring(FAILED.length()) : "Here it is: " + result;
  }

  private static String summary(ChatRequest request) {
    List<String> said = said(request);
    return "The customer said: " + String.join(" / ", said.subList(0, said.size() - 1));
  }

  private static boolean wantsRefund(ChatRequest request) {
    String last = lastSaid(request).toLowerCase(Locale.ROOT);
    return last.contains("refund") || last.contains("money back");
  }

  /** Streams at the pace of a model, a few letters at a time. */
  private static Turn say(String text) {
    return Turn.say(text).every(Duration.ofMillis(10));
  }

  // --- the contents of a request ---------------------------------------------------------------

  private static Predicate<ChatRequest> lastUserSays(Pattern pattern) {
    return request ->
        last(request) instanceof UserMessage && pattern.matcher(lastSaid(request)).find();
  }

  private static String result(ChatRequest request) {
    return last(request) instanceof ToolExecutionResultMessage result ? result.text() : "";
  }

  private static List<String> said(ChatRequest request) {
    return request.messages().stream()
        .filter(UserMessage.class::isInstance)
        .map(ScriptedModel::text)
        .toList();
  }

  private static String lastSaid(ChatRequest request) {
    List<String> said = said(request);
    return said.isEmpty() ? "" : said.get(said.size() - 1);
  }

  /** The order that the customer named last. */
  private static String order(ChatRequest request) {
    String found = "";
    Matcher matcher = ORDER.matcher(lastSaid(request));
    while (matcher.find()) {
      found = matcher.group();
    }
    return found;
  }
}
