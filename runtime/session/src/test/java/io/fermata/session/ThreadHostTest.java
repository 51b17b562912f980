package io.fermata.session;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.data.message.UserMessage;
import io.fermata.agent.Agent;
import io.fermata.agent.Compaction;
import io.fermata.agent.FlowState;
import io.fermata.agent.FlowTool;
import io.fermata.agent.Hook;
import io.fermata.agent.Offered;
import io.fermata.agent.Prompt;
import io.fermata.agent.SubAgent;
import io.fermata.agent.Tool;
import io.fermata.agent.message.Attachment;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.Role;
import io.fermata.agent.model.Model;
import io.fermata.agent.replay.ThreadReplay;
import io.fermata.agent.state.ChildThread;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.flow.Flow;
import io.fermata.flow.FlowBuilder;
import io.fermata.flow.WidgetOptions;
import io.fermata.flow.action.Run;
import io.fermata.flow.json.Json;
import io.fermata.flow.replay.JournalEntry;
import io.fermata.flow.replay.Replay;
import io.fermata.persistence.Store;
import io.fermata.session.admin.Erasure;
import io.fermata.session.admin.RunInfo;
import io.fermata.session.admin.RunQuery;
import io.fermata.session.admin.Settings;
import io.fermata.session.admin.ThreadException;
import io.fermata.session.admin.Threads;
import io.fermata.session.call.DisplayTool;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolReply;
import io.fermata.session.key.RootCauses;
import io.fermata.session.observe.Activity;
import io.fermata.session.observe.Telemetry;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.pekko.actor.testkit.typed.javadsl.ManualTime;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Threads on a real store: what is acknowledged survives, and what was under way goes on. */
@Tag("slow")
class ThreadHostTest {
  private static final Duration TIMEOUT = Duration.ofSeconds(30);

  @TempDir Path folder;

  private static ToolExecutionRequest call(String id, String tool) {
    return ToolExecutionRequest.builder().id(id).name(tool).arguments("{}").build();
  }

  private static AiMessage echo(List<ChatMessage> messages) {
    ChatMessage last = messages.get(messages.size() - 1);
    String text =
        last instanceof UserMessage user
            ? user.singleText()
            : ((ToolExecutionResultMessage) last).text();
    return AiMessage.from("You said: " + text);
  }

  private Fermata host(Agent agent) {
    return Fermata.host().store(Store.sqlite(folder.resolve("t.db"))).agent(agent).start();
  }

  private static <T> T now(CompletionStage<T> stage) throws Exception {
    return stage.toCompletableFuture().get(60, TimeUnit.SECONDS);
  }

  private static Threads.NewThread thread(String agent) {
    return new Threads.NewThread("ann", agent, null, Set.of("vip"), Map.of(), List.of());
  }

  private static Threads.NewMessage says(String text) {
    return new Threads.NewMessage(Message.user(text), List.of(), null);
  }

  private static List<String> texts(Threads threads, String id) throws Exception {
    return now(threads.messages("ann", id, Threads.MessageQuery.latest(100).withSilent()))
        .messages()
        .stream()
        .map(m -> m.role() + ": " + m.content())
        .toList();
  }

  private static Threads.NewThread keyed(String agent, String key) {
    return new Threads.NewThread("ann", agent, key, Set.of(), Map.of(), List.of());
  }

  private static String outcome(CompletionStage<Threads.View> created) throws Exception {
    return now(
        created.handle(
            (view, thrown) -> {
              ThreadException refused = RootCauses.find(thrown, ThreadException.class);
              return refused == null ? "created" : refused.code();
            }));
  }

  @Test
  void ofTwoCreationsAtTheSameMomentUnderOneKeyForTwoAgentsOneWins() throws Exception {
    Prompt prompt = Prompt.of("p", ScriptedModels.saying("Heard."));
    try (Fermata host =
        Fermata.host()
            .store(Store.memory())
            .agent(Agent.aiHuman("one", prompt))
            .agent(Agent.aiHuman("two", prompt))
            .start()) {
      for (int i = 0; i < 50; i++) {
        CompletionStage<Threads.View> one = host.threads().create(keyed("one", "k" + i));
        CompletionStage<Threads.View> two = host.threads().create(keyed("two", "k" + i));
        assertThat(List.of(outcome(one), outcome(two)))
            .containsExactlyInAnyOrder("created", "key_used");
        assertThat(outcome(host.threads().create(keyed("one", "k" + i))))
            .as("a repetition")
            .isEqualTo(outcome(one));
      }
    }
  }

  @Test
  void aKeyIsLookedForAmongTheThreadsOfAllOtherAgentsAtOnce() throws Exception {
    CountDownLatch asked = new CountDownLatch(3);
    CompletableFuture<Void> all = new CompletableFuture<>();
    Store store =
        AlteredStore.of(
            Store.memory(),
            request -> {
              if (!request.is("get") || !String.valueOf(request.argument(0)).contains("other")) {
                return request.ask();
              }
              CompletionStage<?> found = (CompletionStage<?>) request.ask();
              asked.countDown();
              if (asked.getCount() == 0) {
                all.complete(null);
              }
              CompletionStage<?> answer = all.thenCompose(now -> found);
              return answer;
            });
    Prompt prompt = Prompt.of("p", ScriptedModels.saying("Heard."));
    HostBuilder builder = Fermata.host().store(store).agent(Agent.aiHuman("one", prompt));
    List.of("other1", "other2", "other3")
        .forEach(name -> builder.agent(Agent.aiHuman(name, prompt)));
    try (Fermata host = builder.start()) {
      assertThat(outcome(host.threads().create(keyed("one", "k")))).isEqualTo("created");
    }
  }

  @Test
  void aMessageIsAnsweredAndBothSurviveARestart() throws Exception {
    Agent agent =
        Agent.aiHuman("echo", Prompt.of("p", ScriptedModels.answering(ThreadHostTest::echo)));
    String id;
    try (Fermata host = host(agent)) {
      Threads threads = host.threads();
      id = now(threads.create(thread("echo"))).threadId();
      now(threads.post("ann", id, says("hello")));
      Threads.View view = now(threads.settled("ann", id, TIMEOUT));
      assertThat(view.status()).isEqualTo(Threads.Status.RESTING);
      assertThat(view.code()).isEqualTo("stop_on_response");
      Duration endless = ChronoUnit.FOREVER.getDuration();
      assertThat(now(threads.settled("ann", id, endless)).code()).isEqualTo("stop_on_response");
    }
    try (Fermata host = host(agent)) {
      assertThat(texts(host.threads(), id))
          .containsExactly("ASSISTANT: You said: hello", "USER: hello");
      now(host.threads().post("ann", id, says("again")));
      now(host.threads().settled("ann", id, TIMEOUT));
      assertThat(texts(host.threads(), id)).hasSize(4).first().asString().endsWith("again");
    }
  }

  @Test
  void aMessageWithFilesAndMetadataIsRecognisedAfterARestart() throws Exception {
    Agent agent =
        Agent.aiHuman("echo", Prompt.of("p", ScriptedModels.answering(ThreadHostTest::echo)));
    Message message =
        Message.user("hello")
            .withMetadata(Json.parse("{\"b\":1.10,\"a\":[1e3,0.1,12345678901234567890,null]}"));
    byte[] bytes = {1, 2};
    Threads.NewMessage sent =
        new Threads.NewMessage(message, List.of(new Attachment("a", "a/b", bytes)), "k");
    String id;
    try (Fermata host = host(agent)) {
      id = now(host.threads().create(thread("echo"))).threadId();
      assertThat(now(host.threads().post("ann", id, sent)).repeated()).isFalse();
      assertThat(now(host.threads().post("ann", id, sent)).repeated()).isTrue();
    }
    try (Fermata host = host(agent)) {
      assertThat(now(host.threads().post("ann", id, sent)).repeated()).isTrue();
    }
  }

