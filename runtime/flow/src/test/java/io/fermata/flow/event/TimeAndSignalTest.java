package io.fermata.flow.event;

import static io.fermata.flow.Driver.asked;
import static io.fermata.flow.Driver.code;
import static io.fermata.flow.Driver.failure;
import static io.fermata.flow.Driver.object;
import static io.fermata.flow.Driver.violated;
import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.Flows.ask;
import static io.fermata.flow.Flows.drive;
import static io.fermata.flow.Flows.talk;
import static io.fermata.flow.route.Condition.eq;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.AskingTest;
import io.fermata.flow.Driver;
import io.fermata.flow.Flow;
import io.fermata.flow.FlowBuilder;
import io.fermata.flow.Flows;
import io.fermata.flow.action.Action;
import io.fermata.flow.json.Limits;
import io.fermata.flow.schema.Computed;
import io.fermata.flow.schema.Secret;
import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.NotNull;
import jakarta.validation.constraints.Size;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Time as an event, and what comes from outside. The clock is what the inputs say. */
class TimeAndSignalTest {
  private static final Duration HOUR = Duration.ofHours(1);
  private static final long H = HOUR.toMillis();

  private final List<String> ran = new ArrayList<>();
  private final boolean[] broken = {false};

  private static List<Long> due(Driver talk) {
    return talk.timers().stream().map(StepEffect::due).toList();
  }

  private static List<StepEffect.Kind> kinds(Driver talk) {
    return talk.timers().stream().map(StepEffect::kind).toList();
  }

  @Test
  void aRejectionIsKeptWhenASignalComesWhileAnotherAnswerIsChecked() {
    Driver talk =
        drive(
            talk()
                .ask(
                    "ask",
                    q ->
                        q.question("a", "A?", o -> o.validate((String a) -> Verdict.reject("No.")))
                            .question("b", "B?", o -> o.validateAsync(TimeAndSignalTest::accepted)))
                .waitFor("pay", "payment"),
            "ask",
            "pay");
    talk.start();
    talk.feed(new Input.Continue(object("a", "x", "b", "y"), 5));
    talk.feed(new Input.Signal("payment", null, 6));
    Outcome reply = talk.settle();
    assertThat(code(reply)).isEqualTo("answer_rejected");
    assertThat(failure(reply).message()).contains("No.");
    assertThat(asked(talk.proceed())).containsExactly("a");
  }

  private static CompletableFuture<Verdict> accepted(String answer) {
    return CompletableFuture.completedFuture(Verdict.accept());
  }

  // --- sleeping -------------------------------------------------------------------------------

  private Driver napping() {
    return drive(talk().sleep("nap", HOUR).act("wake", run -> ran.add("woken")), "nap", "wake");
  }

  @Test
  void aSleepIsAMomentToWaitForAndNothingElse() {
    Driver talk = napping();
    Outcome pause = talk.start();
    assertThat(code(pause)).isEqualTo("waiting");
    assertThat(((Outcome.Waiting) pause).until()).isEqualTo(1_000 + H);
    assertThat(((Outcome.Waiting) pause).description())
        .contains("until " + Instant.ofEpochMilli(1_000 + H));
    assertThat(talk.timers())
        .extracting(StepEffect::kind, StepEffect::due)
        .containsExactly(tuple(StepEffect.Kind.SLEEP, 1_000 + H));
    assertThat(ran).isEmpty();
    assertThat(talk.pass()).isInstanceOf(Outcome.Complete.class);
    assertThat(ran).containsExactly("woken");
    assertThat(talk.events(Event.Woken.class)).extracting(Event::at).containsExactly(1_000 + H);
  }

  @Test
  void callsDuringASleepNeitherWakeItNorChangeIt() {
    Driver talk = napping();
    Outcome pause = talk.start();
    int events = talk.journal.size();
    assertThat(talk.proceed()).isEqualTo(pause);
    assertThat(talk.journal).hasSize(events);
    talk.proceed("a", "x");
    assertThat(due(talk)).containsExactly(1_000 + H);
    assertThat(ran).isEmpty();
  }

  @Test
  void aSleepContinuesAfterACrash() {
    Driver talk = napping();
    talk.start();
    talk.crash(talk.journal.size());
    talk.recover();
    assertThat(due(talk)).containsExactly(1_000 + H);
    assertThat(talk.pass()).isInstanceOf(Outcome.Complete.class);
  }

  @Test
  void aMomentThatHasPassedIsNotWaitedFor() {
    for (Duration past : List.of(Duration.ZERO, Duration.ofSeconds(-1))) {
      Driver talk = drive(talk().sleep("nap", t -> past), "nap");
      assertThat(talk.start()).isInstanceOf(Outcome.Complete.class);
      assertThat(talk.events(Event.Slept.class)).isEmpty();
    }
    Driver until = drive(talk().sleepUntil("nap", t -> Instant.EPOCH), "nap");
    assertThat(until.start()).isInstanceOf(Outcome.Complete.class);
  }

