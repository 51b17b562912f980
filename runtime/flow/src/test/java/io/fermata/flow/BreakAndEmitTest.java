package io.fermata.flow;

import static io.fermata.flow.Driver.asked;
import static io.fermata.flow.Driver.code;
import static io.fermata.flow.Driver.object;
import static io.fermata.flow.Driver.result;
import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.Flows.ask;
import static io.fermata.flow.Flows.chain;
import static io.fermata.flow.Flows.drive;
import static io.fermata.flow.Flows.talk;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.action.Caller;
import io.fermata.flow.action.Progress;
import io.fermata.flow.action.StepException;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Input;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.StepEffect;
import io.fermata.flow.json.Json;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** A step that ends its flow early, and a step that tells of something. */
class BreakAndEmitTest {
  private final List<String> ran = new ArrayList<>();

  private static @Nullable String reason(Outcome outcome) {
    assertThat(outcome).isInstanceOf(Outcome.Complete.class);
    return ((Outcome.Complete) outcome).reason();
  }

  // --- ending early ---------------------------------------------------------------------------

  @Test
  void aStepEndsTheRunWithAReasonAndWhatItWroteCounts() {
    Driver talk =
        drive(
            ask(talk(), "a")
                .act("stop", run -> run.set("c", "so far").end("No seats are left."))
                .act("never", run -> ran.add("never")),
            "ask_a",
            "stop",
            "never");
    talk.start();
    Outcome end = talk.proceed("a", "x");
    assertThat(reason(end)).isEqualTo("No seats are left.");
    assertThat(result(end)).isEqualTo(object("a", "x", "c", "so far"));
    assertThat(ran).isEmpty();
    assertThat(talk.events(Event.Completed.class).get(0).reason()).isEqualTo("No seats are left.");
    assertThat(talk.events(Event.Broken.class)).hasSize(1);
  }

  @Test
  void aRunThatGoesAllItsWayHasNoReason() {
    assertThat(reason(drive(talk().act("go", run -> {}), "go").start())).isNull();
  }

  @Test
  void aStepThatFailsEndsNothing() {
    Driver talk =
        drive(
            talk()
                .act(
                    "stop",
                    run -> {
                      run.end("Never mind.");
                      throw new StepException("No.");
                    }),
            "stop");
    assertThat(code(talk.start())).isEqualTo("step_failed");
    assertThat(talk.state.running()).isTrue();
  }

  @Test
  void nothingIsUndoneByAnEarlyEnd() {
    Driver talk =
        drive(
            talk()
                .act("work", run -> ran.add("work"))
                .compensate("work", run -> ran.add("undo"))
                .act("stop", run -> run.end("Enough.")),
            "work",
            "stop");
    assertThat(reason(talk.start())).isEqualTo("Enough.");
    assertThat(ran).containsExactly("work");
  }

  /** Asks for a beside a branch that works and one that asks for b and then ends the flow. */
  private Driver besideWork() {
    return new Driver(
        ask(ask(talk(), "a"), "b")
            .act("work", run -> run.set("c", "" + ran.add("work")))
            .compensate("work", run -> ran.add("undo work"))
            .ask("more", q -> q.question("flag", "More?"))
            .act("stop", run -> run.set("computed", "stopped").end("Enough."))
            .act("join", run -> ran.add("join"))
            .fork(START, f -> f.branch("ask_a").branch("work").branch("ask_b").join("join"))
            .edge("ask_a", "join")
            .edge("work", "more")
            .edge("more", "join")
            .edge("ask_b", "stop")
            .edge("stop", "join")
            .edge("join", END)
            .compile());
  }

  @Test
  void aBranchEndsTheWholeFlowAndTheOthersAreDroppedAndUndone() {
    Driver talk = besideWork();
    assertThat(asked(talk.start())).containsExactly("a", "flag", "b");
    Outcome end = talk.proceed("b", "y");
    assertThat(reason(end)).isEqualTo("Enough.");
    assertThat(result(end)).isEqualTo(object("b", "y", "computed", "stopped"));
    assertThat(ran).containsExactly("work", "undo work");
    Event.Joined joined = talk.events(Event.Joined.class).get(0);
    assertThat(joined.merged()).containsExactly("ask_b");
    assertThat(joined.dropped()).containsExactly("ask_a", "work");
    assertThat(joined.ends()).isEqualTo("Enough.");
  }

  @Test
  void aBranchThatHasArrivedIsDroppedLikeTheOthers() {
    Driver talk = besideWork();
    talk.start();
    talk.proceed("a", "x");
    assertThat(result(talk.proceed("b", "y")).has("a")).isFalse();
  }

  @Test
  void fromAForkWithinAForkTheWholeFlowEnds() {
    Driver talk =
        new Driver(
            ask(ask(talk(), "a"), "b")
                .act("begin", run -> run.set("c", "begun"))
                .act("stop", run -> run.end("Enough."))
                .act("inner", run -> ran.add("inner"))
                .fork(START, f -> f.branch("begin").branch("ask_a").join(END))
                .fork("begin", f -> f.branch("ask_b").branch("stop").join("inner"))
                .edge("ask_b", "inner")
                .edge("stop", "inner")
                .edge("inner", END)
                .edge("ask_a", END)
                .compile());
    Outcome end = talk.start();
    assertThat(reason(end)).isEqualTo("Enough.");
    assertThat(result(end)).isEqualTo(object("c", "begun"));
    assertThat(ran).isEmpty();
  }

  // --- in a sub-flow --------------------------------------------------------------------------

  private static Flow<Flows.Talk> stopping() {
    return new SubflowStop().flow();
  }

