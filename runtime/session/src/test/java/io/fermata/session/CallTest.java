package io.fermata.session;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.session.TestHost.code;
import static io.fermata.session.TestHost.field;
import static io.fermata.session.TestHost.got;
import static io.fermata.session.TestHost.status;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Flow;
import io.fermata.flow.action.EffectOptions;
import io.fermata.flow.action.StepException;
import io.fermata.flow.json.Json;
import io.fermata.persistence.Store;
import io.fermata.session.TestFlows.Trip;
import io.fermata.session.TestHost.Client;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolReply;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What calls come to: bad input, failing and slow steps, concurrent answers, cancellation. */
@Tag("slow")
class CallTest {

  @Test
  void badArgumentsAreNamedAllAtOnceAndTouchNothing() {
    try (TestHost host = new TestHost(Store.memory(), TestFlows.trip())) {
      Client client = host.client();
      JsonNode asked = client.start().structured().path("question");
      ObjectNode bad = client.arguments("contine");
      bad.put("intent", 7).put("stateUpdate", 1).put("stateUpdates", "from=Ulm");
      ToolReply reply = client.send(bad);
      assertThat(code(reply)).isEqualTo("invalid_arguments");
      assertThat(reply.structured().path("violations")).hasSize(4);
      assertThat(reply.structured().path("error").asText()).contains("did you mean stateUpdates?");
      assertThat(reply.structured().path("question")).as("what it still asks").isEqualTo(asked);
      assertThat(code(client.send(Json.object()))).isEqualTo("invalid_arguments");
      assertThat(field(client.proceed())).isEqualTo("from");
    }
  }

  @Test
  void aCallThatResolvesAStepCarriesNoAnswersAsTheyWouldBeLost() {
    try (TestHost host = new TestHost(Store.memory(), TestFlows.trip())) {
      Client client = host.client();
      client.start();
      client.meta("fermata/resolve", "skip");
      assertThat(code(client.proceed("from", "Ulm"))).isEqualTo("invalid_arguments");
      assertThat(code(client.send(client.arguments("cancel")))).isEqualTo("invalid_arguments");
      assertThat(code(client.proceed())).isEqualTo("nothing_to_resolve");
    }
  }

  @Test
  void aStartWithoutAnIntentIsRefused() {
    try (TestHost host = new TestHost(Store.memory(), TestFlows.trip())) {
      Client client = host.client();
      ToolReply refused = client.send(client.arguments("start"));
      assertThat(code(refused)).isEqualTo("missing_intent");
      assertThat(refused.meta().has("fermata/run")).isFalse();
      assertThat(client.proceed().meta().has("fermata/run")).isFalse();
      assertThat(client.start().meta().at("/fermata~1run/runId").asText()).isNotEmpty();
    }
  }

  @Test
  void falsyAnswersAreAnswers() {
    record Falsy(Boolean yes, Integer count, List<String> list, String text) {}
    Flow<Falsy> flow =
        Flow.of("falsy", Falsy.class)
            .description("Asks.")
            .ask(
                "all",
                q ->
                    q.question("yes", "Yes?")
                        .question("count", "How many?")
                        .question("list", "Which?")
                        .question("text", "What?"))
            .edge(Flow.START, "all")
            .edge("all", Flow.END)
            .result(f -> f)
            .compile();
    try (TestHost host = new TestHost(Store.memory(), flow)) {
      Client client = host.client();
      client.start();
      ToolReply left = client.proceed("yes", false, "count", 0, "list", List.of(), "text", "");
      assertThat(field(left)).isEqualTo("text");
      ObjectNode nothing = client.arguments("continue");
      nothing.putObject("stateUpdates").putNull("text");
      assertThat(field(client.send(nothing))).isEqualTo("text");
      assertThat(client.proceed("text", "0").structured().path("result").toString())
          .isEqualTo("{\"yes\":false,\"count\":0,\"list\":[],\"text\":\"0\"}");
    }
  }

