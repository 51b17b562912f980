package io.fermata.testkit;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.testkit.ScriptedModel.lastIsResultOf;
import static io.fermata.testkit.ScriptedModel.lastUserContains;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.Agent;
import io.fermata.agent.FlowTool;
import io.fermata.agent.Prompt;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.Role;
import io.fermata.flow.Flow;
import io.fermata.flow.json.Json;
import io.fermata.flow.route.Condition;
import io.fermata.flow.schema.Computed;
import io.fermata.flow.schema.Secret;
import io.fermata.persistence.Store;
import io.fermata.session.admin.DataKeys;
import io.fermata.session.admin.Retention;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** A model asks what the flow that it called did, and why. */
class ExplainedCallTest {
  record Refund(Integer amount, @Secret String card, @Computed String way, String reason) {}

  private static final Flow<Refund> REFUND =
      Flow.of("refund_flow", Refund.class)
          .description("Pays back.")
          .act("large", run -> run.set("way", "by hand"))
          .act("small", run -> run.set("way", "at once"))
          .ask("ask_reason", q -> q.question("reason", "Why?"))
          .decide(
              START, d -> d.when("much", Condition.gt("amount", 40)).to("large").otherwise("small"))
          .edge("large", "ask_reason")
          .edge("small", "ask_reason")
          .edge("ask_reason", END)
          .result(Refund::way)
          .compile();

  private static ObjectNode schema() {
    ObjectNode schema = Json.object().put("type", "object");
    schema.putObject("properties").putObject("amount").put("type", "integer");
    ((ObjectNode) schema.path("properties")).putObject("card").put("type", "string");
    return schema;
  }

  private static AgentProbe probe() {
    FlowTool refund = FlowTool.of("refund", "Pays back.", REFUND).arguments(schema());
    ScriptedModel model =
        ScriptedModel.script()
            .when(lastIsResultOf("explain_call"))
            .say("So it is.")
            .when(lastUserContains("why"))
            .call("explain_call", Map.of("flow", "refund", "about", "why", "field", "way"))
            .when(lastUserContains("rule"))
            .call("explain_call", Map.of("flow", "refund", "about", "decisions"))
            .when(lastIsResultOf("refund"))
            .say("It is paid.")
            .when(lastUserContains("money"))
            .call("refund", Map.of("amount", 48, "card", "4111-1111"))
            .otherwise()
            .say("How can I help?");
    Agent desk =
        Agent.aiHuman(
            "desk",
            Prompt.of("support", model.model("scripted"))
                .text("Help.")
                .tools(refund, FlowTool.explanations(refund)));
    return AgentProbe.of(
        Store.memory(),
        host ->
            host.retention(Retention.ofJournals(Duration.ofDays(1)))
                .keys(DataKeys.parse(DataKeys.generate("k1"))),
        desk);
  }

  private static String explained(AgentProbe probe) {
    return probe.journal().messages().stream()
        .filter(message -> message.role() == Role.TOOL && "explain_call".equals(message.name()))
        .map(Message::content)
        .map(String::valueOf)
        .reduce("", (first, second) -> second);
  }

  @Test
  void itIsAskedWhileTheFlowAsksAndWhenItHasEnded() {
    try (AgentProbe probe = probe()) {
      probe.say("Nothing yet, but why?").says("So it is.");
      assertThat(explained(probe)).isEqualTo("This conversation has not called refund yet.");

      probe.say("I want my money back.").asks("Why?");
      probe.say("But why by hand?").says("So it is.");
      assertThat(explained(probe))
          .contains("way = \"by hand\" because large#1 set it", "amount = 48")
          .doesNotContain("4111");
      probe.say("Which rule?").says("So it is.");
      assertThat(explained(probe)).contains("by the rule \"much\" (amount gt 40: 48 (true))");

      probe.answer("reason", "damaged");
      probe.say("And why?").says("So it is.");
      assertThat(explained(probe)).contains("because large#1 set it");
    }
  }
}
