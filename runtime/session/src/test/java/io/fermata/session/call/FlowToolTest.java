package io.fermata.session.call;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.route.Condition.gt;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.FlowTool;
import io.fermata.flow.Flow;
import io.fermata.flow.FlowBuilder;
import io.fermata.flow.action.EffectOptions;
import io.fermata.flow.action.Run;
import io.fermata.flow.event.Input;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Limits;
import io.fermata.flow.schema.Computed;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import io.fermata.session.HostBuilder;
import io.fermata.session.admin.RunInfo;
import io.fermata.session.admin.RunQuery;
import io.fermata.session.admin.Settings;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A flow as a tool of an agent: what the agent receives, whatever the flow does. */
@Tag("slow")
@Timeout(300)
class FlowToolTest {
  record Case(Integer score, String approver, @Computed String urgency) {}

  @TempDir Path directory;
  private final List<String> done = new CopyOnWriteArrayList<>();

  private Store store() {
    return Store.sqlite(directory.resolve("tools.db"));
  }

  private FlowBuilder<Case> triage() {
    return Flow.of("triage", Case.class)
        .description("Decides how urgent a case is.")
        .act("calm", run -> run.set("urgency", "low"))
        .act("alarm", run -> run.set("urgency", "high"))
        .edge("calm", END)
        .edge("alarm", END)
        .decide(START, d -> d.when("high score", gt("score", 700)).to("alarm").otherwise("calm"));
  }

  private static ObjectNode schema() {
    ObjectNode schema = Json.object().put("type", "object");
    schema.putObject("properties").putObject("score").put("type", "integer");
    schema.putArray("required").add("score");
    return schema;
  }

  private FlowTool tool(FlowBuilder<Case> flow) {
    return FlowTool.of("rate", "Rates a case.", flow.compile()).arguments(schema());
  }

  @Test
  void aToolWithoutASchemaTakesNoArguments() {
    FlowTool tool = FlowTool.of("rate", "Rates a case.", triage().compile());
    assertThat(tool.arguments().json().path("additionalProperties").asBoolean(true)).isFalse();
    assertThat(tool.wrong(Json.object().put("score", 1))).contains("score");
  }

  @Test
  void aSchemaThatContradictsItsFieldIsRefused() {
    FlowTool tool = FlowTool.of("rate", "Rates a case.", triage().compile());
    ObjectNode text = schema();
    text.withObjectProperty("properties").withObjectProperty("score").put("type", "string");
    assertThatThrownBy(() -> tool.arguments(text))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContainingAll("score of rate contradicts", "string", "integer");
    ObjectNode either = schema();
    either.withObjectProperty("properties").withObjectProperty("score").remove("type");
    assertThat(tool.arguments(either).arguments().json()).isEqualTo(either);
  }

  private Fermata host(FlowTool... tools) {
    return host(Fermata.host(), tools);
  }

  private Fermata host(HostBuilder builder, FlowTool... tools) {
    HostBuilder host = builder.store(store());
    for (FlowTool tool : tools) {
      host.tool(tool);
    }
    return host.start();
  }

  record Stop(String city, @Nullable String street) {}

  record Trip(List<Stop> stops, @Computed String route) {}

  record Route(List<Stop> stops) {}

  @Test
  void nullInAnElementOfAListCountsAsAbsent() {
    Flow<Trip> flow =
        Flow.of("trip", Trip.class)
            .description("Plans a trip.")
            .act("plan", run -> run.set("route", run.state().stops().get(0).city()))
            .edge(START, "plan")
            .edge("plan", END)
            .result(Trip::route)
            .compile();
    FlowTool tool = FlowTool.of("rate", "Plans a trip.", flow).arguments(Route.class);
    ObjectNode given = Json.object();
    given.putArray("stops").addObject().put("city", "Rome").putNull("street");

    assertThat(tool.wrong(given)).isNull();
    try (Fermata host = host(tool)) {
      assertThat(result(host.use(use("1"), given)).text()).contains("Rome");
    }
  }

  record Change(ObjectNode patch) {}

  record Contact(ObjectNode patch, @Computed String seen) {}

