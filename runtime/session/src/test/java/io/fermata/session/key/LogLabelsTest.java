package io.fermata.session.key;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.ThrowableProxyUtil;
import ch.qos.logback.core.read.ListAppender;
import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.UserMessage;
import io.fermata.agent.Agent;
import io.fermata.agent.Prompt;
import io.fermata.agent.Tool;
import io.fermata.agent.message.Message;
import io.fermata.flow.Flow;
import io.fermata.flow.action.StepException;
import io.fermata.flow.event.Verdict;
import io.fermata.flow.schema.Describe;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import io.fermata.session.ScriptedModels;
import io.fermata.session.TestFlows;
import io.fermata.session.TestHost;
import io.fermata.session.admin.Threads;
import io.fermata.session.call.ToolReply;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.slf4j.LoggerFactory;
import org.slf4j.MDC;

/** What lines of the log are about. */
@Timeout(60)
class LogLabelsTest {
  private final ListAppender<ILoggingEvent> lines = new ListAppender<>();
  private final Logger log = (Logger) LoggerFactory.getLogger("io.fermata.session");

  @BeforeEach
  void listen() {
    lines.start();
    log.setLevel(Level.WARN);
    log.addAppender(lines);
  }

  @AfterEach
  void stopListening() {
    log.detachAppender(lines);
    log.setLevel(null);
  }

  @Test
  void aHandlerLogsAboutItsRunAndWhatTheHostLogsOfItIsToo() {
    AtomicReference<Map<String, String>> within = new AtomicReference<>(Map.of());
    try (TestHost host =
        new TestHost(
            Store.memory(),
            TestFlows.trip(
                    run -> {
                      within.set(MDC.getCopyOfContextMap());
                      throw new StepException("No seats.");
                    },
                    o -> {})
                .compile())) {
      TestHost.Client client = host.client();
      client.start();
      ToolReply failed = client.proceed("from", "Berlin");
      String run = failed.meta().at("/fermata~1run/runId").asText();

      assertThat(within.get())
          .containsEntry(LogLabels.FLOW, "trip")
          .containsEntry(LogLabels.RUN, run)
          .containsEntry(LogLabels.NODE, "book")
          .containsEntry(LogLabels.ATTEMPT, "1")
          .containsEntry(LogLabels.PRINCIPAL, SessionKey.ownerOf("local"));
      List<ILoggingEvent> said = List.copyOf(lines.list);
      assertThat(said).isNotEmpty();
      assertThat(said)
          .allSatisfy(
              line ->
                  assertThat(line.getMDCPropertyMap())
                      .containsEntry(LogLabels.FLOW, "trip")
                      .containsEntry(LogLabels.RUN, run));
    }
  }

  @Test
  void whatAClientAnsweredCannotForgeALine() {
    String forged = "x\r\n16:59:59.000 ERROR i.f.FORGED admin logged in \u001b[31m\u2028end";
    try (TestHost host =
        new TestHost(
            Store.memory(),
            TestFlows.trip(
                    run -> {
                      throw new StepException(
                          "No flight " + run.state().from(),
                          new IllegalStateException(run.state().from()));
                    },
                    o -> {})
                .compile())) {
      TestHost.Client client = host.client();
      client.start();
      client.proceed("from", forged);

      assertThat(lines.list)
          .isNotEmpty()
          .allSatisfy(
              line -> {
                assertThat(line.getFormattedMessage()).doesNotContainPattern("\\p{Cc}|\u2028");
                assertThat(ThrowableProxyUtil.asString(line.getThrowableProxy()).lines())
                    .anyMatch(
                        each ->
                            each.startsWith("Caused by: ")
                                && each.endsWith(
                                    "IllegalStateException: x  16:59:59.000 ERROR i.f.FORGED"
                                        + " admin logged in  [31m end"))
                    .noneMatch(each -> each.startsWith("16:59:59.000"));
              });
    }
  }

  @Test
  void aFailedStepIsLoggedWithTheLineThatThrewAndItsReplyShowsNothingOfIt() {
    try (TestHost host =
        new TestHost(Store.memory(), TestFlows.trip(run -> parse("12 seats"), o -> {}).compile())) {
      TestHost.Client client = host.client();
      client.start();

      ToolReply failed = client.proceed("from", "Berlin");

      assertThat(traces())
          .anySatisfy(
              trace ->
                  assertThat(trace)
                      .contains(
                          "NumberFormatException", "LogLabelsTest.parse(LogLabelsTest.java:"));
      assertThat(failed.structured().toString())
          .doesNotContain("12 seats", "LogLabelsTest", "Number");
    }
  }

