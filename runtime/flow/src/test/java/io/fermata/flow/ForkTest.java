package io.fermata.flow;

import static io.fermata.flow.Driver.code;
import static io.fermata.flow.Driver.failure;
import static io.fermata.flow.Driver.result;
import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.Flows.ask;
import static io.fermata.flow.Flows.talk;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.IntNode;
import com.fasterxml.jackson.databind.node.LongNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.databind.node.NullNode;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.Write;
import io.fermata.flow.json.Json;
import io.fermata.flow.route.Branches;
import io.fermata.flow.route.Reducer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Branches that run side by side, and what becomes of what they did. */
class ForkTest {
  private final List<String> ran = new ArrayList<>();

  /** START forks into the given nodes, each a branch of its own, and ends behind them. */
  private static FlowBuilder<Flows.Talk> fork(FlowBuilder<Flows.Talk> flow, String... heads) {
    for (String head : heads) {
      flow.edge(head, "join");
    }
    return flow.act("join", run -> {})
        .fork(
            START, f -> Arrays.stream(heads).reduce(f, Branches::branch, (a, b) -> a).join("join"))
        .edge("join", END);
  }

  private static Driver run(FlowBuilder<Flows.Talk> flow) {
    return new Driver(flow.compile());
  }

  private static FlowBuilder<Flows.Talk> sets(FlowBuilder<Flows.Talk> flow, String... writes) {
    for (int i = 0; i < writes.length; i += 3) {
      String field = writes[i + 1];
      String value = writes[i + 2];
      flow.act(writes[i], run -> run.set(field, value));
    }
    return flow;
  }

  // --- isolation ------------------------------------------------------------------------------

  @Test
  void aBranchSeesWhatWasKnownAtTheForkAndItsOwnWrites() {
    Driver talk =
        run(
            talk()
                .act("before", run -> run.set("c", "known"))
                .act("one", run -> run.set("a", "one saw " + run.state().b() + run.state().c()))
                .act("two", run -> run.set("b", "two saw " + run.state().a() + run.state().c()))
                .act("two2", run -> run.append("log", "and then " + run.state().b()))
                .act("join", run -> ran.add(run.state().a() + ", " + run.state().b()))
                .edge(START, "before")
                .fork("before", f -> f.branch("one").branch("two").join("join"))
                .edge("one", "join")
                .edge("two", "two2")
                .edge("two2", "join")
                .edge("join", END));
    talk.start();
    assertThat(ran).containsExactly("one saw nullknown, two saw nullknown");
    assertThat(talk.state.data().path("log").path(0).asText())
        .isEqualTo("and then two saw nullknown");
  }

  @Test
  void anAnswerGoesToTheBranchThatAsksForItAndToNoOther() {
    Driver talk = run(besideAQuestion());
    talk.start();
    talk.proceed("a", "x", "c", "all");
    talk.proceed("b", "y");
    assertThat(ran).containsExactly("a is null, b is y, c is all");
    assertThat(talk.state.data().path("a").asText()).isEqualTo("x");
  }

  /** One branch asks for a; the other asks for b and then looks around. */
  private FlowBuilder<Flows.Talk> besideAQuestion() {
    return ask(ask(talk(), "a"), "b")
        .act(
            "look",
            run ->
                ran.add(
                    "a is %s, b is %s, c is %s"
                        .formatted(run.state().a(), run.state().b(), run.state().c())))
        .fork(START, f -> f.branch("ask_a").branch("ask_b").join(END))
        .edge("ask_a", END)
        .edge("ask_b", "look")
        .edge("look", END);
  }

  @Test
  void soTheOrderOfTheAnswersChangesNothing() {
    Driver one = run(besideAQuestion());
    one.start();
    one.proceed("a", "x");
    Outcome first = one.proceed("b", "y");
    Driver other = run(besideAQuestion());
    other.start();
    other.proceed("b", "y");
    assertThat(other.proceed("a", "x")).isEqualTo(first);
    assertThat(ran).hasSize(2).containsOnly(ran.get(0));
  }

  @Test
  void branchesMayWriteAndMergeDifferentPartsOfARecord() {
    Driver talk =
        run(
            fork(
                ask(talk(), "address.city")
                    .act("street", run -> run.merge("address", Map.of("street", "Via"))),
                "ask_address_city",
                "street"));
    talk.start();
    assertThat(result(talk.proceed("address.city", "Rome")))
        .isEqualTo(Driver.object("address", new Flows.Address("Via", "Rome")));
  }

