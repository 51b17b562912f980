package io.fermata.session;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.agent.Agent;
import io.fermata.agent.Hook;
import io.fermata.agent.Prompt;
import io.fermata.agent.Tool;
import io.fermata.agent.message.Message;
import io.fermata.flow.schema.Secret;
import io.fermata.persistence.Store;
import io.fermata.session.admin.Threads;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Secret arguments of tools are in no text about the threads of a store or of exports. */
class SecretThreadsTest {
  private static final String CARD = "4111-1111";

  record Payment(String order, @Secret String card) {}

  @TempDir Path folder;

  private static Agent desk(String mark) {
    Tool pay =
        Tool.of("pay", "Pays an order.", Payment.class, (flow, args) -> "Paid with " + args.card());
    return Agent.aiHuman(
            "desk",
            Prompt.of(
                    "desk",
                    ScriptedModels.calling(
                        "pay",
                        "{\"order\":\"B-1\",\"card\":\"" + CARD + "\"}",
                        result -> "Done: " + result))
                .tools(pay))
        .hooks(
            Hook.beforeCreateMessage(
                "mark",
                (flow, m) ->
                    m.content() == null ? m : m.withContent(m.content().replace("Paid", mark))));
  }

  private static <T> T now(CompletionStage<T> stage) {
    try {
      return stage.toCompletableFuture().get(60, TimeUnit.SECONDS);
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  private Store store() {
    return Store.sqlite(folder.resolve("threads.db"));
  }

  private Path exported() throws Exception {
    Path export = folder.resolve("thread.jsonl");
    try (Fermata host = Fermata.host().store(store()).agent(desk("Paid")).start();
        OutputStream to = Files.newOutputStream(export)) {
      String id =
          now(host.threads()
                  .create(
                      new Threads.NewThread("ann", "desk", null, Set.of(), Map.of(), List.of())))
              .threadId();
      now(
          host.threads()
              .post("ann", id, new Threads.NewMessage(Message.user("Pay B-1"), List.of(), null)));
      now(host.threads().settled("ann", id, Duration.ofSeconds(60)));
      now(host.journals().thread(id).export(to));
    }
    return export;
  }

  @Test
  void whatOtherAgentsWouldHaveSaidIsToldWithoutThem() throws Exception {
    Path export = exported();
    WhatIf other = WhatIf.of().agents(List.of(desk("Charged")));

    WhatIfResult stored = other.over(store());
    WhatIfResult read = other.over(List.of(ExportedJournal.read(export)).iterator());

    for (WhatIfResult result : List.of(stored, read)) {
      assertThat(result.otherwise()).isEqualTo(1);
      assertThat(result.text())
          .contains("Paid with [redacted]", "Charged with [redacted]")
          .doesNotContain(CARD);
      assertThat(result.json().toString()).contains("Charged with").doesNotContain(CARD);
    }
  }
}
