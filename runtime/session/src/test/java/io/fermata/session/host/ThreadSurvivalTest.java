package io.fermata.session.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.UserMessage;
import io.fermata.agent.Agent;
import io.fermata.agent.FlowTool;
import io.fermata.agent.Prompt;
import io.fermata.agent.SubAgent;
import io.fermata.agent.Tool;
import io.fermata.agent.engine.Outside;
import io.fermata.agent.message.Message;
import io.fermata.agent.model.Model;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadState;
import io.fermata.flow.Flow;
import io.fermata.flow.event.RunState;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Limits;
import io.fermata.persistence.Store;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.session.Fermata;
import io.fermata.session.HostBuilder;
import io.fermata.session.ScriptedModels;
import io.fermata.session.ToolHost;
import io.fermata.session.actor.Recorders;
import io.fermata.session.actor.SessionSubscriptions;
import io.fermata.session.admin.Settings;
import io.fermata.session.admin.Threads;
import io.fermata.session.call.DisplayTool;
import io.fermata.session.call.FlowCatalog;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolContract;
import io.fermata.session.call.ToolProgress;
import io.fermata.session.call.ToolReply;
import io.fermata.session.call.ToolUse;
import io.fermata.session.journal.Encryption;
import io.fermata.session.journal.SessionState;
import io.fermata.session.key.Handles;
import io.fermata.session.key.ThreadKey;
import io.fermata.session.runs.SessionDirectory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

/** Threads whose store fails, whose host goes away, and whose neighbours are gone. */
@Tag("slow")
class ThreadSurvivalTest {
  private static final Duration TIMEOUT = Duration.ofSeconds(30);
  private static final Threads.Query ALL =
      new Threads.Query("ann", null, Set.of(), null, null, true, 10, null);

  @TempDir Path folder;

  private static Agent echo() {
    return Agent.aiHuman("echo", Prompt.of("p", ScriptedModels.saying("Heard.")));
  }

  private static Model calling(String tool) {
    return ScriptedModels.calling(tool, "{}", result -> "It says: " + result);
  }

  private Fermata host(Agent... agents) {
    HostBuilder builder = Fermata.host().store(Store.sqlite(folder.resolve("t.db")));
    for (Agent agent : agents) {
      builder.agent(agent);
    }
    return builder.start();
  }

  private static <T> T now(CompletionStage<T> stage) throws Exception {
    return stage.toCompletableFuture().get(60, TimeUnit.SECONDS);
  }

  private static Threads.NewThread thread(String agent, @Nullable String key) {
    return new Threads.NewThread("ann", agent, key, Set.of(), Map.of(), List.of());
  }

  private static String created(Fermata host, String agent) throws Exception {
    return now(host.threads().create(thread(agent, null))).threadId();
  }

  private static void post(Fermata host, String id, String text) throws Exception {
    now(
        host.threads()
            .post("ann", id, new Threads.NewMessage(Message.user(text), List.of(), null)));
  }

  private static Threads.View settled(Fermata host, String id) throws Exception {
    return now(host.threads().settled("ann", id, TIMEOUT));
  }

  private static List<String> texts(Fermata host, String id) throws Exception {
    return now(host.threads().messages("ann", id, Threads.MessageQuery.latest(100).withSilent()))
        .messages()
        .stream()
        .map(m -> String.valueOf(m.content()))
        .toList();
  }

  private static void eventually(Callable<Boolean> so) throws Exception {
    for (int i = 0; i < 400 && !so.call(); i++) {
      Thread.sleep(50);
    }
    assertThat(so.call()).isTrue();
  }

  private void sql(String statement) throws SQLException {
    try (Connection connection =
            DriverManager.getConnection("jdbc:sqlite:" + folder.resolve("t.db"));
        Statement execution = connection.createStatement()) {
      execution.execute(statement);
    }
  }

  /** From now on the store refuses something, until {@link #repair}. */
  private void refuse(String what) throws SQLException {
    sql("CREATE TRIGGER broken BEFORE " + what + " BEGIN SELECT RAISE(ABORT, 'broken'); END");
  }

  private void repair() throws SQLException {
    sql("DROP TRIGGER broken");
  }

