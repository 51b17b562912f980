package io.fermata.examples.flows;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.session.Fermata;
import io.fermata.testkit.RecordedRuns;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.condition.DisabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;

/**
 * Runs that were exported from the packaged server, which was killed in between, are decided again
 * by the present flows. No restaurant is there: nothing is performed.
 */
class RecordedRunsTest {
  private static final Path RUNS = Path.of("src/test/resources/runs");
  private static final Clock THEN =
      Clock.fixed(Instant.parse("2026-11-23T06:40:00Z"), ZoneOffset.UTC);
  private static final RestaurantClient NOBODY =
      new RestaurantClient(URI.create("http://localhost:1"));

  @TestFactory
  Stream<DynamicTest> recordedRunsAreDecidedAsTheyWere() {
    return RecordedRuns.in(
        RUNS,
        QuoteFlow.create(),
        TableFlow.create(NOBODY, THEN),
        TripFlow.create(new TravelAgency(), THEN));
  }

  @Test
  void aFolderWithoutRunsIsNoTest(@TempDir Path empty) {
    assertThatThrownBy(() -> RecordedRuns.in(empty, QuoteFlow.create()))
        .isInstanceOf(AssertionError.class)
        .hasMessageContaining("There is no run in");
  }

  @Test
  void aRunOfAnotherFlowIsNamed() {
    assertThatThrownBy(
            () -> {
              for (DynamicTest each : RecordedRuns.in(RUNS, QuoteFlow.create()).toList()) {
                each.getExecutable().execute();
              }
            })
        .isInstanceOf(AssertionError.class)
        .hasMessageContaining("has a run of table, which is none of quote");
  }

  @Test
  @DisabledIfSystemProperty(named = "golden", matches = "write", disabledReason = "accepts it")
  void anExportThatWasEditedIsRefusedUntilThatIsAccepted(@TempDir Path folder) throws Exception {
    Path edited = folder.resolve("edited.jsonl");
    String recorded = Files.readString(RUNS.resolve("quote-with-a-correction.jsonl"));
    Files.writeString(edited, recorded.replace("Ann Lee", "Eve Low"));

    assertThatThrownBy(() -> decided(folder))
        .isInstanceOf(AssertionError.class)
        .hasMessageContaining("edited.jsonl: The export was altered")
        .hasMessageContaining("run this test with -Dgolden=write to accept that");
    Fermata.acceptEdits(edited);
    decided(folder);

    Files.writeString(edited, Files.readString(edited).replace("your work email", "your email"));
    Fermata.acceptEdits(edited);
    assertThatThrownBy(() -> decided(folder))
        .isInstanceOf(AssertionError.class)
        .hasMessageContaining("If that is wanted, record the run again");
  }

  private static void decided(Path folder) throws Exception {
    try {
      for (DynamicTest each : RecordedRuns.in(folder, QuoteFlow.create()).toList()) {
        each.getExecutable().execute();
      }
    } catch (Exception | AssertionError e) {
      throw e;
    } catch (Throwable e) {
      throw new AssertionError(e);
    }
  }
}
