package io.fermata.cli;

import io.fermata.session.admin.DataKeys;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** Generates an encryption key for a host. */
@Command(
    name = "key",
    description = {
      "Prints a new random encryption key in the form of FERMATA_KEYS.",
      "To rotate, put the new key before the old ones, separated by commas:",
      "the first encrypts, all of them decrypt."
    },
    mixinStandardHelpOptions = true)
final class KeyCommand extends ConsoleCommand {
  @Parameters(
      paramLabel = "ID",
      arity = "0..1",
      defaultValue = "k1",
      description = "The key's id; ${DEFAULT-VALUE} by default.")
  String id = "";

  @Override
  boolean needsApplication() {
    return false;
  }

  @Override
  public Integer call() {
    try {
      println(DataKeys.generate(id));
    } catch (IllegalArgumentException e) {
      throw wrong(e);
    }
    return 0;
  }
}