  private long rows(String table) throws SQLException {
    try (Connection connection =
            DriverManager.getConnection("jdbc:sqlite:" + folder.resolve("t.db"));
        ResultSet rows =
            connection.createStatement().executeQuery("SELECT count(*) FROM " + table)) {
      return rows.getLong(1);
    }
  }

  // --- deletion --------------------------------------------------------------------------------

  @Test
  void aThreadThatIsDeletedWhileItsEntryFollowsLeavesTheDirectoryAndMemory() throws Exception {
    try (Fermata host = host(echo())) {
      String id = created(host, "echo");
      post(host, id, "hello");
      settled(host, id);
      now(host.threads().delete("ann", id));
      eventually(() -> host.awake() == 0);
      assertThat(now(host.threads().list(ALL)).threads()).isEmpty();
    }
  }

  @Test
  void aDeletionThatTheStoreRefusedIsTriedAgain() throws Exception {
    ListAppender<ILoggingEvent> lines = new ListAppender<>();
    lines.start();
    Logger log = (Logger) LoggerFactory.getLogger("io.fermata.session");
    log.setLevel(Level.WARN);
    log.addAppender(lines);
    try (Fermata host = host(echo())) {
      String id = created(host, "echo");
      post(host, id, "secret");
      settled(host, id);
      refuse("DELETE ON event_journal");
      now(host.threads().delete("ann", id));
      eventually(
          () ->
              List.copyOf(lines.list).stream()
                  .anyMatch(line -> line.getFormattedMessage().contains(" failed: ")));
      assertThat(rows("event_journal")).isPositive();
      repair();
      eventually(() -> rows("event_journal") == 0);
    } finally {
      log.detachAppender(lines);
      log.setLevel(null);
    }
  }

  @Test
  void aThreadOfAnAgentThatIsNotRegisteredAnyMoreCanBeReadAndDeleted() throws Exception {
    String id;
    try (Fermata host = host(echo())) {
      id = created(host, "echo");
    }
    Agent other = Agent.aiHuman("other", Prompt.of("p", ScriptedModels.saying("Hm.")));
    try (Fermata host = host(other)) {
      assertThat(now(host.threads().get("ann", id)).agent()).isEqualTo("echo");
      now(host.threads().delete("ann", id));
      eventually(() -> rows("event_journal") == 0);
      assertThat(now(host.threads().list(ALL)).threads()).isEmpty();
    }
  }

  // --- a store that fails ----------------------------------------------------------------------

  @Test
  void aThreadWhoseEntryTheStoreRefusedContinuesByItselfWithTheResultOfItsTool() throws Exception {
    CountDownLatch first = new CountDownLatch(1);
    AtomicInteger attempts = new AtomicInteger();
    Tool tool =
        Tool.of(
            "try",
            "Tries.",
            (flow, args) -> {
              attempts.incrementAndGet();
              refuse("INSERT ON event_journal");
              first.countDown();
              return "attempt " + flow.attempt();
            });
    Agent agent = Agent.aiHuman("worker", Prompt.of("p", calling("try")).tools(tool));
    try (Fermata host = host(agent)) {
      String id = created(host, "worker");
      post(host, id, "go");
      assertThat(first.await(60, TimeUnit.SECONDS)).isTrue();
      eventually(() -> host.awake() == 0);
      repair();
      settled(host, id);
      assertThat(texts(host, id)).first().isEqualTo("It says: attempt 1");
      assertThat(attempts).as("its result was kept while the store was away").hasValue(1);
    }
  }

  @Test
  void aThreadThatCouldNotBeEnteredIsEnteredWhenItsCreationIsRepeated() throws Exception {
    try (Fermata host = host(echo())) {
      refuse("INSERT ON directory");
      String id = now(host.threads().create(thread("echo", "k"))).threadId();
      repair();
      assertThat(now(host.threads().create(thread("echo", "k"))).threadId()).isEqualTo(id);
      assertThat(texts(host, id)).isEmpty();
    }
  }

  @Test
  void anEntryThatTheStoreRefusedFollowsByItself() throws Exception {
    try (Fermata host = host(echo())) {
      refuse("INSERT ON directory");
      created(host, "echo");
      repair();
      eventually(() -> !now(host.threads().list(ALL)).threads().isEmpty());
    }
  }

