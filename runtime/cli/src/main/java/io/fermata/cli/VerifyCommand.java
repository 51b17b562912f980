package io.fermata.cli;

import io.fermata.persistence.spi.Verified;
import java.io.PrintWriter;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** Checks that a store holds what was written to it. */
@Command(
    name = "verify",
    description = {
      "Reads the whole store, while a server may have it open, and lists what is damaged: entries",
      "that are missing, altered or those of another session, altered snapshots, and broken pages",
      "of a file. Says what could not be read: a key-value store that cannot list its keys shows",
      "only sessions that have work to do. Changes nothing. Restore what is damaged from a backup."
    },
    mixinStandardHelpOptions = true,
    sortOptions = false,
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {"0:nothing that was read is damaged", "6:something is damaged"})
final class VerifyCommand extends ConsoleCommand {
  @Mixin StoreOption store = new StoreOption();

  @Override
  boolean needsApplication() {
    return false;
  }

  @Override
  public Integer call() {
    PrintWriter out = out();
    Verified verified = store.presentWithoutKeys().verify(out::println);
    verified.unread().forEach(unread -> out.println("Not checked: " + unread));
    println(
        "%s with %s: %s"
            .formatted(
                Cli.counted(verified.journals(), "intact journal", "intact journals"),
                Cli.counted(verified.entries(), "entry", "entries"),
                verified.intact()
                    ? "nothing is damaged"
                    : Cli.counted(verified.damages(), "damage", "damages")));
    return verified.intact() ? 0 : Cli.DAMAGED;
  }
}
