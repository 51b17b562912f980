package io.fermata.examples;

import io.fermata.agent.model.Model;
import io.fermata.examples.flows.FlowToolEvaluation;
import io.fermata.examples.flows.ModelOptions;
import io.fermata.examples.flows.ScriptedDriver;
import io.fermata.flow.json.Json;
import io.fermata.testkit.eval.EvalReport;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Measures how well a model drives flows by the text of their tool. */
@Command(
    name = "evaluate",
    description = {
      "Measures how well a model drives flows by the text of their tool: scripted users answer,",
      "correct an answer, give extra facts, ask again, meet a failed step and cancel. Prints how",
      "often the run ended rightly, with how many calls, tokens and dollars. Nothing is stored."
    },
    mixinStandardHelpOptions = true,
    sortOptions = false,
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {"0:it is measured", "10:it passed less often than required"})
final class EvaluateCommand implements Callable<Integer> {
  static final int PASSED_TOO_SELDOM = 10;

  @Spec @Nullable CommandSpec command;

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
    CommandLine line = Objects.requireNonNull(command).commandLine();
    Model driver = driver();
    requirePositive("--repeat", repeat);
    requirePositive("--parallel", parallel);
    if (required != null && !(required >= 0 && required <= 1)) {
      throw wrong("--require is %s; give a share from 0 to 1".formatted(required));
    }
    EvalReport report = FlowToolEvaluation.run(driver, repeat, parallel);
    line.getOut().print(json ? Json.text(report.json()) + "\n" : report.table());
    line.getOut().flush();
    return required != null && report.passRate() < required ? PASSED_TOO_SELDOM : 0;
  }

  private Model driver() {
    try {
      return model.model(ScriptedDriver::model);
    } catch (IllegalArgumentException e) {
      throw wrong(e.getMessage());
    }
  }

  private ParameterException wrong(@Nullable String why) {
    return new ParameterException(Objects.requireNonNull(command).commandLine(), why);
  }

  private void requirePositive(String option, int value) {
    if (value < 1) {
      throw wrong("%s is %s; give at least 1".formatted(option, value));
    }
  }
}
