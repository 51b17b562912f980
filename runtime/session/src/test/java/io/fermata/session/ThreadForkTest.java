package io.fermata.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.UserMessage;
import io.fermata.agent.Agent;
import io.fermata.agent.Handoff;
import io.fermata.agent.Prompt;
import io.fermata.agent.Tool;
import io.fermata.agent.message.Attachment;
import io.fermata.agent.message.Bounds;
import io.fermata.agent.message.Message;
import io.fermata.agent.model.Model;
import io.fermata.agent.replay.ThreadJournal;
import io.fermata.agent.replay.ThreadReplay;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadFork;
import io.fermata.flow.event.ForkOrigin;
import io.fermata.flow.json.Json;
import io.fermata.persistence.Store;
import io.fermata.postgres.PostgresServer;
import io.fermata.session.admin.DataKeys;
import io.fermata.session.admin.EncryptedFields;
import io.fermata.session.admin.Erasure;
import io.fermata.session.admin.KeyProvider;
import io.fermata.session.admin.Settings;
import io.fermata.session.admin.ThreadException;
import io.fermata.session.admin.Threads;
import io.fermata.session.admin.Threads.NewFork;
import io.fermata.session.call.UnreachableAgentException;
import io.fermata.session.telemetry.Meters;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** New threads from entries of other ones, on real stores. */
class ThreadForkTest {
  record Refund(String order) {}

  private static final KeyProvider KEYS = DataKeys.parse(DataKeys.generate("k1"));
  private static final Duration TIMEOUT = Duration.ofSeconds(60);

  @TempDir Path folder;

  /** What was done outside. */
  private final List<String> done = new CopyOnWriteArrayList<>();

  private final SimpleMeterRegistry meters = new SimpleMeterRegistry();

  /** Refunds what it is asked to, and otherwise says in which tone it heard what. */
  private Agent desk(String name) {
    Tool refund =
        Tool.of(
            "refund",
            "Refunds an order.",
            Refund.class,
            (flow, args) -> {
              done.add(args.order());
              flow.files().write("/receipt", "for " + args.order());
              return "refunded";
            });
    return Agent.aiHuman(
        name,
        Prompt.of(
                "desk",
                ScriptedModels.answering(
                    messages -> {
                      String tone = messages.get(0).toString().contains("short") ? "!" : ".";
                      String said =
                          messages.get(messages.size() - 1) instanceof UserMessage user
                              ? user.singleText().lines().findFirst().orElse("")
                              : "";
                      return said.startsWith("B-")
                          ? AiMessage.from(
                              ToolExecutionRequest.builder()
                                  .id(said)
                                  .name("refund")
                                  .arguments("{\"order\":\"" + said + "\"}")
                                  .build())
                          : AiMessage.from(name + " heard " + said + tone);
                    }))
            .text("Be ")
            .env("tone")
            .tools(refund));
  }

  private HostBuilder builder(Store store) {
    return Fermata.host()
        .store(store)
        .settings(Settings.DEFAULT.snapshotEvery(3))
        .telemetry(Meters.of(meters))
        .agent(desk("desk"))
        .agent(desk("desk-v2"));
  }

  private Store file() {
    return Store.sqlite(folder.resolve("threads.db"));
  }

  private static <T> T now(CompletionStage<T> stage) {
    try {
      return stage.toCompletableFuture().get(60, TimeUnit.SECONDS);
    } catch (Exception e) {
      if (e.getCause() instanceof RuntimeException cause) {
        throw cause;
      }
      throw new AssertionError(e);
    }
  }

  private static Threads.View say(Fermata host, String id, String text) {
    return say(host, id, text, List.of(text.getBytes(StandardCharsets.UTF_8)));
  }

  private static Threads.View say(Fermata host, String id, String text, List<byte[]> attached) {
    List<Attachment> notes =
        attached.stream().map(note -> new Attachment("note.txt", "text/plain", note)).toList();
    now(host.threads().post("ann", id, new Threads.NewMessage(Message.user(text), notes, null)));
    return now(host.threads().settled("ann", id, TIMEOUT));
  }

  /** A thread in which ann said Hi, wanted a refund, and said Bye. */
  private static String talked(Fermata host) {
    String id =
        now(host.threads()
                .create(
                    new Threads.NewThread(
                        "ann", "desk", null, Set.of("vip"), Map.of("tone", "kind"), List.of())))
            .threadId();
    say(host, id, "Hi");
    say(host, id, "B-1");
    assertThat(say(host, id, "Bye").code()).isEqualTo("stop_on_response");
    return id;
  }