  @Test
  void anEntryThatAProcessWasLostBeforeFollowsByItself() throws Exception {
    Fermata first = host(echo());
    String id = created(first, "echo");
    refuse("INSERT ON directory");
    now(first.threads().change("ann", id, Set.of("late"), Map.of()));
    first.crash();
    repair();
    try (Fermata host = host(echo())) {
      eventually(
          () -> now(host.threads().list(ALL)).threads().get(0).tags().equals(Set.of("late")));
    }
  }

  // --- a host that closes ----------------------------------------------------------------------

  @Test
  void aTurnThatAClosingHostLetsFinishReachesOtherThreads() throws Exception {
    CountDownLatch asked = new CountDownLatch(1);
    CountDownLatch goOn = new CountDownLatch(1);
    ToolExecutionRequest delegates =
        ToolExecutionRequest.builder()
            .id("1")
            .name("echo")
            .arguments("{\"message\":\"hi\"}")
            .build();
    Model slow =
        ScriptedModels.answering(
            messages -> {
              if (!(messages.get(messages.size() - 1) instanceof UserMessage)) {
                return AiMessage.from("Done.");
              }
              asked.countDown();
              try {
                goOn.await();
              } catch (InterruptedException e) {
                throw new IllegalStateException(e);
              }
              return AiMessage.from(delegates);
            });
    Agent parent =
        Agent.aiHuman(
            "boss", Prompt.of("p", slow).tools(SubAgent.of("echo", "Echoes.").asBlocking()));
    Fermata first = host(parent, echo());
    String id = created(first, "boss");
    post(first, id, "go");
    assertThat(asked.await(60, TimeUnit.SECONDS)).isTrue();
    CompletableFuture<Void> closing = CompletableFuture.runAsync(first::close);
    eventually(() -> !now(first.health()).ready());
    assertThatThrownBy(() -> post(first, id, "more")).hasMessageContaining("shutting down");
    goOn.countDown();
    now(closing);
    try (Fermata host = host(parent, echo())) {
      settled(host, id);
      assertThat(texts(host, id)).first().isEqualTo("Done.");
      assertThat(texts(host, id)).anyMatch(text -> text.contains("Heard."));
    }
  }

  @Test
  void aFlowThatFailsWhileItsHostClosesIsUndoneByTheNextHost() throws Exception {
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch goOn = new CountDownLatch(1);
    List<String> done = new CopyOnWriteArrayList<>();
    FlowTool buy =
        FlowTool.of(
            "buy",
            "Buys.",
            Flow.of("buy", Case.class)
                .description("Buys.")
                .act("hold", run -> done.add("held"))
                .act(
                    "pay",
                    run -> {
                      begun.countDown();
                      goOn.await();
                      done.add("failed");
                      throw new IllegalStateException("declined");
                    })
                .compensate("hold", run -> done.add("released"))
                .edge(Flow.START, "hold")
                .edge("hold", "pay")
                .edge("pay", Flow.END)
                .compile());
    Agent agent = Agent.aiHuman("buyer", Prompt.of("p", calling("buy")).tools(buy));
    Fermata first = host(agent);
    String id = created(first, "buyer");
    post(first, id, "go");
    assertThat(begun.await(60, TimeUnit.SECONDS)).isTrue();
    CompletableFuture<Void> closing = CompletableFuture.runAsync(first::close);
    eventually(() -> !now(first.health()).ready());
    goOn.countDown();
    now(closing);
    try (Fermata host = host(agent)) {
      settled(host, id);
      assertThat(texts(host, id)).first().asString().contains("A step of the flow failed: pay.");
      assertThat(done).containsExactly("held", "failed", "released");
    }
  }

  // --- neighbours ------------------------------------------------------------------------------

  @Test
  void aReportToAThreadThatIsGoneCountsAsDelivered() throws Exception {
    try (Fermata host = host(echo())) {
      AgentThreads threads = (AgentThreads) host.threads();
      ThreadKey child = ThreadKey.random("echo", "ann");
      now(
          threads.create(
              child, thread("echo", null), new ThreadEvent.Parent("echo.gone", "echo", "c1")));
      post(host, child.threadId(), "hello");
      settled(host, child.threadId());
      eventually(
          () -> {
            ThreadState state = now(threads.state(child.threadId()));
            return state.reported() > 0 && state.reports().isEmpty();
          });
    }
  }