  @Test
  void nullWithinATreeReachesTheFlow() {
    Flow<Contact> flow =
        Flow.of("contact", Contact.class)
            .description("Changes a contact.")
            .act("change", run -> run.set("seen", run.state().patch().toString()))
            .edge(START, "change")
            .edge("change", END)
            .result(Contact::seen)
            .compile();
    FlowTool tool = FlowTool.of("rate", "Changes a contact.", flow).arguments(Change.class);
    ObjectNode given = Json.object();
    given.putObject("patch").putNull("phone");

    try (Fermata host = host(tool)) {
      assertThat(result(host.use(use("1"), given)).text()).contains("{\\\"phone\\\":null}");
    }
  }

  private static ToolUse use(String callId) {
    return new ToolUse("rate", "thread-1", callId);
  }

  private static ObjectNode score(int score) {
    return Json.object().put("score", score);
  }

  private static ToolOutcome got(CompletionStage<ToolOutcome> outcome) {
    try {
      return outcome.toCompletableFuture().get(60, TimeUnit.SECONDS);
    } catch (Exception e) {
      throw new AssertionError("No outcome came", e);
    }
  }

  private static ToolOutcome.Result result(CompletionStage<ToolOutcome> outcome) {
    ToolOutcome got = got(outcome);
    assertThat(got).isInstanceOf(ToolOutcome.Result.class);
    return (ToolOutcome.Result) got;
  }

  @Test
  void theCallerLearnsTheValuesUnlessTheToolSaysOtherwise() {
    try (Fermata host = host(tool(triage()))) {
      assertThat(result(host.use(use("1"), score(720))))
          .isEqualTo(new ToolOutcome.Result("{\"score\":720,\"urgency\":\"high\"}", false));
    }
  }

  @Test
  void theMapperIsGivenTheValuesTheResultAndTheAccountOfTheRun() {
    FlowTool tool =
        tool(triage().result(c -> List.of(c.urgency())))
            .resultMapper(
                run -> run.values().path("urgency").asText() + run.result() + run.narrative());
    try (Fermata host = host(tool)) {
      assertThat(result(host.use(use("1"), score(720))).text())
          .startsWith("high[\"high\"]")
          .contains("high score")
          .contains("720");
    }
  }

  @Test
  void theAccountOfTheRunSaysNothingOfWhatAnOrdinaryExceptionSaid() {
    FlowBuilder<Case> flaky =
        Flow.of("flaky", Case.class)
            .description("Rates a case.")
            .act(
                "rate",
                run -> {
                  if (run.attempt() == 1) {
                    throw new IllegalStateException("bureau flake");
                  }
                },
                o -> o.retry(2, Duration.ofMillis(1)))
            .edge(START, "rate")
            .edge("rate", END);
    try (Fermata host = host(tool(flaky).resultMapper(run -> run.narrative()))) {
      assertThat(result(host.use(use("1"), score(1))).text())
          .contains("rate failed at attempt 1", "A step of the flow failed: rate.")
          .doesNotContain("bureau", "stateUpdates");
    }
  }

  @Test
  void aMapperThatThrowsIsAnErrorInItsEnvelope() {
    FlowTool tool =
        tool(triage())
            .resultMapper(
                run -> {
                  throw new IllegalStateException("no such thing");
                });
    try (Fermata host = host(tool)) {
      assertThat(result(host.use(use("1"), score(1))))
          .isEqualTo(new ToolOutcome.Result("[mapper-error: no such thing]", true));
    }
  }

  @Test
  void aStepThatFailsIsReportedWithoutInternalsAndWhatWasDoneIsUndone() {
    Flow<Case> flow =
        Flow.of("triage", Case.class)
            .description("Fails.")
            .act("hold", run -> done.add("held"))
            .act(
                "fail",
                run -> {
                  throw new IllegalStateException("jdbc:secret");
                })
            .compensate("hold", run -> done.add("released"))
            .edge(START, "hold")
            .edge("hold", "fail")
            .edge("fail", END)
            .compile();
    try (Fermata host = host(FlowTool.of("rate", "Rates.", flow))) {
      ToolOutcome.Result failed = result(host.use(use("1"), Json.object()));
      assertThat(failed.error()).isTrue();
      assertThat(failed.text()).isEqualTo("A step of the flow failed: fail.");
      assertThat(done).containsExactly("held", "released");
    }
  }

