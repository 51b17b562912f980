package io.fermata.testkit;

import io.fermata.agent.Agent;
import io.fermata.agent.replay.ThreadDivergence;
import io.fermata.agent.replay.ThreadJournal;
import io.fermata.agent.replay.ThreadReplay;
import io.fermata.flow.Flow;
import io.fermata.flow.engine.FlowVersions;
import io.fermata.flow.json.Limits;
import io.fermata.flow.replay.Divergence;
import io.fermata.flow.replay.Replay;
import io.fermata.flow.replay.RunJournal;
import io.fermata.session.ExportedJournal;
import io.fermata.session.admin.ArchiveException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;

/**
 * Runs of flows and threads of agents that were exported, as tests: each is decided again by the
 * present code, without its effects.
 *
 * <p>An export that was altered is refused. One that was edited by hand, to replace a person's
 * answers by invented ones, is accepted by running the tests with {@code -Dgolden=write}, and so is
 * what the models of agents are asked now. If other decisions are wanted, record the run again:
 * what people and services would have answered to them is in no journal.
 *
 * <pre>{@code
 * @TestFactory
 * Stream<DynamicTest> recordedRunsAreDecidedAsTheyWere() {
 *   return RecordedRuns.in(Path.of("src/test/resources/runs"), List.of(desk), quote, trip);
 * }
 * }</pre>
 */
public final class RecordedRuns {
  private static final String EXTENSION = ".jsonl";

  private RecordedRuns() {}

  /**
   * A test for each export of a run in a folder, named like its file.
   *
   * @param flows the present code; of several versions of a flow, a run is decided by the one that
   *     it is on, else by the newest
   * @throws AssertionError if there is no export in the folder
   */
  public static Stream<DynamicTest> in(Path folder, Flow<?>... flows) {
    return in(folder, List.of(), flows);
  }

  /**
   * A test for each export in a folder, of a run or of a thread, named like its file.
   *
   * @param agents the present code, with the agents that these refer to
   * @param flows the present code; of several versions of a flow, a run is decided by the one that
   *     it is on, else by the newest
   * @throws AssertionError if there is no export in the folder
   */
  public static Stream<DynamicTest> in(Path folder, Collection<Agent> agents, Flow<?>... flows) {
    return in(folder, Limits.DEFAULT, agents, flows);
  }

  /**
   * A test for each export in a folder, of a run or of a thread, named like its file.
   *
   * @param limits those of the host that ran the runs, if it has others than the usual ones
   * @param agents the present code, with the agents that these refer to
   * @param flows the present code, a flow for each id
   * @throws AssertionError if there is no export in the folder
   */
  public static Stream<DynamicTest> in(
      Path folder, Limits limits, Collection<Agent> agents, Flow<?>... flows) {
    List<Path> exports = exports(folder);
    if (exports.isEmpty()) {
      throw new AssertionError(
          "There is no run in %s; write one with: record %s"
              .formatted(folder, folder.resolve("name" + EXTENSION)));
    }
    return exports.stream()
        .map(
            export ->
                DynamicTest.dynamicTest(
                    export.getFileName().toString(),
                    () -> requireSame(export, limits, agents, flows)));
  }

  private static List<Path> exports(Path folder) {
    try (Stream<Path> files = Files.list(folder)) {
      return files.filter(file -> file.toString().endsWith(EXTENSION)).sorted().toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void requireSame(
      Path export, Limits limits, Collection<Agent> agents, Flow<?>... flows) throws IOException {
    requireSame(export, "write".equals(System.getProperty("golden")), limits, agents, flows);
  }

  static void requireSame(
      Path export, boolean accept, Limits limits, Collection<Agent> agents, Flow<?>... flows)
      throws IOException {
    if (accept) {
      ExportedJournal.acceptEdits(export);
    }
    ExportedJournal exported = journal(export);
    if (accept && exported instanceof ExportedJournal.OfThread thread) {
      requireKnown(export, thread.journal(), agents);
      ExportedJournal.acceptEdits(export, agents, flows);
      exported = journal(export);
    }
    if (exported instanceof ExportedJournal.OfThread thread) {
      requireSame(export, thread.journal(), agents, flows);
    } else if (exported instanceof ExportedJournal.OfRun run) {
      requireSame(export, run.journal(), limits, flows);
    }
  }

  private static void requireSame(
      Path export, ThreadJournal journal, Collection<Agent> agents, Flow<?>... flows) {
    requireKnown(export, journal, agents);
    ThreadReplay replay = ThreadReplay.of(agents, Arrays.asList(flows), journal);
    if (!replay.same()) {
      throw otherwise(export, replay.divergences());
    }
    replay.requireSame();
  }

  private static void requireKnown(Path export, ThreadJournal journal, Collection<Agent> agents) {
    if (agents.stream().noneMatch(agent -> agent.name().equals(journal.agent()))) {
      throw unknown(export, "thread", journal.agent(), agents.stream().map(Agent::name));
    }
  }

  private static void requireSame(
      Path export, RunJournal journal, Limits limits, Flow<?>... flows) {
    Flow<?> flow =
        FlowVersions.deciding(List.of(flows), journal.flow(), journal.state())
            .orElseThrow(
                () -> unknown(export, "run", journal.flow(), Arrays.stream(flows).map(Flow::id)));
    Replay replay = Replay.of(flow, limits, journal);
    Divergence divergence = replay.divergence();
    if (divergence != null) {
      throw otherwise(export, divergence.text());
    }
    replay.requireSame();
  }

  private static ExportedJournal journal(Path export) throws IOException {
    try {
      ExportedJournal exported = ExportedJournal.read(export);
      exported.requireWhole();
      return exported;
    } catch (IllegalStateException e) {
      throw new AssertionError(export + ": " + e.getMessage(), e);
    } catch (ArchiveException e) {
      throw new AssertionError(
          export
              + ": "
              + e.getMessage()
              + ". If it was edited by hand, run this test with -Dgolden=write to accept that",
          e);
    }
  }

  private static AssertionError otherwise(Path export, String divergence) {
    return new AssertionError(divergence + "\nIf that is wanted, record the run again: " + export);
  }

  private static AssertionError otherwise(Path export, List<ThreadDivergence> divergences) {
    String text =
        divergences.stream().map(ThreadDivergence::text).collect(Collectors.joining("\n"));
    return divergences.stream().allMatch(ThreadDivergence::ofRequest)
        ? new AssertionError(
            text + "\nIf that is wanted, run this test with -Dgolden=write to accept it: " + export)
        : otherwise(export, text);
  }

  private static AssertionError unknown(
      Path export, String kind, String name, Stream<String> known) {
    String names = known.collect(Collectors.joining(", "));
    return new AssertionError(
        "%s has a %s of %s, which is %s"
            .formatted(
                export,
                kind,
                name,
                names.isEmpty() ? "not given; name it in the test" : "none of " + names));
  }
}