  @Test
  void theJoinRunsOnceAfterTheLastBranch() {
    Driver talk = run(fork(ask(ask(talk(), "a"), "b"), "ask_a", "ask_b"));
    talk.start();
    talk.proceed("b", "y");
    assertThat(talk.events(Event.Joined.class)).isEmpty();
    talk.proceed("a", "x");
    assertThat(talk.events(Event.Joined.class)).hasSize(1);
    assertThat(talk.state.status()).isEqualTo(RunState.Status.COMPLETED);
  }

  // --- merging --------------------------------------------------------------------------------

  @Test
  void theSameValueIsNoConflict() {
    Driver talk = run(fork(sets(talk(), "one", "a", "x", "two", "a", "x"), "one", "two"));
    assertThat(result(talk.start()).path("a").asText()).isEqualTo("x");
  }

  @Test
  void differingValuesStopTheJoinAndNameTheFieldAndTheBranches() {
    Driver talk =
        run(
            fork(
                sets(talk(), "one", "a", "x", "two", "b", "y", "three", "a", "z"),
                "one",
                "two",
                "three"));
    Outcome stop = talk.start();
    assertThat(code(stop)).isEqualTo("join_conflict");
    assertThat(failure(stop).message()).contains("a (one, three)").doesNotContain("two");
    assertThat(code(talk.proceed())).isEqualTo("join_conflict");
  }

  @Test
  void aPartOfARecordConflictsOnlyWithItselfAndWithTheWhole() {
    FlowBuilder<Flows.Talk> parts =
        sets(talk(), "one", "address.street", "Via", "two", "address.city", "Rome");
    assertThat(result(run(fork(parts, "one", "two")).start()).path("address"))
        .isEqualTo(Driver.object("street", "Via", "city", "Rome"));
    FlowBuilder<Flows.Talk> whole =
        sets(talk(), "one", "address.street", "Via")
            .act("two", run -> run.set("address", Map.of("street", "Rue")));
    Outcome stop = run(fork(whole, "one", "two")).start();
    assertThat(failure(stop).message()).contains("address (one, two)");
  }

  @Test
  void aConflictWithAnAnswerIsOneInWhicheverOrderTheyCome() {
    for (List<String> order : List.of(List.of("a", "b"), List.of("b", "a"))) {
      Driver talk =
          run(
              ask(ask(talk(), "a"), "b")
                  .act("own", run -> run.set("a", "own"))
                  .fork(START, f -> f.branch("ask_a").branch("ask_b").join(END))
                  .edge("ask_a", END)
                  .edge("ask_b", "own")
                  .edge("own", END));
      talk.start();
      talk.proceed(order.get(0), "x");
      Outcome stop = talk.proceed(order.get(1), "x");
      assertThat(failure(stop).message()).as("" + order).contains("a (ask_a, ask_b)");
    }
  }

  @Test
  void aConflictIsCuredByACorrectionInOneOfTheBranches() {
    Driver talk =
        run(
            ask(ask(talk(), "a"), "b")
                .act("copy_a", run -> run.set("c", run.state().a()))
                .act("copy_b", run -> run.set("c", run.state().b()))
                .fork(START, f -> f.branch("ask_a").branch("ask_b").join(END))
                .edge("ask_a", "copy_a")
                .edge("copy_a", END)
                .edge("ask_b", "copy_b")
                .edge("copy_b", END));
    talk.start();
    assertThat(code(talk.proceed("a", "x", "b", "y"))).isEqualTo("join_conflict");
    assertThat(result(talk.reset("b", "x")).path("c").asText()).isEqualTo("x");
    assertThat(talk.events(Event.Committed.class))
        .extracting(e -> e.place().node())
        .containsExactly("copy_a", "copy_b", "copy_b");
  }

  @Test
  void whatABranchDeletedIsGone() {
    Driver talk =
        run(
            talk()
                .act("one", run -> run.delete("a"))
                .act("two", run -> run.set("b", "y"))
                .fork(START, f -> f.branch("one").branch("two").join(END))
                .edge("one", END)
                .edge("two", END));
    assertThat(result(talk.start("a", "x"))).isEqualTo(Driver.object("b", "y"));
  }

  // --- reducers -------------------------------------------------------------------------------

  private static JsonNode reduced(String field, Reducer reducer, Object before, Object... values) {
    FlowBuilder<Flows.Talk> flow =
        talk()
            .act("before", run -> run.set(field, before))
            .reduce(field, reducer)
            .edge(START, "before");
    flow.fork(
        "before",
        f -> {
          for (int i = 0; i < values.length; i++) {
            f.branch("branch" + i);
          }
          f.join(END);
        });
    for (int i = 0; i < values.length; i++) {
      Object value = values[i];
      flow.act("branch" + i, run -> run.set(field, value)).edge("branch" + i, END);
    }
    Driver talk = run(flow);
    JsonNode result = result(talk.start()).path(field);
    assertThat(Driver.fold(talk.journal)).isEqualTo(talk.state);
    return result;
  }

