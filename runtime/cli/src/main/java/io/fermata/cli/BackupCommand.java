package io.fermata.cli;

import java.nio.file.Path;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

/** Copies a store's file while a server has it open. */
@Command(
    name = "backup",
    description = {
      "Copies the store's file as it is now, while a server may have it open.",
      "To restore, stop the server and start it with --store sqlite:<copy>."
    },
    mixinStandardHelpOptions = true,
    sortOptions = false)
final class BackupCommand extends ConsoleCommand {
  @Parameters(paramLabel = "FILE", description = "The copy; it must not exist yet.")
  Path file = Path.of("");

  @Mixin StoreOption store = new StoreOption();

  @Override
  boolean needsApplication() {
    return false;
  }

  @Override
  public Integer call() {
    store.presentWithoutKeys().backup(file);
    println("The store is copied to " + file);
    return 0;
  }
}