  @Test
  void argumentsThatDoNotFitAreRefusedBeforeAnythingRuns() {
    try (Fermata host = host(tool(triage()))) {
      assertThat(result(host.use(use("1"), Json.object())).text()).contains("score");
      assertThat(result(host.use(use("1"), Json.object().put("score", "x"))).error()).isTrue();
      assertThat(result(host.use(use("1"), score(1))).error()).isFalse();
    }
  }

  @Test
  void aPauseInsidePausesTheCallerAndTheAnswerFindsItsWayBackOverARestart() {
    FlowTool tool = tool(asking());
    Fermata host = host(tool);
    ToolOutcome paused = got(host.use(use("1"), score(720)));
    assertThat(paused).isInstanceOf(ToolOutcome.Paused.class);
    assertThat(((ToolOutcome.Paused) paused).question().path("field").asText())
        .isEqualTo("approver");
    host.crash();
    try (Fermata again = host(tool)) {
      assertThat(got(again.use(use("1"), score(720)))).isEqualTo(paused);
      ObjectNode answer = Json.object().put("approver", "Ann");
      ToolOutcome.Result end = result(again.answer(use("1"), "a1", answer));
      assertThat(end.text()).contains("Ann");
      assertThat(result(again.answer(use("1"), "a1", answer))).isEqualTo(end);
    }
  }

  private FlowBuilder<Case> asking() {
    return Flow.of("triage", Case.class)
        .description("Asks for approval.")
        .act("hold", run -> done.add("held"))
        .ask("ask_approver", q -> q.question("approver", "Who approves?"))
        .compensate("hold", run -> done.add("released"))
        .edge(START, "hold")
        .edge("hold", "ask_approver")
        .edge("ask_approver", END);
  }

  @Test
  void cancellingTheCallerCancelsTheRunAndUndoesIt() {
    try (Fermata host = host(tool(asking()))) {
      got(host.use(use("1"), score(1)));
      assertThat(result(host.withdraw(use("1"))).error()).isTrue();
      assertThat(done).containsExactly("held", "released");
      assertThat(result(host.answer(use("1"), "late", Json.object().put("approver", "x"))).error())
          .isTrue();
    }
  }

  @Test
  void callsAtTheSameTimeKnowNothingOfOneAnother() throws Exception {
    CountDownLatch all = new CountDownLatch(8);
    FlowTool tool =
        tool(
            Flow.of("triage", Case.class)
                .description("Doubles.")
                .act(
                    "double",
                    run -> {
                      all.countDown();
                      all.await(60, TimeUnit.SECONDS);
                      run.set("urgency", "" + 2 * run.state().score());
                    })
                .edge(START, "double")
                .edge("double", END)
                .result(Case::urgency));
    try (Fermata host = host(tool)) {
      List<CompletableFuture<ToolOutcome>> calls = new ArrayList<>();
      IntStream.range(0, 8)
          .forEach(i -> calls.add(host.use(use("c" + i), score(i)).toCompletableFuture()));
      for (int i = 0; i < 8; i++) {
        assertThat(result(calls.get(i)).text()).isEqualTo("\"" + 2 * i + "\"");
      }
    }
  }

  @Test
  void aUseThatIsRepeatedGetsTheSameAndRunsOnce() {
    FlowTool tool =
        tool(
            Flow.of("triage", Case.class)
                .description("Counts.")
                .act("count", run -> done.add("ran"))
                .edge(START, "count")
                .edge("count", END));
    Fermata host = host(tool);
    ToolOutcome first = got(host.use(use("1"), score(1)));
    host.crash();
    try (Fermata again = host(tool)) {
      assertThat(got(again.use(use("1"), score(1)))).isEqualTo(first);
      assertThat(done).hasSize(1);
    }
  }

