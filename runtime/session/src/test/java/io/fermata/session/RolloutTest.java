package io.fermata.session;

import static org.assertj.core.api.Assertions.assertThat;

import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.data.message.AiMessage;
import io.fermata.agent.Agent;
import io.fermata.agent.Prompt;
import io.fermata.agent.ScheduledHandler;
import io.fermata.agent.Tool;
import io.fermata.agent.message.Message;
import io.fermata.persistence.Store;
import io.fermata.session.admin.Threads;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a check before a release says about threads. */
class RolloutTest {
  private record Nothing() {}

  private static final ScheduledHandler REMIND =
      ScheduledHandler.of("remind", "Reminds.", Nothing.class, (flow, args) -> {});

  private @TempDir Path folder;

  private static <T> T now(CompletionStage<T> stage) throws Exception {
    return stage.toCompletableFuture().get(60, TimeUnit.SECONDS);
  }

  private static Agent desk(String tool) {
    Tool pays = Tool.of(tool, "Pays.", (flow, args) -> "paid").approval(args -> "Pay?");
    Tool plans =
        Tool.of(
            "plans",
            "Plans.",
            (flow, args) -> flow.scheduleEffect("remind", Map.of(), Duration.ofDays(3)));
    return Agent.aiHuman(
        "desk",
        Prompt.of(
                "p",
                ScriptedModels.answering(
                    messages ->
                        AiMessage.from(
                            ToolExecutionRequest.builder()
                                .id("" + messages.size())
                                .name(messages.size() == 1 ? "plans" : "pay")
                                .arguments("{}")
                                .build())))
            .tools(pays, plans));
  }

  @Test
  void aThreadWhoseEffectOrApprovalTheReleaseLacksIsNamed() throws Exception {
    Store store = Store.sqlite(folder.resolve("t.db"));
    String id;
    try (Fermata host = Fermata.host().store(store).agent(desk("pay").effects(REMIND)).start()) {
      Threads threads = host.threads();
      id =
          now(threads.create(
                  new Threads.NewThread("ann", "desk", null, Set.of(), Map.of(), List.of())))
              .threadId();
      now(threads.post("ann", id, new Threads.NewMessage(Message.user("go"), List.of(), null)));
      assertThat(now(threads.settled("ann", id, Duration.ofSeconds(30))).status())
          .isEqualTo(Threads.Status.ASKING);
      assertThat(now(host.check()).complete()).isTrue();
      assertThat(now(host.check(List.of(desk("refund")))).complete()).isFalse();
    }

    Rollout rollout = Rollout.check(store, List.of(desk("refund")));
    assertThat(rollout.complete()).isFalse();
    assertThat(rollout.held()).extracting(Rollout.ThreadResult::threadId).containsExactly(id);
    assertThat(rollout.text()).contains("1 thread(s): 1 are held", id, "effect remind", "tool pay");
    assertThat(Rollout.check(store).text()).contains("no agent desk is registered");
    assertThat(Rollout.check(store, List.of(desk("pay").effects(REMIND))).complete()).isTrue();
  }
}