  @Test
  void whatOnlyWaitsForAThreadCausesNothingThatItDoesMeanwhile() throws Exception {
    CompletableFuture<Void> thought = new CompletableFuture<>();
    Model model =
        ScriptedModels.answering(
            messages -> {
              thought.join();
              return echo(messages);
            });
    try (Fermata host = host(Agent.aiHuman("echo", Prompt.of("p", model)))) {
      Threads threads = host.threads();
      String id = now(threads.create(thread("echo"))).threadId();
      now(threads.post("ann", id, says("hello")));
      CompletionStage<Threads.View> waits = threads.settled("ann", id, TIMEOUT);
      // The thread takes calls in turn, so it has the one that waits.
      now(threads.get("ann", id));
      thought.complete(null);
      assertThat(now(waits).status()).isEqualTo(Threads.Status.RESTING);

      assertThat(now(host.journals().thread(id).readWithSecrets()).entries())
          .filteredOn(
              entry -> entry.events().stream().anyMatch(ThreadEvent.StepEnded.class::isInstance))
          .extracting(JournalEntry::by, JournalEntry::principal)
          .containsExactly(tuple("effect", null));
    }
  }

  @Test
  void aProcessLostInTheThirdToolOfATurnResumesAtTheThird() throws Exception {
    Queue<String> ran = new ConcurrentLinkedQueue<>();
    CountDownLatch third = new CountDownLatch(1);
    Model model =
        ScriptedModels.answering(
            messages ->
                messages.get(messages.size() - 1) instanceof UserMessage
                    ? AiMessage.from(call("1", "one"), call("2", "two"), call("3", "three"))
                    : AiMessage.from("done"));
    Agent agent =
        Agent.aiHuman(
            "worker",
            Prompt.of("p", model)
                .tools(
                    Tool.of("one", "First.", (flow, args) -> ran.add("one")),
                    Tool.of("two", "Second.", (flow, args) -> ran.add("two")),
                    Tool.of(
                        "three",
                        "Third.",
                        (flow, args) -> {
                          ran.add("three " + flow.attempt());
                          if (flow.attempt() == 1) {
                            third.countDown();
                            new CompletableFuture<Void>().get();
                          }
                          return "ok";
                        })));
    Fermata first = host(agent);
    String id = now(first.threads().create(thread("worker"))).threadId();
    now(first.threads().post("ann", id, says("go")));
    assertThat(third.await(60, TimeUnit.SECONDS)).isTrue();
    first.crash();
    try (Fermata second = host(agent)) {
      assertThat(now(second.threads().settled("ann", id, TIMEOUT)).status())
          .isEqualTo(Threads.Status.RESTING);
      assertThat(texts(second.threads(), id)).first().isEqualTo("ASSISTANT: done");
      assertThat(ran).containsExactly("one", "two", "three 1", "three 2");
    }
  }

  @Test
  void aMessageWithAKeyCountsOnce() throws Exception {
    Agent agent =
        Agent.aiHuman("echo", Prompt.of("p", ScriptedModels.answering(ThreadHostTest::echo)));
    try (Fermata host = host(agent)) {
      Threads threads = host.threads();
      String id = now(threads.create(thread("echo"))).threadId();
      Threads.NewMessage named = new Threads.NewMessage(Message.user("once"), List.of(), "k1");
      Threads.Posted first = now(threads.post("ann", id, named));
      Threads.Posted second = now(threads.post("ann", id, named));
      assertThat(second.repeated()).isTrue();
      assertThat(second.messageId()).isEqualTo(first.messageId());
      now(threads.settled("ann", id, TIMEOUT));
      assertThat(texts(threads, id)).hasSize(2);
    }
  }

  @Test
  void aThreadIsNotThereForAnotherPrincipal() throws Exception {
    Agent agent =
        Agent.aiHuman("echo", Prompt.of("p", ScriptedModels.answering(ThreadHostTest::echo)));
    try (Fermata host = host(agent)) {
      String id = now(host.threads().create(thread("echo"))).threadId();
      assertThatThrownBy(() -> now(host.threads().get("bob", id)))
          .hasCauseInstanceOf(ThreadException.class)
          .hasMessageContaining("no such thread");
      assertThatThrownBy(
              () -> now(host.threads().messages("bob", id, Threads.MessageQuery.latest(10))))
          .hasMessageContaining("no such thread");
    }
  }

  @Test
  void aDeletedThreadLeavesNothing() throws Exception {
    Agent agent =
        Agent.aiHuman("echo", Prompt.of("p", ScriptedModels.answering(ThreadHostTest::echo)));
    try (Fermata host = host(agent)) {
      Threads threads = host.threads();
      String id = now(threads.create(thread("echo"))).threadId();
      now(threads.post("ann", id, says("secret")));
      now(threads.settled("ann", id, TIMEOUT));
      now(threads.delete("ann", id));
      assertThatThrownBy(() -> now(threads.get("ann", id))).hasMessageContaining("no such thread");
      Threads.Query all = new Threads.Query("ann", null, Set.of(), null, null, true, 10, null);
      for (int i = 0; i < 1_200 && !now(threads.list(all)).threads().isEmpty(); i++) {
        Thread.sleep(50);
      }
      assertThat(now(threads.list(all)).threads()).isEmpty();
    }
  }

  @Test
  void aToolOfAThreadSeesAndChangesItsState() throws Exception {
    Model model =
        ScriptedModels.answering(
            messages ->
                messages.get(messages.size() - 1) instanceof UserMessage
                    ? AiMessage.from(call("1", "note"))
                    : AiMessage.from("noted"));
    Agent agent =
        Agent.aiHuman(
            "noter",
            Prompt.of("p", model)
                .tools(
                    Tool.of(
                        "note",
                        "Keeps a note.",
                        (flow, args) -> {
                          flow.storage().put("turns", flow.turnCount());
                          flow.files().write("/note.txt", "seen " + flow.messageHistory().size());
                          return flow.files().readText("/note.txt");
                        })));
    try (Fermata host = host(agent)) {
      Threads threads = host.threads();
      String id = now(threads.create(thread("noter"))).threadId();
      now(threads.post("ann", id, says("hi")));
      now(threads.settled("ann", id, TIMEOUT));
      assertThat(
              now(threads.messages("ann", id, Threads.MessageQuery.latest(10).withSilent()))
                  .messages())
          .extracting(Message::role)
          .containsExactly(Role.ASSISTANT, Role.TOOL, Role.ASSISTANT, Role.USER);
      assertThat(
              new String(now(threads.file("ann", id, "/note.txt")).data(), StandardCharsets.UTF_8))
          .isEqualTo("seen 2");
    }
  }

  @Test
  void aThreadIsReadBackFromASnapshotAndWhatCameAfterIt() throws Exception {
    Agent agent =
        Agent.aiHuman(
            "echo", Prompt.of("p", ScriptedModels.answering(ThreadHostTest::echo)).window(4));
    Settings often = Settings.DEFAULT.snapshotEvery(3);
    Store store = Store.sqlite(folder.resolve("t.db"));
    Threads.View before;
    String id;
    try (Fermata host = Fermata.host().store(store).settings(often).agent(agent).start()) {
      Threads threads = host.threads();
      id = now(threads.create(thread("echo"))).threadId();
      for (int i = 0; i < 20; i++) {
        now(
            threads.post(
                "ann", id, new Threads.NewMessage(Message.user("m" + i), List.of(), "key " + i)));
        now(threads.settled("ann", id, TIMEOUT));
      }
      before = now(threads.get("ann", id));
      // The one before is deleted when the last is saved, which nobody waits for.
      TestHost.eventually(() -> rows("snapshot") == 1);
    }
    try (Fermata host = Fermata.host().store(store).settings(often).agent(agent).start()) {
      Threads threads = host.threads();
      assertThat(now(threads.get("ann", id))).isEqualTo(before);
      assertThat(
              now(threads.post(
                      "ann", id, new Threads.NewMessage(Message.user("m7"), List.of(), "key 7")))
                  .repeated())
          .isTrue();
      assertThat(texts(threads, id)).hasSize(40).last().isEqualTo("USER: m0");
    }
  }

  private long rows(String table) {
    try (Connection connection =
            DriverManager.getConnection("jdbc:sqlite:" + folder.resolve("t.db"));
        ResultSet rows =
            connection.createStatement().executeQuery("SELECT count(*) FROM " + table)) {
      return rows.getLong(1);
    } catch (SQLException e) {
      throw new AssertionError(e);
    }
  }

  record Case(@Nullable String colour, @Nullable String seen) {}

  private Fermata withFlow(Model model, FlowTool tool) {
    return Fermata.host()
        .store(Store.sqlite(folder.resolve("t.db")))
        .settings(Settings.DEFAULT.snapshotEvery(1))
        .agent(Agent.aiHuman("decorator", Prompt.of("p", model).tools(tool)))
        .start();
  }

