package io.fermata.testkit;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Flow;
import io.fermata.flow.FlowBuilder;
import io.fermata.flow.QuestionOptions;
import io.fermata.flow.action.Action;
import io.fermata.flow.action.AsyncAction;
import io.fermata.flow.action.EffectOptions;
import io.fermata.flow.action.StepException;
import io.fermata.flow.event.ErrorCode;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Input;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.Verdict;
import io.fermata.flow.event.Write;
import io.fermata.flow.replay.ForkOptions;
import io.fermata.flow.replay.JournalEntry;
import io.fermata.flow.replay.Replay;
import io.fermata.flow.replay.RunJournal;
import io.fermata.flow.schema.Computed;
import io.fermata.testkit.Orders.Order;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Expectations of a run, and the messages of failed ones. */
class FlowProbeTest {
  private static final Duration TIMEOUT = Duration.ofSeconds(10);

  private final List<String> cooked = new ArrayList<>();
  private final AsyncAction<Order> kitchen =
      run ->
          CompletableFuture.runAsync(
              () -> {
                cooked.add(run.idempotencyKey());
                run.set("receipt", "no. " + run.attempt());
              });
  private final Flow<Order> order = Orders.flow(kitchen);

  @Test
  void drivesARunFromStartToEnd() {
    FlowProbe<Order> probe =
        FlowProbe.of(order)
            .start("is hungry", "servings", 6)
            .asks("dish")
            .says("dish", "What would you like?")
            .answer("dish", "stone")
            .rejects("dish", "Nobody eats that.")
            .stillAsks("dish")
            .answer("dish", " soup ")
            .visited("price", "show_sides")
            .stateHas("dish", "soup")
            .stateHas("side", null)
            .shows("show_sides")
            .withData("sides.1", "salad")
            .answer("side", "rice")
            .visited("cook")
            .completesWith("price", 60, "receipt", "no. 1")
            .completes(result -> assertThat(result.path("dish").asText()).isEqualTo("soup"))
            .replayed();

    assertThat(probe.state()).isEqualTo(new Order("soup", 6, "rice", 60, "no. 1"));
  }

  @Test
  void aNodeThatIsNotAllThatWasVisitedIsNotEnough() {
    FlowProbe<Order> probe =
        FlowProbe.of(order).start("is hungry", "servings", 6).answer("dish", "soup");
    assertThatThrownBy(() -> probe.visited("price"))
        .isInstanceOf(AssertionError.class)
        .hasMessageContaining("Expected the call to visit price and no other node,")
        .hasMessageContaining("visited  price → show_sides");
  }

  @Test
  void aTimeThatCannotPassAndAnAttemptThatCannotBeAreRefused() {
    FlowProbe<Order> probe = FlowProbe.of(order).start("is hungry");
    Duration back = Duration.ofSeconds(-1);
    for (Runnable wrong :
        List.<Runnable>of(
            () -> probe.passTime(back),
            () -> probe.timeout(back),
            () -> Turn.silence().after(back),
            () -> Turn.silence().every(back))) {
      assertThatThrownBy(wrong::run).hasMessageContaining("PT-1S; give it a time that can pass");
    }
    assertThatThrownBy(() -> probe.failAt("cook"))
        .hasMessage("Name the attempts of cook, such as 1");
    assertThatThrownBy(() -> probe.failAt("cook", 0))
        .hasMessage("Attempts count from 1, and this is 0");
  }

  @Test
  void anUnknownFieldOrNodeIsRefusedWithTheNearest() {
    FlowProbe<Order> probe = FlowProbe.of(order).start("is hungry");
    for (Runnable wrong :
        List.<Runnable>of(
            () -> probe.stateHas("dihs", null),
            () -> probe.asks("dihs"),
            () -> probe.optional("dihs"),
            () -> probe.stillAsks("servings", "dihs"),
            () -> probe.says("dihs", "What?"),
            () -> probe.rejects("dihs", "No."))) {
      assertThatThrownBy(wrong::run).hasMessageContaining("has no field dihs; did you mean dish?");
    }
    for (Runnable wrong :
        List.<Runnable>of(
            () -> probe.attempts("cok", 0),
            () -> probe.worksAt("cok"),
            () -> probe.visited("cok"))) {
      assertThatThrownBy(wrong::run)
          .hasMessageContainingAll("There is no node cok", "did you mean cook?");
    }
  }

  @Test
  @SuppressWarnings("NullAway") // what callers without it may do
  void aRunBeginsWithAnIntent() {
    assertThatThrownBy(() -> FlowProbe.of(order).start(null))
        .isInstanceOf(NullPointerException.class)
        .hasMessage("intent");
  }

  record Part(@Computed JsonNode tree) {}

