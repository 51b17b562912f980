package io.fermata.testkit;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.fermata.flow.Flow;
import io.fermata.flow.FlowBuilder;
import io.fermata.flow.action.Run;
import io.fermata.flow.schema.Computed;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.slf4j.LoggerFactory;

/** A failed expectation carries what the author's code threw, whichever code it was. */
class ThrownTest {
  record Note(String text, List<String> parts, @Computed List<String> log) {}

  private static IllegalStateException thrown() {
    return new IllegalStateException("boom");
  }

  @SuppressWarnings("TypeParameterUnusedInFormals") // for lambdas of any type
  private static <T> T boom() {
    throw thrown();
  }

  private static FlowBuilder<Note> note() {
    return Flow.of("note", Note.class).description("Takes notes.");
  }

  private static FlowBuilder<Note> through(FlowBuilder<Note> flow, String node) {
    return flow.edge(START, node).edge(node, END);
  }

  private static Flow<Note> inner(FlowBuilder<Note> flow) {
    return through(flow.act("do", run -> {}), "do").compile();
  }

  record Case(String what, Flow<Note> flow) {
    @Override
    public String toString() {
      return what;
    }
  }

  private static Case of(String what, FlowBuilder<Note> flow) {
    return new Case(what, flow.compile());
  }

  private static Case at(String what, FlowBuilder<Note> flow) {
    return of(what, through(flow, "node"));
  }

  static Stream<Case> everyKindOfCode() {
    return Stream.of(
        at("an action", note().act("node", run -> boom())),
        at(
            "a quick validator",
            note().ask("node", n -> n.question("text", "What?", q -> q.validate(x -> boom())))),
        at(
            "an async validator",
            note()
                .ask("node", n -> n.question("text", "What?", q -> q.validateAsync(x -> boom())))),
        at(
            "a cross-field validator",
            note()
                .ask(
                    "node",
                    n -> n.question("text", "What?", q -> q.<String>validate((s, x) -> boom())))),
        at("the text of a question", note().ask("node", n -> n.question("parts", s -> boom()))),
        at(
            "suggestions",
            note().ask("node", n -> n.question("parts", "Which?", q -> q.suggest(s -> boom())))),
        at("the data of a widget", note().widget("node", w -> w.tool("list").data(s -> boom()))),
        at(
            "the validator of a widget",
            note().widget("node", w -> w.tool("list").field("text").validate(x -> boom()))),
        at("values that are computed", note().computes("node", s -> boom())),
        at("a moment", note().sleepUntil("node", s -> ThrownTest.<Instant>boom())),
        at("a result", note().act("node", run -> {}).result(s -> boom())),
        of(
            "a predicate",
            note()
                .act("node", run -> {})
                .edge(START, "node")
                .decide("node", d -> d.when("it is so", s -> boom()).to("node").otherwise(END))),
        at(
            "the input of a sub-flow",
            note().subflow("node", inner(note()), m -> m.input(s -> boom()))),
        at(
            "the output of a sub-flow",
            note().subflow("node", inner(note()), m -> m.output((s, t) -> boom()))),
        at(
            "the result of a sub-flow",
            note().subflow("node", inner(note().result(s -> boom())), m -> m.into("log"))),
        at(
            "the items of a list",
            note()
                .<Note, String>forEach("node", inner(note()), m -> m.items(s -> boom()).atMost(3))),
        of(
            "a reducer",
            note()
                .act("one", run -> run.append("log", "1"))
                .act("two", run -> run.append("log", "2"))
                .act("node", run -> {})
                .fork(START, f -> f.branch("one").branch("two").join("node"))
                .edge("one", "node")
                .edge("two", "node")
                .edge("node", END)
                .reduce("log", (before, values) -> boom())));
  }

  @ParameterizedTest
  @MethodSource("everyKindOfCode")
  void showsWhatTheAuthorsCodeThrew(Case code) {
    FlowProbe<Note> engine = FlowProbe.of(code.flow()).start("to test", "text", "x");
    assertThatThrownBy(engine::completes).hasCause(thrown());
    try (SessionProbe session = SessionProbe.of(code.flow()).start("to test", "text", "x")) {
      assertThatThrownBy(session::completes).hasCause(thrown());
    }
  }

  @Test
  void showsWhatAMigrationThrew() {
    FlowBuilder<Note> next = note().version(2).ask("ask", n -> n.question("text", "What?"));
    next.migrate(1, m -> m.state(run -> boom()));
    FlowProbe<Note> upgraded =
        FlowProbe.of(through(note().ask("ask", n -> n.question("text", "What?")), "ask").compile())
            .start("to test")
            .upgrade(through(next, "ask").compile());

    assertThatThrownBy(upgraded::completes).hasCause(thrown());
  }

  // --- what is written too late -----------------------------------------------------------------

  /** Pays without waiting for the bank. */
  @SuppressWarnings("FutureReturnValueIgnored") // the mistake of an author
  private static Flow<Note> paying(CompletableFuture<String> bank, Runnable then) {
    return through(
            note()
                .act(
                    "pay",
                    run -> {
                      bank.thenAccept(receipt -> run.set("text", receipt));
                      bank.thenAccept(receipt -> run.append("log", receipt));
                      then.run();
                    }),
            "pay")
        .compile();
  }

  @Test
  void aWriteAfterItsStepIsOverIsLoggedWithTheStepAndWhatToUseInstead() {
    CompletableFuture<String> bank = new CompletableFuture<>();
    ListAppender<ILoggingEvent> log = new ListAppender<>();
    Logger logger = (Logger) LoggerFactory.getLogger(Run.class);
    log.start();
    logger.addAppender(log);
    Level usual = logger.getLevel();
    logger.setLevel(Level.WARN);
    try {
      FlowProbe<Note> probe = FlowProbe.of(paying(bank, () -> {})).start("to pay").completes();
      bank.complete("B-1");
      assertThat(log.list)
          .extracting(ILoggingEvent::getFormattedMessage)
          .containsExactly(
              "Run %s: Step pay#1 is over; what it writes after that would be lost. %s"
                  .formatted(
                      probe.runState().runId(),
                      "Wait for it in the step, or return its stage from actAsync or compensateAsync"));
    } finally {
      logger.setLevel(usual);
      logger.detachAppender(log);
    }
  }

  @Test
  void aProbeFailsWhenAStepWritesAfterItIsOver() {
    CompletableFuture<String> bank = new CompletableFuture<>();
    try (SessionProbe session = SessionProbe.of(paying(bank, () -> {}))) {
      FlowProbe<Note> flow = FlowProbe.of(paying(bank, () -> {})).start("to pay").completes();
      session.start("to pay").completes();
      bank.complete("B-1");
      for (Probe<?> probe : List.of(flow, session)) {
        assertThatThrownBy(probe::completes)
            .hasMessageContaining("Step pay#1 is over; what it writes after that would be lost");
      }
    }
  }

  @Test
  void whatAFailedStepWritesLaterIsNotMissed() {
    CompletableFuture<String> bank = new CompletableFuture<>();
    FlowProbe<Note> probe =
        FlowProbe.of(paying(bank, ThrownTest::boom)).start("to pay").fails("step_failed");
    bank.complete("B-1");
    probe.fails("step_failed").stateHas("text", null);
  }
}
