package io.fermata.examples.command;

import io.fermata.agent.model.Model;
import io.fermata.examples.flows.FlowToolEvaluation;
import io.fermata.examples.flows.ModelOptions;
import io.fermata.examples.flows.ScriptedDriver;
import io.fermata.flow.json.Json;
import io.fermata.testkit.eval.EvalReport;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Measures how well a model drives flows by the text of their tool. */
@Command(
    name = "evaluate",
    description = {
      "Measures how well a model drives flows by the text of their tool: scripted users answer,",
      "correct an answer, give extra facts, ask again, meet a failed step and cancel. Prints how",
      "often the run ended rightly, with how many calls, tokens and dollars. Nothing is stored."
    },
    mixinStandardHelpOptions = true,
    sortOptions = false)
final class EvaluateCommand extends ConsoleCommand {
  @Mixin ModelOptions model = new ModelOptions();

  @Option(
      names = "--repeat",
      paramLabel = "TIMES",
      defaultValue = "1",
      description = "How often each conversation is held; ${DEFAULT-VALUE} by default.")
  int repeat = 1;

  @Option(
      names = "--parallel",
      paramLabel = "CONVERSATIONS",
      defaultValue = "1",
      description = "How many conversations are held at once; ${DEFAULT-VALUE} by default.")
  int parallel = 1;

  @Option(
      names = "--require",
      paramLabel = "SHARE",
      description = "Exits with 10 if a smaller share of the conversations passes, such as 0.9.")
  @Nullable Double required;

  @Option(names = "--json", description = "Prints one JSON object instead of a table.")
  boolean json;

  @Override
  public Integer call() {
    Model driver = model.model(ScriptedDriver::model);
    requirePositive("--repeat", repeat);
    requirePositive("--parallel", parallel);
    if (required != null && !(required >= 0 && required <= 1)) {
      throw wrong("--require is %s; give a share from 0 to 1".formatted(required));
    }
    EvalReport report = FlowToolEvaluation.run(driver, repeat, parallel);
    print(json ? Json.text(report.json()) + "\n" : report.table());
    return required != null && report.passRate() < required ? Commands.PASSED_TOO_SELDOM : 0;
  }

  private void requirePositive(String option, int value) {
    if (value < 1) {
      throw wrong("%s is %d; give at least 1".formatted(option, value));
    }
  }
}