  @Test
  void theTimeMayDependOnTheState() {
    Driver span = drive(talk().sleep("nap", t -> Duration.ofMillis(t.number())), "nap");
    span.start("number", 500);
    assertThat(due(span)).containsExactly(1_500L);
    Driver moment = drive(talk().sleepUntil("nap", t -> Instant.parse(t.a())), "nap");
    moment.start("a", "2030-01-01T00:00:00Z");
    assertThat(due(moment)).containsExactly(Instant.parse("2030-01-01T00:00:00Z").toEpochMilli());
  }

  @Test
  void aTimeThatCannotBeReckonedStopsTheStepAndIsTriedAgain() {
    broken[0] = true;
    Driver talk =
        drive(
            talk().sleepUntil("nap", t -> Instant.parse(AskingTest.orThrow(broken, t.a()))), "nap");
    assertThat(code(talk.start("a", "1970-01-01T00:00:00Z"))).isEqualTo("step_failed");
    broken[0] = false;
    assertThat(talk.proceed()).isInstanceOf(Outcome.Complete.class);
  }

  @Test
  void aTimerFiresOnce() {
    Driver talk = drive(talk().sleep("nap", HOUR).sleep("again", HOUR), "nap", "again");
    talk.start();
    StepEffect first = talk.timers().get(0);
    talk.feed(new Input.EffectDue(first, 2 * H));
    int events = talk.journal.size();
    talk.feed(new Input.EffectDue(first, 2 * H));
    assertThat(talk.journal).hasSize(events);
    assertThat(due(talk)).containsExactly(3 * H);
  }

  @Test
  void aTimerOfARunThatIsOverIsIgnored() {
    Driver talk = napping();
    talk.start();
    StepEffect old = talk.timers().get(0);
    talk.cancel();
    int events = talk.journal.size();
    talk.feed(new Input.EffectDue(old, H));
    assertThat(talk.journal).hasSize(events);
    talk.start();
    RunState begun = talk.state;
    talk.feed(new Input.EffectDue(old, 2 * H));
    assertThat(talk.state).isEqualTo(begun);
  }

  @Test
  void aCorrectionBeforeTheSleepSleepsAgain() {
    Driver talk = drive(ask(talk(), "a").sleep("nap", HOUR), "ask_a", "nap");
    talk.start("a", "x");
    StepEffect old = talk.timers().get(0);
    talk.now = 5_000;
    talk.reset("a", "y");
    assertThat(due(talk)).containsExactly(5_000 + H);
    talk.feed(new Input.EffectDue(old, 2 * H));
    assertThat(due(talk)).containsExactly(5_000 + H);
  }

  // --- deadlines ------------------------------------------------------------------------------

  private Driver patient() {
    return new Driver(
        ask(ask(talk(), "a"), "b")
            .act("late", run -> ran.add("late"))
            .deadline("ask_a", HOUR, "late")
            .edge(START, "ask_a")
            .edge("ask_a", "ask_b")
            .edge("late", "ask_b")
            .edge("ask_b", END)
            .compile());
  }

  @Test
  void aDeadlineWithdrawsTheQuestionAndLeadsToItsTarget() {
    Driver talk = patient();
    assertThat(asked(talk.start())).containsExactly("a");
    assertThat(talk.timers())
        .extracting(StepEffect::kind, StepEffect::due)
        .containsExactly(tuple(StepEffect.Kind.DEADLINE, 1_000 + H));
    assertThat(asked(talk.pass())).containsExactly("b");
    assertThat(ran).containsExactly("late");
    Event.DeadlinePassed overdue = talk.events(Event.DeadlinePassed.class).get(0);
    assertThat(overdue.place()).isEqualTo(new Place("ask_a", 1));
    assertThat(overdue.target()).isEqualTo("late");
  }

  @Test
  void anAnswerInTimeTakesTheDeadlineAway() {
    Driver talk = patient();
    talk.start();
    StepEffect deadline = talk.timers().get(0);
    assertThat(asked(talk.proceed("a", "x"))).containsExactly("b");
    assertThat(talk.timers()).isEmpty();
    int events = talk.journal.size();
    talk.feed(new Input.EffectDue(deadline, 2 * H));
    assertThat(talk.journal).hasSize(events);
    assertThat(ran).isEmpty();
  }

  @Test
  void anAnswerThatComesTooLateIsACorrection() {
    Driver talk = patient();
    talk.start();
    talk.pass();
    Outcome refused = talk.proceed("a", "x");
    assertThat(code(refused)).isEqualTo("already_answered");
    assertThat(asked(refused)).containsExactly("b");
    assertThat(asked(talk.reset("a", "x"))).containsExactly("b");
    assertThat(talk.state.data()).isEqualTo(object("a", "x"));
  }