  record Held(
      @Computed JsonNode tree,
      @Computed Part part,
      @Computed List<JsonNode> list,
      @Computed Integer seen) {}

  private static FlowBuilder<Held> held() {
    return Flow.of("held", Held.class)
        .description("Keeps trees.")
        .act(
            "fill",
            run ->
                run.set("tree", Map.of("n", 1))
                    .set("part.tree", Map.of("n", 1))
                    .append("list", Map.of("n", 1)))
        .edge(Flow.START, "fill");
  }

  private static ObjectNode spoiled(@Nullable JsonNode tree) {
    return requireNonNull((ObjectNode) tree).put("n", 2);
  }

  private static void held(FlowProbe<Held> probe, int tree, int elements) {
    probe
        .stateHas("tree.n", tree)
        .stateHas("part.tree.n", 1)
        .stateHas("list.0.n", 1)
        .stateHas("list." + (elements - 1) + ".n", 1)
        .stateHas("list." + elements, null)
        .replayed()
        .crash()
        .stateHas("tree.n", tree);
  }

  @Test
  void aTreeThatAnActionReadsAndChangesIsItsOwn() {
    Flow<Held> failing =
        held()
            .act(
                "spoil",
                run -> {
                  spoiled(run.get("tree", ObjectNode.class));
                  spoiled(requireNonNull(run.get("part", Part.class)).tree());
                  spoiled(run.get("part.tree", JsonNode.class));
                  ArrayNode list = requireNonNull(run.get("list", ArrayNode.class));
                  spoiled(list.get(0));
                  list.addObject();
                  spoiled(run.state().list().get(0));
                  throw new StepException("It fails.");
                })
            .edge("fill", "spoil")
            .edge("spoil", Flow.END)
            .compile();
    held(FlowProbe.of(failing).start("to spoil").fails(ErrorCode.STEP_FAILED), 1, 1);
  }

  @Test
  void andWhatItThenWritesInABranchIsKept() {
    Flow<Held> forking =
        held()
            .act("change", run -> run.set("tree", spoiled(run.get("tree", ObjectNode.class))))
            .act("add", run -> run.append("list", Map.of("n", 1)))
            .reduce(
                "list",
                (before, values) ->
                    requireNonNull((ArrayNode) before).add(requireNonNull(values.get(0)).path(1)))
            .act("last", run -> {})
            .fork("fill", f -> f.branch("change").branch("add").join("last"))
            .edge("change", "last")
            .edge("add", "last")
            .edge("last", Flow.END)
            .compile();
    held(FlowProbe.of(forking).start("to fork").completes(), 2, 2);
  }

  @Test
  void aTreeThatARuleReadsAndChangesIsItsOwn() {
    Flow<Held> deciding =
        held()
            .decide(
                "fill",
                d ->
                    d.when("small", s -> spoiled(s.get("tree", ObjectNode.class)).isObject())
                        .to("last")
                        .otherwise("last"))
            .act("last", run -> run.set("seen", run.get("tree.n", Integer.class)))
            .edge("last", Flow.END)
            .compile();
    held(FlowProbe.of(deciding).start("to decide").completes().stateHas("seen", 1), 1, 1);
  }

  record Wish(String dish, String note, Integer seats) {}

  @Test
  void leavesOpenWhatIsOptional() {
    Flow<Wish> wish =
        Flow.of("wish", Wish.class)
            .description("Asks.")
            .ask(
                "ask",
                q ->
                    q.question("dish", "What?")
                        .question("note", "Wishes?", o -> o.optional())
                        .question("seats", "How many?", o -> o.defaultsTo(2)))
            .edge(Flow.START, "ask")
            .edge("ask", Flow.END)
            .result(w -> w)
            .compile();
    FlowProbe.of(wish)
        .start("is hungry")
        .asks("dish", "note", "seats")
        .optional("note", "seats")
        .answer("dish", "soup")
        .completesWith("dish", "soup", "seats", 2)
        .stateHas("note", null)
        .replayed();
    assertThatThrownBy(
            () -> FlowProbe.of(wish).start("is hungry").answer("dish", "soup").asks("seats"))
        .hasMessageContaining("was left without note")
        .hasMessageContaining("was left without seats, which takes its default 2");
  }

  @Test
  void correctsRepeatsAndCancels() {
    FlowProbe.of(order)
        .start("is hungry", "dish", "soup", "servings", 5)
        .shows("show_sides")
        .again()
        .shows("show_sides")
        .visited()
        .reset("servings", 8)
        .visited("ask_dish", "price", "show_sides")
        .stateHas("price", 80)
        .answer("colour", "red")
        .refuses("colour")
        .answer("dish", "cake")
        .fails(ErrorCode.ALREADY_ANSWERED)
        .saying("reset")
        .cancel()
        .cancels()
        .again()
        .fails(ErrorCode.RUN_CANCELLED);
  }

