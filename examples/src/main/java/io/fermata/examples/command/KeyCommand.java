package io.fermata.examples.command;

import io.fermata.session.admin.DataKeys;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Generates an encryption key for a host. */
@Command(
    name = "key",
    description = {
      "Prints a new random encryption key in the form of FERMATA_KEYS.",
      "To rotate, put the new key before the old ones, separated by commas:",
      "the first encrypts, all of them decrypt."
    },
    mixinStandardHelpOptions = true)
final class KeyCommand implements Callable<Integer> {
  @Spec @Nullable CommandSpec command;

  @Parameters(
      paramLabel = "ID",
      arity = "0..1",
      defaultValue = "k1",
      description = "The key's id; ${DEFAULT-VALUE} by default.")
  String id = "";

  @Override
  public Integer call() {
    if (command == null) {
      throw new IllegalStateException("The command is run by picocli only");
    }
    try {
      command.commandLine().getOut().println(DataKeys.generate(id));
      command.commandLine().getOut().flush();
    } catch (IllegalArgumentException e) {
      throw new ParameterException(command.commandLine(), e.getMessage(), e);
    }
    return 0;
  }
}