  @Test
  void aQuestionThatIsPutAgainInTheSameVisitKeepsItsDeadline() {
    Driver talk =
        drive(
            talk()
                .ask(
                    "ask",
                    q ->
                        q.question("a", "a?", o -> o.validate((String a) -> Verdict.reject("No.")))
                            .question("b", "b?"))
                .deadline("ask", HOUR, END),
            "ask");
    talk.start();
    talk.now = 50_000;
    assertThat(code(talk.proceed("a", "x"))).isEqualTo("answer_rejected");
    talk.proceed("b", "y");
    assertThat(due(talk)).containsExactly(1_000 + H);
  }

  @Test
  void everyPassOfALoopHasADeadlineOfItsOwn() {
    Driver talk =
        new Driver(
            ask(talk(), "a")
                .deadline("ask_a", HOUR, END)
                .edge(START, "ask_a")
                .decide("ask_a", d -> d.when(eq("a", "stop")).to(END).otherwise("ask_a"))
                .compile());
    talk.start();
    StepEffect first = talk.timers().get(0);
    talk.now = 50_000;
    talk.proceed("a", "x");
    assertThat(due(talk)).containsExactly(50_000 + H);
    talk.feed(new Input.EffectDue(first, 1_000 + H));
    assertThat(asked(talk.settle())).containsExactly("a");
    assertThat(talk.pass()).isInstanceOf(Outcome.Complete.class);
  }

  @Test
  void whileAnAnswerIsCheckedTheDeadlineWaits() {
    CompletableFuture<Verdict> verdict = new CompletableFuture<>();
    Driver talk =
        drive(
            talk()
                .ask("ask", q -> q.question("a", "a?", o -> o.validateAsync((String a) -> verdict)))
                .deadline("ask", HOUR, END),
            "ask");
    talk.start();
    StepEffect deadline = talk.timers().get(0);
    talk.feed(new Input.Continue(object("a", "x"), 2_000));
    StepEffect check = talk.pendingEffect();
    talk.feed(new Input.EffectDue(deadline, 1_000 + H));
    assertThat(talk.events(Event.DeadlinePassed.class)).isEmpty();
    talk.feed(new Input.EffectEnded(check, new Input.Judged(Verdict.reject("No.")), 2 * H));
    assertThat(due(talk)).containsExactly(1_000 + H);
    assertThat(talk.pass()).isInstanceOf(Outcome.Complete.class);
    assertThat(talk.events(Event.DeadlinePassed.class)).hasSize(1);
  }

  @Test
  void theTimeOfADeadlineMayDependOnTheState() {
    Driver talk =
        drive(ask(talk(), "a").deadline("ask_a", t -> Duration.ofMillis(t.number()), END), "ask_a");
    talk.start("number", 500);
    assertThat(due(talk)).containsExactly(1_500L);
    Driver wrong =
        drive(
            ask(talk(), "a")
                .deadline("ask_a", t -> Duration.parse(AskingTest.orThrow(broken, "PT1H")), END),
            "ask_a");
    broken[0] = true;
    assertThat(code(wrong.start())).isEqualTo("question_failed");
    broken[0] = false;
    assertThat(asked(wrong.proceed())).containsExactly("a");
  }

  @Test
  void widgetsAndSignalsHaveDeadlinesToo() {
    Driver widget =
        drive(talk().widget("pick", w -> w.field("a")).deadline("pick", HOUR, END), "pick");
    widget.start();
    assertThat(widget.pass()).isInstanceOf(Outcome.Complete.class);
    Driver signal = drive(talk().waitFor("paid", "paid").deadline("paid", HOUR, END), "paid");
    assertThat(code(signal.start())).isEqualTo("waiting");
    assertThat(signal.pass()).isInstanceOf(Outcome.Complete.class);
    assertThat(code(signal.signal("paid", null))).isEqualTo("run_completed");
  }

  @Test
  void inABranchADeadlineEndsThatBranchesQuestionAlone() {
    Driver talk =
        new Driver(
            ask(ask(talk(), "a"), "b")
                .deadline("ask_a", HOUR, "late")
                .act("late", run -> run.set("computed", "late"))
                .fork(START, f -> f.branch("ask_a").branch("ask_b").join(END))
                .edge("ask_a", END)
                .edge("late", END)
                .edge("ask_b", END)
                .compile());
    assertThat(asked(talk.start())).containsExactly("a", "b");
    assertThat(asked(talk.pass())).containsExactly("b");
    assertThat(talk.timers()).isEmpty();
    assertThat(Driver.result(talk.proceed("b", "y")))
        .isEqualTo(object("b", "y", "computed", "late"));
  }

  @Test
  void aDeadlineMayLeadStraightToTheJoin() {
    Driver talk =
        new Driver(
            ask(ask(talk(), "a"), "b")
                .deadline("ask_a", HOUR, "join")
                .act("join", run -> ran.add("join"))
                .fork(START, f -> f.branch("ask_a").branch("ask_b").join("join"))
                .edge("ask_a", "join")
                .edge("ask_b", "join")
                .edge("join", END)
                .compile());
    talk.start();
    talk.proceed("b", "y");
    assertThat(talk.pass()).isInstanceOf(Outcome.Complete.class);
    assertThat(ran).containsExactly("join");
  }