  private static Flow<?> paint() {
    return Flow.of("paint", Case.class)
        .description("Paints.")
        .act("mix", run -> {})
        .edge(Flow.START, "mix")
        .edge("mix", Flow.END)
        .compile();
  }

  private static FlowCatalog catalog(Flow<?>... flows) {
    return new FlowCatalog(List.of(flows), List.of(), List.of(), Limits.DEFAULT);
  }

  private static HostOutside outside(Fermata host, OpenStore store, String code) {
    ToolHost answering =
        new ToolHost() {
          @Override
          public List<ToolContract> tools() {
            return List.of();
          }

          @Override
          public List<DisplayTool> displays() {
            return List.of();
          }

          @Override
          public CompletionStage<ToolReply> call(ToolCall call, Consumer<ToolProgress> progress) {
            return CompletableFuture.completedStage(
                new ToolReply(
                    Json.object().put("status", "error").put("code", code).put("error", "No."),
                    Json.object()));
          }

          @Override
          public Handles handles() {
            return host.handles();
          }
        };
    FlowCatalog noFlows = catalog();
    SessionSubscriptions subscriptions = new SessionSubscriptions();
    SessionDirectory directory =
        new SessionDirectory(
            store,
            Encryption.ofEnvironment(),
            InstantSource.system(),
            threads -> CompletableFuture.completedFuture(null));
    Recorders nobody = new Recorders(List.of(), List.of(), noFlows, 1);
    return new HostOutside(
        new HostOutside.Services(
            (AgentThreads) host.threads(),
            subscriptions,
            new ToolUses(
                answering::call,
                catalog(paint()),
                key -> CompletableFuture.completedFuture(SessionState.of(RunState.NONE))),
            new RunExplanations(noFlows, store, Encryption.NONE, host.handles(), Runnable::run),
            store,
            new Eraser(
                store,
                command -> {},
                store::delete,
                store::scrub,
                nobody,
                erased -> {},
                directory,
                Runnable::run),
            directory,
            InstantSource.system(),
            name -> null,
            HostThreads.start(Settings.DEFAULT, UnaryOperator.identity())),
        "echo.t1",
        () -> false);
  }

  @Test
  void aFlowThatRefusedToEndIsNotTakenAsEnded() throws Exception {
    ThreadEvent.CallAbandoned left = new ThreadEvent.CallAbandoned("c1", "paint", null, null);
    ThreadEvent.CallAbandoned lost = new ThreadEvent.CallAbandoned("c1", "draw", null, null);
    ThreadEvent.CallAbandoned plain = new ThreadEvent.CallAbandoned("c2", "draw", null, null);
    Store withRun = Store.sqlite(folder.resolve("draw.db"));
    try (Fermata drawing = Fermata.host().store(withRun).tool(asking("draw")).start()) {
      now(drawing.use(new ToolUse("draw", "echo.t1", "c1"), Json.object()));
    }
    try (Fermata host = host(echo());
        OpenStore store = withRun.open()) {
      for (String code :
          List.of("busy", "overloaded", "store_unavailable", "shutting_down", "rolling_out")) {
        assertThatThrownBy(() -> now(outside(host, store, code).withdraw(left)))
            .hasMessageContaining(code);
      }
      for (String code : List.of("key_missing", "journal_unreadable", "version_changed")) {
        assertThat(now(outside(host, store, code).withdraw(left)))
            .hasValueSatisfying(why -> assertThat(why).contains(code));
      }
      assertThat(now(outside(host, store, "unknown_run").withdraw(lost)))
          .contains("The host lacks the flow draw");
      assertThat(now(outside(host, store, "unknown_run").withdraw(plain))).isEmpty();
      for (String code : List.of("run_completed", "unknown_run", "erased", "damaged")) {
        assertThat(now(outside(host, store, code).withdraw(left))).isEmpty();
      }
    }
  }