  private static List<String> texts(Fermata host, String id) {
    return now(host.threads().messages("ann", id, Threads.MessageQuery.latest(100).withSilent()))
        .messages()
        .stream()
        .map(message -> message.role() + ": " + message.content())
        .toList();
  }

  private static Threads.View fork(Fermata host, String id, NewFork how) {
    Threads.View fork = now(host.threads().fork("ann", id, how));
    return now(host.threads().settled("ann", fork.threadId(), TIMEOUT));
  }

  private static String file(Fermata host, String id, String path) {
    return new String(now(host.threads().file("ann", id, path)).data(), StandardCharsets.UTF_8);
  }

  /** It would do what has become due since it was last awake. */
  @Test
  void aForkDoesNotWakeItsSource() {
    String source;
    try (Fermata host = builder(file()).start()) {
      source = talked(host);
    }
    try (Fermata host = builder(file()).dormant().start()) {
      fork(host, source, NewFork.live().before("m-u3"));

      assertThat(host.awake()).isEqualTo(1);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"memory", "sqlite", "postgres"})
  void aForkIsAThreadOfItsOwnWithWhatItsSourceHadAndTheSourceStaysAsItIs(String store) {
    Store kept =
        switch (store) {
          case "memory" -> Store.memory();
          case "sqlite" -> file();
          default -> Store.postgres(PostgresServer.shared().newDatabase());
        };
    try (Fermata host = builder(kept).start()) {
      String source = talked(host);
      Threads.View before = now(host.threads().get("ann", source));
      List<String> said = texts(host, source);
      double asked = tokens();

      Threads.View fork =
          now(host.threads().fork("ann", source, NewFork.live().before("m-u3").by("ops")));

      assertThat(tokens()).as("what the source has spent is counted once").isEqualTo(asked);
      assertThat(fork.status()).isEqualTo(Threads.Status.RESTING);
      assertThat(texts(host, fork.threadId())).isEqualTo(said.subList(2, said.size()));
      assertThat(fork.about().tags()).containsExactly("vip");
      assertThat(Objects.requireNonNull(fork.fork()))
          .extracting(ThreadFork::threadId, ThreadFork::mode, ThreadFork::by)
          .containsExactly(source, ForkOrigin.Mode.LIVE, "ops");
      assertThat(file(host, fork.threadId(), "/receipt")).isEqualTo("for B-1");
      assertThat(done).containsExactly("B-1");

      Threads.View end = say(host, fork.threadId(), "B-2");
      assertThat(end.code()).isEqualTo("stop_on_response");
      assertThat(done).containsExactly("B-1", "B-2");
      assertThat(file(host, fork.threadId(), "/receipt")).isEqualTo("for B-2");
      assertThat(file(host, source, "/receipt")).isEqualTo("for B-1");
      assertThat(now(host.threads().get("ann", source))).isEqualTo(before);

      ThreadJournal journal = now(host.journals().thread(fork.threadId()).readWithSecrets());
      long entry = fork.fork().entry();
      assertThat(journal.entries().get((int) entry).events().get(0))
          .isInstanceOf(ThreadEvent.ForkedFrom.class);
      assertThat(journal.narrative(List.of(desk("desk"), desk("desk-v2"))))
          .contains("a fork of " + source + " at entry " + entry + ", live, by ops");
      ThreadReplay.of(List.of(desk("desk"), desk("desk-v2")), journal).requireSame();
      assertThat(listed(host)).contains(source, fork.threadId());
    }
  }

  private double tokens() {
    return meters.get("fermata.model.tokens").tag("kind", "output").counter().count();
  }