  @Test
  void aThrowingValidatorIsLoggedWithTheLineThatThrew() {
    Flow<Order> order =
        Flow.of("order", Order.class)
            .description("Orders.")
            .ask("ask", q -> q.question("name", "Who?", o -> o.validate(LogLabelsTest::judged)))
            .edge(Flow.START, "ask")
            .edge("ask", Flow.END)
            .compile();
    try (TestHost host = new TestHost(Store.memory(), order)) {
      TestHost.Client client = host.client("order");
      client.start();
      client.proceed("name", "12x");

      assertThat(traces())
          .anySatisfy(trace -> assertThat(trace).contains("LogLabelsTest.parse(LogLabelsTest"));
    }
  }

  @Test
  void aDecisionForWhichOtherSessionsWaitIsNamedOnceWithThePlaceForWhatBlocks() {
    AtomicLong nanos = new AtomicLong();
    Flow<Order> order =
        Flow.of("order", Order.class)
            .description("Orders.")
            .ask(
                "ask",
                q ->
                    q.question(
                        "name",
                        "Who?",
                        o ->
                            o.validate(
                                (String name) -> {
                                  nanos.addAndGet(Duration.ofMillis(name.length()).toNanos());
                                  return Verdict.accept();
                                })))
            .edge(Flow.START, "ask")
            .edge("ask", Flow.END)
            .compile();
    try (TestHost host = new TestHost(Store.memory(), s -> s, nanos::get, order)) {
      host.client("order").start("name", "x".repeat(500));
      assertThat(slowDecisions()).isEmpty();
      host.client("order").start("name", "x".repeat(501));
      host.client("order").start("name", "x".repeat(502));

      assertThat(slowDecisions())
          .containsExactly(
              "Deciding took 501 ms in the flow order at ask; other sessions wait meanwhile."
                  + " Move what blocks into act(…) or validateAsync(…)");
    }
  }

  private List<String> slowDecisions() {
    return List.copyOf(lines.list).stream()
        .map(ILoggingEvent::getFormattedMessage)
        .filter(line -> line.startsWith("Deciding took"))
        .toList();
  }

  private static final ToolExecutionRequest CALL =
      ToolExecutionRequest.builder().id("1").name("add").arguments("{}").build();

  /** A thread whose model behaves so, and which may call a tool. */
  private void converse(Function<List<ChatMessage>, AiMessage> model, Tool tool) throws Exception {
    Prompt prompt = Prompt.of("p", ScriptedModels.answering(model)).tools(tool);
    try (Fermata host =
        Fermata.host().store(Store.memory()).agent(Agent.aiHuman("desk", prompt)).start()) {
      Threads threads = host.threads();
      String id =
          threads
              .create(new Threads.NewThread("ann", "desk", null, Set.of(), Map.of(), List.of()))
              .toCompletableFuture()
              .get()
              .threadId();
      threads
          .post("ann", id, new Threads.NewMessage(Message.user("hi"), List.of(), null))
          .toCompletableFuture()
          .get();
      threads.settled("ann", id, Duration.ofSeconds(30)).toCompletableFuture().get();
    }
  }

  private static AiMessage callOnce(List<ChatMessage> messages) {
    return messages.get(messages.size() - 1) instanceof UserMessage
        ? AiMessage.from(CALL)
        : AiMessage.from("Done.");
  }

  private void threwInParse() {
    assertThat(traces())
        .anySatisfy(trace -> assertThat(trace).contains("LogLabelsTest.parse(LogLabelsTest"));
  }

  @Test
  void aModelThatFailsIsLoggedWithTheLineThatThrewAndWithoutAKey() throws Exception {
    converse(
        messages -> AiMessage.from("" + parse("sk-12345678")),
        Tool.of("add", "Adds.", (f, a) -> 1));
    threwInParse();
    assertThat(traces()).noneMatch(trace -> trace.contains("12345678"));
  }

  @Test
  void anApprovalFunctionThatThrowsIsLoggedWithTheLineThatThrew() throws Exception {
    converse(
        LogLabelsTest::callOnce,
        Tool.of("add", "Adds.", (f, a) -> 1).approval(arguments -> "" + parse("12x")));
    threwInParse();
  }

  record Order(@Describe("Name") String name) {}

  private static Verdict judged(String name) {
    return parse(name) > 0 ? Verdict.accept() : Verdict.reject("No.");
  }

  private static int parse(String number) {
    return Integer.parseInt(number);
  }

  private List<String> traces() {
    return List.copyOf(lines.list).stream()
        .map(ILoggingEvent::getThrowableProxy)
        .filter(Objects::nonNull)
        .map(ThrowableProxyUtil::asString)
        .toList();
  }

  @Test
  @SuppressWarnings("try")
  void labelsAreTakenAwayAgain() {
    try (LogLabels labels = LogLabels.on().with(LogLabels.TOOL, "add").with("none", null)) {
      assertThat(MDC.get(LogLabels.TOOL)).isEqualTo("add");
    }
    assertThat(MDC.get(LogLabels.TOOL)).isNull();
  }
}