  @Test
  void aStopOfAChildThatIsSentAgainEndsNothingThatItWasGivenSince() throws Exception {
    CompletableFuture<Void> thought = new CompletableFuture<>();
    Model model =
        ScriptedModels.answering(
            messages -> {
              thought.join();
              return AiMessage.from("Heard.");
            });
    try (Fermata host = host(Agent.aiHuman("slow", Prompt.of("p", model)));
        OpenStore store = Store.memory().open()) {
      String child = created(host, "slow");
      ThreadEvent.CallAbandoned left = new ThreadEvent.CallAbandoned("c1", null, child, null);
      now(outside(host, store, "unused").withdraw(left));
      post(host, child, "hello");

      now(outside(host, store, "unused").withdraw(left));

      thought.complete(null);
      assertThat(settled(host, child).status()).isEqualTo(Threads.Status.RESTING);
      assertThat(texts(host, child)).containsExactly("Heard.", "hello");
    }
  }

  @Test
  void aRepeatedCallWaitsForARunThatAnotherHostCanContinue() throws Exception {
    try (Fermata host = host(echo());
        OpenStore store = Store.memory().open()) {
      for (String code :
          List.of("key_missing", "journal_unreadable", "version_changed", "migration_failed")) {
        assertThat(now(repeated(outside(host, store, code))))
            .isInstanceOfSatisfying(
                Outside.FlowOutcome.Waiting.class,
                waiting -> assertThat(waiting.waitsFor()).contains(code));
      }
      for (String code : List.of("run_cancelled", "damaged")) {
        assertThat(now(repeated(outside(host, store, code))))
            .isInstanceOf(Outside.FlowOutcome.Result.class);
      }
    }
  }

  private static CompletionStage<Outside.FlowOutcome> repeated(Outside outside) {
    return outside.callFlow("paint", "c1", Json.object(), Outside.FlowAttempt.REPEATED);
  }

  record Case(@Nullable String colour) {}

  private static FlowTool asking(String name) {
    return FlowTool.of(
        name,
        "Asks for a colour.",
        Flow.of(name, Case.class)
            .description("Asks for a colour.")
            .ask("ask", a -> a.question("colour", "Which colour?"))
            .edge(Flow.START, "ask")
            .edge("ask", Flow.END)
            .compile());
  }

  @Test
  void anAnswerWithTheLongestKeyReachesTheFlow() throws Exception {
    Agent agent =
        Agent.aiHuman("decorator", Prompt.of("p", calling("paint")).tools(asking("paint")));
    try (Fermata host =
        Fermata.host().store(Store.sqlite(folder.resolve("t.db"))).agent(agent).start()) {
      String id = created(host, "decorator");
      post(host, id, "go");
      String call = settled(host, id).questions().get(0).call();
      assertThatThrownBy(() -> answer(host, id, call, "k".repeat(256)))
          .hasMessageContaining("at most 255 characters");
      answer(host, id, call, "k".repeat(255));
      settled(host, id);
      assertThat(texts(host, id)).first().asString().contains("red");
    }
  }

  private static void answer(Fermata host, String id, String call, String key) throws Exception {
    now(
        host.threads()
            .answer(
                "ann",
                id,
                new Threads.Answer(call, key, null, Json.object().put("colour", "red"), null)));
  }

  // --- files -----------------------------------------------------------------------------------

  @Test
  void aFileHasTheBytesThatWereWrittenLastHoweverOftenOneEffectWroteIt() throws Exception {
    Tool tool =
        Tool.of(
            "write",
            "Writes.",
            (flow, args) -> {
              flow.files().write("/report", "v1");
              flow.files().write("/report", "v2");
              flow.files().write("/a", "first");
              flow.files().move("/a", "/b");
              flow.files().write("/a", "second");
              return String.join(
                  " ",
                  flow.files().readText("/report"),
                  flow.files().readText("/a"),
                  flow.files().readText("/b"));
            });
    Agent agent = Agent.aiHuman("writer", Prompt.of("p", calling("write")).tools(tool));
    try (Fermata host = host(agent)) {
      String id = created(host, "writer");
      post(host, id, "go");
      settled(host, id);
      assertThat(texts(host, id)).first().isEqualTo("It says: v2 second first");
      assertThat(text(host, id, "/report")).isEqualTo("v2");
      assertThat(text(host, id, "/a")).isEqualTo("second");
      assertThat(text(host, id, "/b")).isEqualTo("first");
    }
  }

  private static String text(Fermata host, String id, String path) throws Exception {
    return new String(now(host.threads().file("ann", id, path)).data(), StandardCharsets.UTF_8);
  }
}
