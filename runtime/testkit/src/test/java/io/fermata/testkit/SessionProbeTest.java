package io.fermata.testkit;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.route.Condition.lt;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Flow;
import io.fermata.flow.event.ErrorCode;
import io.fermata.flow.event.Retry;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Limits;
import io.fermata.flow.schema.Secret;
import io.fermata.persistence.Store;
import io.fermata.session.admin.Settings;
import io.fermata.session.call.ToolCall;
import io.fermata.session.key.HostError;
import io.fermata.session.observe.Activity;
import io.fermata.session.observe.Telemetry;
import io.fermata.testkit.Orders.Order;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The methods of a probe on a real host, with its actors and its store. */
@Tag("slow")
class SessionProbeTest {
  private final AtomicInteger broken = new AtomicInteger();
  private final Flow<Order> order =
      Orders.flow(
          run -> {
            if (broken.getAndDecrement() > 0) {
              return CompletableFuture.failedStage(new IllegalStateException("no gas"));
            }
            run.set("receipt", "no. " + run.attempt());
            return CompletableFuture.completedStage(null);
          },
          options -> options.retry(2, Duration.ofMillis(10)));

  @TempDir Path directory;

  @Test
  void drivesARunFromStartToEnd() {
    try (SessionProbe host = SessionProbe.of(order)) {
      host.start("is hungry", "servings", 6)
          .asks("dish")
          .answer("dish", "stone")
          .rejects("dish", "Nobody eats that.")
          .stillAsks("dish")
          .answer("dish", " soup ")
          .visited("price", "show_sides")
          .stateHas("dish", "soup")
          .shows("show_sides")
          .withData("sides.0", "rice")
          .reset("servings", 7)
          .stateHas("price", 70)
          .answer("side", "rice")
          .completesWith("price", 70, "receipt", "no. 1")
          .again()
          .fails(ErrorCode.RUN_COMPLETED);
    }
  }

  @Test
  void aFieldThatTheFlowDoesNotHaveIsRefusedInInstead() {
    try (SessionProbe host = SessionProbe.of(order)) {
      host.instead("cook", effect -> new Object[] {"recept", effect.attempt()});
      assertThatThrownBy(() -> host.start("is hungry", "dish", "soup", "servings", 1))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("There is no field recept; did you mean receipt?");
    }
  }

  @Test
  void probesOnOneStoreAreDifferentClients() {
    Store store = Store.sqlite(directory.resolve("two.db"));
    for (int times = 0; times < 2; times++) {
      try (SessionProbe host = SessionProbe.of(order, store)) {
        host.start("is hungry", "servings", 6).asks("dish").answer("dish", "soup");
      }
    }
  }

  private record Visitor(String name) {}

  private record MailedVisitor(String name, String mail) {}

  @Test
  void whatARunOfAnotherVersionAsksForIsExpectedByItsName() {
    Flow<MailedVisitor> old =
        Flow.of("visitor", MailedVisitor.class)
            .description("Knows a visitor.")
            .ask("ask_name", q -> q.question("name", "Who?"))
            .ask("ask_mail", q -> q.question("mail", "Which address?"))
            .edge(START, "ask_name")
            .edge("ask_name", "ask_mail")
            .edge("ask_mail", END)
            .compile();
    Flow<Visitor> next =
        Flow.of("visitor", Visitor.class)
            .version(2)
            .description("Knows a visitor.")
            .ask("ask_name", q -> q.question("name", "Who?"))
            .edge(START, "ask_name")
            .edge("ask_name", END)
            .compile();
    Store store = Store.sqlite(directory.resolve("versions.db"));
    String handle;
    try (SessionProbe host = SessionProbe.of(old, store)) {
      handle = host.start("is here").asks("name").handle();
    }
    try (SessionProbe host = SessionProbe.of(next, store, builder -> builder.flow(old))) {
      host.resume(handle)
          .answer("name", "Ann")
          .visited("ask_mail")
          .asks("mail")
          .says("mail", "Which address?")
          .answer("mail", "ann@example.org")
          .completes();
    }
  }

  record Payment(@Secret String card, String note) {}

