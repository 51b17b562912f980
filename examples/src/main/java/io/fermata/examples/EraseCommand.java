package io.fermata.examples;

import io.fermata.session.Erased;
import io.fermata.session.Erasure;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Erases all that a store has of somebody. */
@Command(
    name = "erase",
    description = {
      "Erases all that the store has of a principal, or a thread with all that it began.",
      "No server may have the store open meanwhile; one that runs erases through its own host."
    },
    mixinStandardHelpOptions = true,
    sortOptions = false)
final class EraseCommand implements Callable<Integer> {
  @Spec @Nullable CommandSpec command;

  @ArgGroup(multiplicity = "1")
  What what = new What();

  /** What is erased. */
  static final class What {
    @Option(
        names = "--principal",
        paramLabel = "PRINCIPAL",
        description = "Whose runs and threads.")
    @Nullable String principal;

    @Option(names = "--thread", paramLabel = "ID", description = "The id of a thread.")
    @Nullable String thread;
  }

  @Mixin StoreOption store = new StoreOption();

  @Override
  public Integer call() {
    String principal = what.principal;
    Erasure erasure =
        principal != null
            ? Erasure.principal(principal)
            : Erasure.thread(String.valueOf(what.thread));
    try (Examples examples = Examples.dormant(store.store())) {
      Erased erased = ChatCommand.now(examples.host().erase(erasure));
      if (command != null) {
        command
            .commandLine()
            .getOut()
            .printf(
                "Erased %d journals with %d records, %d snapshots and %d directory entries; nothing is left%n",
                erased.journals(), erased.records(), erased.snapshots(), erased.entries());
        command.commandLine().getOut().flush();
      }
    }
    return 0;
  }
}
