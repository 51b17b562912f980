package io.fermata.flow;

import static io.fermata.flow.Driver.asked;
import static io.fermata.flow.Driver.code;
import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.Flows.ask;
import static io.fermata.flow.Flows.chain;
import static io.fermata.flow.Flows.drive;
import static io.fermata.flow.Flows.talk;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.flow.action.Run;
import io.fermata.flow.action.StepException;
import io.fermata.flow.engine.FlowProgram;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Input;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.event.Program;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.StepEffect;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Limits;
import io.fermata.flow.record.Narrative;
import io.fermata.flow.record.RunObserver;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** A run that nobody touches for too long ends by itself. */
class ExpiryTest {
  private static final Duration DAY = Duration.ofDays(1);

  private final List<String> did = new ArrayList<>();
  private int failures;

  private FlowBuilder<Flows.Talk> flow() {
    return talk().expireAfter(DAY);
  }

  private void hook(Run<Flows.Talk> run) {
    did.add("told of " + run.state().a());
    if (failures-- > 0) {
      throw new StepException("Nobody listens.");
    }
  }

  @Test
  void aRunThatIsStoppedWaitsForTheTimeAtWhichItExpires() {
    Driver talk = drive(ask(flow(), "a", "b"), "ask_a");
    talk.start();
    long asked = talk.state.changedAt();

    assertThat(talk.timers()).extracting(StepEffect::kind).containsExactly(StepEffect.Kind.EXPIRE);
    assertThat(talk.timers()).extracting(StepEffect::due).containsExactly(asked + DAY.toMillis());
  }

  @Test
  void aRunEndsWhenItsTimeHasComeThoughNobodyCalls() {
    Driver talk = drive(ask(flow(), "a"), "ask_a");
    talk.start();

    assertThat(code(talk.pass())).isEqualTo("run_expired");
    assertThat(talk.state.status()).isEqualTo(RunState.Status.EXPIRED);
    assertThat(talk.journal.get(talk.journal.size() - 1)).isEqualTo(new Event.Expired(talk.now));
    assertThat(code(talk.proceed("a", "x"))).isEqualTo("run_expired");
    assertThat(asked(talk.start())).containsExactly("a");
  }

  private static FlowProgram<?> noting(UnaryOperator<FlowBuilder<Note>> expiry) {
    FlowBuilder<Note> flow =
        Flow.of("note", Note.class)
            .description("Notes.")
            .ask("ask", q -> q.question("text", "What?"))
            .edge(START, "ask")
            .edge("ask", END);
    return FlowProgram.of(expiry.apply(flow).compile(), Limits.DEFAULT);
  }

  record Note(String text) {}

  private static @Nullable Long expiry(FlowProgram<?> program) {
    Program.Acceptance<RunState, Event> started =
        program.accept(RunState.NONE, new Input.Start("run", "to note", Json.object(), 0));
    return program.expiresAt(
        RunState.NONE.apply(((Program.Accepted<RunState, Event>) started).events()));
  }

  @Test
  void aRunExpiresAfterThirtyDaysUnlessItsFlowSaysElse() {
    assertThat(expiry(noting(flow -> flow))).isEqualTo(Duration.ofDays(30).toMillis());
    assertThat(expiry(noting(flow -> flow.expireAfter(DAY)))).isEqualTo(DAY.toMillis());
    assertThat(expiry(noting(FlowBuilder::neverExpire))).isNull();
  }

  @Test
  void anAnswerPutsTheTimeOff() {
    Driver talk = drive(ask(flow(), "a", "b"), "ask_a");
    talk.start();
    StepEffect early = talk.timers().get(0);
    talk.now += DAY.dividedBy(2).toMillis();
    talk.proceed("a", "x");

    talk.feed(new Input.EffectDue(early, talk.now + DAY.toMillis()));

    assertThat(talk.state.running()).isTrue();
    assertThat(talk.timers().get(0).due()).isGreaterThan(early.due());
  }

  @Test
  void aRunThatSleepsDoesNotExpire() {
    Driver talk = drive(ask(flow().sleep("nap", DAY.multipliedBy(3)), "a"), "nap", "ask_a");
    talk.start();

    assertThat(talk.timers()).extracting(StepEffect::kind).containsExactly(StepEffect.Kind.SLEEP);
    assertThat(asked(talk.pass())).containsExactly("a");
  }

