package io.fermata.session;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.UserMessage;
import io.fermata.agent.Agent;
import io.fermata.agent.Prompt;
import io.fermata.agent.message.Message;
import io.fermata.agent.replay.ThreadJournal;
import io.fermata.agent.state.ThreadFork;
import io.fermata.flow.Flow;
import io.fermata.flow.FlowBuilder;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.ForkOrigin;
import io.fermata.flow.json.Json;
import io.fermata.flow.replay.ForkException;
import io.fermata.flow.replay.ForkOptions;
import io.fermata.flow.replay.Replay;
import io.fermata.flow.replay.RunJournal;
import io.fermata.flow.schema.Computed;
import io.fermata.flow.schema.Secret;
import io.fermata.persistence.Store;
import io.fermata.session.admin.ArchiveException;
import io.fermata.session.admin.DataKeys;
import io.fermata.session.admin.EncryptedFields;
import io.fermata.session.admin.Erasure;
import io.fermata.session.admin.Fork;
import io.fermata.session.admin.KeyProvider;
import io.fermata.session.admin.Retention;
import io.fermata.session.admin.ThreadException;
import io.fermata.session.admin.Threads;
import io.fermata.session.admin.Threads.NewFork;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolReply;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** New runs and threads from journals that another store exported. */
class ExportForkTest {
  record Order(String item, @Secret String card, @Computed Integer price) {}

  /** The keys of the store that exports, and those of the store that forks. */
  private static final KeyProvider THEIRS = DataKeys.parse(DataKeys.generate("k1"));

  private static final KeyProvider OURS = DataKeys.parse(DataKeys.generate("k2"));

  @TempDir Path folder;

  /** What was done outside. */
  private final List<String> done = new CopyOnWriteArrayList<>();

  private FlowBuilder<Order> order() {
    return Flow.of("order", Order.class)
        .description("Orders an item.")
        .ask("ask_card", q -> q.question("card", "Which card?"))
        .ask("ask_item", q -> q.question("item", "Which item?"))
        .act(
            "price",
            run -> {
              String item = Objects.requireNonNull(run.get("item", String.class));
              done.add("price of " + item);
              run.set("price", 10 * item.length());
            })
        .edge(START, "ask_card")
        .edge("ask_card", "ask_item")
        .edge("ask_item", "price")
        .edge("price", END)
        .result(Order::price);
  }

  private static Agent desk() {
    return Agent.aiHuman(
        "desk",
        Prompt.of(
            "desk",
            ScriptedModels.answering(
                messages ->
                    AiMessage.from(
                        "I heard "
                            + messages.stream()
                                .filter(UserMessage.class::isInstance)
                                .map(said -> ((UserMessage) said).singleText().lines().toList())
                                .toList()))));
  }

  private HostBuilder builder(String store, KeyProvider keys) {
    return Fermata.host()
        .store(Store.sqlite(folder.resolve(store)))
        .keys(keys)
        .retention(Retention.ofJournals(Duration.ofDays(1)));
  }