  @Test
  void retriesInVirtualTime() {
    FlowProbe.of(order)
        .failAt("cook", 1, 2)
        .start("is hungry", "dish", "soup", "servings", 1)
        .completesWith("receipt", "no. 3")
        .attempts("cook", 3)
        .waited(Duration.ofSeconds(1), Duration.ofSeconds(2));
  }

  @Test
  void givesUpAfterTheLastAttemptAndTriesThatStepAgain() {
    FlowProbe.of(order)
        .failAt("cook", 1, 2, 3)
        .start("is hungry", "dish", "soup", "servings", 1)
        .fails(ErrorCode.STEP_FAILED)
        .again()
        .visited("cook")
        .completesWith("receipt", "no. 4");
  }

  @Test
  void letsTimePassByHand() {
    FlowProbe.of(order)
        .manualTime()
        .failAt("cook", 1)
        .hangAt("cook", 2)
        .start("is hungry", "dish", "soup", "servings", 1)
        .worksAt("cook")
        .passTime(Duration.ofMillis(999))
        .attempts("cook", 1)
        .passTime(Duration.ofMillis(1))
        .attempts("cook", 2)
        .passTime(Duration.ofSeconds(10))
        .worksAt("cook")
        .passTime(Duration.ofSeconds(2))
        .completesWith("receipt", "no. 3");
  }

  @Test
  void plansCompensationsByTheNameOfTheirPlace() {
    List<String> released = new ArrayList<>();
    Flow<Order> reserved =
        Flow.of("reserved", Order.class)
            .description("Reserves.")
            .ask("ask_dish", q -> q.question("dish", "What?"))
            .act("reserve", run -> run.set("receipt", run.get("dish", String.class)))
            .compensate("reserve", run -> released.add("released"))
            .widget("confirm", w -> {})
            .edge(Flow.START, "ask_dish")
            .edge("ask_dish", "reserve")
            .edge("reserve", "confirm")
            .edge("confirm", Flow.END)
            .compile();
    FlowProbe<Order> probe = FlowProbe.of(reserved).failAt("reserve~undo", 1);
    probe.start("is hungry", "dish", "soup").shows("confirm").reset("dish", "cake");
    probe.fails(ErrorCode.COMPENSATION_FAILED);
    assertThat(released).isEmpty();

    probe.again().shows("confirm").stateHas("receipt", "cake");
    assertThat(released).hasSize(1);
    assertThatThrownBy(() -> probe.failAt("ask_dish~undo", 1))
        .hasMessageContaining("no node ask_dish~undo");
  }

  @Test
  void showsAWidgetThatWasPutWhileNobodyWaitedBeforeItIsPassed() {
    Flow<Order> confirmed =
        Flow.of("confirmed", Order.class)
            .description("Orders.")
            .actAsync("cook", kitchen, o -> o.retry(3, Duration.ofSeconds(1)))
            .widget("confirm", w -> {})
            .edge(Flow.START, "cook")
            .edge("cook", "confirm")
            .edge("confirm", Flow.END)
            .compile();
    FlowProbe.of(confirmed)
        .manualTime()
        .failAt("cook", 1)
        .start("is hungry")
        .worksAt("cook")
        .passTime(Duration.ofSeconds(1))
        .shows("confirm")
        .again()
        .shows("confirm")
        .again()
        .completes()
        .replayed();
    FlowProbe.of(confirmed)
        .crashAt("cook", 1)
        .start("is hungry")
        .shows("confirm")
        .again()
        .completes()
        .replayed();
  }

  @Test
  void treatsAnAttemptThatOutlastsTheTimeoutAsAnEndlessOne() {
    FlowProbe.of(Orders.flow(run -> new CompletableFuture<>(), EffectOptions::once))
        .timeout(Duration.ofSeconds(2))
        .start("is hungry", "dish", "soup", "servings", 1)
        .fails(ErrorCode.OUTCOME_UNKNOWN)
        .resolve(Input.Resolution.SKIP)
        .completes();
  }

  @Test
  void expires() {
    FlowProbe.of(order)
        .start("is hungry")
        .passTime(Duration.ofMinutes(61))
        .answer("dish", "soup")
        .fails(ErrorCode.RUN_EXPIRED);
  }

  @Test
  void losesWhatAKilledHostLoses() {
    FlowProbe.of(order)
        .crashAt("cook", 1)
        .start("is hungry", "dish", "soup", "servings", 5)
        .crash()
        .shows("show_sides")
        .answer("side", "rice")
        .completesWith("receipt", "no. 2")
        .replayed();

    assertThat(cooked).hasSize(2);
    assertThat(cooked.get(0)).isEqualTo(cooked.get(1));
  }

