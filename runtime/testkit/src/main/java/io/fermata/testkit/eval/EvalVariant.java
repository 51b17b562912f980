package io.fermata.testkit.eval;

import io.fermata.agent.Agent;
import io.fermata.agent.Offered;
import io.fermata.agent.Prompt;
import io.fermata.agent.model.Model;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * What is tried: another model, another text of a prompt or of a tool. Immutable; each option
 * returns a copy.
 *
 * <pre>{@code
 * EvalVariant shorter = EvalVariant.named("shorter")
 *     .text("support", "You are the support desk of a bookshop. Be brief.")
 *     .toolText("find_order", "Finds an order by its number.");
 * }</pre>
 */
public final class EvalVariant {
  private final String name;
  private final @Nullable Model model;
  private final Map<String, String> texts;
  private final Map<String, String> toolTexts;
  private final UnaryOperator<Agent> change;

  private EvalVariant(
      String name,
      @Nullable Model model,
      Map<String, String> texts,
      Map<String, String> toolTexts,
      UnaryOperator<Agent> change) {
    this.name = name;
    this.model = model;
    this.texts = Map.copyOf(texts);
    this.toolTexts = Map.copyOf(toolTexts);
    this.change = change;
  }

  /** The agents as they are. */
  public static EvalVariant named(String name) {
    return new EvalVariant(name, null, Map.of(), Map.of(), agent -> agent);
  }

  /** Every prompt asks this model. */
  public EvalVariant model(Model other) {
    return new EvalVariant(name, other, texts, toolTexts, change);
  }

  /** The instructions of a prompt. */
  public EvalVariant text(String prompt, String instructions) {
    return new EvalVariant(name, model, with(texts, prompt, instructions), toolTexts, change);
  }

  /** The description of what a prompt offers under a name: a tool, a flow, another agent. */
  public EvalVariant toolText(String tool, String description) {
    return new EvalVariant(name, model, texts, with(toolTexts, tool, description), change);
  }

  /** Any other change of an agent, which keeps its name; it is made first. */
  public EvalVariant change(UnaryOperator<Agent> other) {
    return new EvalVariant(
        name, model, texts, toolTexts, agent -> other.apply(change.apply(agent)));
  }

  private static Map<String, String> with(Map<String, String> map, String key, String value) {
    Map<String, String> all = new LinkedHashMap<>(map);
    all.put(key, value);
    return all;
  }

  public String name() {
    return name;
  }

  @Nullable Model model() {
    return model;
  }

  /**
   * The agents of this variant.
   *
   * @throws IllegalArgumentException if it changes a prompt or a tool that there is not
   */
  List<Agent> of(List<Agent> agents) {
    Set<String> prompts = new HashSet<>();
    Set<String> tools = new HashSet<>();
    List<Agent> changed =
        agents.stream()
            .map(
                agent ->
                    change
                        .apply(agent)
                        .withPrompts(
                            prompt -> {
                              prompts.add(prompt.name());
                              prompt.tools().forEach(tool -> tools.add(tool.name()));
                              return of(prompt);
                            }))
            .toList();
    require("prompt", texts.keySet(), prompts);
    require("tool", toolTexts.keySet(), tools);
    return changed;
  }

  private Prompt of(Prompt prompt) {
    Prompt asking = model == null ? prompt : prompt.withModel(model);
    String text = texts.get(prompt.name());
    Prompt instructed = text == null ? asking : asking.withText(text);
    return instructed.withTools(this::described);
  }

  private Offered described(Offered tool) {
    String text = toolTexts.get(tool.name());
    return text == null ? tool : tool.withDescription(text);
  }

  private void require(String what, Set<String> changed, Set<String> known) {
    for (String each : changed) {
      if (!known.contains(each)) {
        throw new IllegalArgumentException(
            "The variant %s changes the %s %s, which no agent has; there are %s"
                .formatted(name, what, each, String.join(", ", new TreeSet<>(known))));
      }
    }
  }
}