  private Fermata ours() {
    return builder("ours.db", OURS).flow(order().compile()).agent(desk()).start();
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

  private static ToolReply call(Fermata host, String who, ObjectNode arguments, ObjectNode meta) {
    return now(host.call(new ToolCall("order", who, arguments, meta, null), progress -> {}));
  }

  private static ToolReply said(Fermata host, String action, Map<String, String> updates) {
    ObjectNode arguments = Json.object().put("action", action).put("intent", "orders");
    updates.forEach(arguments.putObject("stateUpdates")::put);
    return call(host, "ann", arguments, Json.object().put("fermata/sessionId", "s"));
  }

  /** Exports a run that has ended, whose entry 2 asks for the item. */
  private Path exported(boolean secrets) throws IOException {
    Path file = folder.resolve("run.jsonl");
    try (Fermata theirs = builder("theirs.db", THEIRS).flow(order().compile()).start();
        ByteArrayOutputStream to = new ByteArrayOutputStream()) {
      said(theirs, "start", Map.of());
      said(theirs, "continue", Map.of("card", "4111-1111"));
      ToolReply end = said(theirs, "continue", Map.of("item", "pen"));
      String runId = end.meta().path("fermata/run").path("runId").asText();
      now(
          secrets
              ? theirs.journals().run("order", runId).exportWithSecrets(to)
              : theirs.journals().run("order", runId).export(to));
      Files.write(file, to.toByteArray());
    }
    done.clear();
    return file;
  }

  private Path exportedThread(boolean secrets) throws IOException {
    Path file = folder.resolve("thread.jsonl");
    try (Fermata theirs =
            builder("theirs.db", THEIRS).agent(desk()).encrypt(EncryptedFields.EVERYTHING).start();
        ByteArrayOutputStream to = new ByteArrayOutputStream()) {
      String id =
          now(theirs
                  .threads()
                  .create(
                      new Threads.NewThread(
                          "ann", "desk", null, Set.of("vip"), Map.of(), List.of())))
              .threadId();
      for (String text : List.of("Hi", "Bye")) {
        now(
            theirs
                .threads()
                .post("ann", id, new Threads.NewMessage(Message.user(text), List.of(), null)));
        now(theirs.threads().settled("ann", id, Duration.ofSeconds(60)));
      }
      now(
          secrets
              ? theirs.journals().thread(id).exportWithSecrets(to)
              : theirs.journals().thread(id).export(to));
      Files.write(file, to.toByteArray());
    }
    return file;
  }

  private static String text(List<Message> messages) {
    return messages.stream().map(Message::content).toList().toString();
  }

  @Test
  void aRunOfAnotherStoreIsForkedFromItsExportAloneAsARunOfWhoeverIsNamed() throws Exception {
    RunJournal source = ExportedJournal.read(exported(false), THEIRS).run();
    try (Fermata host = ours()) {
      Fork fork = now(host.fork(source, 2, "bob", ForkOptions.live().answer("item", "pencil")));

      assertThat(fork.reply().structured().path("result").asInt()).isEqualTo(60);
      assertThat(done).containsExactly("price of pencil");
      assertThat(fork.principal()).isEqualTo("bob");
      RunJournal journal = now(host.journals().run("order", fork.runId()).readWithSecrets());
      assertThat(journal.events())
          .filteredOn(Event.ForkedFrom.class::isInstance)
          .extracting(event -> ((Event.ForkedFrom) event).origin())
          .containsExactly(
              new ForkOrigin(
                  "order",
                  source.runId(),
                  2,
                  source.entries().get(1).at(),
                  ForkOrigin.Mode.LIVE,
                  "bob"));
      Replay.of(order().compile(), journal).requireSame();
      try (var files = Files.list(folder)) {
        for (Path file : files.filter(path -> path.toString().contains("ours.db")).toList()) {
          assertThat(Files.readString(file, StandardCharsets.ISO_8859_1))
              .doesNotContain("4111-1111");
        }
      }

      Fork asks = now(host.fork(source, 2, "bob", ForkOptions.live().by("ops")));
      ObjectNode answer =
          Json.object().put("action", "continue").put("sessionId", asks.sessionId());
      answer.putObject("stateUpdates").put("item", "ink");
      assertThat(call(host, "bob", answer, Json.object()).structured().path("result").asInt())
          .isEqualTo(30);

      now(host.erase(Erasure.principal("bob")));

      assertThatThrownBy(() -> now(host.journals().run("order", fork.runId()).readWithSecrets()))
          .isInstanceOf(IllegalArgumentException.class);
    }
  }

  @Test
  void aSandboxOfAnExportHasTheResultsOfTheExportAndPerformsNothing() throws Exception {
    RunJournal source = ExportedJournal.read(exported(false), THEIRS).run();
    try (Fermata host = ours()) {
      ForkOptions sandbox = ForkOptions.sandbox();
      Fork same = now(host.fork(source, 2, "bob", sandbox.answer("item", "pen")));
      Fork other = now(host.fork(source, 2, "bob", sandbox.answer("item", "ink")));
      Fork cut = now(host.fork(source.upTo(2), 2, "bob", sandbox.answer("item", "pen")));
      Fork replayed =
          now(host.fork(source, 2, "bob", ForkOptions.replayEffects().answer("item", "pen")));

      assertThat(same.reply().structured().path("result").asInt()).isEqualTo(30);
      assertThat(other.reply().structured().path("code").asText()).isEqualTo("sandboxed");
      assertThat(cut.reply().structured().path("code").asText())
          .as("a journal that was cut has no results")
          .isEqualTo("sandboxed");
      assertThat(replayed.reply().structured().path("result").asInt()).isEqualTo(30);
      assertThat(done).isEmpty();
    }
  }

  @Test
  void anExportThatIsCutAlteredOrEncryptedWithAnotherKeyIsNotForked() throws Exception {
    Path export = exported(false);
    List<String> lines = Files.readAllLines(export);
    Path cut = folder.resolve("cut.jsonl");
    Files.write(cut, lines.subList(0, lines.size() - 1));
    Path altered = folder.resolve("altered.jsonl");
    List<String> other = new ArrayList<>(lines);
    other.replaceAll(line -> line.replace("orders", "steals"));
    assertThat(other).isNotEqualTo(lines);
    Files.write(altered, other);

    assertThatThrownBy(() -> ExportedJournal.read(cut, THEIRS).run())
        .isInstanceOf(ArchiveException.class)
        .hasMessageContaining("the line is missing; the file is truncated")
        .hasMessageContaining("nothing of it was used");
    assertThatThrownBy(() -> ExportedJournal.read(altered, THEIRS).run())
        .isInstanceOf(ArchiveException.class)
        .hasMessageContaining("The export was altered");
    try (Fermata host = ours()) {
      RunJournal redacted = ExportedJournal.read(export, OURS).run();
      assertThatThrownBy(() -> now(host.fork(redacted, 2, "bob", ForkOptions.sandbox())))
          .isInstanceOfSatisfying(
              ForkException.class, e -> assertThat(e.code()).isEqualTo("key_missing"))
          .hasMessageContaining("was read without the key")
          .hasMessageContaining("Configure that key");
      assertThat(now(host.runs().list(io.fermata.session.admin.RunQuery.ALL)).runs()).isEmpty();
    }
  }

  @Test
  void anExportIsForkedOnlyWhereItsFlowAndItsVersionAre() throws Exception {
    RunJournal source = ExportedJournal.read(exported(true)).run();
    try (Fermata host = builder("ours.db", OURS).agent(desk()).start()) {
      assertThatThrownBy(() -> now(host.fork(source, 2, "bob", ForkOptions.live())))
          .hasMessage("The host has no flow order; register it to fork its runs");
    }
    try (Fermata host = builder("ours.db", OURS).flow(order().version(2).compile()).start()) {
      assertThatThrownBy(() -> now(host.fork(source, 2, "bob", ForkOptions.live())))
          .isInstanceOfSatisfying(
              ForkException.class, e -> assertThat(e.code()).isEqualTo("version_changed"));
    }
    try (Fermata host = ours()) {
      assertThatThrownBy(() -> now(host.fork(source, 77, "bob", ForkOptions.live())))
          .hasMessageContaining("has no entry 77; its entries are 1 to 4");
      assertThatThrownBy(() -> now(host.fork(source, 2, " ", ForkOptions.live())))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("name the principal");
      assertThat(now(host.fork(source, 2, "bob", ForkOptions.live())).reply().error()).isFalse();
    }
  }

  @Test
  void aThreadOfAnotherStoreIsForkedFromItsExportAloneAsAThreadOfWhoeverIsNamed() throws Exception {
    ThreadJournal source = ExportedJournal.read(exportedThread(false), THEIRS).thread();
    try (Fermata host = ours()) {
      Threads.View fork =
          now(
              host.threads()
                  .fork(
                      "bob",
                      source,
                      NewFork.sandbox().before("m-u2").message(Message.user("Again"))));
      fork = now(host.threads().settled("bob", fork.threadId(), Duration.ofSeconds(60)));

      assertThat(
              text(
                  now(host.threads()
                          .messages(
                              "bob", fork.threadId(), Threads.MessageQuery.latest(9).withSilent()))
                      .messages()))
          .isEqualTo("[I heard [[Hi], [Again]], Again, I heard [[Hi]], Hi]");
      assertThat(Objects.requireNonNull(fork.fork()))
          .extracting(ThreadFork::threadId, ThreadFork::mode, ThreadFork::by)
          .containsExactly(source.threadId(), ForkOrigin.Mode.SANDBOX, "bob");
      assertThat(
              now(host.journals().thread(fork.threadId()).readWithSecrets())
                  .upTo(1)
                  .state()
                  .begun()
                  .principal())
          .isEqualTo("bob");
      String id = fork.threadId();
      assertThatThrownBy(() -> now(host.threads().get("ann", id)))
          .isInstanceOf(ThreadException.class);

      Threads.View live = now(host.threads().fork("bob", source, NewFork.live().by("ops")));
      assertThat(Objects.requireNonNull(live.fork()).by()).isEqualTo("ops");

      now(host.erase(Erasure.principal("bob")));

      assertThatThrownBy(() -> now(host.threads().get("bob", id)))
          .isInstanceOf(ThreadException.class);
    }
  }

  @Test
  void anExportedThreadThatIsEncryptedOrWhoseAgentIsNotThereIsNotForked() throws Exception {
    Path export = exportedThread(false);
    ThreadJournal redacted = ExportedJournal.read(export, OURS).thread();
    try (Fermata host = ours()) {
      assertThatThrownBy(() -> now(host.threads().fork("bob", redacted, NewFork.live())))
          .isInstanceOfSatisfying(
              ThreadException.class, e -> assertThat(e.code()).isEqualTo("key_missing"))
          .hasMessageContaining("configure that key, or export the thread in clear");
    }
    ThreadJournal source = ExportedJournal.read(export, THEIRS).thread();
    try (Fermata host = builder("ours.db", OURS).flow(order().compile()).start()) {
      assertThatThrownBy(() -> now(host.threads().fork("bob", source, NewFork.live())))
          .hasMessage("There is no agent desk; there are none");
    }
  }
}
