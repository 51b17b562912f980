package io.fermata.session.call;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Texts;
import java.util.Map;
import java.util.regex.Pattern;

/** What a person reads before deciding about a call that a model chose. Pure. */
public final class ApprovalText {
  /** How much of each argument of a call is shown. */
  private static final int MAX_VALUE = 500;

  /** Names that are shown without quotes. */
  private static final Pattern PLAIN = Pattern.compile("[\\p{L}\\p{Nd}_-]+");

  private ApprovalText() {}

  /**
   * The question, the tool, and each argument on a line of its own.
   *
   * @param question has {@code question} and {@code arguments}
   */
  public static String of(String tool, JsonNode question) {
    StringBuilder text = new StringBuilder(question.path("question").asText());
    text.append('\n').append(tool);
    for (Map.Entry<String, JsonNode> argument : question.path("arguments").properties()) {
      text.append('\n').append(name(shortened(argument.getKey()))).append(": ");
      text.append(Texts.visible(shortened(Json.text(argument.getValue()))));
    }
    return text.toString();
  }

  /** A model chooses the names: quoted, none can look like another argument. */
  private static String name(String argument) {
    return PLAIN.matcher(argument).matches()
        ? argument
        : Texts.visible(Json.text(Json.tree(argument)));
  }

  /** Each is shortened by itself, so that a long one does not hide the others. */
  private static String shortened(String text) {
    String shown = Texts.shortened(text, MAX_VALUE);
    int more = text.length() - shown.length() + "…".length();
    return text.length() <= MAX_VALUE ? shown : shown + " (" + more + " characters more)";
  }
}