  /** A sub-flow one of whose branches ends it. */
  private record SubflowStop() {
    Flow<Flows.Talk> flow() {
      return ask(talk(), "a")
          .act("stop", run -> run.set("c", "inside").end("Enough."))
          .fork(START, f -> f.branch("ask_a").branch("stop").join(END))
          .edge("ask_a", END)
          .edge("stop", END)
          .result(Flows.Talk::c)
          .compile();
    }
  }

  @Test
  void aSubFlowEndsAloneAndTheFlowAroundContinuesWithItsResult() {
    Driver talk =
        drive(ask(talk().subflow("sub", stopping(), m -> m.into("b")), "a"), "sub", "ask_a");
    assertThat(asked(talk.start())).containsExactly("a");
    Outcome end = talk.proceed("a", "x");
    assertThat(reason(end)).isNull();
    assertThat(result(end)).isEqualTo(object("a", "x", "b", "inside"));
  }

  @Test
  void aSubFlowInABranchEndsWithoutTheOtherBranches() {
    Driver talk =
        new Driver(
            ask(talk().subflow("sub", stopping(), m -> m.into("b")), "a")
                .fork(START, f -> f.branch("sub").branch("ask_a").join(END))
                .edge("sub", END)
                .edge("ask_a", END)
                .compile());
    assertThat(asked(talk.start())).containsExactly("a");
    assertThat(result(talk.proceed("a", "x"))).isEqualTo(object("a", "x", "b", "inside"));
  }

  @Test
  void anItemOfAListEndsWithoutTheOtherItems() {
    Flow<Flows.Talk> item =
        chain(
                ask(
                    talk()
                        .act(
                            "look",
                            run -> {
                              run.set("c", run.state().a());
                              if (run.state().a().equals("x")) {
                                run.end("Known.");
                              }
                            }),
                    "b"),
                "look",
                "ask_b")
            .result(Flows.Talk::c)
            .compile();
    Driver talk =
        drive(
            talk()
                .forEach(
                    "each",
                    item,
                    (ForEach<Flows.Talk, String> o) ->
                        o.items(Flows.Talk::list)
                            .input((t, name) -> Map.of("a", name))
                            .atMost(3)
                            .into("log")),
            "each");
    assertThat(asked(talk.start("list", List.of("x", "y")))).containsExactly("each.1.b");
    Outcome end = talk.proceed("each.1.b", "z");
    assertThat(reason(end)).isNull();
    assertThat(result(end).path("log")).isEqualTo(Json.tree(List.of("x", "y")));
  }

  @Test
  void anEarlyEndIsTakenBackByACorrection() {
    Flow<Flows.Talk> inner =
        chain(
                ask(talk(), "flag")
                    .act(
                        "look",
                        run -> {
                          if (run.state().flag()) {
                            run.end("Enough.");
                          }
                        })
                    .ask("ask_b", q -> q.question("b", "b?")),
                "ask_flag",
                "look",
                "ask_b")
            .compile();
    Driver talk = drive(ask(talk().subflow("sub", inner, m -> {}), "a"), "sub", "ask_a");
    talk.start("sub.flag", true);
    assertThat(asked(talk.reset("sub.flag", false))).containsExactly("sub.b");
  }

  // --- telling --------------------------------------------------------------------------------

  @Test
  void whatAStepEmitsIsJournaledWithItsWritesInOrder() {
    Driver talk =
        drive(
            talk()
                .act(
                    "tell",
                    run -> run.emit("found", Map.of("seats", 3)).set("a", "x").emit("done", null)),
            "tell");
    talk.start();
    assertThat(talk.events(Event.Committed.class).get(0).emitted())
        .extracting(Event.Emitted::name, Event.Emitted::payload)
        .containsExactly(tuple("found", object("seats", 3)), tuple("done", null));
  }

  @Test
  void itsListenersAreNotifiedAtOnce() {
    Driver talk =
        drive(talk().act("tell", run -> run.stream("Look").stream("ing").emit("found", 3)), "tell");
    talk.feed(new Input.Start("r", "i", Json.object(), 1));
    List<String> observed = new ArrayList<>();
    StepEffect effect = talk.pendingEffect();
    talk.program
        .perform(
            talk.state,
            effect,
            new World(
                new Progress() {
                  @Override
                  public void emitted(Place place, String name, @Nullable JsonNode payload) {
                    observed.add(place + " " + name + " " + payload);
                  }

                  @Override
                  public void streamed(Place place, String text) {
                    observed.add(text);
                  }
                },
                Caller.NONE,
                ""))
        .toCompletableFuture()
        .join();
    assertThat(observed).containsExactly("Look", "ing", "tell#1 found 3");
  }

  @Test
  void aStepThatFailsHasEmittedNothing() {
    boolean[] broken = {true};
    Driver talk =
        drive(
            talk().act("tell", run -> run.emit("found", AskingTest.orThrow(broken, "it"))), "tell");
    assertThat(code(talk.start())).isEqualTo("step_failed");
    broken[0] = false;
    talk.proceed();
    assertThat(talk.events(Event.Committed.class)).hasSize(1);
    assertThat(talk.events(Event.Committed.class).get(0).emitted()).hasSize(1);
  }

  @Test
  void aStepEmitsSoMuchAndNoMore() {
    Driver talk =
        drive(
            talk()
                .act(
                    "tell",
                    run -> {
                      for (int i = 0; i <= 100; i++) {
                        run.emit("again", i);
                      }
                    }),
            "tell");
    assertThat(code(talk.start())).isEqualTo("step_failed");
  }
}