  @Test
  void ofTwoAnswersAtOnceTheFirstStandsAndTheOtherIsNotified() {
    AtomicInteger ran = new AtomicInteger();
    Flow<Trip> flow = TestFlows.trip(run -> ran.incrementAndGet(), o -> {}).compile();
    try (TestHost host = new TestHost(Store.memory(), flow)) {
      Client client = host.client();
      client.start();
      CompletableFuture<ToolReply> first = client.proceedLater("from", "Ulm");
      CompletableFuture<ToolReply> second = client.proceedLater("from", "Bonn");
      assertThat(field(got(first))).isEqualTo("to");
      assertThat(code(got(second))).isEqualTo("already_answered");
      assertThat(field(got(second))).isEqualTo("from");
      assertThat(ran).hasValue(1);
      assertThat(client.proceed("to", "x").structured().at("/result/from").asText())
          .isEqualTo("Ulm");
    }
  }

  @Test
  void theSameAnswerTwiceDoesNotBecomeTheAnswerToTheNextQuestion() {
    try (TestHost host = new TestHost(Store.memory(), TestFlows.trip())) {
      Client client = host.client();
      client.start();
      client.proceed("from", "Ulm");
      assertThat(field(client.proceed("from", "Ulm"))).isEqualTo("to");
    }
  }

  @Test
  void inALoopACallCanSayWhichStateItAnswers() {
    try (TestHost host = new TestHost(Store.memory(), TestFlows.talk())) {
      Client client = host.client();
      long seq = client.start().meta().at("/fermata~1run/seq").asLong();
      client.meta = Json.object().put("fermata/seq", seq);
      assertThat(status(client.proceed("word", "a"))).isEqualTo("interrupt");
      ToolReply late = client.proceed("word", "a");
      assertThat(code(late)).isEqualTo("stale_call");
      assertThat(field(late)).isEqualTo("word");
      assertThat(client.noMeta().proceed("word", "bye").structured().path("result")).hasSize(2);
    }
  }

  @Test
  void aSecondStartEndsTheFirstRunAsAbandoned() {
    try (TestHost host = new TestHost(Store.memory(), TestFlows.trip())) {
      Client client = host.client();
      String first = client.start("from", "Ulm").meta().at("/fermata~1run/runId").asText();
      ToolReply second = client.start();
      assertThat(second.meta().at("/fermata~1run/runId").asText()).isNotEqualTo(first);
      assertThat(field(second)).isEqualTo("from");
    }
  }

  @Test
  void unknownCompletedAndCancelledRunsAreDistinguished() {
    try (TestHost host = new TestHost(Store.memory(), TestFlows.trip())) {
      Client client = host.client();
      client.sessionId = host.fermata().handles().mint();
      assertThat(code(client.proceed())).isEqualTo("unknown_run");
      assertThat(code(client.cancel())).isEqualTo("unknown_run");
      client.start("from", "a", "to", "b");
      assertThat(code(client.proceed("to", "c"))).isEqualTo("run_completed");
      assertThat(code(client.reset("to", "c"))).isEqualTo("run_completed");
      assertThat(code(client.cancel())).isEqualTo("run_completed");
      assertThat(status(client.status())).isEqualTo("complete");
      client.start();
      ToolReply cancelled = client.cancel();
      assertThat(status(cancelled)).isEqualTo("complete");
      assertThat(cancelled.structured().path("cancelled").asBoolean()).isTrue();
      assertThat(code(client.proceed())).isEqualTo("run_cancelled");
      assertThat(code(client.status())).isEqualTo("run_cancelled");
    }
  }

  @Test
  void aSignalThatReachesNoRunOrNoFlowSaysSoToASenderWithoutASession() {
    try (TestHost host = new TestHost(Store.memory(), TestFlows.trip())) {
      Fermata fermata = host.fermata();
      ToolReply nowhere =
          got(fermata.signal("trip", "nope", "paid", null, null).toCompletableFuture());
      assertThat(code(nowhere)).isEqualTo("unknown_run");
      assertThat(nowhere.structured().path("error").asText())
          .isEqualTo("There is no run nope of trip, or its session has had a later one");
      assertThatThrownBy(() -> fermata.signal("trips", "nope", "paid", null, null))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessage("There is no flow trips; did you mean trip?");
    }
  }