  // --- reminders ------------------------------------------------------------------------------

  private Driver reminding(Action<Flows.Talk> reminder) {
    return drive(ask(talk(), "a").remind("ask_a", HOUR, 2, reminder), "ask_a");
  }

  @Test
  void remindersComeOneAfterTheOtherAndThenNoMore() {
    Driver talk = reminding(run -> ran.add(run.idempotencyKey()));
    talk.start();
    assertThat(due(talk)).containsExactly(1_000 + H);
    assertThat(asked(talk.pass())).containsExactly("a");
    assertThat(due(talk)).containsExactly(1_000 + 2 * H);
    talk.pass();
    assertThat(talk.timers()).isEmpty();
    String key = talk.state.runId() + "/ask_a#1/reminder/";
    assertThat(ran).containsExactly(key + 1, key + 2);
    assertThat(talk.proceed("a", "x")).isInstanceOf(Outcome.Complete.class);
  }

  @Test
  void anAnswerTakesTheRemindersAway() {
    Driver talk = reminding(run -> ran.add("reminded"));
    talk.start();
    StepEffect reminder = talk.timers().get(0);
    talk.proceed("a", "x");
    talk.feed(new Input.EffectDue(reminder, 2 * H));
    assertThat(ran).isEmpty();
    assertThat(talk.events(Event.Reminding.class)).isEmpty();
  }

  @Test
  void whatAReminderWritesIsNotKept() {
    Driver talk = reminding(run -> run.set("c", "reminded " + run.state().b()));
    talk.start("b", "y");
    talk.pass();
    assertThat(talk.state.data()).isEqualTo(object("b", "y"));
  }

  @Test
  void aReminderThatFailsDoesNotDisturbTheQuestionAndTheNextOneIsTried() {
    Driver talk = reminding(run -> ran.add(AskingTest.orThrow(broken, "reminded")));
    broken[0] = true;
    talk.start();
    assertThat(asked(talk.pass())).containsExactly("a");
    assertThat(talk.events(Event.Reminded.class).get(0).failure()).doesNotContain("secret");
    broken[0] = false;
    assertThat(asked(talk.pass())).containsExactly("a");
    assertThat(ran).containsExactly("reminded");
  }

  @Test
  void aReminderInFlightNeitherWorksNorHoldsTheAnswerUp() {
    Driver talk = reminding(run -> ran.add("reminded"));
    talk.start();
    talk.feed(new Input.EffectDue(talk.timers().get(0), 1_000 + H));
    Program.Pause<StepEffect> pause = (Program.Pause<StepEffect>) talk.program.next(talk.state);
    assertThat(asked(pause.outcome())).containsExactly("a");
    StepEffect reminder = pause.timers().get(0);
    assertThat(reminder.timer()).isFalse();
    talk.feed(new Input.Continue(object("a", "x"), 2 * H));
    talk.feed(new Input.EffectEnded(reminder, talk.result(reminder), 3 * H));
    assertThat(talk.settle()).isInstanceOf(Outcome.Complete.class);
    assertThat(talk.events(Event.Reminded.class)).isEmpty();
  }

  private Driver remindedDuringACheck() {
    Driver talk =
        drive(
            talk()
                .ask(
                    "ask_a",
                    q ->
                        q.question(
                            "a",
                            "a?",
                            o ->
                                o.validateAsync(
                                    answer ->
                                        CompletableFuture.completedStage(Verdict.reject("No.")))))
                .remind("ask_a", HOUR, 2, run -> ran.add("reminded")),
            "ask_a");
    talk.start();
    talk.feed(new Input.EffectDue(talk.timers().get(0), 1_000 + H));
    return talk;
  }

  @Test
  void aReminderInFlightContinuesWhileAnAnswerIsCheckedThatMayBeRefused() {
    Driver talk = remindedDuringACheck();
    StepEffect reminder = talk.timers().get(0);
    talk.feed(new Input.Continue(object("a", "x"), 2 * H));
    List<StepEffect> effects =
        ((Program.Perform<StepEffect>) talk.program.next(talk.state)).effects();
    assertThat(effects)
        .extracting(StepEffect::kind)
        .contains(StepEffect.Kind.CHECK, StepEffect.Kind.REMIND);
    assertThat(effects).contains(reminder);
    StepEffect check = effects.stream().filter(e -> !e.equals(reminder)).findFirst().orElseThrow();
    talk.feed(new Input.EffectEnded(reminder, talk.result(reminder), 2 * H));
    talk.feed(new Input.EffectEnded(check, talk.result(check), 3 * H));
    assertThat(asked(talk.settle())).containsExactly("a");
    assertThat(ran).as("what was sent").containsExactly("reminded");
    assertThat(due(talk)).as("when the next one is due").containsExactly(3 * H);
  }