  @Test
  void aForkWithTheResultsOfItsSourceAsksAndRefundsNothingUntilItsModelIsAskedSomethingElse() {
    try (Fermata host = builder(file()).start()) {
      String source = talked(host);
      List<String> said = texts(host, source);
      long came =
          now(host.journals().thread(source).readWithSecrets()).entries().stream()
              .filter(entry -> entry.events().stream().anyMatch(ThreadForkTest::isRefundWanted))
              .findFirst()
              .orElseThrow()
              .seq();
      double asked = tokens();

      Threads.View same = fork(host, source, NewFork.replayEffects().at(came));

      assertThat(same.code()).isEqualTo("stop_on_response");
      assertThat(texts(host, same.threadId())).isEqualTo(said.subList(2, said.size()));
      assertThat(file(host, same.threadId(), "/receipt")).isEqualTo("for B-1");
      assertThat(done).containsExactly("B-1");
      assertThat(tokens()).as("what the source has spent is counted once").isEqualTo(asked);
      ThreadJournal journal = now(host.journals().thread(same.threadId()).readWithSecrets());
      assertThat(journal.narrative(List.of(desk("desk"))))
          .contains("a fork of " + source + " at entry " + came + ", with its results, by ann");
      ThreadReplay.of(List.of(desk("desk")), journal).requireSame();

      Threads.View other =
          fork(host, source, NewFork.replayEffects().at(came).env("tone", "short"));

      assertThat(texts(host, other.threadId()).get(0)).endsWith("!");
      assertThat(done).containsExactly("B-1", "B-1");
      assertThat(tokens()).isGreaterThan(asked);
      Threads.View later = say(host, same.threadId(), "B-2");
      assertThat(later.code()).isEqualTo("stop_on_response");
      assertThat(done).containsExactly("B-1", "B-1", "B-2");
    }
  }

  private static boolean isRefundWanted(ThreadEvent event) {
    return event instanceof ThreadEvent.Received received
        && "B-1".equals(received.message().content());
  }

  private static List<String> listed(Fermata host) {
    return now(
            host.threads()
                .list(new Threads.Query("ann", null, Set.of("vip"), null, null, false, 50, null)))
        .threads()
        .stream()
        .map(Threads.Listed::threadId)
        .toList();
  }

  private record Wish(String message) {}

  private static Agent clerk(String name, Model model) {
    Tool pay = Tool.of("pay", "Pays.", Wish.class, (flow, args) -> "Paid").approval("Pay?");
    Prompt sum = Prompt.of("sum", ScriptedModels.saying("Summed.")).toolDescription("Sums up.");
    return Agent.aiHuman(name, Prompt.of("clerk", model).tools(pay, sum.asTool()));
  }

  /** Calls the tool that the user names, unless that is none. */
  private static AiMessage served(List<ChatMessage> messages) {
    if (!(messages.get(messages.size() - 1) instanceof UserMessage user)) {
      return AiMessage.from("Done.");
    }
    String wanted = user.singleText();
    if (wanted.equals("fail")) {
      throw new IllegalStateException("The provider is down");
    }
    return AiMessage.from(
        ToolExecutionRequest.builder()
            .id(wanted + messages.size())
            .name(wanted)
            .arguments("{\"message\":\"please\"}")
            .build());
  }

  @Test
  void aForkBeginsBeforeAnyMessageOfItsSourceWhateverBroughtIt() {
    Agent clerk = clerk("clerk", ScriptedModels.answering(ThreadForkTest::served));
    Agent better = clerk("better", ScriptedModels.saying("Better."));
    try (Fermata host = Fermata.host().store(file()).agent(clerk).agent(better).start()) {
      String source =
          now(host.threads()
                  .create(
                      new Threads.NewThread("ann", "clerk", null, Set.of(), Map.of(), List.of())))
              .threadId();
      for (String wanted : List.of("sum", "pay", "fail")) {
        say(host, source, wanted, List.of());
      }
      List<String> ids =
          now(
                  host.threads()
                      .messages(
                          "ann", source, Threads.MessageQuery.latest(100).depth(9).withSilent()))
              .messages()
              .stream()
              .map(Message::id)
              .toList();
      assertThat(ids).contains("m-s1.0.in", "m-s4.0", "m-s5");
      ThreadJournal journal = now(host.journals().thread(source).readWithSecrets());
      assertThat(journal.events())
          .hasAtLeastOneElementOfType(ThreadEvent.FrameOpened.class)
          .hasAtLeastOneElementOfType(ThreadEvent.CallDetached.class)
          .hasAtLeastOneElementOfType(ThreadEvent.StepFailed.class);

      for (String id : ids) {
        Threads.View fork = now(host.threads().fork("ann", source, NewFork.sandbox().before(id)));
        long entry = Objects.requireNonNull(fork.fork()).entry();
        assertThat(Json.text(Json.tree(journal.entries().get((int) entry).events())))
            .contains("\"id\":\"" + id + "\"");
      }

      Threads.View fork = fork(host, source, NewFork.live().before("m-s5").agent("better"));
      assertThat(texts(host, fork.threadId()))
          .startsWith("ASSISTANT: Better.", "USER: fail")
          .hasSameSizeAs(texts(host, source));
    }
  }