  record Old(String mail) {}

  record New(String email) {}

  @Test
  void letsANewerVersionTakeTheRunOver() {
    Flow<Old> old =
        Flow.of("contact", Old.class)
            .description("Asks.")
            .ask("ask", q -> q.question("mail", "Mail?"))
            .edge(Flow.START, "ask")
            .edge("ask", Flow.END)
            .compile();
    FlowBuilder<New> next =
        Flow.of("contact", New.class)
            .description("Asks.")
            .version(2)
            .ask("ask", q -> q.question("email", "E-mail?"))
            .edge(Flow.START, "ask")
            .edge("ask", Flow.END)
            .result(state -> state);

    FlowProbe.of(old)
        .start("to test")
        .asks("mail")
        .upgrade(next.migrate(1, m -> m.field("mail", "email")).compile())
        .asks("email")
        .answer("email", "a@b.c")
        .completesWith("email", "a@b.c")
        .replayed();
  }

  private static Flow<New> contact(int version, String step) {
    return Flow.of("contact", New.class)
        .description("Asks.")
        .version(version)
        .ask(step, q -> q.question("email", "E-mail?"))
        .edge(Flow.START, step)
        .edge(step, Flow.END)
        .result(state -> state)
        .compile();
  }

  @Test
  void refusesARunWhoseVersionHasAnotherGraphNow() {
    FlowProbe.of(contact(1, "ask"))
        .start("to test")
        .upgrade(contact(1, "ask_mail"))
        .fails(ErrorCode.VERSION_CHANGED)
        .stillAsks("email")
        .saying("version 1")
        .answer("email", "a@b.c")
        .fails(ErrorCode.VERSION_CHANGED)
        .cancel()
        .cancels();
  }

  private static FlowBuilder<New> charging(int version) {
    return Flow.of("contact", New.class)
        .description("Asks, and takes money.")
        .version(version)
        .ask("ask", q -> q.question("email", "E-mail?"))
        .act("charge", run -> {})
        .compensate("charge", run -> {})
        .edge(Flow.START, "ask")
        .edge("ask", "charge")
        .edge("charge", Flow.END);
  }

  @Test
  void cancelsNoRunThatAnotherVersionMayHaveToUndo() {
    FlowProbe.of(charging(1).compile())
        .hangAt("charge", 1)
        .start("to test")
        .manualTime()
        .answer("email", "a@b.c")
        .worksAt("charge")
        .upgrade(charging(2).migrate(1, m -> {}).compile())
        .fails(ErrorCode.MIGRATION_FAILED)
        .cancel()
        .fails(ErrorCode.MIGRATION_FAILED)
        .saying("charge is at work");
  }

  @Test
  void refusesARunAtWorkAtAStepThatIsGone() {
    FlowProbe.of(charging(1).compile())
        .hangAt("charge", 1)
        .start("to test")
        .manualTime()
        .answer("email", "a@b.c")
        .worksAt("charge")
        .upgrade(contact(2, "ask"))
        .fails(ErrorCode.VERSION_CHANGED)
        .again()
        .fails(ErrorCode.VERSION_CHANGED)
        .signal("paid", null)
        .fails(ErrorCode.VERSION_CHANGED)
        .saying("version 1");
  }

  private static FlowBuilder<New> idle(int version, Duration expiry) {
    return Flow.of("contact", New.class)
        .description("Asks.")
        .version(version)
        .expireAfter(expiry)
        .ask("ask", q -> q.question("email", "E-mail?"))
        .edge(Flow.START, "ask")
        .edge("ask", Flow.END);
  }

  @Test
  void leavesARunAsItWasThatIsNotCarriedOverHoweverLongItWaits() {
    FlowProbe<New> before =
        FlowProbe.of(idle(1, Duration.ofDays(9)).compile()).manualTime().start("to test");
    int known = before.journal().size();
    List<FlowProbe<New>> left =
        List.of(
            before.upgrade(idle(2, Duration.ofDays(1)).compile()),
            before.upgrade(
                idle(2, Duration.ofDays(1))
                    .migrate(
                        1,
                        m ->
                            m.state(
                                run -> {
                                  throw new IllegalStateException("no");
                                }))
                    .compile()));
    left.get(0).fails(ErrorCode.VERSION_CHANGED);
    left.get(1).fails(ErrorCode.MIGRATION_FAILED);

    for (FlowProbe<New> probe : left) {
      probe.passTime(Duration.ofHours(2)).passTime(Duration.ofDays(3));
      assertThat(probe.journal()).hasSize(known);
      assertThat(probe.runState().version()).isEqualTo(1);
    }
  }

