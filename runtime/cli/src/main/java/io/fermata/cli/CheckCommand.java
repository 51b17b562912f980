package io.fermata.cli;

import io.fermata.persistence.Store;
import io.fermata.session.Rollout;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** Checks whether the runs and threads of a store can continue with this release. */
@Command(
    name = "check",
    description = {
      "Lists the runs of a store that this release would migrate to a newer version of their flow,",
      "and the runs and threads that it could not continue, with the reason. Changes nothing. What",
      "it would decide otherwise in runs that it could continue, or that have ended, says replay.",
      "No server may have the store open, but those of a cluster may."
    },
    mixinStandardHelpOptions = true,
    sortOptions = false,
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {"0:everything can continue", "5:some run or thread cannot"})
final class CheckCommand extends ConsoleCommand {
  @Mixin StoreOption store = new StoreOption();

  @Override
  public Integer call() {
    Store present = store.present();
    try (Looked release = looked()) {
      Rollout rollout = explained(() -> Rollout.check(release.host().store(present)));
      print(rollout.text());
      return rollout.complete() ? 0 : Cli.STRANDED;
    }
  }

  @Override
  @Nullable String whileServed() {
    return store.copied("check");
  }
}