  private static FlowState caller(Run<Case> run) {
    return run.caller(FlowState.class).orElseThrow();
  }

  private static AiMessage paints(List<ChatMessage> messages) {
    return messages.stream()
        .filter(ToolExecutionResultMessage.class::isInstance)
        .map(result -> AiMessage.from(((ToolExecutionResultMessage) result).text()))
        .findFirst()
        .orElseGet(() -> AiMessage.from(call("1", "paint")));
  }

  private static FlowTool paints(UnaryOperator<FlowBuilder<Case>> steps) {
    FlowBuilder<Case> flow = Flow.of("paint", Case.class).description("Paints.");
    return FlowTool.of("paint", "Paints.", steps.apply(flow).compile());
  }

  @Test
  void stepsOfAFlowMeetTheThreadThatCalledItAndTheThreadHasWhatTheyDidOnce() throws Exception {
    FlowTool paint =
        paints(
            flow ->
                flow.act(
                        "begin",
                        run -> {
                          FlowState thread = caller(run);
                          thread.context("begun", thread.threadId());
                          thread.injectMessage(Message.assistant("One moment").asSilent());
                        })
                    .ask("ask", a -> a.question("colour", "Which colour?"))
                    .act("finish", run -> run.set("seen", caller(run).context().get("begun")))
                    .edge(START, "begin")
                    .edge("begin", "ask")
                    .edge("ask", "finish")
                    .edge("finish", END));
    Model model = ScriptedModels.answering(ThreadHostTest::paints);
    String id;
    Threads.Question question;
    try (Fermata host = withFlow(model, paint)) {
      id = now(host.threads().create(thread("decorator"))).threadId();
      now(host.threads().post("ann", id, says("go")));
      Threads.View view = now(host.threads().settled("ann", id, TIMEOUT));
      question = view.questions().get(0);
      assertThat(texts(host.threads(), id)).noneMatch(text -> text.contains("One moment"));
    }
    try (Fermata host = withFlow(model, paint)) {
      now(
          host.threads()
              .answer(
                  "ann",
                  id,
                  new Threads.Answer(
                      question.call(), "a1", null, Json.object().put("colour", "red"), null)));
      now(host.threads().settled("ann", id, TIMEOUT));
      assertThat(texts(host.threads(), id))
          .filteredOn(text -> text.contains("One moment"))
          .hasSize(1);
      assertThat(texts(host.threads(), id).get(0)).contains("red").contains(id);
    }
  }

  @Test
  void aThreadWhoseFlowWaitsForASignalOrAMomentAnswersMeanwhile() throws Exception {
    FlowTool paint =
        paints(
            flow ->
                flow.waitFor("dry", "dried")
                    .deadline("dry", Duration.ofDays(30), "dry2")
                    .sleep("dry2", Duration.ofDays(30))
                    .edge(START, "dry")
                    .edge("dry", "dry2")
                    .edge("dry2", END));
    Model model =
        ScriptedModels.answering(
            messages ->
                messages.get(messages.size() - 1) instanceof UserMessage user
                        && user.singleText().equals("And now?")
                    ? AiMessage.from("Wait. " + paints(messages).text())
                    : paints(messages));
    try (Fermata host = withFlow(model, paint)) {
      String id = sent(host, "go");
      TestHost.eventually(() -> runs(host) == 1);
      now(host.threads().post("ann", id, says("And now?")));
      TestHost.eventually(() -> lastOf(host.threads(), id).contains("Wait."));

      assertThat(texts(host.threads(), id).get(0))
          .contains("It waits for signal dried until 20", "has not ended yet")
          .doesNotContain("stateUpdates");
    }
  }

  @Test
  void aMessageToAThreadWhoseFlowWaitsIsRepliedToOnceTheModelHasAnsweredAndTheThreadSleeps()
      throws Exception {
    FlowTool paint =
        paints(flow -> flow.waitFor("dry", "dried").edge(START, "dry").edge("dry", END));
    try (Fermata host =
        Fermata.host()
            .store(Store.sqlite(folder.resolve("t.db")))
            .settings(Settings.DEFAULT.idle(Duration.ofMillis(100)))
            .agent(decorator(paint))
            .start()) {
      String id = sent(host, "go");
      Threads.View stands = now(host.threads().settled("ann", id, TIMEOUT));
      assertThat(stands.status()).isEqualTo(Threads.Status.RESTING);
      assertThat(stands.code()).as("its turn is not over").isNull();
      assertThat(stands.waits())
          .extracting(Threads.Wait::waitsFor)
          .containsExactly("for signal dried");

      now(host.threads().post("ann", id, says("And now?")));
      Threads.View answered = now(host.threads().settled("ann", id, TIMEOUT));
      assertThat(answered.status()).isEqualTo(Threads.Status.RESTING);
      assertThat(answered.code()).isEqualTo("stop_on_response");
      assertThat(answered.waits()).isEqualTo(stands.waits());
      assertThat(lastOf(host.threads(), id)).contains("It waits for signal dried");

      TestHost.eventually(() -> host.awake() == 0);
      signal(host, "dried");
      TestHost.eventually(
          () -> host.threads().get("ann", id).toCompletableFuture().join().waits().isEmpty());
    }
  }

  @Test
  void aThreadThatWaitsForAChildWhoseFlowWaitsRestsAndItsModelReplies() throws Exception {
    FlowTool paint =
        paints(flow -> flow.waitFor("dry", "dried").edge(START, "dry").edge("dry", END));
    Agent boss =
        Agent.aiHuman(
            "boss",
            Prompt.of(
                    "p",
                    ScriptedModels.serving(
                        "go", "decorator", "{\"message\":\"go\"}", "It waits for the paint."))
                .tools(SubAgent.of("decorator", "Decorates").asBlocking()));
    try (Fermata host =
        Fermata.host()
            .store(Store.sqlite(folder.resolve("t.db")))
            .agent(boss)
            .agent(decorator(paint))
            .start()) {
      Threads threads = host.threads();
      String id = now(threads.create(thread("boss"))).threadId();
      now(threads.post("ann", id, says("go")));
      Threads.View stands = now(threads.settled("ann", id, TIMEOUT));
      assertThat(stands.status()).isEqualTo(Threads.Status.RESTING);
      assertThat(stands.waits())
          .extracting(Threads.Wait::tool, Threads.Wait::waitsFor)
          .containsExactly(
              tuple("decorator", "in the thread " + stands.children().get(0).threadId()));

      now(threads.post("ann", id, says("And now?")));
      Threads.View answered = now(threads.settled("ann", id, TIMEOUT));
      assertThat(answered.inbox()).isEmpty();
      assertThat(answered.code()).isEqualTo("stop_on_response");
      assertThat(lastOf(threads, id)).contains("It waits for the paint.");

      signal(host, "dried");
      TestHost.eventually(
          () -> {
            Threads.View view = threads.get("ann", id).toCompletableFuture().join();
            return view.children().get(0).rests();
          });
      Threads.View ended = now(threads.settled("ann", id, TIMEOUT));
      assertThat(ended.waits()).isEmpty();
      assertThat(ended.children()).singleElement().matches(ChildThread::rests);
    }
  }

  @Test
  void aCallOfAChildThatWorksForItsOwnerReturnsWhatTheChildRepliesToTheCall() throws Exception {
    CountDownLatch looks = new CountDownLatch(1);
    CompletableFuture<Void> seen = new CompletableFuture<>();
    Model weather =
        ScriptedModels.answering(
            messages -> {
              AiMessage reply = echo(messages);
              if (reply.text().contains("rain")) {
                looks.countDown();
                seen.join();
              }
              return reply;
            });
    Agent worker = Agent.aiHuman("worker", Prompt.of("p", weather));
    Agent desk =
        Agent.aiHuman(
            "desk",
            Prompt.of(
                    "p",
                    ScriptedModels.serving("go", "worker", "{\"message\":\"dig\"}", "It is dug."))
                .tools(SubAgent.of("worker", "Works").asBlocking().atMost(1)));
    try (Fermata host =
        Fermata.host()
            .store(Store.sqlite(folder.resolve("t.db")))
            .agent(desk)
            .agent(worker)
            .start()) {
      Threads threads = host.threads();
      String id = now(threads.create(thread("desk"))).threadId();
      now(threads.post("ann", id, says("go")));
      String child = now(threads.settled("ann", id, TIMEOUT)).children().get(0).threadId();
      now(threads.post("ann", child, says("Does it rain?")));
      assertThat(looks.await(60, TimeUnit.SECONDS)).isTrue();

      now(threads.post("ann", id, says("go again")));
      TestHost.eventually(
          () -> !threads.get("ann", child).toCompletableFuture().join().inbox().isEmpty());
      seen.complete(null);
      now(threads.settled("ann", id, TIMEOUT));

      assertThat(texts(threads, id))
          .filteredOn(text -> text.startsWith("TOOL"))
          .allSatisfy(text -> assertThat(text).endsWith("You said: dig"))
          .hasSize(2);
    }
  }