  @Test
  void aFailedStepStopsTheRunAndContinueTriesThatStepAlone() {
    AtomicInteger ran = new AtomicInteger();
    Flow<Trip> flow =
        TestFlows.trip(
                run -> {
                  if (ran.incrementAndGet() == 1) {
                    throw new IllegalStateException("secret host name db-7");
                  }
                },
                o -> {})
            .compile();
    try (TestHost host = new TestHost(Store.memory(), flow)) {
      Client client = host.client();
      client.start();
      ToolReply failed = client.proceed("from", "Ulm");
      assertThat(code(failed)).isEqualTo("step_failed");
      assertThat(failed.structured().toString()).doesNotContain("db-7").contains("book");
      assertThat(field(client.proceed())).isEqualTo("to");
      assertThat(ran).hasValue(2);
    }
  }

  @Test
  void aMessageMeantForTheClientReachesIt() {
    Flow<Trip> flow =
        TestFlows.trip(
                run -> {
                  throw new StepException("No trains today.");
                },
                o -> {})
            .compile();
    try (TestHost host = new TestHost(Store.memory(), flow)) {
      Client client = host.client();
      client.start();
      assertThat(client.proceed("from", "Ulm").structured().path("error").asText())
          .isEqualTo("No trains today. Continue without stateUpdates to try that step again.");
    }
  }

  @Test
  void anErrorThrownByAHandlerIsAFailedStepToo() {
    Flow<Trip> flow =
        TestFlows.trip(
                run -> {
                  throw new StackOverflowError();
                },
                o -> {})
            .compile();
    try (TestHost host = new TestHost(Store.memory(), flow)) {
      Client client = host.client();
      client.start();
      assertThat(code(client.proceed("from", "Ulm"))).isEqualTo("step_failed");
    }
  }

  private static final class Mute extends RuntimeException {
    private static final long serialVersionUID = 1;

    @Override
    public String getMessage() {
      throw new IllegalStateException("nothing to say");
    }
  }

  @Test
  void soIsAnExceptionThatOrWhoseCauseFailsToSayItsMessage() {
    for (RuntimeException thrown : List.of(new Mute(), new RuntimeException("no", new Mute()))) {
      Flow<Trip> flow =
          TestFlows.trip(
                  run -> {
                    throw thrown;
                  },
                  o -> {})
              .compile();
      try (TestHost host = new TestHost(Store.memory(), flow)) {
        Client client = host.client();
        client.start();
        assertThat(code(client.proceed("from", "Ulm"))).isEqualTo("step_failed");
        assertThat(code(client.proceed())).isEqualTo("step_failed");
      }
    }
  }

  @Test
  void aStepThatTakesTooLongIsInterruptedAndItsLateResultIgnored() throws Exception {
    CountDownLatch interrupted = new CountDownLatch(1);
    Flow<Trip> flow =
        TestFlows.trip(
                run -> {
                  try {
                    Thread.sleep(60_000);
                  } catch (InterruptedException e) {
                    interrupted.countDown();
                  }
                  run.set("price", 666);
                },
                o -> o.timeout(Duration.ofMillis(100)))
            .compile();
    try (TestHost host = new TestHost(Store.memory(), flow)) {
      Client client = host.client();
      client.start();
      assertThat(code(client.proceed("from", "Ulm"))).isEqualTo("step_timeout");
      assertThat(interrupted.await(60, TimeUnit.SECONDS)).isTrue();
      assertThat(client.status().structured().at("/run/state").has("price")).isFalse();
    }
  }

  @Test
  void aCancellationDoesNotWaitForTheWorkThatItEnds() throws Exception {
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch interrupted = new CountDownLatch(1);
    Flow<Trip> flow =
        TestFlows.trip(
                run -> {
                  begun.countDown();
                  try {
                    Thread.sleep(60_000);
                  } catch (InterruptedException e) {
                    interrupted.countDown();
                    throw e;
                  }
                },
                EffectOptions::idempotent)
            .compile();
    try (TestHost host = new TestHost(Store.memory(), flow)) {
      Client client = host.client();
      client.start();
      CompletableFuture<ToolReply> driving = client.proceedLater("from", "Ulm");
      assertThat(begun.await(60, TimeUnit.SECONDS)).isTrue();
      assertThat(client.cancel().structured().path("cancelled").asBoolean()).isTrue();
      assertThat(code(got(driving))).isEqualTo("run_cancelled");
      assertThat(interrupted.await(60, TimeUnit.SECONDS)).isTrue();
      assertThat(code(client.proceed())).isEqualTo("run_cancelled");
    }
  }

