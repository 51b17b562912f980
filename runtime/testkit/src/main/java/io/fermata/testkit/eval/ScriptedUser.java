package io.fermata.testkit.eval;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A user who follows rules: what to say when the last reply contains something.
 *
 * <pre>{@code
 * EvalUser ann = ScriptedUser.opening("I need a quote for 3 seats.")
 *     .when("name", "I am Ann Lee.")
 *     .when("e-?mail", "It is ann@acme.com.")
 *     .once("how big|size", "51+. And my address was wrong, it is ann@acme.org.")
 *     .otherwise("Please continue.");
 * }</pre>
 *
 * Immutable; each rule returns a copy.
 */
public final class ScriptedUser implements EvalUser {
  private final String opening;
  private final List<Rule> rules;
  private final @Nullable String otherwise;

  private record Rule(Pattern pattern, String answer, boolean once) {
    boolean applies(String reply, EvalRun soFar) {
      return pattern.matcher(reply).find()
          && !(once && soFar.asked().stream().anyMatch(said -> said.contains(answer)));
    }
  }

  private ScriptedUser(String opening, List<Rule> rules, @Nullable String otherwise) {
    this.opening = opening;
    this.rules = List.copyOf(rules);
    this.otherwise = otherwise;
  }

  /** A user who opens the conversation with this. */
  public static ScriptedUser opening(String message) {
    return new ScriptedUser(message, List.of(), null);
  }

  /**
   * Says this whenever the last reply contains the pattern, in any case. The answers of all rules
   * that apply are one message.
   */
  public ScriptedUser when(String pattern, String answer) {
    return with(pattern, answer, false);
  }

  /** Says this the first time that a reply contains the pattern, and nothing else then. */
  public ScriptedUser once(String pattern, String answer) {
    return with(pattern, answer, true);
  }

  private ScriptedUser with(String pattern, String answer, boolean once) {
    List<Rule> all = new ArrayList<>(rules);
    all.add(new Rule(Pattern.compile(pattern, Pattern.CASE_INSENSITIVE), answer, once));
    return new ScriptedUser(opening, all, otherwise);
  }

  /**
   * Says this to other replies, but never twice in a row; without it, they end the conversation.
   */
  public ScriptedUser otherwise(String answer) {
    return new ScriptedUser(opening, rules, answer);
  }

  @Override
  public @Nullable String next(EvalRun soFar) {
    List<String> asked = soFar.asked();
    if (asked.isEmpty()) {
      return opening;
    }
    String reply = soFar.reply();
    Set<String> answers = new LinkedHashSet<>();
    for (Rule rule : rules) {
      if (rule.applies(reply, soFar)) {
        if (rule.once()) {
          return rule.answer();
        }
        answers.add(rule.answer());
      }
    }
    boolean repeated = asked.get(asked.size() - 1).equals(otherwise);
    return !answers.isEmpty() ? String.join(" ", answers) : repeated ? null : otherwise;
  }
}