  private static Flow<Payment> payment() {
    return Flow.of("payment", Payment.class)
        .description("Takes a payment.")
        .ask("ask_card", q -> q.question("card", "Which card?"))
        .ask("ask_note", q -> q.question("note", "What for?"))
        .edge(START, "ask_card")
        .edge("ask_card", "ask_note")
        .edge("ask_note", END)
        .compile();
  }

  @Test
  void probesOnOneStoreReadEachOthersSecrets() {
    Store store = Store.sqlite(directory.resolve("secrets.db"));
    String handle;
    try (SessionProbe host = SessionProbe.of(payment(), store)) {
      handle = host.start("to pay", "card", "4711-4711").asks("note").handle();
    }
    try (SessionProbe host = SessionProbe.of(payment(), store)) {
      host.resume(handle).again().asks("note").stateHas("card", "4711-4711");
    }
  }

  @Test
  void theStateHasItsSecretsAndWhatATestPrintsHasNot() {
    try (SessionProbe host = SessionProbe.of(payment())) {
      host.start("to pay", "card", "4711-4711").asks("note").stateHas("card", "4711-4711");
      host.crash().again().stateHas("card", "4711-4711");
      assertThatThrownBy(() -> host.stateHas("card", "none"))
          .isInstanceOf(AssertionError.class)
          .hasMessageNotContaining("4711-4711");
    }
  }

  record Guest(Integer age) {}

  record Party(List<String> guests) {}

  @Test
  void aReplyNamesWhatWasNotTakenEvenIfTheRunIsComplete() {
    Flow<Guest> guest =
        Flow.of("guest", Guest.class)
            .description("Asks a guest.")
            .ask("ask_age", q -> q.question("age", "How old?"))
            .edge(START, "ask_age")
            .edge("ask_age", END)
            .compile();
    Flow<Party> party =
        Flow.of("party", Party.class)
            .description("Invites.")
            .<Guest, String>forEach("each", guest, each -> each.items(Party::guests).atMost(3))
            .edge(START, "each")
            .edge("each", END)
            .compile();
    try (SessionProbe host = SessionProbe.of(party)) {
      host.start("to dance", "guests", List.of("Ann"), "each.0.age", 30, "each.1.age", 7);
      assertThat(host.completes().reply().structured().at("/violations/0/field").asText())
          .isEqualTo("each.1.age");
    }
  }

  @Test
  void bothProbesJudgeTheBodyThatAClientGets() {
    FlowProbe<Order> engine = FlowProbe.of(order);
    try (SessionProbe host = SessionProbe.of(order)) {
      engine.start("is hungry", "servings", 6);
      assertThat(host.start("is hungry", "servings", 6).body()).isEqualTo(answered(host, engine));
      engine.answer("dish", "stone");
      assertThat(host.answer("dish", "stone").body()).isEqualTo(answered(host, engine));
      engine.answer("dish", "soup");
      assertThat(host.answer("dish", "soup").body()).isEqualTo(answered(host, engine));
      engine.answer("side", "rice");
      assertThat(host.answer("side", "rice").body()).isEqualTo(answered(host, engine));
    }
  }

  @Test
  void bothProbesHoldACallUntilAShortPauseEnds() {
    Flow<Order> brief = sleeping(Duration.ofMillis(50), 1);
    FlowProbe<Order> engine = FlowProbe.of(brief).start("is hungry").completes();
    try (SessionProbe host = SessionProbe.of(brief)) {
      assertThat(host.start("is hungry").body()).isEqualTo(answered(host, engine));
    }
  }

  @Test
  void bothProbesEndARunThatEntersManyNodesWhileNobodyCalls() {
    Flow<Order> winter = sleeping(Duration.ofDays(1), Limits.DEFAULT.visitsPerCall() + 50);
    FlowProbe<Order> engine = FlowProbe.of(winter).start("is hungry").waitsFor("time");
    engine.passTime(Duration.ofDays(2)).completes().replayed();
    try (SessionProbe host = SessionProbe.of(winter).manualTime()) {
      host.start("is hungry").waitsFor("time").passTime(Duration.ofDays(2)).again();
      assertThat(host.body()).isEqualTo(answered(host, engine));
    }
  }