  @Test
  void aRunThatHasExpiredInTheVersionThatTakesItOverEndsThere() {
    FlowProbe<New> upgraded =
        FlowProbe.of(idle(1, Duration.ofDays(9)).compile())
            .manualTime()
            .start("to test")
            .passTime(Duration.ofMinutes(10))
            .upgrade(idle(2, Duration.ofMinutes(5)).migrate(1, m -> {}).compile())
            .fails(ErrorCode.RUN_EXPIRED)
            .replayed();

    assertThat(upgraded.runState().version()).isEqualTo(2);
    assertThat(upgraded.runState().status()).isEqualTo(RunState.Status.EXPIRED);
  }

  @Test
  void refusesARunThatNoMigrationLeadsFrom() {
    FlowProbe.of(contact(1, "ask"))
        .start("to test")
        .upgrade(contact(2, "ask"))
        .fails(ErrorCode.VERSION_CHANGED)
        .start("again")
        .asks("email")
        .answer("email", "a@b.c")
        .completes();
  }

  @Test
  void continuesARunOnTheSameVersionAfterAnUpgrade() {
    FlowProbe.of(contact(1, "ask"))
        .start("to test")
        .upgrade(contact(1, "ask"))
        .asks("email")
        .answer("email", "a@b.c")
        .completes();
  }

  record Mail(String name, String email) {}

  private static Flow<Mail> checking(Consumer<QuestionOptions<Mail>> check) {
    return Flow.of("mail", Mail.class)
        .description("Asks.")
        .ask("ask", q -> q.question("name", "Name?").question("email", "E-mail?", check))
        .edge(Flow.START, "ask")
        .edge("ask", Flow.END)
        .result(state -> state)
        .compile();
  }

  /** A run whose answer waits until its check can be attempted again, on the next release. */
  private static FlowProbe<Mail> checkWaits(Consumer<QuestionOptions<Mail>> next) {
    Flow<Mail> first =
        checking(
            o ->
                o.validateAsync(
                    (String email) -> CompletableFuture.completedStage(Verdict.accept()),
                    e -> e.retry(3, Duration.ofMinutes(1))));
    return FlowProbe.of(first)
        .manualTime()
        .failAt("ask", 1)
        .start("to test", "name", "Ann")
        .answer("email", "ann")
        .worksAt("ask")
        .upgrade(checking(next))
        .passTime(Duration.ofMinutes(2));
  }

  @Test
  void anAnswerWhoseCheckWaitsIsJudgedByTheValidatorThatTheQuestionHasNow() {
    checkWaits(o -> o.validate((String email) -> Verdict.reject("No @.")))
        .rejects("email", "No @.")
        .answer("email", "again")
        .rejects("email", "No @.");
    checkWaits(
            o ->
                o.validate(
                    (Mail mail, String email) -> Verdict.accept(email + " of " + mail.name())))
        .completesWith("email", "ann of Ann");
    checkWaits(
            o ->
                o.validateAsync(
                    (String email) -> CompletableFuture.completedStage(Verdict.accept("new"))))
        .completesWith("email", "new");
    checkWaits(o -> {}).completesWith("email", "ann");
    checkWaits(
            o ->
                o.validate(
                    (String email) -> {
                      throw new IllegalStateException("broken");
                    }))
        .fails(ErrorCode.VALIDATOR_FAILED);
  }

  private static Flow<Mail> expiring(Consumer<FlowBuilder<Mail>> hook) {
    FlowBuilder<Mail> flow =
        Flow.of("mail", Mail.class)
            .description("Asks.")
            .expireAfter(Duration.ofHours(1))
            .ask("ask", q -> q.question("email", "E-mail?"))
            .edge(Flow.START, "ask")
            .edge("ask", Flow.END);
    hook.accept(flow);
    return flow.compile();
  }

  @Test
  void aRunEndsWhoseHookForItsExpiryIsGone() {
    FlowProbe.of(
            expiring(
                flow ->
                    flow.onExpire(
                        run -> {
                          throw new IllegalStateException("no mail server");
                        },
                        e -> e.retry(9, Duration.ofHours(1)))))
        .manualTime()
        .start("to test")
        .passTime(Duration.ofHours(2))
        .upgrade(expiring(flow -> {}))
        .passTime(Duration.ofHours(2))
        .answer("email", "ann")
        .fails(ErrorCode.RUN_EXPIRED);
  }

  private static Flow<Order> charging(AsyncAction<Order> charge, boolean once) {
    return Orders.flow(
        charge, o -> (once ? o.once() : o.retry(3, Duration.ofSeconds(1))).timeout(TIMEOUT));
  }

