package io.fermata.examples.flows;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.agent.Agent;
import io.fermata.agent.Prompt;
import io.fermata.agent.Tool;
import io.fermata.agent.model.Model;
import io.fermata.agent.replay.ThreadJournal;
import io.fermata.agent.replay.ThreadReplay;
import io.fermata.flow.json.Limits;
import io.fermata.session.ExportedJournal;
import io.fermata.testkit.RecordedRuns;
import io.fermata.testkit.ScriptedModel;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.List;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.condition.DisabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;

/**
 * Runs and a thread that were exported from the packaged server, which was killed in between, are
 * decided again by the present flows and agents. Nobody is there: nothing is performed.
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
        desk(Duration.ofDays(3)).agents(),
        QuoteFlow.create(),
        TableFlow.create(NOBODY, THEN),
        TripFlow.create(new TravelAgency(), THEN),
        RefundFlow.create(new Orders(), RefundLedger.at(Path.of("no-ledger.txt"), Duration.ZERO)),
        Kitchen.soup());
  }

  /** A desk whose model and ledger must not be used. */
  private static SupportDesk desk(Duration followUpAfter) {
    Model silent = ScriptedModel.script().model("silent").price("0", "0", "0");
    return SupportDesk.of(
        silent, RefundLedger.at(Path.of("nowhere", "refunds.txt"), Duration.ZERO), followUpAfter);
  }

  private static ThreadJournal refund() throws IOException {
    return ExportedJournal.read(RUNS.resolve("desk-with-a-refund.jsonl")).thread();
  }

  @Test
  void theThreadOfAKilledServerIsAJournalToRead() throws IOException {
    ThreadJournal journal = refund();
    List<Agent> desk = desk(Duration.ofDays(3)).agents();

    assertThat(journal.transcript(desk))
        .contains("My card is •••• 0002", "Your money is on its way", "is in the mail");
    assertThat(journal.narrative(desk)).contains("the agent billing takes over");
    assertThat(journal.state().agent()).isEqualTo("billing");
  }

  @Test
  void aDeskThatMayOnlyAskItsModelOnceStopsWhereItAskedAgain() throws IOException {
    List<Agent> hasty =
        desk(Duration.ofDays(3)).agents().stream().map(agent -> agent.maxSteps(1)).toList();

    assertThat(ThreadReplay.of(hasty, refund()).divergence())
        .asString()
        .contains(
            "at agent desk, after step 1.",
            "Recorded: the model of side A is asked (prompt desk, step 2, attempt 1)",
            "Now:      the thread rests: max_total_steps (1 steps)",
            "look at the bounds");
  }

  @Test
  void aDeskWithAnotherTextAndOneToolMoreAsksItsModelOtherwiseAtItsFirstStep() throws IOException {
    Tool invoice =
        Tool.of("find_invoice", "Finds an invoice.", Invoice.class, (flow, args) -> "none");
    UnaryOperator<Prompt> other =
        prompt -> prompt.name().equals("desk") ? prompt.text("Be brief.").tools(invoice) : prompt;
    List<Agent> desk =
        desk(Duration.ofDays(3)).agents().stream().map(agent -> agent.withPrompts(other)).toList();

    ThreadReplay replay = ThreadReplay.of(desk, refund());

    assertThat(replay.divergences())
        .singleElement()
        .asString()
        .contains(
            "at agent desk, step 1 of side A, prompt desk.\nInstructions: not those that were",
            "Tools:        5 tools now, 4 recorded: billing, find_invoice, look_up_order, refund,");
  }

  private record Invoice(String order) {}

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
                if (each.getDisplayName().startsWith("table")) {
                  each.getExecutable().execute();
                }
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
    ExportedJournal.acceptEdits(edited);
    decided(folder);

    Files.writeString(edited, Files.readString(edited).replace("your work email", "your email"));
    ExportedJournal.acceptEdits(edited);
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

  @Test
  void theLimitsOfAnotherHostAreGiven() {
    Limits narrow = new Limits(Limits.DEFAULT.stateBytes(), 1, 1, Limits.DEFAULT.depth());

    assertThatThrownBy(
            () -> {
              for (DynamicTest each :
                  RecordedRuns.in(RUNS, narrow, List.of(), QuoteFlow.create()).toList()) {
                if (each.getDisplayName().startsWith("quote")) {
                  each.getExecutable().execute();
                }
              }
            })
        .isInstanceOf(AssertionError.class)
        .hasMessageContaining("Now:");
  }

  @Test
  void aThreadWhoseAgentIsNotGivenIsNamed() {
    DynamicTest desk = RecordedRuns.in(RUNS, QuoteFlow.create()).findFirst().orElseThrow();

    assertThatThrownBy(() -> desk.getExecutable().execute())
        .isInstanceOf(AssertionError.class)
        .hasMessageContaining("has a thread of desk, which is not given; name it in the test");
  }
}
