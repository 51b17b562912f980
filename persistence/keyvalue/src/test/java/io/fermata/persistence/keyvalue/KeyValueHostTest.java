package io.fermata.persistence.keyvalue;

import static io.fermata.session.TestHost.code;
import static io.fermata.session.TestHost.field;
import static io.fermata.session.TestHost.status;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.ThrowableProxyUtil;
import ch.qos.logback.core.read.ListAppender;
import dev.langchain4j.data.message.AiMessage;
import io.fermata.agent.Agent;
import io.fermata.agent.FlowTool;
import io.fermata.agent.Prompt;
import io.fermata.agent.SubAgent;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.MessageDelta;
import io.fermata.agent.model.Model;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.flow.Flow;
import io.fermata.flow.json.Json;
import io.fermata.keyvalue.WaniwaniStub;
import io.fermata.persistence.Store;
import io.fermata.persistence.spi.NoHistoryException;
import io.fermata.persistence.spi.StoreProblem;
import io.fermata.session.Fermata;
import io.fermata.session.HostBuilder;
import io.fermata.session.ScriptedModels;
import io.fermata.session.TestFlows;
import io.fermata.session.TestFlows.Trip;
import io.fermata.session.TestHost;
import io.fermata.session.TestHost.Client;
import io.fermata.session.admin.Erasure;
import io.fermata.session.admin.RunQuery;
import io.fermata.session.admin.Runs;
import io.fermata.session.admin.ThreadException;
import io.fermata.session.admin.Threads;
import io.fermata.session.call.Health;
import io.fermata.session.call.ToolReply;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.time.Duration;
import java.util.Base64;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.slf4j.LoggerFactory;

/** A host whose sessions live in a key-value store: what it promises all the same, and what not. */
@Tag("slow")
class KeyValueHostTest {
  private final LocalKvStore kv = new LocalKvStore();
  private final Store store = KeyValueStore.of(kv);

  @Test
  void everyAcknowledgedAnswerIsThereAfterACrash() {
    try (TestHost host = new TestHost(store, TestFlows.trip())) {
      Client client = host.client();
      client.start();
      client.proceed("from", "Ulm");
      host.crash();
      assertThat(client.proceed("to", "Bonn").structured().path("result"))
          .isEqualTo(Json.object().put("from", "Ulm").put("to", "Bonn").put("price", 7));
      assertThat(code(client.proceed())).isEqualTo("run_completed");
    }
  }

  @Test
  void anActionCutOffByACrashRunsAgainByItself() throws Exception {
    CountDownLatch first = new CountDownLatch(1);
    CountDownLatch second = new CountDownLatch(1);
    Flow<Trip> flow = TestFlows.cutOff(first, second);
    try (TestHost host = new TestHost(store, flow)) {
      Client client = host.client();
      client.start();
      CompletableFuture<ToolReply> lost = client.proceedLater("from", "Ulm");
      assertThat(first.await(60, TimeUnit.SECONDS)).isTrue();
      host.crash();
      assertThat(second.await(60, TimeUnit.SECONDS)).isTrue();
      assertThat(field(client.proceed())).isEqualTo("to");
      assertThat(code(lost.get(60, TimeUnit.SECONDS))).isEqualTo("shutting_down");
    }
  }

  @Test
  void aSleepEndsInItsTimeAlthoughTheHostWasLostMeanwhile() throws Exception {
    Flow<Trip> flow =
        Flow.of("nap", Trip.class)
            .description("Sleeps.")
            .sleep("sleep", Duration.ofSeconds(2))
            .edge(Flow.START, "sleep")
            .edge("sleep", Flow.END)
            .compile();
    // A call waits for the end of a pause that is shorter than half its deadline.
    try (TestHost host = new TestHost(store, s -> s.callDeadline(Duration.ofSeconds(3)), flow)) {
      Client client = host.client();
      assertThat(TestHost.status(client.start())).isEqualTo("waiting");
      host.crash();
      TestHost.eventually(() -> status(client.proceed()).equals("complete"));
    }
  }