  @Test
  void noReminderBeginsWhileAnAnswerIsChecked() {
    Driver talk = remindedDuringACheck();
    StepEffect reminder = talk.timers().get(0);
    talk.feed(new Input.EffectEnded(reminder, talk.result(reminder), 1_000 + H));
    talk.feed(new Input.Continue(object("a", "x"), 2 * H));
    List<StepEffect> effects =
        ((Program.Perform<StepEffect>) talk.program.next(talk.state)).effects();
    assertThat(effects).extracting(StepEffect::kind).containsExactly(StepEffect.Kind.CHECK);
  }

  @Test
  void aReminderThatACrashInterruptedIsSentAgainUnderTheSameKey() {
    Driver talk = reminding(run -> ran.add(run.attempt() + " " + run.idempotencyKey()));
    talk.start();
    talk.feed(new Input.EffectDue(talk.timers().get(0), 1_000 + H));
    talk.result(talk.pendingEffect());
    talk.crash(talk.journal.size());
    talk.recover();
    talk.settle();
    String key = talk.state.runId() + "/ask_a#1/reminder/1";
    assertThat(ran).containsExactly("1 " + key, "2 " + key);
    assertThat(talk.events(Event.Reminded.class)).hasSize(1);
  }

  @Test
  void remindersAndADeadlineGoTogether() {
    Driver talk =
        drive(
            ask(talk(), "a")
                .remind("ask_a", HOUR, 5, run -> ran.add("reminded"))
                .deadline("ask_a", HOUR.multipliedBy(2).plusMinutes(1), END),
            "ask_a");
    talk.start();
    assertThat(kinds(talk)).containsExactly(StepEffect.Kind.DEADLINE, StepEffect.Kind.REMIND);
    talk.pass();
    talk.pass();
    assertThat(talk.pass()).isInstanceOf(Outcome.Complete.class);
    assertThat(ran).hasSize(2);
  }

  // --- signals --------------------------------------------------------------------------------

  private Driver paid(Consumer<FlowBuilder<Flows.Talk>> more) {
    FlowBuilder<Flows.Talk> flow =
        ask(talk(), "a").waitFor("payment", "paid", "number").act("then", run -> ran.add("then"));
    more.accept(flow);
    return drive(flow, "ask_a", "payment", "then");
  }

  @Test
  void aRunWaitsForASignalAndPutsItsPayloadIntoAField() {
    Driver talk = paid(f -> {});
    Outcome pause = talk.start("a", "x");
    assertThat(code(pause)).isEqualTo("waiting");
    assertThat(((Outcome.Waiting) pause).waitsFor()).isEqualTo("signal paid");
    assertThat(talk.signal("paid", 42)).isInstanceOf(Outcome.Complete.class);
    assertThat(talk.state.data().path("number").asInt()).isEqualTo(42);
    assertThat(ran).containsExactly("then");
  }

  @Test
  void aSignalThatComesEarlyIsTakenWhenANodeWaitsForIt() {
    Driver talk = paid(f -> {});
    talk.start();
    assertThat(asked(talk.signal("paid", 42))).containsExactly("a");
    assertThat(talk.state.data().has("number")).isFalse();
    assertThat(talk.proceed("a", "x")).isInstanceOf(Outcome.Complete.class);
    assertThat(talk.events(Event.Awaited.class)).isEmpty();
    assertThat(talk.state.signals()).isEmpty();
  }

  @Test
  void everyWaitTakesASignalOfItsOwnTheOldestFirst() {
    Driver talk =
        drive(
            talk().waitFor("one", "s", "a").waitFor("two", "s", "b").waitFor("three", "s", "c"),
            "one",
            "two",
            "three");
    talk.start();
    talk.signal("s", "1");
    assertThat(code(talk.signal("s", "2"))).isEqualTo("waiting");
    assertThat(Driver.result(talk.signal("s", "3")))
        .isEqualTo(object("a", "1", "b", "2", "c", "3"));
  }

  @Test
  void inALoopEveryPassWaitsAgain() {
    Driver talk =
        new Driver(
            talk()
                .waitFor("wait", "s", "a")
                .edge(START, "wait")
                .decide("wait", d -> d.when(eq("a", "stop")).to(END).otherwise("wait"))
                .compile());
    talk.start();
    assertThat(code(talk.signal("s", "go"))).isEqualTo("waiting");
    assertThat(talk.signal("s", "stop")).isInstanceOf(Outcome.Complete.class);
  }

  @Test
  void ofSeveralBranchesThatWaitForTheSameTheFirstTakesIt() {
    Driver talk =
        new Driver(
            talk()
                .waitFor("one", "s", "a")
                .waitFor("two", "s", "b")
                .fork(START, f -> f.branch("one").branch("two").join(END))
                .edge("one", END)
                .edge("two", END)
                .compile());
    talk.start();
    assertThat(code(talk.signal("s", "1"))).isEqualTo("waiting");
    assertThat(Driver.result(talk.signal("s", "2"))).isEqualTo(object("a", "1", "b", "2"));
  }