  @Test
  void anotherMessageAVariableAndAnotherAgentTakeThePlaceOfThoseOfTheSource() {
    try (Fermata host = builder(file()).start()) {
      String source = talked(host);

      Threads.View fork =
          fork(
              host,
              source,
              NewFork.live()
                  .before("m-u2")
                  .message(Message.user("Never mind"))
                  .env("tone", "short")
                  .agent("desk-v2"));

      assertThat(texts(host, fork.threadId()))
          .containsExactly(
              "ASSISTANT: desk-v2 heard Never mind!",
              "USER: Never mind",
              "ASSISTANT: desk heard Hi.",
              "USER: Hi");
      assertThat(fork.agent()).isEqualTo("desk-v2");
      assertThat(fork.threadId()).startsWith("desk-v2.");
    }
  }

  @Test
  void aSandboxRestsAtACallThatItDoesNotMakeAndSaysWhich() {
    try (Fermata host = builder(file()).start()) {
      String source = talked(host);
      done.clear();

      Threads.View fork =
          fork(host, source, NewFork.sandbox().before("m-u2").message(Message.user("B-7")));

      assertThat(fork.code()).isEqualTo("sandboxed");
      assertThat(fork.progress().detail()).isEqualTo("refund {\"order\":\"B-7\"}");
      assertThat(done).isEmpty();
      Threads.View live = fork(host, fork.threadId(), NewFork.live().message(Message.user("B-8")));
      assertThat(live.code()).isEqualTo("stop_on_response");
      assertThat(done).containsExactly("B-8");
    }
  }

  @Test
  void aForkIsThereAfterACrashWithAllItsEntriesAndGoesWithItsOwner() {
    String fork;
    Fermata first = builder(file()).start();
    String source = talked(first);
    Threads.View view = fork(first, source, NewFork.live());
    fork = view.threadId();
    first.crash();
    try (Fermata host = builder(file()).start()) {
      assertThat(now(host.threads().get("ann", fork))).isEqualTo(view);
      assertThat(texts(host, fork)).isEqualTo(texts(host, source));
      assertThat(file(host, fork, "/receipt")).isEqualTo("for B-1");
      now(host.threads().delete("ann", source));
      assertThat(say(host, fork, "Still there?").code()).isEqualTo("stop_on_response");

      now(host.erase(Erasure.principal("ann")));

      assertThat(refusal(host, fork, NewFork.live())).isEqualTo("unknown_thread");
      assertThat(refusal(host, source, NewFork.live())).isEqualTo("unknown_thread");
    }
  }

  @Test
  void aForkOfAnEncryptedThreadIsEncryptedAndNeedsTheKeyOfItsSource() throws Exception {
    String source;
    String fork;
    try (Fermata host = builder(file()).keys(KEYS).encrypt(EncryptedFields.EVERYTHING).start()) {
      source = talked(host);
      fork = fork(host, source, NewFork.live().message(Message.user("Confidential"))).threadId();
      assertThat(texts(host, fork)).first().asString().contains("Confidential");
    }
    try (var files = Files.list(folder)) {
      for (Path file : files.filter(Files::isRegularFile).toList()) {
        assertThat(new String(Files.readAllBytes(file), StandardCharsets.ISO_8859_1))
            .doesNotContain("Confidential", "heard Hi");
      }
    }
    KeyProvider other = DataKeys.parse(DataKeys.generate("k2"));
    try (Fermata host = builder(file()).keys(other).encrypt(EncryptedFields.EVERYTHING).start()) {
      assertThat(refusal(host, source, NewFork.live())).isEqualTo("key_missing");
      assertThat(refusal(host, fork, NewFork.live())).isEqualTo("key_missing");
    }
  }

  @Test
  void whatCannotBeForkedIsRefusedWithTheReasonAndTheNextStep() {
    try (Fermata host = builder(file()).start()) {
      String source = talked(host);
      long last = now(host.threads().get("ann", source)).offset();

      assertThatThrownBy(() -> now(host.threads().fork("ann", source, NewFork.live().at(99))))
          .hasMessage(
              "The thread %s has no entry 99; its entries are 1 to %d".formatted(source, last));
      assertThat(refusal(host, source, NewFork.live().at(0))).isEqualTo("unknown_entry");
      assertThatThrownBy(
              () -> now(host.threads().fork("ann", source, NewFork.live().before("m-u9"))))
          .hasMessageContaining("no message m-u9 to fork before; pass the id");
      assertThatThrownBy(
              () -> now(host.threads().fork("ann", source, NewFork.live().agent("nobody"))))
          .hasMessage("There is no agent nobody; there are desk, desk-v2");
      assertThat(refusal(host, source + "x", NewFork.live())).isEqualTo("unknown_thread");
      assertThat(refusal(host, "desk", NewFork.live())).isEqualTo("unknown_thread");
      assertThat(refusal(host, source, NewFork.live().env("tone", "x".repeat(70_000))))
          .isEqualTo("invalid_env");
      assertThatThrownBy(() -> now(host.threads().fork("bob", source, NewFork.live())))
          .hasMessageContaining("another caller's. Send the threadId of an earlier result");
      assertThat(listed(host)).containsExactly(source);
    }
  }

