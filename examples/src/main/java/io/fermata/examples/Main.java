package io.fermata.examples;

import io.fermata.cli.Cli;
import io.fermata.examples.flows.Examples;

/** The entry point of the examples. */
public final class Main {
  private Main() {}

  /** The command line of the examples. */
  public static Cli cli() {
    return Cli.of("fermata-examples", new Examples())
        .description("Example flows and agents, served as MCP tools and over HTTP.")
        .command(new EvaluateCommand());
  }

  public static void main(String[] arguments) {
    System.exit(cli().run(arguments));
  }
}