  @Test
  void aSignalOfAnUnknownNameIsRefusedAndTheNearestNamed() {
    Driver talk = paid(f -> {});
    talk.start();
    Outcome refused = talk.signal("piad", 1);
    assertThat(code(refused)).isEqualTo("unknown_signal");
    assertThat(failure(refused).message()).contains("piad", "did you mean paid?");
    assertThat(failure(talk.signal("something else", 1)).message()).contains("it waits for paid");
    assertThat(asked(refused)).containsExactly("a");
    Driver none = drive(ask(talk(), "a"), "ask_a");
    none.start();
    assertThat(failure(none.signal("paid", 1)).message()).contains("there are none");
  }

  @Test
  void aPayloadThatDoesNotFitIsRefusedAndChangesNothing() {
    for (Object payload : List.of("many", Map.of("n", 1), "")) {
      Driver talk = paid(f -> {});
      talk.start("a", "x");
      RunState before = talk.state;
      Outcome refused = talk.signal("paid", payload);
      assertThat(code(refused)).isEqualTo("invalid_signal");
      assertThat(violated(refused)).containsExactly("number");
      assertThat(talk.state).isSameAs(before);
    }
  }

  record Decision(
      @NotNull Boolean approved,
      @Nullable @Min(1) Integer amount,
      @Nullable @Size(max = 3) String note) {}

  record Expense(String who, @Computed Decision decision, @Secret @Min(1) Integer pin) {}

  /** Asks who it is, and waits for two decisions and a secret. */
  private static Driver expense() {
    return new Driver(
        Flow.of("expense", Expense.class)
            .description("Pays an expense back.")
            .ask("ask_who", q -> q.question("who", "Who?"))
            .waitFor("first", "decision", "decision")
            .waitFor("second", "decision", "decision")
            .waitFor("unlock", "pin", "pin")
            .edge(START, "ask_who")
            .edge("ask_who", "first")
            .edge("first", "second")
            .edge("second", "unlock")
            .edge("unlock", END)
            .result(expense -> expense.decision())
            .compile());
  }

  @Test
  void aPayloadIsJudgedByTheConstraintsOfItsFieldWhetherItComesEarlyOrIsWaitedFor() {
    for (boolean early : List.of(true, false)) {
      Driver expense = expense();
      expense.start(early ? new Object[0] : new Object[] {"who", "Ann"});
      assertThat(refusal(expense, "decision", Map.of())).isEqualTo("decision lacks approved");
      assertThat(refusal(expense, "decision", Map.of("approvd", true)))
          .isEqualTo("decision lacks approved");
      assertThat(refusal(expense, "decision", Map.of("approved", "yes", "amount", -4)))
          .isEqualTo(
              "decision.approved must be true or false, not \"yes\";"
                  + " decision.amount must be 1 or more, not -4");
      assertThat(refusal(expense, "decision", Map.of("approved", true, "note", "long")))
          .isEqualTo("decision.note must have at most 3 characters");
      assertThat(refusal(expense, "pin", 0)).isEqualTo("pin must be 1 or more");
      assertThat(expense.state.signals()).isEmpty();
    }
  }

  private static String refusal(Driver talk, String signal, Object payload) {
    Outcome refused = talk.signal(signal, payload);
    assertThat(code(refused)).isEqualTo("invalid_signal");
    return failure(refused)
        .message()
        .replace(ErrorCode.INVALID_SIGNAL.cause() + ": ", "")
        .replace(". " + ErrorCode.INVALID_SIGNAL.repair() + ".", "");
  }

  @Test
  void aPayloadMayHaveNamesThatItsFieldDoesNotHaveAndPartsThatAreNull() {
    Driver expense = expense();
    expense.start("who", "Ann");
    ObjectNode sent = object("approved", true, "hook", object("id", 7));
    sent.putNull("note");
    assertThat(code(expense.signal("decision", sent))).isEqualTo("waiting");
    assertThat(expense.state.data().path("decision")).isEqualTo(sent);
  }

  record Deal(String who, @Max(100) Integer deposit, @Max(1_000) Integer rest) {}

  /** Asks who it is, and waits for a deposit and for the rest, both under one name. */
  private static Driver deal() {
    return new Driver(
        Flows.chain(
                Flow.of("deal", Deal.class)
                    .description("Sells something.")
                    .ask("ask_who", q -> q.question("who", "Who?"))
                    .waitFor("first", "paid", "deposit")
                    .waitFor("second", "paid", "rest")
                    .result(deal -> deal),
                "ask_who",
                "first",
                "second")
            .compile());
  }