  @Test
  void aThreadWithAnOpenApprovalIsListedAsAskingAlsoWhileAFlowOfItWaits() throws Exception {
    FlowTool paint =
        paints(flow -> flow.waitFor("dry", "dried").edge(START, "dry").edge("dry", END));
    Tool pay = Tool.of("pay", "Pays.", (flow, args) -> "paid").approval("Pay the painter?");
    Model model =
        ScriptedModels.answering(
            messages ->
                messages.get(messages.size() - 1) instanceof UserMessage
                    ? AiMessage.from(call("1", "paint"), call("2", "pay"))
                    : AiMessage.from("done"));
    Prompt prompt = Prompt.of("p", model).tools(paint, pay).parallelToolCalls();
    Threads.Query asking =
        new Threads.Query("ann", null, Set.of(), Threads.Status.ASKING, null, true, 10, null);
    try (Fermata host = host(Agent.aiHuman("decorator", prompt))) {
      String id = sent(host, "go");
      waits(host.threads(), id, "for signal dried");
      assertThat(now(host.threads().settled("ann", id, TIMEOUT)).status())
          .isEqualTo(Threads.Status.ASKING);
      TestHost.eventually(
          () ->
              host.threads().list(asking).toCompletableFuture().join().threads().stream()
                  .anyMatch(listed -> listed.threadId().equals(id)));
      assertThat(now(host.threads().get("ann", id)).waits()).hasSize(1);
    }
  }

  @Test
  void aFlowThatAsksAPersonOnceItHasWaitedAsksInTheThread() throws Exception {
    FlowTool paint =
        paints(
            flow ->
                flow.ask("ask", a -> a.question("colour", "Which colour?"))
                    .sleep("dry", Duration.ofSeconds(1))
                    .ask("look", a -> a.question("seen", "Is it fine?"))
                    .sleep("harden", Duration.ofSeconds(1))
                    .edge(START, "ask")
                    .edge("ask", "dry")
                    .edge("dry", "look")
                    .edge("look", "harden")
                    .edge("harden", END));
    try (Fermata host = withPainter(paint)) {
      String id = sent(host, "go");
      answer(host.threads(), id, "Which colour?", "colour");
      answer(host.threads(), id, "Is it fine?", "seen");
      TestHost.eventually(() -> lastOf(host.threads(), id).contains("seen"));
    }
  }

  @Test
  void aFlowThatAsksAPersonOnceItGotItsSignalAsksInTheThreadWhichSaysUntilThenWhatItWaitsFor()
      throws Exception {
    FlowTool paint =
        paints(
            flow ->
                flow.waitFor("deliver", "delivered")
                    .ask("ask", a -> a.question("colour", "Which colour?"))
                    .waitFor("dry", "dried")
                    .ask("look", a -> a.question("seen", "Is it fine?"))
                    .edge(START, "deliver")
                    .edge("deliver", "ask")
                    .edge("ask", "dry")
                    .edge("dry", "look")
                    .edge("look", END));
    try (Fermata host = withPainter(paint)) {
      String id = sent(host, "go");
      waits(host.threads(), id, "for signal delivered");
      signal(host, "delivered");
      answer(host.threads(), id, "Which colour?", "colour");
      waits(host.threads(), id, "for signal dried");
      signal(host, "dried");
      answer(host.threads(), id, "Is it fine?", "seen");
      TestHost.eventually(() -> lastOf(host.threads(), id).contains("seen"));
      assertThat(now(host.threads().get("ann", id)).waits()).isEmpty();
    }
  }

  @Test
  void aThreadLearnsOfTheSignalThatItsFlowWaitedForAlthoughNoTimePasses() throws Exception {
    FlowTool paint =
        paints(
            flow ->
                flow.waitFor("deliver", "delivered")
                    .act("mix", run -> run.set("colour", "red"))
                    .waitFor("dry", "dried")
                    .edge(START, "deliver")
                    .edge("deliver", "mix")
                    .edge("mix", "dry")
                    .edge("dry", END));
    Agent decorator = decorator(paint);
    try (Fermata host =
        Fermata.host()
            .store(Store.sqlite(folder.resolve("t.db")))
            .clock(InstantSource.fixed(Instant.now()))
            .agent(decorator)
            .start()) {
      String id = sent(host, "go");
      waits(host.threads(), id, "for signal delivered");
      signal(host, "delivered");
      waits(host.threads(), id, "for signal dried");
      signal(host, "dried");
      TestHost.eventually(() -> lastOf(host.threads(), id).contains("red"));
      ThreadReplay.of(List.of(decorator), now(host.journals().thread(id).readWithSecrets()))
          .requireSame();
    }
  }

  @Test
  void aThreadAsksWhatItsFlowAsksOnceTheDeadlineOfAQuestionHasPassed() throws Exception {
    FlowTool paint =
        paints(
            flow ->
                flow.ask("ask", a -> a.question("colour", "Which colour?"))
                    .deadline("ask", Duration.ofSeconds(1), "look")
                    .ask("look", a -> a.question("seen", "Is white fine?"))
                    .edge(START, "ask")
                    .edge("ask", END)
                    .edge("look", END));
    try (Fermata host = withPainter(paint)) {
      String id = sent(host, "go");
      answer(host.threads(), id, "Is white fine?", "seen");
      TestHost.eventually(() -> lastOf(host.threads(), id).contains("yes"));
      assertThat(now(host.journals().thread(id).readWithSecrets()).events())
          .filteredOn(event -> event.toString().contains("Is white fine?"))
          .isNotEmpty()
          .noneMatch(event -> event.toString().contains("startedAt"));
    }
  }

  @Test
  void aThreadHasTheResultOfAFlowThatGoesOnAsNobodyAnswers() throws Exception {
    FlowTool paint =
        paints(
            flow ->
                flow.ask("ask", a -> a.question("colour", "Which colour?"))
                    .deadline("ask", Duration.ofSeconds(1), "mix")
                    .act("mix", run -> run.set("colour", "white"))
                    .edge(START, "ask")
                    .edge("ask", END)
                    .edge("mix", END));
    Agent decorator = decorator(paint);
    try (Fermata host = host(decorator)) {
      String id = sent(host, "go");
      TestHost.eventually(() -> lastOf(host.threads(), id).contains("white"));
      ThreadReplay.of(List.of(decorator), now(host.journals().thread(id).readWithSecrets()))
          .requireSame();
    }
  }

  @Test
  void aThreadLearnsThatTheRunThatAskedHasExpired() throws Exception {
    FlowTool paint =
        paints(
            flow ->
                flow.expireAfter(Duration.ofSeconds(1))
                    .ask("ask", a -> a.question("colour", "Which colour?"))
                    .edge(START, "ask")
                    .edge("ask", END));
    try (Fermata host = withPainter(paint)) {
      String id = sent(host, "go");
      TestHost.eventually(() -> lastOf(host.threads(), id).contains("has expired"));
      assertThat(now(host.threads().get("ann", id)).questions()).isEmpty();
    }
  }

  @Test
  void aThreadAsksForTheFieldOfTheQuestionThatFollowsADeadlineInTheSameWords() throws Exception {
    FlowTool paint =
        paints(
            flow ->
                flow.ask("ask", a -> a.question("colour", "Which colour?"))
                    .deadline("ask", Duration.ofSeconds(1), "look")
                    .ask("look", a -> a.question("seen", "Which colour?"))
                    .edge(START, "ask")
                    .edge("ask", END)
                    .edge("look", END));
    try (Fermata host = withPainter(paint)) {
      String id = sent(host, "go");
      answer(host.threads(), id, "\"seen\"", "seen");
      TestHost.eventually(() -> lastOf(host.threads(), id).contains("\"seen\":\"yes\""));
    }
  }

