package io.fermata.testkit.eval;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.model.Usage;
import io.fermata.flow.json.Json;
import java.math.BigDecimal;
import java.math.MathContext;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;

/** The outcome of an evaluation: for people as a table, for programs as JSON. */
public record EvalReport(List<EvalTrial> trials) {
  private static final String ALL = "all cases";
  private static final MathContext DIGITS = new MathContext(3);

  public EvalReport {
    trials = List.copyOf(trials);
  }

  /** Both reports in one, as when several flows are tried with the same models. */
  public EvalReport plus(EvalReport more) {
    List<EvalTrial> all = new ArrayList<>(trials);
    all.addAll(more.trials);
    return new EvalReport(all);
  }

  /** The share of the trials that passed, from 0 to 1. */
  public double passRate() {
    return passRate(trials);
  }

  /**
   * The share of the trials of a variant that passed, from 0 to 1.
   *
   * @throws IllegalArgumentException if there is no such variant
   */
  public double passRate(String variant) {
    List<EvalTrial> own = byVariant().get(variant);
    if (own == null) {
      throw new IllegalArgumentException(
          "There is no variant %s; there are %s"
              .formatted(variant, String.join(", ", byVariant().keySet())));
    }
    return passRate(own);
  }

  private static double passRate(List<EvalTrial> some) {
    return some.isEmpty()
        ? 0
        : (double) some.stream().filter(EvalTrial::passed).count() / some.size();
  }

  /**
   * Fails a test.
   *
   * @throws AssertionError with the table, if a variant passed less often
   */
  public EvalReport requirePassRate(double least) {
    if (!(least >= 0 && least <= 1)) {
      throw new IllegalArgumentException("A pass rate is from 0 to 1, not " + least);
    }
    for (String variant : byVariant().keySet()) {
      if (passRate(variant) < least) {
        throw new AssertionError(
            "%s passed %s of its trials, and %s is required%n%s"
                .formatted(variant, percent(passRate(variant)), percent(least), table()));
      }
    }
    return this;
  }

  private Map<String, List<EvalTrial>> byVariant() {
    return grouped(trials, EvalTrial::variant);
  }

  private static Map<String, List<EvalTrial>> grouped(
      List<EvalTrial> some, Function<EvalTrial, String> by) {
    return some.stream()
        .collect(Collectors.groupingBy(by, LinkedHashMap::new, Collectors.toList()));
  }

  // --- text ------------------------------------------------------------------------------------

  /**
   * A line for each case and variant, and one for each variant: how many trials passed, and what
   * one trial took on average. Below it, why the others did not.
   */
  public String table() {
    List<List<String>> rows = new ArrayList<>();
    rows.add(List.of("case", "variant", "passed", "calls", "steps", "tokens", "cost"));
    grouped(trials, EvalTrial::name)
        .forEach(
            (name, own) ->
                grouped(own, EvalTrial::variant)
                    .forEach((variant, some) -> rows.add(row(name, variant, some))));
    byVariant().forEach((variant, some) -> rows.add(row(ALL, variant, some)));
    StringBuilder text = new StringBuilder();
    rows.forEach(row -> text.append(aligned(row, rows)).append('\n'));
    Usage judging = sum(trials, EvalTrial::judging);
    if (!judging.equals(Usage.ZERO)) {
      text.append("The judges used ").append(tokens(judging)).append(" tokens and $");
      text.append(judging.cost().toPlainString()).append(" in all.\n");
    }
    for (EvalTrial trial : trials) {
      if (!trial.passed()) {
        text.append(
            "%s, %s, trial %s %s: %s%n"
                .formatted(
                    trial.name(),
                    trial.variant(),
                    trial.number(),
                    name(trial.outcome()),
                    trial.reason()));
      }
    }
    return text.toString();
  }

  private static List<String> row(String name, String variant, List<EvalTrial> some) {
    Usage usage = sum(some, EvalTrial::usage);
    BigDecimal cost = usage.cost().divide(BigDecimal.valueOf(some.size()), DIGITS);
    long passed = some.stream().filter(EvalTrial::passed).count();
    return List.of(
        name,
        variant,
        "%s/%s %s".formatted(passed, some.size(), percent(passRate(some))),
        mean(some, EvalTrial::calls),
        mean(some, EvalTrial::steps),
        mean(some, trial -> trial.usage().inputTokens() + trial.usage().outputTokens()),
        "$" + cost.stripTrailingZeros().toPlainString());
  }

  private static String aligned(List<String> row, List<List<String>> rows) {
    StringBuilder line = new StringBuilder();
    for (int column = 0; column < row.size(); column++) {
      int at = column;
      int width = rows.stream().mapToInt(each -> each.get(at).length()).max().orElse(0);
      boolean left = column < 2;
      line.append(("%" + (left ? "-" : "") + width + "s").formatted(row.get(column)));
      line.append(column + 1 < row.size() ? "  " : "");
    }
    return line.toString().stripTrailing();
  }

  private static String percent(double share) {
    return Math.round(share * 100) + "%";
  }

  private static String mean(List<EvalTrial> some, Function<EvalTrial, Number> of) {
    double mean = some.stream().mapToLong(t -> of.apply(t).longValue()).average().orElse(0);
    return mean == Math.rint(mean)
        ? String.valueOf((long) mean)
        : String.format(Locale.ROOT, "%.1f", mean);
  }

  private static String tokens(Usage usage) {
    return String.valueOf(usage.inputTokens() + usage.outputTokens());
  }

  private static Usage sum(List<EvalTrial> some, Function<EvalTrial, Usage> of) {
    return some.stream().map(of).reduce(Usage.ZERO, Usage::plus);
  }

  private static String name(EvalTrial.Outcome outcome) {
    return outcome.name().toLowerCase(Locale.ROOT);
  }

  // --- JSON ------------------------------------------------------------------------------------

  /** Every trial, and the pass rate of every variant. */
  public ObjectNode json() {
    ObjectNode json = Json.object();
    ArrayNode variants = json.putArray("variants");
    byVariant()
        .forEach(
            (variant, some) -> {
              ObjectNode each = variants.addObject().put("variant", variant);
              each.put("trials", some.size()).put("passRate", passRate(some));
              each.set("usage", Json.tree(sum(some, EvalTrial::usage)));
              each.set("judging", Json.tree(sum(some, EvalTrial::judging)));
            });
    json.set("trials", Json.tree(trials));
    return json;
  }
}
