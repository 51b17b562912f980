package io.fermata.bench;

import io.fermata.bench.cluster.ClusterLoad;
import io.fermata.bench.cluster.Timers;
import io.fermata.bench.load.LoadHarness;
import io.fermata.bench.load.Sleepers;
import io.fermata.bench.load.StartUp;
import io.fermata.bench.load.ThreadLoad;
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
      StartUp.class,
      Timers.class,
      WhatIfLoad.class
    })
public final class Bench {
  private Bench() {}

  public static void main(String[] arguments) {
    System.exit(new CommandLine(new Bench()).execute(arguments));
  }
}