  @Test
  void aRunLivesUntilADeadlineThatItsAuthorDeclared() {
    Duration sixty = Duration.ofDays(60);
    List<Driver> waiting =
        List.of(
            drive(
                ask(flow().waitFor("pay", "paid"), "a").deadline("pay", sixty, "ask_a"),
                "pay",
                "ask_a"),
            drive(ask(ask(flow(), "b"), "a").deadline("ask_b", sixty, "ask_a"), "ask_b", "ask_a"));
    for (Driver talk : waiting) {
      talk.start();

      assertThat(talk.timers()).extracting(StepEffect::kind).containsOnly(StepEffect.Kind.DEADLINE);
      assertThat(talk.program.expiresAt(talk.state)).isNull();
      talk.now += sixty.toMillis() / 2;
      assertThat(code(talk.proceed("number", "none"))).isEqualTo("invalid_updates");
      assertThat(asked(talk.pass())).containsExactly("a");
      assertThat(talk.timers()).extracting(StepEffect::kind).containsOnly(StepEffect.Kind.EXPIRE);
    }
  }

  @Test
  void aSleepBesideAQuestionIsADeclaredMomentToo() {
    Driver talk =
        new Driver(
            ask(flow(), "a")
                .sleep("nap", DAY.multipliedBy(3))
                .fork(START, f -> f.branch("ask_a").branch("nap").join(END))
                .edge("ask_a", END)
                .edge("nap", END)
                .compile());
    talk.start();

    assertThat(talk.timers()).extracting(StepEffect::kind).containsExactly(StepEffect.Kind.SLEEP);
    assertThat(asked(talk.pass())).containsExactly("a");
    assertThat(talk.timers()).extracting(StepEffect::kind).containsExactly(StepEffect.Kind.EXPIRE);
  }

  @Test
  void anAnswerThatCannotBeCheckedDoesNotEndTheRunBeforeItsDeadline() {
    Driver talk =
        drive(
            ask(flow(), "a")
                .ask(
                    "ask_b",
                    q ->
                        q.question(
                            "b",
                            "What is b?",
                            b ->
                                b.validate(
                                    answer -> {
                                      throw new IllegalStateException("the check is down");
                                    })))
                .deadline("ask_b", DAY.multipliedBy(3), "ask_a"),
            "ask_b",
            "ask_a");
    talk.start();
    long deadline = Objects.requireNonNull(talk.timers().get(0).due());

    assertThat(code(talk.proceed("b", "x"))).isEqualTo("validator_failed");
    assertThat(talk.program.expiresAt(talk.state)).isEqualTo(deadline);
  }

  /** Begins a run, and lets three days pass while it works. */
  private static StepEffect working(Driver talk) {
    talk.feed(new Input.Start("run", "to test", Json.object(), talk.now));
    StepEffect work = talk.pendingEffect();
    talk.now += DAY.multipliedBy(3).toMillis();
    return work;
  }

  @Test
  void aRunThatStopsAfterLongWorkHasItsTimeFromThere() {
    Driver talk =
        drive(
            ask(flow(), "a")
                .act(
                    "work",
                    run -> {
                      throw new StepException("No.");
                    }),
            "work",
            "ask_a");
    StepEffect work = working(talk);
    talk.feed(new Input.EffectEnded(work, talk.result(work), talk.now));

    assertThat(talk.program.expiresAt(talk.state)).isEqualTo(talk.now + DAY.toMillis());
    assertThat(code(talk.proceed())).isEqualTo("step_failed");
  }

  @Test
  void aRunThatTheEndOfItsProcessStoppedHasItsTimeFromThere() {
    Driver talk = drive(ask(flow(), "a").act("pay", run -> {}, o -> o.once()), "pay", "ask_a");
    working(talk);
    talk.crash(talk.journal.size());
    talk.recover();

    assertThat(code(talk.settle())).isEqualTo("outcome_unknown");
    assertThat(asked(talk.resolve(Input.Resolution.SKIP))).containsExactly("a");
  }

  @Test
  void aRunWhoseBranchEndsAfterLongWorkHasItsTimeFromThere() {
    Driver talk =
        new Driver(
            ask(flow(), "a")
                .act("work", run -> {})
                .fork(START, f -> f.branch("ask_a").branch("work").join(END))
                .edge("ask_a", END)
                .edge("work", END)
                .compile());
    StepEffect work = working(talk);
    talk.feed(new Input.EffectEnded(work, talk.result(work), talk.now));

    assertThat(talk.program.expiresAt(talk.state)).isEqualTo(talk.now + DAY.toMillis());
    assertThat(talk.proceed("a", "x")).isInstanceOf(Outcome.Complete.class);
  }