  private static FlowTool asksForAColour() {
    return paints(
        flow ->
            flow.ask("ask", a -> a.question("colour", "Which colour?"))
                .edge(START, "ask")
                .edge("ask", END));
  }

  @Test
  void whoChangesTheQuestionOfAViewChangesNothingOfTheThread() throws Exception {
    try (Fermata host = withPainter(asksForAColour())) {
      String id = sent(host, "go");
      Threads.Question asked = open(host.threads(), id, "Which colour?");
      String before = asked.question().toString();
      ((ObjectNode) asked.question()).put("question", "Which colour? Blue?");
      assertThat(open(host.threads(), id, "Which colour?").question().toString()).isEqualTo(before);
    }
  }

  @Test
  void anAnswerIsWhatItWasWhenItWasMade() throws Exception {
    try (Fermata host = withPainter(asksForAColour())) {
      String id = sent(host, "go");
      String call = open(host.threads(), id, "Which colour?").call();
      ObjectNode answers = Json.object().put("colour", "red");
      Threads.Answer red = new Threads.Answer(call, "a1", null, answers, null);
      answers.put("colour", "blue");
      now(host.threads().answer("ann", id, red));
      TestHost.eventually(() -> lastOf(host.threads(), id).contains("red"));
    }
  }

  @Test
  void aThreadKeepsTheVariablesThatItWasCreatedWith() throws Exception {
    Queue<String> instructions = new ConcurrentLinkedQueue<>();
    Model model =
        ScriptedModels.answering(
            messages -> {
              instructions.add(messages.get(0).toString());
              return AiMessage.from("Heard.");
            });
    Map<String, String> env = new HashMap<>(Map.of("tone", "brief"));
    List<Message> messages = new ArrayList<>();
    List<Attachment> files = new ArrayList<>();
    try (Fermata host = host(Agent.aiHuman("echo", Prompt.of("p", model).env("tone")))) {
      Threads threads = host.threads();
      var wanted = new Threads.NewThread("ann", "echo", null, Set.of(), env, messages);
      var message = new Threads.NewMessage(Message.user("Hi"), files, null);
      String id = now(threads.create(wanted)).threadId();
      env.put("tone", "solemn");
      messages.add(Message.user("Hello"));
      files.add(new Attachment("a.txt", "text/plain", new byte[1]));
      now(threads.post("ann", id, message));
      now(threads.settled("ann", id, TIMEOUT));
      assertThat(instructions).singleElement().asString().contains("brief");
      assertThat(texts(threads, id)).containsExactly("ASSISTANT: Heard.", "USER: Hi");
      assertThat(wanted.messages()).isEmpty();
      assertThat(message.attachments()).isEmpty();
    }
  }

  @Test
  @SuppressWarnings("NullAway") // what is given by mistake
  void aVariableThatIsNullIsRefusedByNameWhereItIsGiven() throws Exception {
    Map<String, String> env = new HashMap<>();
    env.put("tone", null);
    assertThatThrownBy(() -> new Threads.NewThread("ann", "echo", null, Set.of(), env, List.of()))
        .hasMessage("env.tone");
    assertThatThrownBy(() -> Threads.NewFork.live().env("tone", null)).hasMessage("env.tone");
    Agent agent = Agent.aiHuman("echo", Prompt.of("p", ScriptedModels.saying("Heard.")));
    try (Fermata host = host(agent)) {
      String id = now(host.threads().create(thread("echo"))).threadId();
      assertThatThrownBy(() -> now(host.threads().change("ann", id, null, env)))
          .hasMessage("env.tone");
    }
  }

  private static void palette(WidgetOptions<Case> widget, String season) {
    widget.tool("palette").field("colour").data(state -> Map.of("season", season));
  }

  @Test
  void aThreadShowsTheDataOfTheWidgetThatFollowsADeadlineWithTheSameTool() throws Exception {
    FlowTool paint =
        paints(
            flow ->
                flow.widget("ask", w -> palette(w, "spring"))
                    .deadline("ask", Duration.ofSeconds(1), "look")
                    .widget("look", w -> palette(w, "autumn"))
                    .edge(START, "ask")
                    .edge("ask", END)
                    .edge("look", END));
    try (Fermata host =
        Fermata.host()
            .store(Store.memory())
            .agent(decorator(paint))
            .display(DisplayTool.of("palette", "Palette", "Shows colours.", "<html></html>"))
            .start()) {
      String id = sent(host, "go");
      answer(host.threads(), id, "autumn", "colour");
      TestHost.eventually(() -> lastOf(host.threads(), id).contains("\"colour\":\"yes\""));
    }
  }

  @Test
  void anOptionalQuestionThatAThreadAsksAfterADeadlineCanBeLeftOpenAtOnce() throws Exception {
    FlowTool paint =
        paints(
            flow ->
                flow.ask("ask", a -> a.question("colour", "Which colour?"))
                    .deadline("ask", Duration.ofSeconds(1), "look")
                    .ask("look", a -> a.question("seen", "Is it fine?", q -> q.optional()))
                    .edge(START, "ask")
                    .edge("ask", END)
                    .edge("look", END));
    try (Fermata host = withPainter(paint)) {
      String id = sent(host, "go");
      answer(host.threads(), id, "Is it fine?", "leaving it open", Json.object());
      assertThat(now(host.threads().settled("ann", id, TIMEOUT)).questions()).isEmpty();
    }
  }

  @Test
  void aThreadThatAsksAnotherOptionalQuestionAfterADeadlinePassesNoneThatIsOpen() throws Exception {
    FlowTool paint =
        paints(
            flow ->
                flow.fork(START, both -> both.branch("mix").branch("ask").join("done"))
                    .ask("mix", a -> a.question("colour", "Which colour?", q -> q.optional()))
                    .ask("ask", a -> a.question("seen", "Is it urgent?"))
                    .deadline("ask", Duration.ofSeconds(1), "look")
                    .ask("look", a -> a.question("seen", "Is it fine?", q -> q.optional()))
                    .act("done", run -> {})
                    .edge("mix", "done")
                    .edge("ask", "done")
                    .edge("look", "done")
                    .edge("done", END));
    try (Fermata host = withPainter(paint)) {
      String id = sent(host, "go");
      assertThat(open(host.threads(), id, "Is it fine?").question().toString())
          .contains("Which colour?");
      String run = runs(host, RunQuery.ALL).get(0).runId();
      Replay.of(paint.flow(), now(host.journals().run("paint", run).readWithSecrets()))
          .requireSame();
      answer(host.threads(), id, "Is it fine?", "leaving both open", Json.object());
      assertThat(now(host.threads().settled("ann", id, TIMEOUT)).questions()).isEmpty();
    }
  }

  @Test
  void aThreadDoesNotLookAtWhatAFlowAsksAtItsFirstCall() throws Exception {
    FlowTool paint =
        paints(
            flow ->
                flow.ask("ask", a -> a.question("colour", "Which colour?"))
                    .edge(START, "ask")
                    .edge("ask", END));
    AtomicInteger calls = new AtomicInteger();
    Telemetry counting =
        new Telemetry() {
          @Override
          public Activity called(Call call) {
            calls.addAndGet(call.tool().equals("paint") ? 1 : 0);
            return Activity.NONE;
          }
        };
    try (Fermata host =
        Fermata.host().store(Store.memory()).agent(decorator(paint)).telemetry(counting).start()) {
      String id = sent(host, "go");
      open(host.threads(), id, "Which colour?");
      assertThat(calls).hasValue(1);
    }
  }

  @Test
  void aThreadDoesNotLookWhileItsFlowAsksTheSame() throws Exception {
    FlowTool paint =
        paints(
            flow ->
                flow.fork(START, both -> both.branch("ask").branch("dry").join("done"))
                    .ask("ask", a -> a.question("colour", "Which colour?"))
                    .waitFor("dry", "dried")
                    .waitFor("harden", "hardened")
                    .act("done", run -> {})
                    .edge("ask", "done")
                    .edge("dry", "harden")
                    .edge("harden", "done")
                    .edge("done", END));
    try (Fermata host = withPainter(paint)) {
      String id = sent(host, "go");
      TestHost.eventually(
          () -> host.threads().get("ann", id).toCompletableFuture().join().questions().size() == 1);
      signalAsking(host, "dried");
      signalAsking(host, "hardened");
      answer(host.threads(), id, "Which colour?", "colour");
      TestHost.eventually(() -> lastOf(host.threads(), id).contains("yes"));

      assertThat(now(host.journals().thread(id).readWithSecrets()).events())
          .filteredOn(ThreadEvent.CallBegan.class::isInstance)
          .hasSize(2);
    }
  }