  @Test
  void aReducerPutsWhatTheBranchesMadeTogether() {
    assertThat(reduced("number", Reducer.sum(), 10, 11, 15)).isEqualTo(Json.tree(16));
    assertThat(reduced("number", Reducer.max(), 10, 3, 7)).isEqualTo(Json.tree(7));
    assertThat(reduced("number", Reducer.min(), 10, 13, 17)).isEqualTo(Json.tree(13));
    assertThat(reduced("a", Reducer.first(), "-", "x", "y")).isEqualTo(Json.tree("x"));
    assertThat(reduced("a", Reducer.last(), "-", "x", "y")).isEqualTo(Json.tree("y"));
    assertThat(reduced("a", Reducer.of(String.class, (was, all) -> was + all), "-", "x", "y"))
        .isEqualTo(Json.tree("-[x, y]"));
    assertThat(
            reduced(
                "notes",
                Reducer.merge(),
                Map.of("k", "v"),
                Map.of("k", "v", "x", "1"),
                Map.of("k", "w", "y", "2")))
        .isEqualTo(Driver.object("k", "w", "x", "1", "y", "2"));
  }

  @Test
  void mergedObjectsHaveTheChangesOfEveryBranch() {
    Map<String, String> before = Map.of("x", "1", "y", "1", "z", "1");
    assertThat(
            reduced(
                "notes",
                Reducer.merge(),
                before,
                Map.of("x", "2", "y", "1", "z", "1"),
                Map.of("x", "1", "y", "2", "z", "1"),
                Map.of("x", "1", "y", "1")))
        .isEqualTo(Driver.object("x", "2", "y", "2"));
    assertThat(
            Reducer.merge()
                .reduce(
                    Json.tree(Map.of("in", Map.of("x", 1, "y", 1))),
                    List.of(
                        Json.tree(Map.of("in", Map.of("x", 2, "y", 1))),
                        Json.tree(Map.of("in", Map.of("x", 1, "y", 1, "z", 3))))))
        .isEqualTo(Json.tree(Map.of("in", Map.of("x", 2, "y", 1, "z", 3))));
  }

  @Test
  void appendingKeepsTheDeclaredOrderAndWhatReplacedTheList() {
    assertThat(
            reduced("list", Reducer.append(), List.of("0"), List.of("0", "a"), List.of("0", "b")))
        .isEqualTo(Json.tree(List.of("0", "a", "b")));
    assertThat(reduced("list", Reducer.append(), List.of("0"), List.of("a"), List.of("0", "b")))
        .isEqualTo(Json.tree(List.of("0", "a", "b")));
  }

  @Test
  void aReducerIsGivenWhatOneBranchAloneMade() {
    assertThat(reduced("number", Reducer.sum(), 10, 11)).isEqualTo(Json.tree(11));
    assertThat(reduced("number", Reducer.max(), 10, 3)).isEqualTo(Json.tree(3));
    assertThat(reduced("number", Reducer.min(), 10, 13)).isEqualTo(Json.tree(13));
    assertThat(reduced("a", Reducer.first(), "-", "x")).isEqualTo(Json.tree("x"));
    assertThat(reduced("a", Reducer.last(), "-", "x")).isEqualTo(Json.tree("x"));
    assertThat(reduced("notes", Reducer.merge(), Map.of("k", "v"), Map.of("x", "1")))
        .isEqualTo(Driver.object("x", "1"));
    assertThat(reduced("list", Reducer.append(), List.of("0"), List.of("0", "a")))
        .isEqualTo(Json.tree(List.of("0", "a")));
    assertThat(reduced("list", Reducer.append(), List.of("0"), List.of("a")))
        .isEqualTo(Json.tree(List.of("0", "a")));
  }

  @Test
  void aReducerBuildsOnWhatWasThereHoweverManyBranchesChangedIt() {
    Reducer joined = Reducer.of(String.class, (was, all) -> was + " + " + String.join(" + ", all));
    assertThat(reduced("a", joined, "-", "x", "y")).isEqualTo(Json.tree("- + x + y"));
    assertThat(reduced("a", joined, "-", "x", "-")).isEqualTo(Json.tree("- + x"));
    assertThat(reduced("a", joined, "-", "-", "-")).isEqualTo(Json.tree("-"));
  }

