package io.fermata.session.call;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.Flow;
import io.fermata.flow.ToolHints;
import io.fermata.flow.schema.Describe;
import io.fermata.session.TestFlows;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What a model reads about a flow's tool, and what it costs. */
class ToolContractsTest {
  record Guest(@Describe("Full name") String name) {}

  record Party(@Describe("Who comes") List<String> names, @Describe("The host") Guest host) {}

  private static Flow<Guest> guest() {
    return Flow.of("guest", Guest.class)
        .description("Asks a guest.")
        .ask("ask", q -> q.question("name", "Who?"))
        .edge(Flow.START, "ask")
        .edge("ask", Flow.END)
        .compile();
  }

  private static Flow<Party> party() {
    return Flow.of("party", Party.class)
        .description("Asks the guests of a party.")
        .ask("ask", q -> q.question("names", "Who comes?").question("host.name", "Who invites?"))
        .<Guest, String>forEach(
            "guests",
            guest(),
            each -> each.items(Party::names).atMost(9).input((party, name) -> Map.of("name", name)))
        .edge(Flow.START, "ask")
        .edge("ask", "guests")
        .edge("guests", Flow.END)
        .compile();
  }

  @Test
  void theToolItselfSaysEnoughToDriveItAndTheRestIsSaidOnceForAllTools() {
    ToolContract trip = ToolContracts.of(TestFlows.trip());
    ToolContract guest = ToolContracts.of(guest());

    String own = guest.description().substring("Asks a guest.".length());
    assertThat(own)
        .contains("start", "continue", "stateUpdates", "sessionId", "Never invent")
        .contains("interrupt:", "widget:", "complete:", "waiting,", "error:")
        .contains("not again while the run", "complete, too, with `cancelled`")
        .hasSizeLessThan(900);
    assertThat(trip.instructions()).isEqualTo(guest.instructions()).hasSizeLessThan(2_500);
    assertThat(guest.instructions())
        .contains("- reset:", "- status:", "- cancel:", "`cancelled`", "Do not start again")
        .doesNotContain("is lost");
  }

  @Test
  void theOutputSchemaNamesTheStatusesAndTheHandleOnly() {
    JsonNode output = ToolContracts.of(guest()).outputSchema();

    assertThat(output.toString()).hasSizeLessThan(250);
    assertThat(output.at("/properties/status/enum")).hasSize(5);
  }

  @Test
  void theInputSchemaNeedsNoPatternsOfNames() {
    JsonNode input = ToolContracts.of(party()).inputSchema();
    JsonNode updates = input.at("/properties/stateUpdates");

    assertThat(input.toString()).doesNotContain("patternProperties");
    assertThat(updates.at("/properties/guests/additionalProperties/properties/name/type").asText())
        .isEqualTo("string");
    assertThat(updates.has("additionalProperties")).isFalse();
    assertThat(updates.at("/properties/host/properties/name/description").asText())
        .isEqualTo("Full name");
    assertThat(updates.at("/properties/host.name").toString()).isEqualTo("{\"type\":\"string\"}");
  }

  @Test
  void aFlowWithoutListsOfSubflowsNamesAllFields() {
    JsonNode updates = ToolContracts.of(guest()).inputSchema().at("/properties/stateUpdates");

    assertThat(updates.path("additionalProperties").isBoolean()).isTrue();
  }

  @Test
  void hintsAreTheAuthors() {
    Flow<Guest> reading =
        Flow.of("read", Guest.class)
            .description("Reads.")
            .hints(ToolHints.NONE.readOnly(true).openWorld(false))
            .ask("ask", q -> q.question("name", "Who?"))
            .edge(Flow.START, "ask")
            .edge("ask", Flow.END)
            .compile();

    assertThat(ToolContracts.of(reading).hints()).isEqualTo(new ToolHints(true, null, null, false));
    assertThat(ToolContracts.of(guest()).hints()).isEqualTo(ToolHints.CHANGES);
  }
}
