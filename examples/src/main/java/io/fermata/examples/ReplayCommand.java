package io.fermata.examples;

import io.fermata.examples.flows.DeskOptions;
import io.fermata.examples.flows.Examples;
import io.fermata.examples.flows.Restaurant;
import io.fermata.examples.flows.TravelAgency;
import io.fermata.flow.Flow;
import io.fermata.flow.replay.Replay;
import io.fermata.flow.replay.RunJournal;
import io.fermata.session.Fermata;
import io.fermata.session.WhatIf;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Decides recorded runs again. */
@Command(
    name = "replay",
    description = {
      "Decides runs again with the flows of this release, without their effects, and shows where",
      "it would decide otherwise. Without a FILE it looks at all runs of the store, finished ones",
      "included as long as they are kept, and no server may have the store open."
    },
    mixinStandardHelpOptions = true,
    sortOptions = false,
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {"0:every run is decided as it was", "8:some run is decided otherwise"})
final class ReplayCommand implements Callable<Integer>, WhileServed {
  @Spec @Nullable CommandSpec command;

  @Parameters(
      paramLabel = "FILE",
      arity = "0..*",
      description = "Exported runs; several may be given.")
  List<Path> files = new ArrayList<>();

  @Mixin StoreOption store = new StoreOption();

  @Override
  public Integer call() throws IOException {
    try (Restaurant restaurant = Restaurant.open()) {
      List<Flow<?>> flows = new ArrayList<>(Examples.flows(restaurant, new TravelAgency()));
      flows.add(DeskOptions.scripted().flow());
      boolean same = files.isEmpty() ? store(flows) : exports(flows);
      return same ? 0 : Main.DECIDED_OTHERWISE;
    }
  }

  private boolean store(List<Flow<?>> flows) {
    WhatIf whatIf = WhatIf.over(store.present(), flows.toArray(length -> new Flow<?>[length]));
    print(whatIf.text());
    return whatIf.otherwise() == 0;
  }

  private boolean exports(List<Flow<?>> flows) throws IOException {
    boolean same = true;
    for (Path file : files) {
      if (!Files.isRegularFile(file)) {
        throw new UsageException("There is no file " + file + "; write one with export");
      }
      RunJournal journal = Fermata.readJournal(file);
      Replay replay = Replay.of(flow(journal, flows), journal);
      String entries = Main.counted(replay.decided(), "entry is", "entries are");
      print(
          replay.divergence() == null
              ? "%s: %s decided as recorded%n".formatted(file, entries)
              : "%s:%n%s%n".formatted(file, replay.divergence()));
      same &= replay.same();
    }
    return same;
  }

  private static Flow<?> flow(RunJournal journal, List<Flow<?>> flows) {
    return flows.stream()
        .filter(flow -> flow.id().equals(journal.flow()))
        .findFirst()
        .orElseThrow(() -> new UsageException("This release has no flow " + journal.flow()));
  }

  private void print(String text) {
    if (command != null) {
      PrintWriter out = command.commandLine().getOut();
      out.print(text);
      out.flush();
    }
  }

  @Override
  public String whileServed() {
    return WhileServed.copied("replay");
  }
}