  private static void signalAsking(Fermata host, String name) throws InterruptedException {
    TestHost.eventually(() -> runs(host) == 1);
    String runId = runs(host, RunQuery.ALL).get(0).runId();
    ToolReply reply = host.signal("paint", runId, name, null, null).toCompletableFuture().join();
    assertThat(reply.error()).isFalse();
  }

  @Test
  void aThreadLooksOnceMoreAtAFlowThatChangedWhileItLooked() throws Exception {
    CountDownLatch mixed = new CountDownLatch(1);
    CountDownLatch swept = new CountDownLatch(1);
    FlowTool paint =
        paints(
            flow ->
                flow.act("mix", run -> mixed.await())
                    .waitFor("deliver", "delivered")
                    .waitFor("dry", "dried")
                    .edge(START, "mix")
                    .edge("mix", "deliver")
                    .edge("deliver", "dry")
                    .edge("dry", END));
    Flow<Case> sweep =
        Flow.of("sweep", Case.class)
            .description("Sweeps.")
            .act("sweep", run -> swept.await())
            .edge(START, "sweep")
            .edge("sweep", END)
            .compile();
    try (Fermata host =
        Fermata.host()
            .store(Store.sqlite(folder.resolve("t.db")))
            // No time passes, so the thread does not look again by itself.
            .config(ManualTime.config())
            // The look ends once the sweeping, which began before, has let it.
            .settings(Settings.DEFAULT.handlerThreads(1))
            .flow(sweep)
            .agent(decorator(paint))
            .start()) {
      String id = sent(host, "go");
      TestHost.eventually(() -> runs(host) == 1);
      ObjectNode start = Json.object().put("action", "start").put("intent", "t");
      CompletionStage<ToolReply> sweeping =
          host.call(new ToolCall("sweep", "ann", start, Json.object(), null));
      TestHost.eventually(() -> runs(host) == 2);
      mixed.countDown();
      signal(host, "delivered");
      swept.countDown();
      now(sweeping);
      waits(host.threads(), id, "for signal dried");
    }
  }

  @Test
  void aThreadWaitsOnForItsFlowWhenAReleaseMakesAnArgumentRequired() throws Exception {
    FlowTool paint =
        paints(flow -> flow.waitFor("dry", "dried").edge(START, "dry").edge("dry", END));
    ObjectNode required = Json.object().put("type", "object");
    required.putObject("properties").putObject("colour").put("type", "string");
    required.putArray("required").add("colour");
    Instant began = Instant.now();
    String id;
    try (Fermata host = at(began, paint)) {
      id = sent(host, "go");
      waits(host.threads(), id, "for signal dried");
    }
    try (Fermata host = at(began.plusSeconds(120), paint.arguments(required))) {
      looked(host, id, 2);
      assertThat(waits(host, id)).containsExactly("for signal dried");
      signal(host, "dried");
      TestHost.eventually(() -> lastOf(host.threads(), id).equals("{}"));
    }
  }

  @Test
  void aThreadWaitsOnForItsFlowWhileTheHostLacksItsVersion() throws Exception {
    FlowTool paint =
        paints(flow -> flow.version(2).waitFor("dry", "dried").edge(START, "dry").edge("dry", END));
    Instant began = Instant.now();
    String id;
    try (Fermata host = at(began, paint)) {
      id = sent(host, "go");
      waits(host.threads(), id, "for signal dried");
    }
    try (Fermata host = at(began.plusSeconds(120), dries())) {
      looked(host, id, 2);
      assertThat(waits(host, id))
          .containsExactly("for a host that can continue its run (version_changed)");
    }
    try (Fermata host = at(began.plusSeconds(600), paint)) {
      waits(host.threads(), id, "for signal dried");
      signal(host, "dried");
      TestHost.eventually(() -> lastOf(host.threads(), id).equals("{}"));
    }
  }

  @Test
  void aCallWhoseRunWasErasedEndsWithAnErrorAndItsFlowDoesNotBeginAgain() throws Exception {
    List<String> done = new CopyOnWriteArrayList<>();
    FlowTool paint = mixing(done, flow -> flow.waitFor("dry", "dried"));
    Instant began = Instant.now();
    String id;
    try (Fermata host = at(began, paint)) {
      id = sent(host, "go");
      waits(host.threads(), id, "for signal dried");
      TestHost.eventually(() -> runs(host) == 1);
      now(host.runs().erase("paint", runs(host, RunQuery.ALL).get(0).runId()));
    }
    try (Fermata host = at(began.plusSeconds(120), paint)) {
      looked(host, id, 2);
      TestHost.eventually(() -> lastOf(host.threads(), id).contains("There is no run"));
      assertThat(runs(host)).isZero();
    }
    assertThat(done).containsExactly("mixed");
  }

  @Test
  void aCallWhoseRunWasErasedAtWorkEndsWithAnErrorAndItsFlowDoesNotBeginAgain() throws Exception {
    List<String> done = new CopyOnWriteArrayList<>();
    CountDownLatch dry = new CountDownLatch(1);
    FlowTool paint = mixing(done, flow -> flow.act("dry", run -> dry.await()));
    Instant began = Instant.now();
    String id;
    Settings hasty = Settings.DEFAULT.callDeadline(Duration.ofSeconds(1));
    try (Fermata host = at(began, decorator(paint), hasty)) {
      id = sent(host, "go");
      looked(host, id, 1);
      TestHost.eventually(() -> runs(host) == 1);
      now(host.runs().erase("paint", runs(host, RunQuery.ALL).get(0).runId()));
    }
    dry.countDown();
    try (Fermata host = at(began.plusSeconds(120), paint)) {
      looked(host, id, 2);
      TestHost.eventually(() -> lastOf(host.threads(), id).contains("There is no run"));
      assertThat(runs(host)).isZero();
    }
    assertThat(done).containsExactly("mixed");
  }

  @Test
  void aCallWhoseToolWasMissingIsLookedAtByTheReleaseThatHasItAgain() throws Exception {
    FlowTool paint =
        paints(flow -> flow.waitFor("dry", "dried").edge(START, "dry").edge("dry", END));
    Model model = ScriptedModels.answering(messages -> AiMessage.from("It dries."));
    Instant began = Instant.now();
    String id;
    try (Fermata host = at(began, paint)) {
      id = sent(host, "go");
      waits(host.threads(), id, "for signal dried");
    }
    try (Fermata host =
        at(began.plusSeconds(1), Agent.aiHuman("decorator", Prompt.of("p", model)))) {
      now(host.threads().post("ann", id, says("And now?")));
      Threads.View answered = now(host.threads().settled("ann", id, TIMEOUT));
      assertThat(answered.code()).isEqualTo("stop_on_response");
    }
    try (Fermata host = at(began.plusSeconds(120), paint)) {
      looked(host, id, 2);
    }
  }

  /** A flow whose effect is undone when it is withdrawn while it dries. */
  private static FlowTool mixing(List<String> done, UnaryOperator<FlowBuilder<Case>> dry) {
    return paints(
        flow ->
            dry.apply(flow.version(2).act("mix", run -> done.add("mixed")))
                .compensate("mix", run -> done.add("poured away"))
                .edge(START, "mix")
                .edge("mix", "dry")
                .edge("dry", END));
  }

  @Test
  void theRunOfAToolThatHasBecomeAJobIsUndoneWhenItsThreadIsStopped() throws Exception {
    List<String> done = new CopyOnWriteArrayList<>();
    FlowTool paint = mixing(done, flow -> flow.waitFor("dry", "dried"));
    Model echoes = ScriptedModels.answering(ThreadHostTest::echo);
    String id;
    try (Fermata host = withPainter(paint)) {
      id = sent(host, "go");
      waits(host.threads(), id, "for signal dried");
    }
    try (Fermata host =
        Fermata.host()
            .store(Store.sqlite(folder.resolve("t.db")))
            .agent(Agent.aiHuman("decorator", Prompt.of("p", echoes)))
            .job(paint)
            .start()) {
      now(host.threads().stop("ann", id));
      TestHost.eventually(() -> runs(host) == 0);
    }
    assertThat(done).containsExactly("mixed", "poured away");
  }

