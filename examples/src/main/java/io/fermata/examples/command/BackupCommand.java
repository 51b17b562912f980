package io.fermata.examples.command;

import java.nio.file.Path;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Copies a store's file while a server has it open. */
@Command(
    name = "backup",
    description = {
      "Copies the store's file as it is now, while a server may have it open.",
      "To restore, stop the server and start it with --store sqlite:<copy>."
    },
    mixinStandardHelpOptions = true,
    sortOptions = false)
final class BackupCommand implements Callable<Integer> {
  @Spec @Nullable CommandSpec command;

  @Parameters(paramLabel = "FILE", description = "The copy; it must not exist yet.")
  Path file = Path.of("");

  @Mixin StoreOption store = new StoreOption();

  @Override
  public Integer call() {
    store.presentWithoutKeys().backup(file);
    if (command != null) {
      command.commandLine().getOut().println("The store is copied to " + file);
      command.commandLine().getOut().flush();
    }
    return 0;
  }
}
