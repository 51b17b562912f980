package io.fermata.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.Flow;
import io.fermata.persistence.Store;
import io.fermata.persistence.StoreException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a host refuses to start with, and how it presents its flows. */
class HostTest {
  @TempDir Path dir;

  @Test
  void withoutAStoreItRefusesToStartAndNamesTheChoices() {
    assertThat(System.getenv("FERMATA_STORE")).as("the environment of this test").isNull();
    assertThatThrownBy(() -> Fermata.host().flow(TestFlows.trip()).start())
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("Store.sqlite")
        .hasMessageContaining("FERMATA_STORE");
  }

  @Test
  void withoutAFlowItRefusesToStart() {
    assertThatThrownBy(() -> Fermata.host().store(Store.memory()).start())
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("no flow");
  }

  @Test
  void aWidgetThatNobodyRegisteredIsRefused() {
    record Choice(String plan) {}
    Flow<Choice> flow =
        Flow.of("choice", Choice.class)
            .description("Shows.")
            .widget("show", w -> w.tool("plan_picker").field("plan"))
            .edge(Flow.START, "show")
            .edge("show", Flow.END)
            .compile();
    assertThatThrownBy(() -> Fermata.host().store(Store.memory()).flow(flow).start())
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("plan_picker")
        .hasMessageContaining("display(");
  }

  @Test
  void twoToolsOfOneNameAreRefused() {
    DisplayTool trip = DisplayTool.of("trip", "Trip", "Shows.", "<html></html>");
    assertThatThrownBy(
            () -> Fermata.host().store(Store.memory()).flow(TestFlows.trip()).display(trip).start())
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("Two tools are named trip");
  }

  @Test
  void theSameVersionTwiceIsRefusedAndTheStoreIsFreeAgain() {
    Path file = dir.resolve("x.db");
    assertThatThrownBy(
            () ->
                Fermata.host()
                    .store(Store.sqlite(file))
                    .flow(TestFlows.trip())
                    .flow(TestFlows.trip())
                    .start())
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("trip version 1");
    Fermata.host().store(Store.sqlite(file)).flow(TestFlows.trip()).start().close();
  }

  @Test
  void aSecondHostOnTheSameFileIsRefused() {
    Path file = dir.resolve("y.db");
    Fermata.Builder second = Fermata.host().store(Store.sqlite(file)).flow(TestFlows.trip());
    Fermata first = Fermata.host().store(Store.sqlite(file)).flow(TestFlows.trip()).start();
    assertThatThrownBy(second::start)
        .isInstanceOf(StoreException.class)
        .hasMessageContaining("y.db is already open");
    first.close();
    second.start().close();
  }

  @Test
  void aFlowPresentsItselfSoThatAModelCanDriveIt() {
    ToolContract contract = ToolContracts.of(TestFlows.trip());
    assertThat(contract.name()).isEqualTo("trip");
    String generated = contract.description().substring("Books a trip.".length());
    assertThat(contract.description()).startsWith("Books a trip.");
    assertThat(generated.length()).isLessThan(2500);
    assertThat(generated)
        .contains("start", "continue", "reset", "status", "cancel", "sessionId", "Never guess");
    JsonNode input = contract.inputSchema();
    assertThat(input.path("required").toString()).isEqualTo("[\"action\"]");
    assertThat(input.path("additionalProperties").asBoolean(true)).isFalse();
    assertThat(names(input.path("properties")))
        .containsExactly("action", "intent", "stateUpdates", "sessionId");
    assertThat(names(input.at("/properties/stateUpdates/properties")))
        .containsExactly("from", "to");
  }

  private static List<String> names(JsonNode object) {
    List<String> names = new ArrayList<>();
    object.fieldNames().forEachRemaining(names::add);
    return names;
  }
}
