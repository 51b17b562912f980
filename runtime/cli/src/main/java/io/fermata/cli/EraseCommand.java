package io.fermata.cli;

import io.fermata.session.admin.Erased;
import io.fermata.session.admin.Erasure;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Erases the data of a principal, a thread or a run. */
@Command(
    name = "erase",
    description = {
      "Erases everything of a principal, a thread with what it created, or a run.",
      "No server may have the store open. While servers run, one of their operators sends any of",
      "them DELETE /principals/PRINCIPAL or DELETE /runs/FLOW/RUN, and an owner deletes a thread.",
      "A thread that waits for an erased one is not informed: stop or delete it."
    },
    mixinStandardHelpOptions = true,
    sortOptions = false)
final class EraseCommand extends ConsoleCommand {
  @ArgGroup(multiplicity = "1")
  What what = new What();

  /** What is erased. */
  static final class What {
    @Option(
        names = "--principal",
        paramLabel = "PRINCIPAL",
        description = "The owner of the runs and threads.")
    @Nullable String principal;

    @Option(names = "--thread", paramLabel = "ID", description = "The id of a thread.")
    @Nullable String thread;

    @Option(
        names = "--run",
        paramLabel = "FLOW/RUN",
        converter = RunName.Converter.class,
        description = {
          "A flow's id, and the runId that every reply carries.",
          "The earlier runs of the flow in the same session are erased, too."
        })
    @Nullable RunName run;

    Erasure erasure() {
      RunName named = run;
      if (principal != null) {
        return Erasure.principal(principal);
      } else if (named != null) {
        return Erasure.run(named.flow(), named.runId());
      }
      return Erasure.thread(String.valueOf(thread));
    }

    @Override
    public String toString() {
      if (principal != null) {
        return "the principal " + principal;
      }
      return run == null ? "the thread " + thread : "the run " + run;
    }
  }

  @Mixin StoreOption store = new StoreOption();

  @Override
  public Integer call() {
    try (Opened opened = dormant(store.present())) {
      Erased erased = now(opened.host().erase(what.erasure()));
      println(summary(erased));
    }
    return 0;
  }

  private String summary(Erased erased) {
    return erased.nothing()
        ? "The store has nothing of %s; nothing was erased".formatted(what)
        : "Erased %s with %s, %s and %s; nothing is left"
            .formatted(
                Cli.counted(erased.journals(), "journal", "journals"),
                Cli.counted(erased.records(), "record", "records"),
                Cli.counted(erased.snapshots(), "snapshot", "snapshots"),
                Cli.counted(erased.entries(), "directory entry", "directory entries"));
  }
}
