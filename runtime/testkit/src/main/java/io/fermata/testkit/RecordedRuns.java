package io.fermata.testkit;

import io.fermata.flow.Flow;
import io.fermata.flow.replay.Replay;
import io.fermata.flow.replay.RunJournal;
import io.fermata.session.Fermata;
import io.fermata.session.admin.ArchiveException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;

/**
 * Runs that were exported, as tests: each is decided again by the present code of its flow, without
 * its effects.
 *
 * <p>An export that was altered is refused. One that was edited by hand, to replace a person's
 * answers by invented ones, is accepted by running the tests with {@code -Dgolden=write}. If other
 * decisions are wanted, record the run again: what people and services would have answered to them
 * is in no journal.
 *
 * <pre>{@code
 * @TestFactory
 * Stream<DynamicTest> recordedRunsAreDecidedAsTheyWere() {
 *   return RecordedRuns.in(Path.of("src/test/resources/runs"), quote, trip);
 * }
 * }</pre>
 */
public final class RecordedRuns {
  private static final String EXTENSION = ".jsonl";

  private RecordedRuns() {}

  /**
   * A test for each export in a folder, named like its file.
   *
   * @param flows the present code, a flow for each id
   * @throws AssertionError if there is no export in the folder
   */
  public static Stream<DynamicTest> in(Path folder, Flow<?>... flows) {
    List<Path> exports = exports(folder);
    if (exports.isEmpty()) {
      throw new AssertionError(
          "There is no run in %s; write one with: export %s"
              .formatted(folder, folder.resolve("name" + EXTENSION)));
    }
    return exports.stream()
        .map(
            export ->
                DynamicTest.dynamicTest(
                    export.getFileName().toString(), () -> requireSame(export, flows)));
  }

  private static List<Path> exports(Path folder) {
    try (Stream<Path> files = Files.list(folder)) {
      return files.filter(file -> file.toString().endsWith(EXTENSION)).sorted().toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void requireSame(Path export, Flow<?>... flows) throws IOException {
    requireSame(export, "write".equals(System.getProperty("golden")), flows);
  }

  static void requireSame(Path export, boolean accept, Flow<?>... flows) throws IOException {
    if (accept) {
      Fermata.acceptEdits(export);
    }
    RunJournal journal = journal(export);
    Flow<?> flow =
        Arrays.stream(flows)
            .filter(each -> each.id().equals(journal.flow()))
            .findFirst()
            .orElseThrow(
                () ->
                    new AssertionError(
                        "%s has a run of %s, which is none of %s"
                            .formatted(export, journal.flow(), ids(flows))));
    Replay replay = Replay.of(flow, journal);
    if (!replay.same()) {
      throw new AssertionError(
          replay.divergence() + "\nIf that is wanted, record the run again: " + export);
    }
    replay.requireSame();
  }

  private static RunJournal journal(Path export) throws IOException {
    try {
      return Fermata.readJournal(export);
    } catch (ArchiveException e) {
      throw new AssertionError(
          export
              + ": "
              + e.getMessage()
              + ". If it was edited by hand, run this test with -Dgolden=write to accept that",
          e);
    }
  }

  private static String ids(Flow<?>... flows) {
    return Arrays.stream(flows).map(Flow::id).collect(Collectors.joining(", "));
  }
}