  @Test
  void aReducerBuildsOnWhatWasThereIfAnotherBranchWasDropped() {
    Driver talk =
        run(
            ask(sets(talk(), "one", "a", "x", "two", "b", "y"), "c")
                .reduce("a", Reducer.of(String.class, (was, all) -> was + all))
                .fork(START, f -> f.branch("one").branch("ask_c").join("two").first())
                .edge("one", "two")
                .edge("ask_c", "two")
                .edge("two", END));
    assertThat(result(talk.start("a", "-")).path("a")).isEqualTo(Json.tree("-[x]"));
  }

  @Test
  void whatAReducerReturnsIsKeptAsAJournalReadsItBack() {
    assertThat(joined("number", (was, all) -> LongNode.valueOf(7)))
        .isEqualTo(new Write(Write.Verb.SET, "number", IntNode.valueOf(7)));
    assertThat(joined("a", (was, all) -> NullNode.getInstance()))
        .isEqualTo(new Write(Write.Verb.DELETE, "a", null));
    assertThat(joined("a", (was, all) -> MissingNode.getInstance()))
        .isEqualTo(new Write(Write.Verb.DELETE, "a", null));
  }

  private static Write joined(String field, Reducer reducer) {
    Map<String, Object> before = Map.of("a", "-", "number", 1);
    Map<String, Object> after = Map.of("a", "x", "number", 2);
    Driver talk =
        run(
            fork(
                talk()
                    .reduce(field, reducer)
                    .act("one", run -> run.set(field, after.get(field)))
                    .act("two", run -> {}),
                "one",
                "two"));
    talk.start(field, before.getOrDefault(field, ""));
    List<Write> writes = talk.events(Event.Joined.class).get(0).writes();
    assertThat(writes).hasSize(1);
    return writes.get(0);
  }

  @Test
  void aReducerThatThrowsStopsAnEarlyEndAndMayBeTriedAgain() {
    boolean[] broken = {true};
    Driver talk =
        run(
            ask(talk().act("one", run -> run.set("a", "x").end("enough")), "c")
                .reduce(
                    "a", Reducer.of(String.class, (was, all) -> AskingTest.orThrow(broken, "ok")))
                .fork(START, f -> f.branch("one").branch("ask_c").join(END))
                .edge("one", END)
                .edge("ask_c", END));
    assertThat(code(talk.start())).isEqualTo("step_failed");
    broken[0] = false;
    assertThat(result(talk.proceed()).path("a").asText()).isEqualTo("ok");
  }

  @Test
  void appendingNeedsNoReducerIfOneBranchAlone() {
    Driver talk =
        run(
            fork(
                talk().act("one", run -> run.append("log", "x")).act("two", run -> {}),
                "one",
                "two"));
    assertThat(result(talk.start()).path("log")).isEqualTo(Json.tree(List.of("x")));
  }

  @Test
  void theOrderInWhichBranchesFinishDoesNotMatter() {
    for (boolean firstFirst : List.of(true, false)) {
      Driver talk =
          run(
              ask(ask(talk(), "a"), "b")
                  .act("one", run -> run.append("log", "one"))
                  .act("two", run -> run.append("log", "two"))
                  .reduce("log", Reducer.append())
                  .fork(START, f -> f.branch("ask_a").branch("ask_b").join(END))
                  .edge("ask_a", "one")
                  .edge("one", END)
                  .edge("ask_b", "two")
                  .edge("two", END));
      talk.start();
      talk.proceed(firstFirst ? "a" : "b", "x");
      Outcome end = talk.proceed(firstFirst ? "b" : "a", "x");
      assertThat(result(end).path("log")).isEqualTo(Json.tree(List.of("one", "two")));
    }
  }

  @Test
  void aReducerThatThrowsStopsTheJoinAndMayBeTriedAgain() {
    boolean[] broken = {true};
    Driver talk =
        run(
            fork(
                sets(talk(), "one", "a", "x", "two", "a", "y")
                    .reduce(
                        "a",
                        Reducer.of(String.class, (was, all) -> AskingTest.orThrow(broken, "ok"))),
                "one",
                "two"));
    assertThat(code(talk.start())).isEqualTo("step_failed");
    broken[0] = false;
    assertThat(result(talk.proceed()).path("a").asText()).isEqualTo("ok");
  }

  @Test
  void aReductionThatCannotBeKeptStopsTheJoin() {
    Driver unreadable =
        run(
            fork(
                talk()
                    .act("one", run -> run.set("number", 1))
                    .act("two", run -> run.set("number", 2))
                    .reduce("number", (before, values) -> Json.tree("many")),
                "one",
                "two"));
    assertThat(code(unreadable.start())).isEqualTo("step_failed");
  }
}