  @Test
  void leavesTheOutcomeUnknownOfAStepThatRanOnlyOnceBeforeAnUpgrade() {
    FlowProbe.of(charging(kitchen, true))
        .manualTime()
        .hangAt("cook", 1)
        .start("is hungry", "dish", "soup", "servings", 1)
        .worksAt("cook")
        .upgrade(charging(kitchen, true))
        .fails(ErrorCode.OUTCOME_UNKNOWN);
    assertThat(cooked).isEmpty();
  }

  @Test
  void attemptsAStepAgainThatRanBeforeAnUpgrade() {
    FlowProbe.of(charging(kitchen, false))
        .manualTime()
        .hangAt("cook", 1)
        .start("is hungry", "dish", "soup", "servings", 1)
        .upgrade(charging(kitchen, false))
        .completesWith("receipt", "no. 2")
        .attempts("cook", 2);
  }

  @Test
  void keepsThePlansOfATestInAnUpgrade() {
    FlowProbe<Order> upgraded =
        FlowProbe.of(order)
            .instead("price", "price", 7)
            .instead("cook", "receipt", "none")
            .failAt("cook", 1)
            .start("is hungry", "dish", "soup")
            .upgrade(order)
            .answer("servings", 1)
            .completesWith("price", 7, "receipt", "none")
            .attempts("cook", 2);
    assertThat(cooked).isEmpty();
    assertThat(upgraded.effects())
        .extracting(AskedEffect::node)
        .containsExactly("price", "cook", "cook");

    FlowProbe.of(Orders.flow(run -> new CompletableFuture<>(), EffectOptions::once))
        .timeout(Duration.ofSeconds(2))
        .start("is hungry", "dish", "soup")
        .upgrade(Orders.flow(run -> new CompletableFuture<>(), EffectOptions::once))
        .answer("servings", 1)
        .fails(ErrorCode.OUTCOME_UNKNOWN);
  }

  @Test
  void continuesARecordedRunOnALaterVersionAsAHostThatReadsIt() {
    RunJournal recorded = FlowProbe.of(contact(1, "ask")).start("to test").recorded();

    FlowProbe.from(contact(2, "ask"), recorded)
        .fails(ErrorCode.VERSION_CHANGED)
        .crash()
        .fails(ErrorCode.VERSION_CHANGED);
  }

  record Pair(@Computed String left, @Computed String right) {}

  @Test
  void letsTheAttemptsOfSeveralBranchesHang() {
    Flow<Pair> pair =
        Flow.of("pair", Pair.class)
            .description("Does two things.")
            .fork("begin", f -> f.branch("left").branch("right").join("done"))
            .act("begin", run -> {})
            .act("left", run -> run.set("left", "l" + run.attempt()), o -> slow(o, 10))
            .act("right", run -> run.set("right", "r" + run.attempt()), o -> slow(o, 5))
            .act("done", run -> {})
            .edge(Flow.START, "begin")
            .edge("left", "done")
            .edge("right", "done")
            .edge("done", Flow.END)
            .result(state -> state)
            .compile();
    FlowProbe<Pair> probe =
        FlowProbe.of(pair).hangAt("left", 1).hangAt("right", 1, 2).start("to test");
    probe.completesWith("left", "l2", "right", "r3").replayed();
    assertThat(Duration.between(Instant.parse("2026-01-01T00:00:00Z"), probe.now()))
        .isEqualTo(Duration.ofSeconds(13));

    FlowProbe.of(pair)
        .manualTime()
        .hangAt("left", 1)
        .hangAt("right", 1)
        .start("to test")
        .passTime(Duration.ofSeconds(6))
        .attempts("right", 2)
        .attempts("left", 1)
        .passTime(Duration.ofSeconds(5))
        .attempts("left", 2)
        .completes();
  }

  private static void slow(EffectOptions options, int timeout) {
    options.timeout(Duration.ofSeconds(timeout)).retry(3, Duration.ofSeconds(1));
  }

  private static Flow<New> acting(Action<New> action) {
    return Flow.of("act", New.class)
        .description("Acts.")
        .act("do", action)
        .edge(Flow.START, "do")
        .edge("do", Flow.END)
        .compile();
  }

  @Test
  void describesARunThatIsTagged() {
    FlowProbe<New> probe = FlowProbe.of(acting(run -> run.tag("vip"))).start("to test").completes();

    assertThatThrownBy(probe::cancels).hasMessageContaining("do#1 tagged the run with vip");
  }

  @Test
  void showsTheStackTraceOfWhatTheAuthorsCodeThrew() {
    IllegalStateException boom = new IllegalStateException("boom");
    FlowProbe<New> probe =
        FlowProbe.of(
                acting(
                    run -> {
                      throw boom;
                    }))
            .start("to test");

    assertThatThrownBy(probe::completes).hasCause(boom);
  }

