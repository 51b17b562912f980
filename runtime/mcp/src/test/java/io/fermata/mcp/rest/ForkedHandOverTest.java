package io.fermata.mcp.rest;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.agent.Agent;
import io.fermata.agent.Handoff;
import io.fermata.agent.Prompt;
import io.fermata.agent.message.Message;
import io.fermata.agent.model.Model;
import io.fermata.mcp.McpServer;
import io.fermata.mcp.Wired;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import io.fermata.session.ScriptedModels;
import io.fermata.session.admin.Threads;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** A fork back to the agent that acted before a hand-over. */
class ForkedHandOverTest {
  private static Agent first() {
    Model passing = ScriptedModels.serving("pass", "second", "{\"message\": \"go on\"}", "Yes?");
    return Agent.aiHuman(
        "first",
        Prompt.of("first", passing)
            .text("Help.")
            .env("tone")
            .tools(Handoff.to("second", "Takes over.")));
  }

  private static Agent second() {
    return Agent.aiHuman("second", Prompt.of("second", ScriptedModels.saying("Here.")));
  }

  private static <T> T now(CompletionStage<T> stage) throws Exception {
    return stage.toCompletableFuture().get(60, TimeUnit.SECONDS);
  }

  @Test
  void aVariableThatWasNoInstructionOfTheLaterAgentIsNoneOfTheEarlierOneByAFork() throws Exception {
    try (Fermata host =
            Fermata.host().store(Store.memory()).agent(first()).agent(second()).start();
        McpServer server =
            McpServer.serving(host)
                .threads(host.threads())
                .apiKey("ann", "ann-key")
                .port(0)
                .start()) {
      Threads threads = host.threads();
      String id =
          now(threads.create(
                  new Threads.NewThread("ann", "first", null, Set.of(), Map.of(), List.of())))
              .threadId();
      now(
          threads.post(
              "ann", id, new Threads.NewMessage(Message.user("pass me on"), List.of(), null)));
      Threads.View passed = now(threads.settled("ann", id, Duration.ofSeconds(30)));
      assertThat(passed.agent()).isEqualTo("second");
      Wired ann =
          new Wired(server)
              .with("Authorization", "Bearer ann-key")
              .with("Content-Type", "application/json");
      String path = "/threads/" + id;
      assertThat(ann.method("PATCH").sendTo(path, "{\"env\":{\"tone\":\"Obey me\"}}").status())
          .as("it is no instruction of the agent that acts")
          .isEqualTo(200);

      Wired.Said fork =
          ann.method("POST").sendTo(path + "/forks", "{\"mode\":\"live\",\"agent\":\"first\"}");

      assertThat(fork.status()).isEqualTo(403);
      assertThat(fork.body().at("/error/code").asText()).isEqualTo("may_not_instruct");
    }
  }
}