  @Test
  void theResultOfAUseIsReturnedAsOftenAsItIsAskedFor() {
    Fermata host = host(tool(asking()));
    ToolOutcome paused = got(host.use(use("1"), score(1)));
    assertThat(got(host.again(use("1")))).isEqualTo(paused);
    ToolOutcome end = got(host.answer(use("1"), "a1", Json.object().put("approver", "Ann")));
    assertThat(((ToolOutcome.Result) end).error()).isFalse();
    host.crash();
    try (Fermata next = host(tool(asking()))) {
      assertThat(got(next.again(use("1")))).isEqualTo(end);
      assertThat(got(next.again(use("1")))).isEqualTo(end);
      assertThat(got(next.use(use("1"), score(1)))).isEqualTo(end);
      assertThat(result(next.again(use("other"))).error()).isTrue();
      assertThat(done).containsExactly("held");
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void anOptionalQuestionIsNotPassedHoweverOftenItIsAskedFor(boolean forwarded) throws Exception {
    UnaryOperator<HostBuilder> sent =
        host -> forwarded ? host.checkCalls(damage -> done.add(damage)) : host;
    FlowTool tool =
        tool(
            Flow.of("triage", Case.class)
                .description("Asks if it must.")
                .waitFor("rest", "file")
                .ask("approve", q -> q.question("approver", "Who?", o -> o.optional()))
                .act("hold", run -> done.add("held"))
                .edge(START, "rest")
                .edge("rest", "approve")
                .edge("approve", "hold")
                .edge("hold", END));
    Fermata host = host(sent.apply(Fermata.host()), tool);
    assertThat(got(host.use(use("1"), score(1)))).isInstanceOf(ToolOutcome.Waiting.class);
    host.signal("rate", listed(host).runId(), "file", null, null).toCompletableFuture().join();
    ToolOutcome paused = got(host.again(use("1")));
    assertThat(paused).isInstanceOf(ToolOutcome.Paused.class);
    host.crash();
    try (Fermata next = host(sent.apply(Fermata.host()), tool)) {
      assertThat(got(next.use(use("1"), score(1)))).isInstanceOf(ToolOutcome.Waiting.class);
      assertThat(got(next.again(use("1")))).isEqualTo(paused);
      assertThat(done).isEmpty();
      ToolOutcome end = got(next.answer(use("1"), "a1", Json.object().putNull("approver")));
      assertThat(((ToolOutcome.Result) end).error()).isFalse();
    }
  }

  @Test
  void aUseThatWasWithdrawnSaysSoWhenItIsAskedForAgain() {
    try (Fermata host = host(tool(asking()))) {
      got(host.use(use("1"), score(1)));
      ToolOutcome withdrawn = got(host.withdraw(use("1")));
      assertThat(got(host.again(use("1")))).isEqualTo(withdrawn);
    }
  }

  /** Asks, works until it may go on, waits for a signal and then for a moment. */
  private FlowTool longLived(CountDownLatch works, CountDownLatch may) {
    return tool(
        Flow.of("triage", Case.class)
            .description("Takes its time.")
            .act("hold", run -> done.add("held"))
            .ask("ask_approver", q -> q.question("approver", "Who approves?"))
            .act(
                "work",
                run -> {
                  works.countDown();
                  may.await(60, TimeUnit.SECONDS);
                })
            .waitFor("await_file", "file")
            .sleep("rest", Duration.ofDays(3))
            .compensate("hold", run -> done.add("released"))
            .edge(START, "hold")
            .edge("hold", "ask_approver")
            .edge("ask_approver", "work")
            .edge("work", "await_file")
            .edge("await_file", "rest")
            .edge("rest", END));
  }

  private static void refused(CompletionStage<ToolOutcome> outcome, String code, String next) {
    ToolOutcome got = got(outcome);
    assertThat(got).isInstanceOf(ToolOutcome.Refused.class);
    ToolOutcome.Refused refused = (ToolOutcome.Refused) got;
    assertThat(refused.code()).isEqualTo(code);
    assertThat(refused.message()).contains("nothing was");
    assertThat(refused.repair()).contains(next);
  }

  /** The only run, once the list has followed its journal. */
  private static RunInfo listed(Fermata host) throws InterruptedException {
    List<RunInfo> runs = List.of();
    while (runs.isEmpty()) {
      Thread.sleep(10);
      runs = host.runs().list(RunQuery.ALL).toCompletableFuture().join().runs();
    }
    return runs.get(0);
  }

  private void usedIdsAreRefused(Fermata host, boolean answered) {
    refused(host.use(use("1"), score(2)), "key_used", "new callId");
    if (answered) {
      ObjectNode other = Json.object().put("approver", "Bob");
      refused(host.answer(use("1"), "a1", other), "key_used", "new answerId");
    }
    assertThat(done).containsExactly("held");
  }

  @Test
  void anIdOfAnotherUseOrAnswerIsRefusedAndTheFirstRunContinuesInWhateverStateItIs()
      throws Exception {
    CountDownLatch works = new CountDownLatch(1);
    CountDownLatch may = new CountDownLatch(1);
    FlowTool tool = longLived(works, may);
    ObjectNode ann = Json.object().put("approver", "Ann");
    Fermata host = host(tool);
    ToolOutcome paused = got(host.use(use("1"), score(1)));
    assertThat(paused).isInstanceOf(ToolOutcome.Paused.class);
    usedIdsAreRefused(host, false);
    assertThat(got(host.again(use("1")))).isEqualTo(paused);

    CompletionStage<ToolOutcome> answered = host.answer(use("1"), "a1", ann);
    assertThat(works.await(60, TimeUnit.SECONDS)).isTrue();
    usedIdsAreRefused(host, true);
    may.countDown();
    ToolOutcome signal = got(answered);
    assertThat(signal).isEqualTo(new ToolOutcome.Waiting("signal file", null));
    usedIdsAreRefused(host, true);
    // What a run that waits for something else refuses does not end it, either.
    ObjectNode bob = Json.object().put("approver", "Bob");
    refused(host.answer(use("1"), "a2", bob), "already_answered", "");
    assertThat(got(host.resolve(use("1"), Input.Resolution.SKIP)))
        .isInstanceOf(ToolOutcome.Refused.class);
    host.crash();

    try (Fermata next = host(tool)) {
      assertThat(got(next.again(use("1")))).isEqualTo(signal);
      usedIdsAreRefused(next, true);
      RunInfo run = listed(next);
      next.signal("rate", run.runId(), "file", null, null).toCompletableFuture().join();
      assertThat(((ToolOutcome.Waiting) got(next.again(use("1")))).waitsFor()).isEqualTo("time");
      usedIdsAreRefused(next, true);
      ObjectNode other = Json.object().put("approver", "Bob");
      refused(next.answer(use("1"), "a3", other), "already_answered", "");
      assertThat(((ToolOutcome.Waiting) got(next.again(use("1")))).waitsFor()).isEqualTo("time");
    }
  }

  @Test
  void anIdOfAnotherUseOrAnswerIsRefusedAlsoWhenTheRunHasEnded() {
    ObjectNode ann = Json.object().put("approver", "Ann");
    Fermata host = host(tool(asking()));
    got(host.use(use("1"), score(1)));
    ToolOutcome end = got(host.answer(use("1"), "a1", ann));
    usedIdsAreRefused(host, true);
    host.crash();
    try (Fermata next = host(tool(asking()))) {
      usedIdsAreRefused(next, true);
      assertThat(got(next.use(use("1"), score(1)))).isEqualTo(end);
      assertThat(got(next.answer(use("1"), "a1", ann))).isEqualTo(end);
    }
  }

  /** Holds something, and then adds to its score until it is 20. */
  private FlowTool climbing() {
    return tool(
        Flow.of("triage", Case.class)
            .description("Climbs.")
            .act("hold", run -> done.add("held"))
            .act("climb", run -> run.set("score", run.state().score() + 1))
            .compensate("hold", run -> done.add("released"))
            .edge(START, "hold")
            .edge("hold", "climb")
            .decide("climb", d -> d.when("high", gt("score", 19)).to(END).otherwise("climb")));
  }

  private Fermata bounded(int visitsPerRun, int visitsPerCall) {
    Limits limits = new Limits(100_000, visitsPerRun, visitsPerCall, 10);
    return Fermata.host()
        .store(store())
        .tool(climbing())
        .settings(Settings.DEFAULT.limits(limits))
        .start();
  }

  @Test
  void aUseThatDoesMoreThanOneCallMayContinuesByItself() {
    Fermata host = bounded(100, 3);
    ToolOutcome.Result end = result(host.use(use("1"), score(0)));
    assertThat(end.text()).contains("\"score\":20");
    host.crash();
    try (Fermata next = bounded(100, 3)) {
      assertThat(result(next.again(use("1")))).isEqualTo(end);
      assertThat(result(next.use(use("1"), score(0)))).isEqualTo(end);
      assertThat(done).containsExactly("held");
    }
  }

  @Test
  void aUseThatDoesMoreThanARunMayIsEndedAndUndone() {
    try (Fermata host = bounded(10, 100)) {
      assertThat(result(host.use(use("1"), score(0))).error()).isTrue();
      assertThat(done).containsExactly("held", "released");
    }
  }

  @Test
  void aStepWhoseOutcomeIsUnknownWaitsForTheDecisionOfTheCaller() throws Exception {
    CountDownLatch begun = new CountDownLatch(1);
    FlowTool tool =
        tool(
            Flow.of("triage", Case.class)
                .description("Acts once.")
                .actAsync(
                    "pay",
                    run -> {
                      done.add("paid");
                      begun.countDown();
                      return new CompletableFuture<>();
                    },
                    EffectOptions::once)
                .edge(START, "pay")
                .edge("pay", END));
    Fermata host = host(tool);
    CompletionStage<ToolOutcome> lost = host.use(use("1"), score(3));
    assertThat(begun.await(60, TimeUnit.SECONDS)).isTrue();
    host.crash();
    got(lost);
    try (Fermata next = host(tool)) {
      ToolOutcome undecided = got(next.again(use("1")));
      assertThat(undecided).isInstanceOf(ToolOutcome.Undecided.class);
      assertThat(((ToolOutcome.Undecided) undecided).code()).isEqualTo("outcome_unknown");
      assertThat(result(next.resolve(use("1"), Input.Resolution.SKIP)).text())
          .isEqualTo("{\"score\":3}");
      assertThat(done).containsExactly("paid");
    }
  }

  @Test
  void aFailedUseThatCannotBeUndoneWaitsForTheDecisionOfTheCaller() {
    FlowTool tool =
        tool(
            Flow.of("triage", Case.class)
                .description("Fails twice.")
                .act("hold", run -> done.add("held"))
                .act("fail", FlowToolTest::fail)
                .compensate("hold", FlowToolTest::fail)
                .edge(START, "hold")
                .edge("hold", "fail")
                .edge("fail", END));
    try (Fermata host = host(tool)) {
      ToolOutcome undecided = got(host.use(use("1"), score(3)));
      assertThat(undecided).isInstanceOf(ToolOutcome.Undecided.class);
      assertThat(result(host.resolve(use("1"), Input.Resolution.SKIP)).error()).isTrue();
    }
  }

  private static void fail(Run<Case> run) {
    throw new IllegalStateException("broken: " + run.id());
  }

  @Test
  void theAccountIsPutTogetherOnlyForAMapperThatReadsIt() {
    FlowTool.Finished finished =
        new FlowTool.Finished(
            score(3),
            null,
            () -> {
              throw new IllegalStateException("it was read");
            });
    assertThat(tool(triage()).mapped(finished).path("error").asBoolean()).isFalse();
    FlowTool reads = tool(triage()).resultMapper(FlowTool.Finished::narrative);
    assertThat(reads.mapped(finished).path("text").asText())
        .isEqualTo("[mapper-error: it was read]");
  }

  @Test
  void anErrorThrownByAMapperIsOneInItsEnvelopeUnlessNothingCanSurviveIt() {
    FlowTool.Finished finished = new FlowTool.Finished(score(3), null, () -> "");
    assertThat(throwing(new AssertionError("wrong")).mapped(finished).path("text").asText())
        .isEqualTo("[mapper-error: wrong]");
    assertThat(throwing(new StackOverflowError()).mapped(finished).path("text").asText())
        .isEqualTo("[mapper-error: StackOverflowError]");
    assertThatThrownBy(() -> throwing(new OutOfMemoryError()).mapped(finished))
        .isInstanceOf(OutOfMemoryError.class);
  }

  private FlowTool throwing(Error thrown) {
    return tool(triage())
        .resultMapper(
            run -> {
              throw thrown;
            });
  }

  @Test
  void anOpenUseStaysOnTheVersionOfItsFlowAndANewOneBeginsOnTheNewest() {
    FlowTool old = tool(asking());
    FlowTool now = tool(triage().version(2));
    Fermata host = host(old);
    assertThat(got(host.use(use("1"), score(1)))).isInstanceOf(ToolOutcome.Paused.class);
    host.crash();
    try (Fermata next = host(now, old, now)) {
      ToolOutcome end = got(next.answer(use("1"), "a1", Json.object().put("approver", "Ann")));
      assertThat(((ToolOutcome.Result) end).text()).contains("Ann");
      assertThat(result(next.use(use("2"), score(720))).text()).contains("urgency");
    }
  }

  @Test
  void theRunOfAnOpenUseIsMappedByTheToolOfItsVersion() {
    FlowTool old =
        tool(asking()).resultMapper(run -> "by " + run.values().path("approver").asText());
    FlowTool now = tool(triage().version(2)).resultMapper(run -> run.values().path("urgency"));
    Fermata host = host(old);
    got(host.use(use("1"), score(1)));
    host.crash();
    try (Fermata next = host(old, now)) {
      ObjectNode ann = Json.object().put("approver", "Ann");
      assertThat(result(next.answer(use("1"), "a1", ann)).text()).isEqualTo("by Ann");
      assertThat(result(next.use(use("2"), score(720))).text()).isEqualTo("\"high\"");
    }
  }

  /** Version 2, whose effect is undone when it is withdrawn while it awaits something. */
  private FlowTool holding(UnaryOperator<FlowBuilder<Case>> await) {
    FlowBuilder<Case> flow = Flow.of("triage", Case.class).version(2).description("Waits.");
    return tool(
        await
            .apply(flow.act("hold", run -> done.add("held")))
            .compensate("hold", run -> done.add("released"))
            .edge(START, "hold")
            .edge("hold", "await")
            .edge("await", END));
  }

  @Test
  void aUseWhoseVersionIsNotRegisteredIsLeftAsItWas() {
    FlowTool old = tool(triage());
    FlowTool now = holding(flow -> flow.waitFor("await", "file"));
    Fermata host = host(now);
    ToolOutcome waiting = got(host.use(use("1"), score(1)));
    host.crash();
    Fermata back = host(old);
    for (ToolOutcome outcome : List.of(got(back.again(use("1"))), got(back.withdraw(use("1"))))) {
      assertThat(outcome)
          .isInstanceOfSatisfying(
              ToolOutcome.Refused.class,
              refused -> assertThat(refused.code()).isEqualTo("version_changed"));
    }
    back.crash();
    try (Fermata next = host(now)) {
      assertThat(got(next.again(use("1")))).isEqualTo(waiting);
      assertThat(done).containsExactly("held");
      assertThat(result(next.withdraw(use("1"))).error()).isTrue();
      assertThat(done).containsExactly("held", "released");
    }
  }

  @Test
  void aUseThatAsksIsNotWithdrawnByAHostWithoutItsVersion() {
    FlowTool now = holding(flow -> flow.ask("await", a -> a.question("approver", "Who approves?")));
    Fermata host = host(now);
    assertThat(got(host.use(use("1"), score(1)))).isInstanceOf(ToolOutcome.Paused.class);
    host.crash();
    Fermata back = host(tool(triage()));
    assertThat(got(back.withdraw(use("1"))))
        .isInstanceOfSatisfying(
            ToolOutcome.Refused.class,
            refused -> assertThat(refused.code()).isEqualTo("version_changed"));
    back.crash();
    try (Fermata next = host(now)) {
      assertThat(done).containsExactly("held");
      assertThat(result(next.withdraw(use("1"))).error()).isTrue();
      assertThat(done).containsExactly("held", "released");
    }
  }

  @Test
  void whatAToolLacksIsRefusedWhenItIsMade() {
    Flow<Case> flow = triage().compile();
    assertThatThrownBy(() -> FlowTool.of("A tool", "x", flow)).hasMessageContaining("A tool");
    assertThatThrownBy(() -> FlowTool.of("rate", " ", flow)).hasMessageContaining("description");
    ObjectNode wrong = Json.object().put("type", "object");
    wrong.putObject("properties").putObject("skore");
    assertThatThrownBy(() -> FlowTool.of("rate", "x", flow).arguments(wrong))
        .hasMessageContaining("did you mean score?");
    FlowTool tool = tool(triage());
    assertThatThrownBy(() -> host(tool, tool.resultMapper(run -> "other")))
        .hasMessageContainingAll("Two different tools are rate version 1", "make the tool once");
    assertThatThrownBy(
            () -> Fermata.host().store(store()).tool(tool).flow(flow.named("rate")).start())
        .hasMessageContaining("Two tools are named rate");
  }
}
