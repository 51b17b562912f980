package io.fermata.examples;

import io.fermata.persistence.Store;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Where the sessions live, as the command line, the environment or nobody says. */
final class StoreOption {
  private static final String DEFAULT = "sqlite:fermata.db";

  @Spec(Spec.Target.MIXEE)
  @Nullable CommandSpec command;

  @Option(
      names = "--store",
      paramLabel = "STORE",
      description = {
        "Where sessions live: sqlite:<file>, postgres://<user>@<host>/<database>,",
        "a key-value store (redis://<host>:<port>/<db>, waniwani:<url>), or memory to try",
        "things out. Without it the environment variable FERMATA_STORE, else the WaniWani",
        "account of WANIWANI_API_KEY, else " + DEFAULT + "."
      })
  @Nullable String spec;

  Store store() {
    try {
      return spec != null
          ? Store.parse(spec)
          : Store.fromEnvironment().orElseGet(() -> Store.parse(DEFAULT));
    } catch (IllegalArgumentException e) {
      throw new ParameterException(commandLine(), e.getMessage(), e);
    }
  }

  private CommandLine commandLine() {
    if (command == null) {
      throw new IllegalStateException("The option is read by picocli only");
    }
    return command.commandLine();
  }
}
