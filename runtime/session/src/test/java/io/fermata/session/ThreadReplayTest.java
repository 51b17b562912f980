package io.fermata.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.agent.Agent;
import io.fermata.agent.Hook;
import io.fermata.agent.Prompt;
import io.fermata.agent.Tool;
import io.fermata.agent.message.Message;
import io.fermata.agent.replay.ThreadDivergence;
import io.fermata.agent.replay.ThreadJournal;
import io.fermata.agent.replay.ThreadReplay;
import io.fermata.persistence.Store;
import io.fermata.session.admin.ArchiveException;
import io.fermata.session.admin.DataKeys;
import io.fermata.session.admin.EncryptedFields;
import io.fermata.session.admin.KeyProvider;
import io.fermata.session.admin.Threads;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The journals of a host's threads are values, and are decided again. */
class ThreadReplayTest {
  record Payment(String order) {}

  private static final KeyProvider KEYS = DataKeys.parse(DataKeys.generate("k1"));
  private static final Duration TIMEOUT = Duration.ofSeconds(60);

  @TempDir Path folder;

  private final AtomicInteger paid = new AtomicInteger();

  private Agent desk(String mask) {
    return desk(mask, "Pay.");
  }

  private Agent desk(String mask, String text) {
    Tool pay =
        Tool.of(
                "pay",
                "Pays an order.",
                Payment.class,
                (flow, args) -> {
                  paid.incrementAndGet();
                  flow.files().write("/receipt", "paid " + args.order());
                  return "Paid from 4111-1111.";
                })
            .approval("Pay?");
    return Agent.aiHuman(
            "desk",
            Prompt.of(
                    "desk",
                    ScriptedModels.calling(
                        "pay", "{\"order\":\"B-1\"}", result -> "Done: " + result))
                .text(text)
                .tools(pay))
        .hooks(
            Hook.beforeCreateMessage(
                "mask",
                (flow, m) ->
                    m.content() == null
                        ? m
                        : m.withContent(m.content().replace("4111-1111", mask))));
  }

  private Fermata host() {
    return Fermata.host()
        .store(Store.sqlite(folder.resolve("threads.db")))
        .keys(KEYS)
        .encrypt(EncryptedFields.EVERYTHING)
        .agent(desk("****"))
        .start();
  }

  private static <T> T now(CompletionStage<T> stage) {
    try {
      return stage.toCompletableFuture().get(60, TimeUnit.SECONDS);
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  /** A thread whose payment is approved after its host was started again. */
  private String recorded() {
    String id;
    try (Fermata host = host()) {
      id =
          now(host.threads()
                  .create(
                      new Threads.NewThread("ann", "desk", null, Set.of(), Map.of(), List.of())))
              .threadId();
      now(
          host.threads()
              .post("ann", id, new Threads.NewMessage(Message.user("Pay B-1"), List.of(), null)));
      now(host.threads().settled("ann", id, TIMEOUT));
    }
    try (Fermata host = host()) {
      String call = now(host.threads().get("ann", id)).questions().get(0).call();
      now(host.threads().answer("ann", id, new Threads.Answer(call, "a1", true, null, null)));
      assertThat(now(host.threads().settled("ann", id, TIMEOUT)).code())
          .isEqualTo("stop_on_response");
    }
    assertThat(paid).hasValue(1);
    return id;
  }

  @Test
  void aThreadIsDecidedAgainAsItWas() {
    String id = recorded();
    try (Fermata host = host()) {
      ThreadJournal journal = now(host.journals().thread(id).readWithSecrets());

      ThreadReplay replay = ThreadReplay.of(List.of(desk("****")), journal).requireSame();

      assertThat(replay.decided()).isEqualTo(journal.entries().size()).isGreaterThan(4);
      assertThat(paid).hasValue(1);
      assertThat(journal.agent()).isEqualTo("desk");
      assertThat(journal.state().turn().code()).isEqualTo("stop_on_response");
      assertThat(journal.entries().get(0).principal()).isEqualTo("ann");
      assertThat(journal.transcript(List.of(desk("****"))))
          .endsWith("assistant: Done: Paid from ****.");
    }
  }

  @Test
  void anExportIsReadWithItsKeyAndShowsWhereOtherCodePartsFromIt() throws Exception {
    String id = recorded();
    Path export = folder.resolve("thread.jsonl");
    try (Fermata host = host();
        OutputStream to = Files.newOutputStream(export)) {
      now(host.journals().thread(id).export(to));
    }
    assertThat(Files.readString(export)).doesNotContain("4111-1111");

    ThreadJournal journal = ExportedJournal.read(export, KEYS).thread();

    assertThat(ThreadReplay.of(List.of(desk("****")), journal).same()).isTrue();
    ThreadDivergence divergence =
        Objects.requireNonNull(ThreadReplay.of(List.of(desk("[card]")), journal).divergence());
    assertThat(divergence.text())
        .contains("Paid from ****.", "Paid from [card].", "look at the hooks");
    assertThatThrownBy(() -> ExportedJournal.read(export, KEYS).run())
        .isInstanceOf(ArchiveException.class)
        .hasMessageContaining("not of a run; read it as a thread");
  }

  @Test
  void whatOtherAgentsWouldHaveDecidedIsCountedForTheThreadsOfAStore() {
    String id = recorded();
    Store store = Store.sqlite(folder.resolve("threads.db"));
    WhatIf whatIf = WhatIf.of().keys(KEYS);

    assertThat(whatIf.agents(List.of(desk("****"))).over(store))
        .isEqualTo(new WhatIfResult(1, 0, List.of(), List.of(), List.of(), List.of()));
    assertThat(whatIf.over(store).skipped()).isEqualTo(1);
    WhatIf hasty = whatIf.agents(List.of(desk("****").maxSteps(1)));
    assertThat(hasty.since(Instant.now().plusSeconds(60)).over(store).otherwise()).isZero();
    WhatIfResult other = hasty.over(store);
    assertThat(other.otherwise()).isEqualTo(1);
    assertThat(other.text())
        .contains(
            "     1  desk: another outcome, max_total_steps instead of step began",
            "1 run(s) of desk, for example " + id,
            "Now:      the thread rests: max_total_steps");
    assertThat(paid).hasValue(1);
  }

  @Test
  void whatTheirModelsWouldBeAskedIsCountedBesideWhatIsDecided() {
    recorded();
    Store store = Store.sqlite(folder.resolve("threads.db"));
    WhatIf whatIf = WhatIf.of().keys(KEYS);
    Agent reworded = desk("****", "Pay at once.");

    WhatIfResult asked = whatIf.agents(List.of(reworded)).over(store);
    WhatIfResult both = whatIf.agents(List.of(reworded.maxSteps(1))).over(store);

    assertThat(asked.otherwise()).isEqualTo(1);
    assertThat(asked.text())
        .contains("     1  desk desk: a model asked otherwise, instructions")
        .contains("Instructions: not those that were recorded");
    assertThat(both.otherwise()).isEqualTo(1);
    assertThat(both.text())
        .contains("     1  desk desk: a model asked otherwise, instructions")
        .contains("     1  desk: another outcome, max_total_steps instead of step began")
        .contains("Now:      the thread rests: max_total_steps");
    assertThat(paid).hasValue(1);
  }

  @Test
  void aThreadWithoutAJournalIsNamed() {
    try (Fermata host = host()) {
      assertThatThrownBy(
              () -> host.journals().thread("none").readWithSecrets().toCompletableFuture().join())
          .hasMessageContaining("no journal of a thread none");
    }
  }
}