  @Test
  void ofTwoHostsTheOneThatComesLateRecoversWhatTheOtherWrote() throws Exception {
    try (TestHost first = new TestHost(store, TestFlows.trip());
        TestHost second = new TestHost(store, TestFlows.trip())) {
      Client here = first.client();
      here.start();
      Client there = second.client();
      there.sessionId = here.sessionId;
      assertThat(field(there.proceed("from", "Ulm"))).isEqualTo("to");

      assertThat(code(here.proceed("from", "Kiel"))).isEqualTo("store_unavailable");
      TestHost.eventually(() -> field(here.status()).equals("to"));
      assertThat(here.proceed("to", "Bonn").structured().path("result").path("from").asText())
          .isEqualTo("Ulm");
    }
  }

  @Test
  void callsFailClearlyWhileTheStoreIsOutOfOrderAndContinueAfterwards() throws Exception {
    try (TestHost host = new TestHost(store, TestFlows.trip())) {
      Client client = host.client();
      client.start();
      kv.down(true);
      assertThat(code(client.proceed("from", "Kiel"))).isEqualTo("store_unavailable");
      kv.down(false);
      TestHost.eventually(() -> field(client.proceed("from", "Ulm")).equals("to"));
      assertThat(client.proceed("to", "Bonn").structured().path("result").path("from").asText())
          .isEqualTo("Ulm");
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "401 | {} | it rejects the key (HTTP 401); check WANIWANI_API_KEY",
        "404 | <html>no</html> | it responded with HTTP 404 for /api/mcp/redis/",
        "200 | <html>hello</html> | is not JSON; check that a WaniWani API is",
        "200 | {\"value\":7} | is not {\"data\": …} but of type object with the fields [value]"
      })
  void aStoreThatIsMisconfiguredIsRefusedAtStartAndNamedInTheLogAfterwards(
      int status, String body, String why) throws Exception {
    Logger root = (Logger) LoggerFactory.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME);
    ListAppender<ILoggingEvent> log = new ListAppender<>();
    log.start();
    root.addAppender(log);
    Logger stores = (Logger) LoggerFactory.getLogger("io.fermata.persistence");
    stores.setLevel(Level.WARN);
    try (WaniwaniStub stub = new WaniwaniStub()) {
      String key = stub.newKey();
      Map<String, String> environment =
          Map.of("WANIWANI_API_KEY", key, "WANIWANI_API_URL", stub.base());
      Store waniwani =
          new KeyValueProvider().fromEnvironment(environment).map(Store::of).orElseThrow();
      try (TestHost host = new TestHost(waniwani, TestFlows.trip())) {
        Client client = host.client();
        client.start();
        stub.answer(status, body);
        assertThat(code(client.proceed("from", "Ulm"))).isEqualTo("store_unavailable");
        TestHost.eventually(() -> List.copyOf(log.list).stream().anyMatch(e -> says(e, why)));
      }
      assertThat(List.copyOf(log.list)).noneMatch(event -> says(event, key));
      assertThatThrownBy(() -> new TestHost(waniwani, TestFlows.trip()))
          .hasMessageContainingAll("waniwani:" + stub.base(), why)
          .hasMessageNotContaining(key);
    } finally {
      stores.setLevel(null);
      root.detachAppender(log);
    }
  }

  private static boolean says(ILoggingEvent event, String text) {
    String thrown =
        event.getThrowableProxy() == null
            ? ""
            : ThrowableProxyUtil.asString(event.getThrowableProxy());
    return (event.getFormattedMessage() + thrown).contains(text);
  }

  // --- threads ---------------------------------------------------------------------------------

  private Fermata desk() {
    return desk(store).start();
  }

  private static HostBuilder desk(Store store) {
    return Fermata.host()
        .store(store)
        .agent(Agent.aiHuman("echo", Prompt.of("p", ScriptedModels.saying("Heard."))));
  }

  private static <T> T now(CompletionStage<T> stage) throws Exception {
    return stage.toCompletableFuture().get(60, TimeUnit.SECONDS);
  }

  private static String created(Fermata host) throws Exception {
    Threads.NewThread thread =
        new Threads.NewThread("ann", "echo", null, Set.of(), Map.of(), List.of());
    return now(host.threads().create(thread)).threadId();
  }

  private static void said(Fermata host, String id, String text) throws Exception {
    now(
        host.threads()
            .post("ann", id, new Threads.NewMessage(Message.user(text), List.of(), null)));
    now(host.threads().settled("ann", id, Duration.ofSeconds(30)));
  }

  /** A text in which nothing is said twice, so that it is as large in the store. */
  private static String page(int number) {
    return text(number, 1_500);
  }

  private static String text(int number, int size) {
    byte[] bytes = new byte[size];
    new Random(number).nextBytes(bytes);
    return Base64.getEncoder().encodeToString(bytes);
  }

  private static List<String> texts(Fermata host, String id) throws Exception {
    return now(host.threads().messages("ann", id, Threads.MessageQuery.latest(100).withSilent()))
        .messages()
        .stream()
        .map(m -> String.valueOf(m.content()))
        .toList();
  }

  @Test
  void aThreadContinuesAfterARestartAndItsMessagesAreReadAsFarBackAsTheyAreKept() throws Exception {
    String id;
    try (Fermata host = desk()) {
      id = created(host);
      said(host, id, "Hello");
      assertThat(texts(host, id)).containsExactly("Heard.", "Hello");
    }
    try (Fermata host = desk()) {
      for (int i = 0; i < 25; i++) {
        said(host, id, page(i));
      }
      assertThat(texts(host, id))
          .hasSizeBetween(4, 51)
          .startsWith("Heard.", page(24))
          .doesNotContain("Hello");
      assertThat(now(host.threads().get("ann", id)).threadId()).isEqualTo(id);
    }
  }

  @Test
  void aThreadIsReadAsFarBackAsItIsKeptHoweverManyEntriesThatAre() throws Exception {
    try (Fermata host = desk()) {
      String id = created(host);
      Set<Integer> kept = new HashSet<>();
      for (int i = 0; i < 100; i++) {
        Message unanswered = Message.assistant(text(i, 200));
        now(host.threads().post("ann", id, new Threads.NewMessage(unanswered, List.of(), null)));
        List<String> texts = texts(host, id);
        assertThat(texts).startsWith(text(i, 200));
        if (!texts.contains(text(0, 200))) {
          kept.add(texts.size());
        }
      }
      assertThat(kept).as("as many as are read at once, among others").contains(32);
    }
  }

  @Test
  void whatASnapshotReplacedCannotBeFollowedAndIsSaidToBeGone() throws Exception {
    try (Fermata host = desk()) {
      String id = created(host);
      for (int i = 0; i < 25; i++) {
        said(host, id, page(i));
      }
      CompletableFuture<@Nullable Throwable> ended = new CompletableFuture<>();
      Threads.Feed feed =
          now(
              host.threads()
                  .follow(
                      "ann",
                      id,
                      0,
                      0,
                      new Threads.Listener() {
                        @Override
                        public void happened(long offset, int index, long at, ThreadEvent event) {}

                        @Override
                        public void streamed(MessageDelta delta) {}

                        @Override
                        public void ended(@Nullable Throwable why) {
                          ended.complete(why);
                        }
                      }));
      feed.request(1_000);
      assertThat(ended.get(60, TimeUnit.SECONDS))
          .isInstanceOfSatisfying(
              ThreadException.class, gone -> assertThat(gone.code()).isEqualTo("not_kept"))
          .hasMessageContaining("keeps no history");
    }
  }

  @Test
  void theMessagesOfAnImportedThreadAreReadWhileItSleeps() throws Exception {
    ByteArrayOutputStream export = new ByteArrayOutputStream();
    String id;
    try (Fermata host = desk()) {
      id = created(host);
      said(host, id, "Hello");
      now(host.journals().thread(id).export(export));
    }
    Store other = KeyValueStore.of(new LocalKvStore());
    try (Fermata host = desk(other).dormant().start()) {
      now(host.journals().importFrom(new ByteArrayInputStream(export.toByteArray())));
      assertThat(texts(host, id)).containsExactly("Heard.", "Hello");
      assertThat(host.awake()).isZero();
    }
  }

  @Test
  void threadsCannotBeListed() throws Exception {
    try (Fermata host = desk()) {
      created(host);
      Threads.Query all = new Threads.Query("ann", null, Set.of(), null, null, true, 10, null);
      assertThatThrownBy(() -> now(host.threads().list(all)))
          .cause()
          .isInstanceOfSatisfying(
              ThreadException.class, no -> assertThat(no.code()).isEqualTo("not_kept"))
          .hasMessageContaining("cannot be listed");
    }
  }

  @Test
  void runsCannotBeListed() throws Exception {
    try (TestHost host = new TestHost(store, TestFlows.trip())) {
      host.client().start();
      Runs runs = host.fermata().runs();
      for (CompletionStage<?> asked :
          List.of(runs.list(RunQuery.ALL), runs.get("trip", "r"), runs.rebuild())) {
        assertThatThrownBy(() -> now(asked))
            .cause()
            .isInstanceOfSatisfying(
                ThreadException.class, no -> assertThat(no.code()).isEqualTo("not_kept"))
            .hasMessageContaining("cannot be listed");
      }
    }
  }

  @Test
  void aDeletedThreadIsGoneFromTheStore() throws Exception {
    try (Fermata host = desk()) {
      String id = created(host);
      String secret = id.substring(id.indexOf('.') + 1);
      assertThat(kv.knows(secret)).isTrue();
      now(host.threads().delete("ann", id));
      TestHost.eventually(() -> !kv.knows(secret));
    }
  }

  private HostBuilder decorator(FlowTool... tools) {
    Model paints = ScriptedModels.calling("paint", "{}", result -> result);
    return Fermata.host()
        .store(store)
        .agent(Agent.aiHuman("echo", Prompt.of("p", paints).tools(tools)));
  }

  @Test
  void aDeletedThreadIsErasedWithTheRunsThatItsReleaseCannotEnd() throws Exception {
    FlowTool paint =
        FlowTool.of(
            "paint",
            "Paints.",
            Flow.of("paint", Trip.class)
                .description("Paints.")
                .waitFor("dry", "dried")
                .edge(Flow.START, "dry")
                .edge("dry", Flow.END)
                .compile());
    String id;
    try (Fermata host = decorator(paint).start()) {
      id = created(host);
      said(host, id, "go");
      assertThat(now(host.threads().get("ann", id)).waits()).hasSize(1);
      assertThat(kv.knows("journal:paint|")).isTrue();
    }
    String secret = id.substring(id.indexOf('.') + 1);
    try (Fermata host = decorator().start()) {
      now(host.threads().delete("ann", id));
      TestHost.eventually(() -> !kv.knows(secret));
      assertThat(kv.knows("journal:paint|")).isFalse();
    }
  }

  @Test
  void anErasureThatFailsLetsWhatWasAtWorkContinue() throws Exception {
    CountDownLatch first = new CountDownLatch(1);
    CountDownLatch second = new CountDownLatch(1);
    Flow<Trip> flow = TestFlows.cutOff(first, second);
    try (TestHost host = new TestHost(store, flow)) {
      Client client = host.client();
      client.start();
      CompletableFuture<ToolReply> cutOff = client.proceedLater("from", "Ulm");
      assertThat(first.await(60, TimeUnit.SECONDS)).isTrue();
      assertThatThrownBy(() -> now(host.fermata().erase(Erasure.principal("local"))))
          .hasRootCauseInstanceOf(NoHistoryException.class);
      assertThat(code(cutOff.get(60, TimeUnit.SECONDS))).isEqualTo("erased");
      assertThat(second.await(60, TimeUnit.SECONDS)).isTrue();
      assertThat(field(client.proceed())).isEqualTo("to");
    }
  }

  private static AiMessage dug(CountDownLatch digging, CountDownLatch hole) {
    digging.countDown();
    try {
      hole.await();
      return AiMessage.from("a hole");
    } catch (InterruptedException e) {
      throw new CompletionException(e);
    }
  }

  private HostBuilder diggers(CountDownLatch digging, CountDownLatch hole) {
    Model digs = ScriptedModels.answering(messages -> dug(digging, hole));
    Model delegates = ScriptedModels.calling("worker", "{\"message\":\"dig\"}", result -> result);
    SubAgent worker = SubAgent.of("worker", "Digs").asBlocking();
    return Fermata.host()
        .store(store)
        .agent(Agent.aiHuman("worker", Prompt.of("p", digs)))
        .agent(Agent.aiHuman("echo", Prompt.of("p", delegates).tools(worker)));
  }

  private static Threads.View awaitChild(Fermata host, String id) throws Exception {
    Threads.View view = now(host.threads().get("ann", id));
    for (int i = 0; i < 600 && view.children().isEmpty(); i++) {
      Thread.sleep(50);
      view = now(host.threads().get("ann", id));
    }
    return view;
  }

  @Test
  void theParentOfAChildWhoseErasureIsRefusedGetsTheReportOfTheChild() throws Exception {
    CountDownLatch digging = new CountDownLatch(1);
    CountDownLatch hole = new CountDownLatch(1);
    try (Fermata host = diggers(digging, hole).start()) {
      String id = created(host);
      Threads.NewMessage go = new Threads.NewMessage(Message.user("go"), List.of(), null);
      now(host.threads().post("ann", id, go));
      assertThat(digging.await(60, TimeUnit.SECONDS)).isTrue();
      String child = awaitChild(host, id).children().get(0).threadId();

      assertThatThrownBy(() -> now(host.erase(Erasure.thread(child))))
          .hasRootCauseInstanceOf(NoHistoryException.class);
      assertThat(now(host.threads().get("ann", id)).children()).hasSize(1);
      hole.countDown();
      now(host.threads().settled("ann", id, Duration.ofSeconds(30)));
      assertThat(texts(host, id)).first().asString().contains("a hole");
    }
  }

  @Test
  void aRunIsErasedByItsNameAndAPrincipalCannotBe() throws Exception {
    try (TestHost host = new TestHost(store, TestFlows.trip())) {
      Client client = host.client();
      String run = client.start().meta().path("fermata/run").path("runId").asText();
      now(host.fermata().erase(Erasure.run("trip", run)));
      assertThat(kv.knows("journal:trip|")).isFalse();
      assertThatThrownBy(() -> now(host.fermata().erase(Erasure.principal("local"))))
          .hasRootCauseInstanceOf(NoHistoryException.class)
          .hasMessageContaining("cannot be listed or searched");
    }
  }

  @Test
  void aDamagedRunCanBeErased() throws Exception {
    try (TestHost host = new TestHost(store, TestFlows.trip())) {
      Client client = host.client();
      String run = client.start().meta().path("fermata/run").path("runId").asText();
      host.fermata().close();
      kv.damage("journal:trip|");
      host.restart();
      assertThat(code(client.proceed())).isEqualTo("damaged");

      now(host.fermata().erase(Erasure.run("trip", run)));

      assertThat(kv.knows("journal:trip|")).isFalse();
    }
  }

  @Test
  @Tag("faults")
  void aHostWhoseStoreDoesNotAnswerOrAcceptsNoWritesIsNotReady() throws InterruptedException {
    try (TestHost host = new TestHost(store, TestFlows.trip())) {
      assertThat(health(host).ready()).isTrue();

      kv.down(true);
      TestHost.eventually(() -> !health(host).ready());
      assertThat(health(host).problem()).contains("accepts no writes");
      kv.down(false);
      TestHost.eventually(() -> health(host).ready());

      kv.full(true);
      TestHost.eventually(() -> !health(host).ready());
      assertThat(health(host)).isEqualTo(new Health(StoreProblem.REFUSES.text(), true, null));
      kv.full(false);
      TestHost.eventually(() -> health(host).ready());
      assertThat(host.fermata().lost().toCompletableFuture()).isNotDone();
    }
  }

  private static Health health(TestHost host) {
    return host.fermata().health().toCompletableFuture().join();
  }
}