  @Test
  void handlersNeverRunOnAnActorsThread() {
    List<String> threads = new CopyOnWriteArrayList<>();
    Flow<Trip> flow =
        TestFlows.trip(run -> threads.add(Thread.currentThread().toString()), o -> {}).compile();
    try (TestHost host = new TestHost(Store.memory(), flow)) {
      host.client().start("from", "Ulm");
      assertThat(threads).hasSize(1);
      assertThat(threads.get(0)).doesNotContain("dispatcher");
      boolean virtual = Runtime.version().feature() >= 24;
      assertThat(threads.get(0)).contains(virtual ? "VirtualThread" : "fermata-handler");
    }
  }

  @Test
  void moreCallsThanTheHostHoldsAreRefusedEarly() {
    CompletableFuture<Void> gate = new CompletableFuture<>();
    Flow<Trip> flow = TestFlows.tripAsync(run -> gate, o -> {}).compile();
    try (TestHost host = new TestHost(Store.memory(), s -> s.callsInFlight(2), flow)) {
      Client one = host.client();
      Client two = host.client();
      one.start();
      two.start();
      CompletableFuture<ToolReply> first = one.proceedLater("from", "a");
      CompletableFuture<ToolReply> second = two.proceedLater("from", "b");
      assertThat(code(host.client().start())).isEqualTo("overloaded");
      gate.complete(null);
      assertThat(field(got(first))).isEqualTo("to");
      assertThat(field(got(second))).isEqualTo("to");
      assertThat(field(host.client().start())).isEqualTo("from");
    }
  }

  @Test
  void aClosingHostFinishesWhatIsInFlight() {
    CountDownLatch begun = new CountDownLatch(1);
    Flow<Trip> flow =
        TestFlows.trip(
                run -> {
                  begun.countDown();
                  Thread.sleep(300);
                },
                o -> {})
            .compile();
    TestHost host = new TestHost(Store.memory(), flow);
    Client client = host.client();
    client.start();
    CompletableFuture<ToolReply> driving = client.proceedLater("from", "Ulm");
    host.close();
    assertThat(field(got(driving))).isEqualTo("to");
  }

  @Test
  void aToolThatIsNoFlowIsACallersMistake() {
    try (TestHost host = new TestHost(Store.memory(), TestFlows.trip())) {
      ToolCall call = new ToolCall("nope", "local", Json.object(), Json.object(), null);
      assertThatThrownBy(() -> host.fermata().call(call))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("nope");
    }
  }

  @Test
  void anErrorKeepsTheFieldItIsAboutBesideAQuestionForAnother() {
    try (TestHost host = new TestHost(Store.memory(), TestFlows.trip())) {
      Client client = host.client();
      client.start("from", "Ulm");
      ToolReply refused = client.proceed("from", "Bonn");
      assertThat(code(refused)).isEqualTo("already_answered");
      assertThat(field(refused)).isEqualTo("from");
      assertThat(refused.structured().has("question")).isFalse();
      assertThat(refused.structured().path("questions").findValuesAsText("field"))
          .containsExactly("to");
    }
  }

  @Test
  void anErrorKeepsTheFieldItIsAboutBesideAWidgetForAnother() {
    Flow<Trip> flow =
        Flow.of("trip", Trip.class)
            .description("Books a trip.")
            .ask("ask_from", q -> q.question("from", "Where from?"))
            .widget("show", w -> w.field("to"))
            .edge(START, "ask_from")
            .edge("ask_from", "show")
            .edge("show", END)
            .compile();
    try (TestHost host = new TestHost(Store.memory(), flow)) {
      Client client = host.client();
      assertThat(field(client.start("from", "Ulm"))).isEqualTo("to");
      ToolReply refused = client.proceed("from", "Bonn");
      assertThat(field(refused)).isEqualTo("from");
      assertThat(refused.structured().has("fieldSchema")).isFalse();
      assertThat(refused.structured().path("description").asText())
          .contains("the choice as to in stateUpdates");
    }
  }
}