  @Test
  void aFlowWhoseToolIsMissingIsUndoneByTheReleaseThatHasItAgain() throws Exception {
    List<String> done = new CopyOnWriteArrayList<>();
    FlowTool paint = mixing(done, flow -> flow.waitFor("dry", "dried"));
    Agent without =
        Agent.aiHuman(
            "decorator", Prompt.of("p", ScriptedModels.answering(ThreadHostTest::paints)));
    String stopped;
    String deleted;
    try (Fermata host = withPainter(paint)) {
      stopped = sent(host, "go");
      deleted = sent(host, "go");
      waits(host.threads(), stopped, "for signal dried");
      waits(host.threads(), deleted, "for signal dried");
    }
    try (Fermata host =
        Fermata.host()
            .store(Store.sqlite(folder.resolve("t.db")))
            .agent(without)
            .tool(paint)
            .start()) {
      now(host.threads().delete("ann", deleted));
      TestHost.eventually(() -> done.contains("poured away"));
    }
    try (Fermata host =
        Fermata.host().store(Store.sqlite(folder.resolve("t.db"))).agent(without).start()) {
      now(host.threads().stop("ann", stopped));
      assertThat(done).containsExactly("mixed", "mixed", "poured away");
    }
    try (Fermata host = withPainter(paint)) {
      TestHost.eventually(() -> done.size() == 4);
      assertThat(done).endsWith("poured away", "poured away");
      TestHost.eventually(() -> runs(host) == 0);
    }
  }

  private interface Ending {
    void of(Fermata host, String thread) throws Exception;
  }

  private static final Ending STOPPED = (host, id) -> now(host.threads().stop("ann", id));

  @Test
  void noFlowBeginsForACallThatEndedDuringItsStartHook() throws Exception {
    Ending deleted = (host, id) -> now(host.threads().delete("ann", id));
    Ending erased = (host, id) -> now(host.erase(Erasure.principal("ann")));
    for (Ending ending : List.of(STOPPED, deleted, erased)) {
      BlockingQueue<String> begun = new LinkedBlockingQueue<>();
      FlowTool paint =
          paints(
              flow ->
                  flow.act("mix", run -> begun.add("mixed")).edge(START, "mix").edge("mix", END));
      endsInHook("{}", paint, ending, begun);
    }
  }

  @Test
  void noToolRunsForACallThatEndedDuringItsStartHook() throws Exception {
    BlockingQueue<String> begun = new LinkedBlockingQueue<>();
    Tool paint = Tool.of("paint", "Paints.", (flow, args) -> begun.add("painted"));
    endsInHook("{}", paint, STOPPED, begun);
  }

  @Test
  void noChildIsCreatedForACallThatEndedDuringItsStartHook() throws Exception {
    BlockingQueue<String> begun = new LinkedBlockingQueue<>();
    Model model =
        ScriptedModels.answering(
            messages -> {
              begun.add("asked");
              return AiMessage.from("It is painted.");
            });
    SubAgent paint = SubAgent.of("painter", "Paints.").as("paint").asBlocking();
    Agent painter = Agent.aiHuman("painter", Prompt.of("p", model));
    endsInHook("{\"message\":\"red\"}", paint, STOPPED, begun, painter);
  }

  /** Ends a call while a hook for its start runs, which swallows the interruption. */
  private static void endsInHook(
      String arguments, Offered paint, Ending ending, BlockingQueue<String> begun, Agent... others)
      throws Exception {
    CountDownLatch hooked = new CountDownLatch(1);
    CountDownLatch ended = new CountDownLatch(1);
    CountDownLatch returned = new CountDownLatch(1);
    Hook hook =
        Hook.toolCallStarted(
            "runs on",
            (flow, call, args) -> {
              hooked.countDown();
              while (ended.getCount() > 0) {
                Thread.onSpinWait();
              }
              assertThat(Thread.interrupted()).isTrue();
              returned.countDown();
            });
    Model model = ScriptedModels.calling("paint", arguments, result -> result);
    HostBuilder builder =
        Fermata.host()
            .store(Store.memory())
            .agent(Agent.aiHuman("decorator", Prompt.of("p", model).tools(paint).hooks(hook)));
    for (Agent other : others) {
      builder.agent(other);
    }
    try (Fermata host = builder.start()) {
      String id = sent(host, "go");
      assertThat(hooked.await(60, TimeUnit.SECONDS)).isTrue();
      ending.of(host, id);
      ended.countDown();
      assertThat(returned.await(60, TimeUnit.SECONDS)).isTrue();
      assertThat(begun.poll(300, TimeUnit.MILLISECONDS)).as("what began").isNull();
    }
  }

  /** The flow in its version before {@link #mixing}. */
  private static FlowTool dries() {
    return paints(flow -> flow.act("dry", run -> {}).edge(START, "dry").edge("dry", END));
  }

  @Test
  void aFlowThatAsksInAStoppedThreadIsUndoneByTheReleaseThatHasItsVersion() throws Exception {
    List<String> done = new CopyOnWriteArrayList<>();
    FlowTool paint = mixing(done, flow -> flow.ask("dry", a -> a.question("seen", "Is it dry?")));
    String id;
    try (Fermata host = withPainter(paint)) {
      id = sent(host, "go");
      now(host.threads().settled("ann", id, TIMEOUT));
      assertThat(now(host.threads().get("ann", id)).status()).isEqualTo(Threads.Status.ASKING);
    }
    try (Fermata host = withPainter(dries())) {
      now(host.threads().stop("ann", id));
      TestHost.eventually(
          () ->
              events(host, id).stream()
                  .anyMatch(
                      event ->
                          event instanceof ThreadEvent.DeliveryFailed
                              || event instanceof ThreadEvent.CallWithdrawn));
      assertThat(done).containsExactly("mixed");
    }
    try (Fermata host = withPainter(paint)) {
      TestHost.eventually(() -> done.contains("poured away"));
      TestHost.eventually(() -> runs(host) == 0);
    }
  }

  @Test
  void aThreadWhoseFlowOnlyAnotherReleaseCanEndIsErasedWithItsChildren() throws Exception {
    List<String> done = new CopyOnWriteArrayList<>();
    FlowTool waits = mixing(done, flow -> flow.waitFor("dry", "dried"));
    FlowTool asks = mixing(done, flow -> flow.ask("dry", a -> a.question("seen", "Is it dry?")));
    for (FlowTool paint : List.of(waits, asks)) {
      String id;
      try (Fermata host = withFamily(paint)) {
        id = now(host.threads().create(thread("boss"))).threadId();
        now(host.threads().post("ann", id, says("go")));
        assertThat(now(host.threads().settled("ann", id, TIMEOUT)).children()).hasSize(1);
        TestHost.eventually(() -> runs(host) == 1);
      }
      try (Fermata host = withFamily(dries())) {
        now(host.threads().delete("ann", id));
        TestHost.eventually(() -> runs(host) == 0);
        Threads.Query all = new Threads.Query("ann", null, Set.of(), null, null, true, 10, null);
        TestHost.eventually(
            () -> host.threads().list(all).toCompletableFuture().join().threads().isEmpty());
      }
    }
    assertThat(done).containsExactly("mixed", "mixed");
  }

  /** A boss who paints, and has a worker. */
  private Fermata withFamily(FlowTool paint) {
    Model delegates =
        ScriptedModels.answering(
            messages ->
                messages.get(messages.size() - 1) instanceof UserMessage
                    ? AiMessage.from(
                        ToolExecutionRequest.builder()
                            .id("1")
                            .name("worker")
                            .arguments("{\"message\":\"dig\"}")
                            .build(),
                        call("2", "paint"))
                    : AiMessage.from("Done."));
    Model worker = ScriptedModels.answering(ThreadHostTest::echo);
    return Fermata.host()
        .store(Store.sqlite(folder.resolve("t.db")))
        .agent(
            Agent.aiHuman(
                "boss",
                Prompt.of("p", delegates)
                    .tools(paint, SubAgent.of("worker", "Works").asBlocking())))
        .agent(Agent.aiHuman("worker", Prompt.of("p", worker)))
        .start();
  }

