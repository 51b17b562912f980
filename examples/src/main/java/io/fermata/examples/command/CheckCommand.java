package io.fermata.examples.command;

import io.fermata.examples.flows.DeskOptions;
import io.fermata.examples.flows.Examples;
import io.fermata.examples.flows.Restaurant;
import io.fermata.examples.flows.SupportDesk;
import io.fermata.examples.flows.TravelAgency;
import io.fermata.flow.Flow;
import io.fermata.session.Rollout;
import java.util.ArrayList;
import java.util.List;
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
    try (Restaurant restaurant = Restaurant.open()) {
      List<Flow<?>> flows = new ArrayList<>(Examples.flows(restaurant, new TravelAgency()));
      SupportDesk desk = DeskOptions.scripted();
      Rollout rollout =
          Rollout.check(
              store.present(), desk.agents(), flows.toArray(length -> new Flow<?>[length]));
      print(rollout.text());
      return rollout.complete() ? 0 : Commands.RUNS_STRANDED;
    }
  }

  @Override
  String whileServed() {
    return copied("check");
  }
}
