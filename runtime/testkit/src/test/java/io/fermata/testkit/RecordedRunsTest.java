package io.fermata.testkit;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.route.Condition.gt;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.agent.Agent;
import io.fermata.agent.Prompt;
import io.fermata.flow.Flow;
import io.fermata.flow.FlowBuilder;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Exported runs as tests of the present code. */
class RecordedRunsTest {
  record Group(Integer seats, String company, String name) {}

  @TempDir Path runs;

  /** A group of more than so many seats is asked for its company. */
  private static FlowBuilder<Group> group(int version, int large) {
    return Flow.of("group", Group.class)
        .version(version)
        .description("Seats a group.")
        .ask("ask_seats", q -> q.question("seats", "How many seats?"))
        .ask("ask_company", q -> q.question("company", "For which company?"))
        .ask("ask_name", q -> q.question("name", "In whose name?"))
        .edge(START, "ask_seats")
        .decide(
            "ask_seats",
            d -> d.when("large", gt("seats", large)).to("ask_company").otherwise("ask_name"))
        .edge("ask_company", "ask_name")
        .edge("ask_name", END);
  }

  private static Flow<Group> first(int large) {
    return group(1, large).compile();
  }

  private static Flow<Group> second(int large) {
    return group(2, large).migrate(1, m -> {}).compile();
  }

  /** Records a group of 8, which the given code asks for its company. */
  private Path record(Flow<Group> flow) throws IOException {
    Path file = runs.resolve("large-group.jsonl");
    try (SessionProbe probe = SessionProbe.of(flow);
        OutputStream out = Files.newOutputStream(file)) {
      probe.start("wants seats", "seats", 8).asks("company");
      String runId = probe.reply().meta().path("fermata/run").path("runId").asText();
      probe.host().journals().run("group", runId).export(out).toCompletableFuture().join();
    }
    return file;
  }

  private void decided(Flow<?>... flows) throws Throwable {
    for (DynamicTest each : RecordedRuns.in(runs, flows).toList()) {
      each.getExecutable().execute();
    }
  }

  @Test
  void aChangedConditionFailsWithWhatWasRecordedWhatComesNowAndWhatToDo() throws Throwable {
    Path file = record(first(6));
    decided(first(6));

    assertThatThrownBy(() -> decided(first(10)))
        .isInstanceOf(AssertionError.class)
        .message()
        .contains("The present code of group version 1 decides entry 1 (caller tester, ")
        .contains("otherwise than it was recorded.")
        .contains(
            "Recorded: After ask_seats the run went to ask_company, because \"large\" (seats was 8")
        .contains(
            "Now:      After ask_seats the run went to ask_name, because no rule held: \"large\" (seats was 8")
        .endsWith("If that is wanted, record the run again: " + file);
  }

  @Test
  void ofSeveralVersionsTheOneThatARunIsOnDecidesIt() throws Throwable {
    record(first(6));

    decided(first(6), second(10));
    decided(second(10), first(6));
    assertThatThrownBy(() -> decided(second(6), first(10)))
        .hasMessageContaining("The present code of group version 1");
  }

  @Test
  void andWhereThatIsGoneTheNewest() throws Throwable {
    record(first(6));

    Flow<Group> third = group(3, 10).migrate(1, m -> {}).compile();
    assertThatThrownBy(() -> decided(second(6), third))
        .hasMessageContaining("The present code of group version 3");
    assertThatThrownBy(() -> decided(third, second(6)))
        .hasMessageContaining("The present code of group version 3");
  }

  @Test
  void anEditedExportIsRefusedUntilTheTestsAreRunWithGoldenWrite() throws Throwable {
    Path file = record(first(6));
    Files.writeString(file, Files.readString(file).replace("wants seats", "wants chairs"));
    String edited = Files.readString(file);

    assertThatThrownBy(() -> decided(first(6)))
        .isInstanceOf(AssertionError.class)
        .hasMessageContaining("run this test with -Dgolden=write to accept that");
    assertThat(Files.readString(file)).isEqualTo(edited);

    String before = System.getProperty("golden");
    try {
      System.setProperty("golden", "write");
      decided(first(6));
    } finally {
      restore(before);
    }

    assertThat(Files.readString(file)).isNotEqualTo(edited).contains("wants chairs");
    decided(first(6));
  }

  private static Agent shop(String text) {
    return Agent.aiHuman(
        "shop",
        Prompt.of("talk", ScriptedModel.script().otherwise().say("Yes?").model("scripted"))
            .text(text));
  }

  private void asked(Agent agent) throws Throwable {
    for (DynamicTest each : RecordedRuns.in(runs, List.of(agent)).toList()) {
      each.getExecutable().execute();
    }
  }

  @Test
  void whatAModelIsAskedNowIsAcceptedByTheTestsRunWithGoldenWrite() throws Throwable {
    Path file = runs.resolve("shop.jsonl");
    try (AgentProbe probe = AgentProbe.of(shop("Sell."));
        OutputStream out = Files.newOutputStream(file)) {
      probe.say("Hello").say("Hello again");
      probe.host().journals().thread(probe.threadId()).export(out).toCompletableFuture().join();
    }
    String recorded = Files.readString(file);
    asked(shop("Sell."));

    assertThatThrownBy(() -> asked(shop("Sell books.")))
        .isInstanceOf(AssertionError.class)
        .message()
        .contains("The present code asks a model otherwise than it was recorded, in entry ")
        .contains("at agent shop, step 1 of side A, prompt talk.\nInstructions: not those")
        .endsWith("If that is wanted, run this test with -Dgolden=write to accept it: " + file);
    assertThat(Files.readString(file)).isEqualTo(recorded);

    String before = System.getProperty("golden");
    try {
      System.setProperty("golden", "write");
      asked(shop("Sell."));
      assertThat(Files.readString(file)).as("nothing to accept").isEqualTo(recorded);
      asked(shop("Sell books."));
    } finally {
      restore(before);
    }

    asked(shop("Sell books."));
    assertThatThrownBy(() -> asked(shop("Sell."))).hasMessageContaining("Instructions: not those");
  }

  private static void restore(@Nullable String golden) {
    if (golden == null) {
      System.clearProperty("golden");
    } else {
      System.setProperty("golden", golden);
    }
  }
}