  @Test
  void aPayloadIsJudgedByTheNodeThatTakesItNotByOthersThatWaitForItsName() {
    Driver deal = deal();
    deal.start("who", "Ann");
    assertThat(refusal(deal, "paid", 500)).isEqualTo("deposit must be 100 or less, not 500");
    assertThat(code(deal.signal("paid", 50))).isEqualTo("waiting");
    assertThat(refusal(deal, "paid", 5_000)).isEqualTo("rest must be 1000 or less, not 5000");
    assertThat(Driver.result(deal.signal("paid", 500)))
        .isEqualTo(object("who", "Ann", "deposit", 50, "rest", 500));
  }

  @Test
  void anEarlySignalNeedsToFitOneOfTheNodesThatWaitForItsName() {
    Driver deal = deal();
    deal.start();
    assertThat(refusal(deal, "paid", 5_000))
        .isEqualTo("deposit must be 100 or less, not 5000; rest must be 1000 or less, not 5000");
    deal.signal("paid", 50);
    assertThat(asked(deal.signal("paid", 500))).containsExactly("who");
    assertThat(Driver.result(deal.proceed("who", "Ann")))
        .isEqualTo(object("who", "Ann", "deposit", 50, "rest", 500));
  }

  @Test
  void anEarlySignalThatFitsAnotherNodeThanTheOneThatTakesItIsDropped() {
    Driver deal = deal();
    deal.start();
    deal.signal("paid", 500);
    deal.signal("paid", 50);
    Outcome stop = deal.proceed("who", "Ann");
    assertThat(code(stop)).isEqualTo("step_failed");
    assertThat(failure(stop).message()).contains("signal paid", "first", "dropped");
    assertThat(code(deal.proceed())).isEqualTo("waiting");
    assertThat(deal.state.data().path("deposit").asInt()).isEqualTo(50);
  }

  record Account(String name, Integer paid) {
    Account {
      if (paid != null && paid < 0) {
        throw new IllegalArgumentException("Nobody pays less than nothing.");
      }
    }
  }

  /** Asks for a name and waits for a payment, for three days. */
  private static Driver account(Limits limits) {
    FlowBuilder<Account> flow =
        Flow.of("account", Account.class)
            .description("Waits for a payment.")
            .ask("ask_name", q -> q.question("name", "Name?"))
            .waitFor("payment", "paid", "paid")
            .deadline("payment", Duration.ofDays(3), END)
            .result(account -> account);
    return new Driver(Flows.chain(flow, "ask_name", "payment").compile(), limits);
  }

  @Test
  void aSignalThatTheStateRejectsIsRefusedAndTheRunWaitsOn() {
    Driver account = account(Limits.DEFAULT);
    account.start("name", "Ada");
    Outcome refused = account.signal("paid", -1);
    assertThat(code(refused)).isEqualTo("invalid_signal");
    assertThat(violated(refused)).containsExactly("paid");
    assertThat(Driver.result(account.signal("paid", 5)))
        .isEqualTo(object("name", "Ada", "paid", 5));
  }

  @Test
  void aSignalThatMakesTheStateTooLargeIsRefusedAndTheRunWaitsOn() {
    Driver account = account(new Limits(100, 100, 100, 32));
    account.start("name", "x".repeat(80));
    assertThat(code(account.signal("paid", 1_234_567_890))).isEqualTo("state_too_large");
    assertThat(account.signal("paid", 5)).isInstanceOf(Outcome.Complete.class);
  }

  @Test
  void anEarlySignalThatCannotBeKeptIsDroppedAndTheNextOneTaken() {
    Driver account = account(Limits.DEFAULT);
    account.start();
    account.signal("paid", -1);
    account.signal("paid", 5);
    Outcome stop = account.proceed("name", "Ada");
    assertThat(code(stop)).isEqualTo("step_failed");
    assertThat(failure(stop).message()).contains("signal paid", "payment", "dropped");
    assertThat(account.state.signals()).extracting(RunState.Signal::payload).hasSize(1);
    assertThat(Driver.result(account.proceed())).isEqualTo(object("name", "Ada", "paid", 5));
  }

  record Payments(String name, Integer first, Integer second) {
    Payments {
      if (first != null && first < 0) {
        throw new IllegalArgumentException("Nobody pays less than nothing.");
      }
    }
  }

  /** Asks for a name and waits for two payments. */
  private static Driver payments() {
    FlowBuilder<Payments> flow =
        Flow.of("payments", Payments.class)
            .description("Waits for two payments.")
            .ask("ask_name", q -> q.question("name", "Name?"))
            .waitFor("one", "paid", "first")
            .waitFor("two", "paid", "second")
            .result(payments -> payments);
    return new Driver(Flows.chain(flow, "ask_name", "one", "two").compile());
  }

  private static List<String> received(Driver talk) {
    return talk.events(Event.Received.class).stream()
        .map(received -> String.valueOf(received.payload()))
        .toList();
  }