  @Test
  void aFlowThatFailsOnceItGotItsSignalIsEndedAndItsStepIsNotTriedAgain() throws Exception {
    AtomicInteger attempts = new AtomicInteger();
    FlowTool paint =
        paints(
            flow ->
                flow.waitFor("dry", "dried")
                    .act(
                        "polish",
                        run -> {
                          throw new IllegalStateException("attempt " + attempts.incrementAndGet());
                        })
                    .edge(START, "dry")
                    .edge("dry", "polish")
                    .edge("polish", END));
    try (Fermata host = at(Instant.now(), paint)) {
      String id = sent(host, "go");
      waits(host.threads(), id, "for signal dried");
      signal(host, "dried");
      looked(host, id, 2);
      assertThat(attempts).hasValue(1);
      assertThat(waits(host, id)).isEmpty();
      TestHost.eventually(() -> runs(host) == 0);
    }
  }

  /** A host at a moment at which no time passes. */
  private Fermata at(Instant moment, FlowTool paint) {
    return at(moment, decorator(paint));
  }

  private Fermata at(Instant moment, Agent agent) {
    return at(moment, agent, Settings.DEFAULT);
  }

  private Fermata at(Instant moment, Agent agent, Settings settings) {
    return Fermata.host()
        .store(Store.sqlite(folder.resolve("t.db")))
        .settings(settings)
        .clock(InstantSource.fixed(moment))
        .agent(agent)
        .start();
  }

  private static List<ThreadEvent> events(Fermata host, String id) {
    return host.journals().thread(id).readWithSecrets().toCompletableFuture().join().events();
  }

  /** Waits until so many attempts at a thread's call have ended. */
  private static void looked(Fermata host, String id, int attempts) throws Exception {
    TestHost.eventually(
        () ->
            events(host, id).stream()
                    .filter(
                        event ->
                            event instanceof ThreadEvent.CallWaits
                                || event instanceof ThreadEvent.CallEnded)
                    .count()
                == attempts);
  }

  private static Agent decorator(FlowTool paint) {
    Model model = ScriptedModels.answering(ThreadHostTest::paints);
    return Agent.aiHuman("decorator", Prompt.of("p", model).tools(paint));
  }

  private Fermata withPainter(FlowTool paint) {
    return withFlow(ScriptedModels.answering(ThreadHostTest::paints), paint);
  }

  /** A new thread of the decorator, in which ann said this. */
  private static String sent(Fermata host, String text) throws Exception {
    String id = now(host.threads().create(thread("decorator"))).threadId();
    now(host.threads().post("ann", id, says(text)));
    return id;
  }

  private static void waits(Threads threads, String id, String what) throws Exception {
    TestHost.eventually(
        () ->
            threads.get("ann", id).toCompletableFuture().join().waits().stream()
                .anyMatch(wait -> wait.tool().equals("paint") && wait.waitsFor().equals(what)));
  }

  private static List<String> waits(Fermata host, String id) throws Exception {
    return now(host.threads().get("ann", id)).waits().stream().map(Threads.Wait::waitsFor).toList();
  }

  private static void signal(Fermata host, String name) throws InterruptedException {
    RunQuery waiting = RunQuery.ALL.statuses(Set.of(RunInfo.Status.WAITING));
    TestHost.eventually(() -> runs(host, waiting).size() == 1);
    String runId = runs(host, waiting).get(0).runId();
    host.signal("paint", runId, name, null, null).toCompletableFuture().join();
  }

  private static int runs(Fermata host) {
    return runs(host, RunQuery.ALL).size();
  }

  private static List<RunInfo> runs(Fermata host, RunQuery query) {
    return host.runs().list(query).toCompletableFuture().join().runs();
  }

  private static String lastOf(Threads threads, String id) {
    return threads
        .messages("ann", id, Threads.MessageQuery.latest(1).withSilent())
        .toCompletableFuture()
        .join()
        .messages()
        .stream()
        .map(message -> String.valueOf(message.content()))
        .collect(Collectors.joining());
  }

  private static void answer(Threads threads, String id, String question, String field)
      throws Exception {
    answer(threads, id, question, "about " + field, Json.object().put(field, "yes"));
  }

  private static void answer(
      Threads threads, String id, String question, String answerId, ObjectNode answers)
      throws Exception {
    String call = open(threads, id, question).call();
    now(threads.answer("ann", id, new Threads.Answer(call, answerId, null, answers, null)));
  }

  private static Threads.Question open(Threads threads, String id, String question)
      throws Exception {
    AtomicReference<Threads.Question> open = new AtomicReference<>();
    TestHost.eventually(
        () -> {
          threads.get("ann", id).toCompletableFuture().join().questions().stream()
              .filter(each -> each.question().toString().contains(question))
              .forEach(open::set);
          return open.get() != null;
        });
    return Objects.requireNonNull(open.get());
  }

  @Test
  void whatStepsDidToTheThreadIsDiscardedWhenTheirFlowFails() throws Exception {
    FlowTool paint =
        paints(
            flow ->
                flow.act("begin", run -> caller(run).injectMessage(Message.assistant("One moment")))
                    .act(
                        "finish",
                        run -> {
                          throw new IllegalStateException("out of paint");
                        })
                    .edge(START, "begin")
                    .edge("begin", "finish")
                    .edge("finish", END));
    try (Fermata host = withFlow(ScriptedModels.answering(ThreadHostTest::paints), paint)) {
      String id = sent(host, "go");
      now(host.threads().settled("ann", id, TIMEOUT));
      assertThat(texts(host.threads(), id))
          .noneMatch(text -> text.contains("One moment"))
          .anyMatch(text -> text.contains("Failed to execute tool"));
    }
  }

  private Threads.NewThread counted(int messages) {
    return new Threads.NewThread(
        "ann",
        "desk",
        null,
        Set.of(),
        Map.of(),
        IntStream.rangeClosed(1, messages)
            .mapToObj(number -> Message.user("number " + number + "."))
            .toList());
  }

  @Test
  void aThreadThatIsSummarizedForTheFirstTimeIsReadFromItsJournal() throws Exception {
    Agent desk =
        Agent.aiHuman("desk", Prompt.of("p", ScriptedModels.answering(ThreadHostTest::echo)));
    String id;
    try (Fermata host = host(desk)) {
      id = now(host.threads().create(counted(300))).threadId();
    }
    List<String> asked = new CopyOnWriteArrayList<>();
    Model summarizer =
        ScriptedModels.answering(
            messages -> {
              asked.add(((UserMessage) messages.get(messages.size() - 1)).singleText());
              return AiMessage.from("They counted.");
            });

    try (Fermata host = host(desk.compaction(Compaction.by(summarizer, 6, 2)))) {
      now(host.threads().post("ann", id, says("Hi")));
      TestHost.eventually(() -> !asked.isEmpty());
    }

    assertThat(asked.get(0)).contains("number 1.", "number 150.", "number 298.");
  }

  @Test
  void codeReadsMessagesThatTheStateHasNotKeptAndReadsThemAgainWhenItIsDecidedAgain()
      throws Exception {
    Hook counting =
        Hook.afterCreateMessage(
            "counting",
            (flow, message) ->
                flow.setStatus(
                    "%s messages from %s on, before %s"
                        .formatted(
                            flow.reloadHistory().size(),
                            flow.messageHistory().get(0).content(),
                            flow.getMessages(1, 200, 1, true).get(0).content())));
    Agent desk =
        Agent.aiHuman("desk", Prompt.of("p", ScriptedModels.answering(ThreadHostTest::echo)))
            .hooks(counting);
    Store store = Store.sqlite(folder.resolve("t.db"));
    try (Fermata host = host(desk)) {
      String id = now(host.threads().create(counted(300))).threadId();
      now(host.threads().post("ann", id, says("Hi")));
      Threads.View view = now(host.threads().settled("ann", id, TIMEOUT));
      assertThat(view.progress().statusText())
          .isEqualTo("302 messages from number 1. on, before number 102.");
      ThreadReplay.of(List.of(desk), now(host.journals().thread(id).readWithSecrets()))
          .requireSame();
    }

    assertThat(WhatIf.of().agents(List.of(desk)).over(store))
        .isEqualTo(new WhatIfResult(1, 0, List.of(), List.of(), List.of(), List.of()));
  }
}
