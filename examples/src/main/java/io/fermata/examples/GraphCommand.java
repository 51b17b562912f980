package io.fermata.examples;

import io.fermata.flow.Flow;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Draws a flow. */
@Command(
    name = "graph",
    description = "Prints a picture of a flow: a Mermaid flowchart, or an SVG image.",
    mixinStandardHelpOptions = true)
final class GraphCommand implements Callable<Integer> {
  @Spec @Nullable CommandSpec command;

  @Parameters(paramLabel = "FLOW", description = "The flow's id: quote or table.")
  String id = "";

  @Option(names = "--svg", description = "An SVG image instead of a Mermaid flowchart.")
  boolean svg;

  @Override
  public Integer call() {
    try (Restaurant restaurant = Restaurant.open()) {
      List<Flow<?>> flows = Examples.flows(restaurant);
      Flow<?> flow =
          flows.stream()
              .filter(f -> f.id().equals(id))
              .findFirst()
              .orElseThrow(() -> new ParameterException(commandLine(), unknown(flows)));
      commandLine().getOut().print(svg ? flow.picture().svg() : flow.picture().mermaid());
      commandLine().getOut().flush();
    }
    return 0;
  }

  private String unknown(List<Flow<?>> flows) {
    String known = flows.stream().map(Flow::id).collect(Collectors.joining(", "));
    return "There is no flow " + id + "; choose one of " + known;
  }

  private CommandLine commandLine() {
    if (command == null) {
      throw new IllegalStateException("The command is run by picocli only");
    }
    return command.commandLine();
  }
}