  @Test
  @Tag("slow")
  void aThreadThatIsTooLargeToBeReadWholeIsNotForked() {
    try (Fermata host = builder(file()).start()) {
      String source = talked(host);
      List<byte[]> eight = Collections.nCopies(8, new byte[Bounds.FILE]);
      for (int i = 0; i < 4; i++) {
        say(host, source, "Look", eight);
      }
      assertThatThrownBy(() -> now(host.threads().fork("ann", source, NewFork.sandbox())))
          .hasMessageContaining("more than 32 MiB");
      assertThat(refusal(host, source, NewFork.live())).isEqualTo("thread_too_large");
    }
  }

  @Test
  void whoForksContinuesNoWorkOfAnAgentThatTheyMayNotUse() {
    Tool pay = Tool.of("pay", "Pays.", (flow, args) -> "paid").approval("Pay?");
    Agent clerk =
        Agent.aiHuman(
            "clerk",
            Prompt.of("clerk", ScriptedModels.serving(Map.of("boss", "Gone."), "Here."))
                .tools(Handoff.to("boss", "Decides.")));
    Agent boss =
        Agent.aiHuman(
            "boss",
            Prompt.of("boss", ScriptedModels.serving(Map.of("pay", "Paid.", "clerk", "-"), "Yes?"))
                .tools(pay, Handoff.to("clerk", "Helps.")));
    try (Fermata host = Fermata.host().store(file()).agent(clerk).agent(boss).start()) {
      String id =
          now(host.threads()
                  .create(
                      new Threads.NewThread("ann", "clerk", null, Set.of(), Map.of(), List.of())))
              .threadId();
      say(host, id, "boss, please");
      long entry = say(host, id, "pay me").offset();
      Threads.View back = say(host, id, "back to the clerk");
      assertThat(back.agent()).isEqualTo("clerk");
      assertThat(back.questions()).hasSize(1);

      NewFork how = NewFork.live().reaching("clerk"::equals);
      for (NewFork each :
          List.of(how, how.agent("clerk"), how.at(entry), how.agent("boss").at(1))) {
        assertThatThrownBy(() -> fork(host, id, each))
            .isInstanceOfSatisfying(
                UnreachableAgentException.class, e -> assertThat(e.agent()).isEqualTo("boss"));
      }
      assertThat(fork(host, id, how.at(1)).agent()).isEqualTo("clerk");
      assertThat(fork(host, id, NewFork.live()).questions()).hasSize(1);
    }
  }

  private static String refusal(Fermata host, String id, NewFork how) {
    try {
      now(host.threads().fork("ann", id, how));
    } catch (ThreadException e) {
      return e.code();
    }
    throw new AssertionError("It was forked");
  }

  @Test
  @Tag("slow")
  void anyHostOfAClusterForksAThreadOfAnotherHostHoweverLongItIs() {
    String database = PostgresServer.shared().newDatabase();
    try (Fermata one = builder(Store.postgres(database)).cluster().start();
        Fermata two = builder(Store.postgres(database)).cluster().start()) {
      String source = talked(one);
      for (int i = 0; i < 8; i++) {
        say(one, source, i + "x".repeat(250 * 1024), List.of(new byte[Bounds.FILE]));
      }
      long messages = now(one.threads().get("ann", source)).messages();

      for (Fermata host : List.of(one, two)) {
        Threads.View fork = now(host.threads().fork("ann", source, NewFork.live()));
        for (Fermata any : List.of(one, two)) {
          Threads.View seen = now(any.threads().get("ann", fork.threadId()));
          assertThat(seen.messages()).isEqualTo(messages);
          assertThat(Objects.requireNonNull(seen.fork()).threadId()).isEqualTo(source);
        }
        assertThat(file(two, fork.threadId(), "/receipt")).isEqualTo("for B-1");
      }
    }
  }
}