  private Driver booked() {
    Driver talk =
        drive(
            ask(flow(), "a")
                .act("book", run -> did.add("book"))
                .compensate("book", run -> did.add("unbook"))
                .onExpire(this::hook),
            "book",
            "ask_a");
    talk.start();
    return talk;
  }

  @Test
  void whatAnExpiredRunDidIsUndoneBeforeTheHookRuns() {
    Driver talk = booked();

    assertThat(code(talk.pass())).isEqualTo("run_expired");
    assertThat(did).containsExactly("book", "unbook", "told of null");
    assertThat(Driver.fold(talk.journal)).isEqualTo(talk.state);
  }

  @Test
  void theHookGetsWhatTheRunKnew() {
    Driver talk = drive(ask(ask(flow(), "a"), "b").onExpire(this::hook), "ask_a", "ask_b");
    talk.start();
    talk.proceed("a", "x");

    assertThat(code(talk.pass())).isEqualTo("run_expired");
    assertThat(did).containsExactly("told of x");
  }

  @Test
  void aHookThatFailsIsTriedAgainAsItsPolicySays() {
    failures = 1;
    Driver talk =
        drive(
            ask(flow(), "a").onExpire(this::hook, hook -> hook.retry(2, Duration.ofSeconds(1))),
            "ask_a");
    talk.start();

    assertThat(code(talk.pass())).isEqualTo("run_expired");
    assertThat(did).hasSize(2);
    assertThat(talk.state.status()).isEqualTo(RunState.Status.EXPIRED);
  }

  @Test
  void aHookThatFailsForGoodWaitsForSomebodyToDecide() {
    failures = 9;
    Driver talk = drive(ask(flow(), "a").onExpire(this::hook), "ask_a");
    talk.start();

    assertThat(code(talk.pass())).isEqualTo("compensation_failed");
    assertThat(code(talk.resolve(Input.Resolution.SKIP))).isEqualTo("run_expired");
  }

  @Test
  void aCrashDuringTheHookRunsItAgain() {
    Driver talk = drive(ask(flow(), "a").onExpire(this::hook), "ask_a");
    talk.start();
    StepEffect expiry = talk.timers().get(0);
    talk.now += DAY.toMillis();
    talk.feed(new Input.EffectDue(expiry, talk.now));

    talk.crash(talk.journal.size());
    talk.recover();

    assertThat(talk.pendingEffect().attempt()).isEqualTo(2);
    assertThat(code(talk.settle())).isEqualTo("run_expired");
  }

  @Test
  void theHookRunsOnlyWhenTheRunExpires() {
    Driver talk = drive(ask(flow(), "a").onExpire(this::hook), "ask_a");
    talk.start();
    talk.cancel();
    talk.start();
    talk.proceed("a", "x");

    assertThat(did).isEmpty();
  }

  @Test
  void recordersReceiveTheEndAndTheHook() {
    Flow<Flows.Talk> flow = chain(ask(flow(), "a").onExpire(this::hook), "ask_a").compile();
    Driver talk = new Driver(flow);
    talk.start();
    talk.pass();

    Narrative narrative = new Narrative();
    RunObserver recording = RunObserver.of(flow, "s", narrative);
    talk.entries.forEach(e -> recording.record(e.seq(), e.at(), e.events()));

    assertThat(narrative.text())
        .contains("The flow was notified that the run expired.")
        .contains("The run expired after");
  }

  @Test
  void theNarrativeOfAnExpiredRunNamesTheStepsThatAreUndoneAndNotTheHook() {
    Driver talk = booked();
    talk.pass();

    Narrative narrative = new Narrative();
    RunObserver recording = RunObserver.of(talk.program.flow(), "s", narrative);
    talk.entries.forEach(e -> recording.record(e.seq(), e.at(), e.events()));

    assertThat(narrative.text())
        .contains("The run had waited too long; first book had to be undone.\n")
        .doesNotContain("could not continue", "__start__");
  }

  @Test
  void aHookWithoutAnExpiryIsADefect() {
    assertThatThrownBy(() -> chain(ask(talk(), "a").onExpire(this::hook), "ask_a").compile())
        .hasMessageContaining("neverExpire()");
  }
}