  @Test
  void anEarlySignalThatWasRefusedArrivesOnceWhenItIsSentAgain() {
    Driver payments = payments();
    payments.start();
    assertThat(code(payments.signal("paid", "ten"))).isEqualTo("invalid_signal");
    payments.signal("paid", 10);
    assertThat(code(payments.proceed("name", "Ada"))).isEqualTo("waiting");
    assertThat(Driver.result(payments.signal("paid", 20)))
        .isEqualTo(object("name", "Ada", "first", 10, "second", 20));
    assertThat(received(payments)).containsExactly("10", "20");
  }

  @Test
  void anEarlySignalThatWasDroppedArrivesOnceWhenItIsSentAgainAfterThoseThatCameMeanwhile() {
    for (boolean crash : List.of(false, true)) {
      Driver payments = payments();
      payments.start();
      payments.signal("paid", -10);
      payments.signal("paid", 20);
      assertThat(code(payments.proceed("name", "Ada"))).isEqualTo("step_failed");
      assertThat(code(payments.signal("paid", 10))).isEqualTo("step_failed");
      if (crash) {
        payments.crash(payments.journal.size());
        payments.recover();
      }
      assertThat(Driver.result(payments.proceed()))
          .isEqualTo(object("name", "Ada", "first", 20, "second", 10));
      assertThat(received(payments)).containsExactly("20", "10");
      assertThat(payments.events(Event.Signalled.class)).hasSize(3);
    }
  }

  @Test
  void afterADroppedSignalTheNodeWaitsAgainUntilItsDeadline() {
    Driver account = account(Limits.DEFAULT);
    account.start();
    account.signal("paid", -1);
    account.proceed("name", "Ada");
    assertThat(code(account.proceed())).isEqualTo("waiting");
    assertThat(account.pass()).isInstanceOf(Outcome.Complete.class);
  }

  @Test
  void tooManySignalsOrTooLargeOnesAreRefused() {
    Driver talk =
        new Driver(
            Flows.chain(ask(talk(), "a").waitFor("w", "s", "b"), "ask_a", "w").compile(),
            new Limits(4_000, 100, 100, 32));
    talk.start();
    assertThat(code(talk.signal("s", "x".repeat(1_001)))).isEqualTo("state_too_large");
    for (int i = 0; i < 100; i++) {
      assertThat(asked(talk.signal("s", "x"))).containsExactly("a");
    }
    assertThat(code(talk.signal("s", "x"))).isEqualTo("signal_limit");
  }

  @Test
  void aSignalAfterTheEndSaysThatItIsOver() {
    Driver talk = paid(f -> {});
    talk.start();
    talk.cancel();
    assertThat(code(talk.signal("paid", 1))).isEqualTo("run_cancelled");
  }

  @Test
  void aSignalThatWasTakenIsNotTakenAgainAfterACorrection() {
    Driver talk =
        drive(
            ask(talk(), "a").waitFor("w", "s", "b").ask("ask_c", q -> q.question("c", "c?")),
            "ask_a",
            "w",
            "ask_c");
    talk.start("a", "x");
    talk.signal("s", "1");
    assertThat(code(talk.reset("a", "y"))).isEqualTo("waiting");
    assertThat(asked(talk.signal("s", "2"))).containsExactly("c");
    assertThat(talk.state.data()).isEqualTo(object("a", "y", "b", "2"));
  }

  // --- side by side ---------------------------------------------------------------------------

  @Test
  void sleepsInSeveralBranchesEachEndAtTheirMoment() {
    Driver talk =
        new Driver(
            ask(talk(), "a")
                .sleep("short", HOUR)
                .sleep("long", HOUR.multipliedBy(2))
                .act("one", run -> ran.add("one"))
                .act("two", run -> ran.add("two"))
                .fork(START, f -> f.branch("short").branch("long").branch("ask_a").join(END))
                .edge("short", "one")
                .edge("one", END)
                .edge("long", "two")
                .edge("two", END)
                .edge("ask_a", END)
                .compile());
    assertThat(asked(talk.start())).containsExactly("a");
    assertThat(due(talk)).containsExactlyInAnyOrder(1_000 + H, 1_000 + 2 * H);
    assertThat(code(talk.proceed("a", "x"))).isEqualTo("waiting");
    talk.pass();
    assertThat(ran).containsExactly("one");
    assertThat(talk.pass()).isInstanceOf(Outcome.Complete.class);
    assertThat(ran).containsExactly("one", "two");
  }

  @Test
  void aRunSaysWhenItContinuesByItselfUnlessSomebodyIsAsked() {
    Driver talk = napping();
    talk.start();
    assertThat(((Program.Pause<StepEffect>) talk.program.next(talk.state)).until())
        .isEqualTo(1_000 + H);
    Driver asking =
        new Driver(
            ask(talk(), "a")
                .sleep("nap", HOUR)
                .fork(START, f -> f.branch("nap").branch("ask_a").join(END))
                .edge("nap", END)
                .edge("ask_a", END)
                .compile());
    asking.start();
    assertThat(((Program.Pause<StepEffect>) asking.program.next(asking.state)).until()).isNull();
  }
}
