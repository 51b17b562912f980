package io.fermata.examples.telemetry;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.agent.Agent;
import io.fermata.agent.Prompt;
import io.fermata.agent.model.Model;
import io.fermata.cli.telemetry.Prometheus;
import io.fermata.examples.flows.QuoteFlow;
import io.fermata.mcp.McpServer;
import io.fermata.persistence.Store;
import io.fermata.session.call.DisplayTool;
import io.fermata.testkit.AgentProbe;
import io.fermata.testkit.ScriptedModel;
import io.fermata.testkit.SessionProbe;
import io.fermata.testkit.Turn;
import java.net.InetAddress;
import java.net.Socket;
import org.junit.jupiter.api.Test;

/** What an operator can alert on. */
class PrometheusTest {
  private final Prometheus prometheus = Prometheus.create();

  @Test
  void percentilesOfCallsEffectsAndJournalCanBeComputed() {
    DisplayTool plans = DisplayTool.of("show_plans", "Plans", "Shows plans.", "<p>");
    try (SessionProbe probe =
        SessionProbe.of(
            QuoteFlow.create(),
            Store.memory(),
            host -> host.display(plans).telemetry(prometheus.telemetry()))) {
      probe.start("wants a price", "name", "Ann", "email", "ann@gmail.com");

      assertThat(prometheus.text())
          .containsPattern("fermata_calls_seconds_bucket\\{.*le=\"60.0\"} 1")
          .contains("fermata_effects_seconds_bucket{")
          .contains("fermata_journal_append_seconds_bucket{")
          .contains("fermata_timers_due ", "fermata_schedules ");
    }
  }

  @Test
  void connectionsAndStreamsAreGaugesWhileAServerRuns() throws Exception {
    try (McpServer server = McpServer.plain().port(0).telemetry(prometheus.telemetry()).start()) {
      assertThat(prometheus.text())
          .contains("fermata_mcp_connections 0", "fermata_mcp_streams 0")
          .contains("fermata_mcp_refusals_total{reason=\"unauthenticated\"} 0");
      try (Socket open = new Socket(InetAddress.getLoopbackAddress(), server.port())) {
        assertThat(open.isConnected()).isTrue();
        while (!prometheus.text().contains("fermata_mcp_connections 1")) {
          Thread.onSpinWait();
        }
      }
    }
    assertThat(prometheus.text()).doesNotContain("fermata_mcp_connections");
  }

  @Test
  void tokensAndCostOfModelsAreCounted() {
    Turn first = Turn.say("Hello.").tokens(100, 40, 7);
    Turn second = Turn.say("Bye.").tokens(1, 0, 1);
    Model model =
        ScriptedModel.script().turn(first).turn(second).model("gpt").price("5000", "50000", "1125");
    Agent desk = Agent.aiHuman("desk", Prompt.of("prompt", model));
    try (AgentProbe probe =
        AgentProbe.of(Store.memory(), host -> host.telemetry(prometheus.telemetry()), desk)) {
      probe.say("Good morning?").says("Hello.").say("Good night?").says("Bye.");
    }

    assertThat(prometheus.text())
        .contains("fermata_model_tokens_total{agent=\"desk\",kind=\"input\",model=\"gpt\"} 61")
        .contains("fermata_model_tokens_total{agent=\"desk\",kind=\"cached\",model=\"gpt\"} 40")
        .contains("fermata_model_tokens_total{agent=\"desk\",kind=\"output\",model=\"gpt\"} 8")
        .contains("fermata_model_cost_total{agent=\"desk\",model=\"gpt\"} 0.75");
  }
}
