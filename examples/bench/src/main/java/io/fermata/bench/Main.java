package io.fermata.bench;

import io.fermata.bench.load.ClusterLoad;
import io.fermata.bench.load.LoadHarness;
import io.fermata.bench.load.Sleepers;
import io.fermata.bench.load.ThreadLoad;
import io.fermata.bench.load.Timers;
import io.fermata.bench.load.WhatIfLoad;
import picocli.CommandLine;
import picocli.CommandLine.Command;

/** The command line of the harnesses. */
@Command(
    name = "bench",
    mixinStandardHelpOptions = true,
    synopsisSubcommandLabel = "COMMAND",
    description = "Measures Fermata on this machine.",
    subcommands = {
      LoadHarness.class,
      ClusterLoad.class,
      ThreadLoad.class,
      Sleepers.class,
      Timers.class,
      WhatIfLoad.class
    })
public final class Main {
  private Main() {}

  public static void main(String[] arguments) {
    System.exit(new CommandLine(new Main()).execute(arguments));
  }
}