  @Test
  void forgetsACallThatWasKilledBeforeItsFirstWrite() {
    FlowProbe.of(order)
        .start("is hungry")
        .asks("dish", "servings")
        .crashAt("price", 1)
        .answer("dish", "soup", "servings", 5)
        .asks("dish", "servings")
        .stateHas("dish", null);
  }

  @Test
  void saysWhatTheRunDidInstead() {
    FlowProbe<Order> probe =
        FlowProbe.of(order).start("is hungry", "servings", 6).answer("dish", "stone");

    assertThatThrownBy(() -> probe.asks("servings"))
        .isInstanceOf(AssertionError.class)
        .hasMessage(
            """
            Expected the run to ask for servings and no other field,
            but it failed with answer_rejected: Nobody eats that.
            and still asks dish "What would you like?"
              call     answer {"dish":"stone"}
              visited  -
              state    {"servings":6}
              before  \s
                » start "is hungry" {"servings":6}
                started version 1 because "is hungry"
                answered servings = 6
                → ask_dish#1
                ask_dish#1 accepted servings
                ask_dish#1 asked dish
                » answer {"dish":"stone"}
                answered dish = "stone"
                ask_dish#1 rejected dish: Nobody eats that.""");
  }

  @Test
  void namesAMistakeInTheTestItself() {
    assertThatThrownBy(() -> FlowProbe.of(order).failAt("cok", 1))
        .hasMessage("There is no node cok in order version 1; did you mean cook?");
    assertThatThrownBy(() -> FlowProbe.of(order).start("is hungry", "dish"))
        .hasMessage("Give values in pairs of a field and its value; there are 1 items");
    assertThatThrownBy(() -> FlowProbe.of(order).completes())
        .hasMessageContaining("but nothing was called yet");
  }

  record Driver(String name, @Computed String receipt) {}

  /** An order whose sub-flow has a receipt of its own. */
  private static Flow<Order> driven() {
    Flow<Driver> driver =
        Flow.of("driver", Driver.class)
            .description("Asks for a driver.")
            .ask("ask_name", q -> q.question("name", "Who drives?"))
            .act("check", run -> run.set("receipt", "checked"))
            .edge(Flow.START, "ask_name")
            .edge("ask_name", "check")
            .edge("check", Flow.END)
            .compile();
    return Flow.of("order", Order.class)
        .description("Orders.")
        .subflow("driver_details", driver, o -> {})
        .ask("ask_dish", q -> q.question("dish", "Dish?"))
        .edge(Flow.START, "driver_details")
        .edge("driver_details", "ask_dish")
        .edge("ask_dish", Flow.END)
        .result(o -> o)
        .compile();
  }

  @Test
  void valuesInsteadOfAStepOfASubflowGoToItsOwnState() {
    FlowProbe<Order> probe =
        FlowProbe.of(driven())
            .instead("driver_details/check", "receipt", "r1")
            .start("to test")
            .answer("driver_details.name", "Ann")
            .asks("dish")
            .stateHas("receipt", null);
    assertThat(probe.journal())
        .filteredOn(Event.Committed.class::isInstance)
        .flatExtracting(event -> ((Event.Committed) event).writes())
        .extracting(Write::path)
        .containsExactly("driver_details.receipt");
  }

  @Test
  void whatAFunctionThrowsInInsteadFailsTheAttemptAsIfTheActionThrewIt() {
    FlowProbe.of(order)
        .instead(
            "cook",
            effect -> {
              throw StepException.terminal("We have no gas.");
            })
        .start("is hungry", "dish", "soup", "servings", 1)
        .fails(ErrorCode.STEP_FAILED)
        .saying("We have no gas.")
        .attempts("cook", 1);
    FlowProbe.of(order)
        .instead(
            "cook",
            effect -> {
              throw new StepException("We have no gas.");
            })
        .start("is hungry", "dish", "soup", "servings", 1)
        .fails(ErrorCode.STEP_FAILED)
        .attempts("cook", 3);
  }