  @Test
  void bothProbesJudgeTheBodyOfTheCallThatCancels() {
    FlowProbe<Order> engine = FlowProbe.of(order).start("is hungry").cancel().cancels();
    try (SessionProbe host = SessionProbe.of(order)) {
      host.start("is hungry").cancel().cancels();
      assertThat(host.body()).isEqualTo(answered(host, engine));
    }
  }

  /** A flow that sleeps, and then enters a node so many times. */
  private static Flow<Order> sleeping(Duration time, int visits) {
    return Flow.of("order", Order.class)
        .description("Orders a dish.")
        .sleep("sleep", time)
        .computes("count", "price", o -> o.price() == null ? 1 : o.price() + 1)
        .edge(START, "sleep")
        .edge("sleep", "count")
        .decide("count", d -> d.when("more", lt("price", visits)).to("count").otherwise(END))
        .result(o -> o)
        .compile();
  }

  /** The engine knows no session. */
  private static ObjectNode answered(SessionProbe host, FlowProbe<Order> engine) {
    return engine.body().deepCopy().put("sessionId", host.handle());
  }

  @Test
  void continuesAfterARestart() {
    try (SessionProbe host = SessionProbe.of(order, Store.sqlite(directory.resolve("orders.db")))) {
      String handle = host.start("is hungry", "dish", "soup", "servings", 6).handle();
      host.restart().resume(handle).again().shows("show_sides").answer("side", "rice").completes();
    }
  }

  @Test
  void triesAFailingStepAgain() {
    broken.set(3);
    try (SessionProbe host = SessionProbe.of(order)) {
      host.start("is hungry", "dish", "soup", "servings", 1)
          .fails(ErrorCode.STEP_FAILED)
          .again()
          .completesWith("receipt", "no. 4");
    }
  }

  @Test
  void keepsSessionsAndCallersApart() {
    try (SessionProbe host = SessionProbe.of(order)) {
      String handle = host.start("is hungry", "dish", "soup").handle();
      host.as("somebody else")
          .again()
          .fails(ErrorCode.UNKNOWN_RUN)
          .as("tester")
          .resume("made up")
          .again()
          .fails(HostError.UNKNOWN_SESSION.wireName())
          .resume(handle)
          .cancel()
          .cancels();
    }
  }

  @Test
  void letsTheWaitBeforeANextAttemptPassInNoTime() {
    AtomicInteger attempts = new AtomicInteger();
    Flow<Order> stubborn =
        Flow.of("stubborn", Order.class)
            .description("Fails once.")
            .act(
                "cook",
                run -> {
                  if (attempts.incrementAndGet() == 1) {
                    throw new IllegalStateException("The oven is cold");
                  }
                },
                o -> o.retry(new Retry(2, Duration.ofMinutes(20), Duration.ofMinutes(20))))
            .ask("ask", q -> q.question("dish", "What else?"))
            .edge(START, "cook")
            .edge("cook", "ask")
            .edge("ask", END)
            .compile();
    try (SessionProbe host = SessionProbe.of(stubborn).manualTime()) {
      host.start("is hungry").fails("still_working");
      host.passTime(Duration.ofMinutes(10)).status().fails("still_working");
      host.restart().passTime(Duration.ofMinutes(10)).again().asks("dish");
      assertThat(attempts).hasValue(2);
    }
  }

  @Test
  void timeStandsStillAsLongAsAnActionWaitsForItsThread() {
    Telemetry slow =
        new Telemetry() {
          @Override
          public Activity performing(Effect effect) {
            LockSupport.parkNanos(Duration.ofMillis(900).toNanos());
            return Activity.NONE;
          }
        };
    Settings impatient = Settings.DEFAULT.callDeadline(Duration.ofSeconds(1));
    Flow<Order> quick =
        Flow.of("quick", Order.class)
            .description("Cooks.")
            .act("cook", run -> run.set("receipt", "no. 1"))
            .edge(START, "cook")
            .edge("cook", END)
            .result(done -> done)
            .compile();
    try (SessionProbe host =
        SessionProbe.of(
            quick, Store.memory(), builder -> builder.telemetry(slow).settings(impatient))) {
      host.manualTime().start("is hungry").completesWith("receipt", "no. 1");
    }
  }