  @Test
  void aFieldThatTheFlowDoesNotHaveIsRefusedInInstead() {
    String nearest = "There is no field recept; did you mean receipt?";
    assertThatThrownBy(() -> FlowProbe.of(order).instead("cook", "recept", "r1"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining(nearest);
    assertThatThrownBy(() -> FlowProbe.of(driven()).instead("driver_details/check", "price", 7))
        .hasMessageContaining("There is no field price");
    assertThatThrownBy(() -> FlowProbe.of(order).instead("cook", "receipt"))
        .hasMessage("Give values in pairs of a field and its value; there are 1 items");
    FlowProbe<Order> probe =
        FlowProbe.of(order).instead("cook", effect -> new Object[] {"recept", effect.attempt()});
    assertThatThrownBy(() -> probe.start("is hungry", "dish", "soup", "servings", 1))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining(nearest);
  }

  record Parcel(String address, @Computed String label) {}

  private static Flow<Parcel> parcel(String question) {
    return Flow.of("parcel", Parcel.class)
        .description("Sends a parcel.")
        .ask("ask_address", q -> q.question("address", question))
        .act(
            "print",
            run -> run.set("label", "for " + run.state().address()),
            o -> o.retry(3, Duration.ofSeconds(1)))
        .sleep("transport", Duration.ofDays(2))
        .edge(Flow.START, "ask_address")
        .edge("ask_address", "print")
        .edge("print", "transport")
        .edge("transport", Flow.END)
        .result(Parcel::label)
        .compile();
  }

  private static RunJournal sent() {
    return FlowProbe.of(parcel("Where to?"))
        .manualTime()
        .failAt("print", 1)
        .start("sends a book")
        .answer("address", "Lisbon")
        .passTime(Duration.ofSeconds(1))
        .crash()
        .passTime(Duration.ofDays(3))
        .completes()
        .replayed()
        .recorded();
  }

  private static JournalEntry<Event> entryWith(RunJournal journal, Class<? extends Event> what) {
    return journal.entries().stream()
        .filter(entry -> entry.events().stream().anyMatch(what::isInstance))
        .findFirst()
        .orElseThrow();
  }

  @Test
  void recordsAnEntryForEachStepWithItsTimeAndWhatCausedIt() {
    RunJournal journal = sent();

    assertThat(journal.entries())
        .extracting(entry -> entry.seq() + " " + entry.by())
        .containsExactly(
            "1 caller", "2 caller", "3 caller", "4 caller", "5 timer", "6 effect", "7 timer");
    assertThat(journal.entries()).extracting(JournalEntry::at).isSorted();
    JournalEntry<Event> failed = entryWith(journal, Event.AttemptFailed.class);
    JournalEntry<Event> committed = entryWith(journal, Event.Committed.class);
    JournalEntry<Event> woken = entryWith(journal, Event.Woken.class);
    assertThat(committed.at() - failed.at()).isEqualTo(Duration.ofSeconds(1).toMillis());
    assertThat(woken.at() - committed.at()).isEqualTo(Duration.ofDays(2).toMillis());
    assertThat(failed.principal()).isEqualTo("tester");
    assertThat(woken.principal()).isNull();
  }

  @Test
  void aRecordedRunIsCutAndForkedAtAnyEntryAndSaysWhichOneDiverges() {
    RunJournal journal = sent();

    assertThat(journal.upTo(1).state().data()).isEmpty();
    assertThat(journal.upTo(2).state().data().path("address").asText()).isEqualTo("Lisbon");
    assertThat(journal.fork(6, "fork", ForkOptions.live(), 0))
        .anyMatch(Event.Committed.class::isInstance)
        .noneMatch(Event.Woken.class::isInstance);
    RunJournal shorter =
        FlowProbe.of(parcel("Where to?"))
            .start("sends a book")
            .answer("address", "Rome")
            .recorded();
    assertThat(Replay.of(parcel("And where to?"), shorter).divergence())
        .satisfies(divergence -> assertThat(divergence.entry().seq()).isEqualTo(1));
  }

  @Test
  void continuesARecordedRunFromAnyEntryAsAHostThatReadsIt() {
    RunJournal journal = sent();

    FlowProbe<Parcel> asked = FlowProbe.from(parcel("Where to?"), journal.upTo(1));
    asked.again().asks("address").answer("address", "Rome").waitsFor("time");
    asked
        .passTime(Duration.ofDays(2))
        .completes(label -> assertThat(label.asText()).isEqualTo("for Rome"));
    assertThat(asked.effects()).hasSize(1);
    assertThat(asked.recorded().entries()).startsWith(journal.entries().get(0));
    assertThat(asked.recorded().entries())
        .extracting(JournalEntry::seq)
        .isSorted()
        .doesNotHaveDuplicates();

    FlowProbe<Parcel> working = FlowProbe.from(parcel("Where to?"), journal.upTo(2));
    assertThat(working.state().label()).isEqualTo("for Lisbon");
    working.attempts("print", 2);

    FlowProbe<Parcel> ended = FlowProbe.from(parcel("Where to?"), journal);
    assertThat(ended.runState()).isEqualTo(journal.state());
    assertThat(ended.now().toEpochMilli()).isEqualTo(journal.entries().get(6).at());
    assertThat(ended.effects()).isEmpty();
    ended.answer("address", "Rome").fails(ErrorCode.RUN_COMPLETED);
  }
}