  @Test
  void expires() {
    try (SessionProbe host = SessionProbe.of(order)) {
      host.start("is hungry").passTime(Duration.ofHours(2)).again().fails(ErrorCode.RUN_EXPIRED);
      host.repeat().fails(ErrorCode.RUN_EXPIRED);
    }
  }

  @Test
  void saysWhatTheRunDidInstead() {
    try (SessionProbe host = SessionProbe.of(order)) {
      host.start("is hungry", "dish", "soup");

      assertThatThrownBy(() -> host.shows("show_sides"))
          .isInstanceOf(AssertionError.class)
          .message()
          .satisfies(
              story ->
                  assertThat(story)
                      .startsWith(
                          """
                          Expected the widget show_sides,
                          but it asks servings "For how many?"
                            call     start "is hungry" {"dish":"soup"}
                            visited  ask_dish
                            state    {"dish":"soup"}
                          """)
                      .contains("« {\"status\":\"interrupt\",\"question\":\"For how many?\""));
    }
  }

  @Test
  void whatTheLastCallReturnedIsNotExpectedOfAnotherHostOrTime() {
    try (SessionProbe host = SessionProbe.of(order)) {
      host.start("is hungry").asks("dish", "servings").visited("ask_dish");

      List.<Consumer<SessionProbe>>of(
              SessionProbe::crash,
              SessionProbe::restart,
              probe -> probe.passTime(Duration.ofMinutes(1)))
          .forEach(
              then -> {
                then.accept(host);
                assertThatThrownBy(() -> host.asks("dish", "servings"))
                    .hasMessageContaining("but nothing was called since then");
                assertThatThrownBy(host::visited).isInstanceOf(AssertionError.class);
                assertThatThrownBy(host::body).hasMessageContaining("status()");
                host.stateHas("dish", null).status().asks("dish", "servings");
              });
      host.cancel().cancels().crash();
      assertThatThrownBy(host::cancels).isInstanceOf(AssertionError.class);
    }
  }

  @Test
  void aStateThatIsNotKnownHasNoField() {
    try (SessionProbe host = SessionProbe.of(order)) {
      host.start("is hungry", "dish", "soup").stateHas("side", null);
      host.answer("servings", 1).completes();

      assertThatThrownBy(() -> host.stateHas("side", null))
          .isInstanceOf(AssertionError.class)
          .hasMessageContaining("\n  state    -\n");
    }
  }

  record Trip(String city, List<String> travellers, String day) {}

  /** A hash set would be in another order than the answers. */
  @Test
  void aStateInWhichSeveralAnswersStandIsReadAsItIsWritten() {
    Flow<Trip> trip =
        Flow.of("trip", Trip.class)
            .description("Plans a trip.")
            .ask(
                "ask",
                q ->
                    q.question("city", "Where to?")
                        .question("travellers", "Who?")
                        .question("day", "When?"))
            .edge(START, "ask")
            .edge("ask", END)
            .result(t -> t.day())
            .compile();
    try (SessionProbe probe = SessionProbe.of(trip)) {
      probe
          .start("travels", "city", "Ulm", "travellers", List.of("Ann"))
          .asks("day")
          .crash()
          .answer("day", "tomorrow")
          .completes();
    }
  }

  @Test
  void aCallThatAnotherHostCouldNotReadFailsTheTest() {
    try (SessionProbe probe = SessionProbe.of(order)) {
      ObjectNode arguments = Json.object().put("action", "start").put("intent", "is hungry");
      arguments.putObject("stateUpdates").putPOJO("dish", new Object());
      probe
          .host()
          .call(new ToolCall("order", "ann", arguments, Json.object(), null))
          .toCompletableFuture()
          .join();
      assertThatThrownBy(() -> probe.start("is hungry"))
          .hasMessageStartingWith("Expected everything to be read as it was written. The call ")
          .hasMessageContaining(" to START could not reach another host of a cluster: ");
    }
  }
}
