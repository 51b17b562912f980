package io.fermata.flow.event;

import static io.fermata.flow.Costs.allocated;
import static io.fermata.flow.Costs.times;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.NullNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Driver;
import io.fermata.flow.Flow;
import io.fermata.flow.Loads;
import io.fermata.flow.Secrets;
import io.fermata.flow.engine.FlowProgram;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Limits;
import io.fermata.flow.record.Trace;
import io.fermata.flow.replay.Inventions;
import io.fermata.flow.schema.StateSchema;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * What a step costs depends on what it does, not on how much there is. Compares allocated bytes
 * where they tell; elsewhere processor time with processor time, the least of many tries, with a
 * wide margin.
 */
@Tag("slow")
@Tag("long")
class CostTest {
  @Test
  void aSmallWriteToALargeStateCostsWhatItCostsToASmallOne() {
    assertThat(times(writes(10_000), writes(10), 40)).isLessThan(5);
  }

  @Test
  void anElementAppendedToALongListCostsFarLessThanTheList() {
    assertThat(times(appends(10_000), appends(10), 40)).isLessThan(5);
  }

  @Test
  void aRunTwiceAsLongCostsTwiceAsMuch() {
    assertThat(times(loop(2_000), loop(1_000), 10)).isLessThan(3);
  }

  @Test
  void aJournalOfTenThousandStepsIsFoldedInTenTimesTheTimeOfAThousand() {
    assertThat(times(fold(10_000), fold(1_000), 30)).isLessThan(25);
  }

  @Test
  void anElementAppendedToAListAllocatesTheSameHoweverLongTheListIs() {
    assertThat((double) allocated(append(10_000)) / allocated(append(100))).isLessThan(2);
  }

  @Test
  void aFlowOfTenTimesTheNodesIsCompiledForTenTimesTheCost() {
    assertThat((double) allocated(compile(10_000)) / allocated(compile(1_000))).isLessThan(15);
    assertThat(times(compile(10_000), compile(1_000), 5)).isLessThan(25);
  }

  @Test
  void aRunThroughTenTimesTheNodesIsFoldedForTenTimesTheCost() {
    assertThat((double) allocated(foldLine(10_000)) / allocated(foldLine(1_000))).isLessThan(15);
    assertThat(times(foldLine(10_000), foldLine(1_000), 5)).isLessThan(25);
  }

  @Test
  void secretsAreLookedForInTenTimesTheTextAtTenTimesTheCost() {
    assertThat(times(lookCut(30_000), lookCut(3_000), 5)).isLessThan(25);
    assertThat(times(lookAlike(30_000), lookAlike(3_000), 5)).isLessThan(25);
    assertThat(times(lookMonotonous(30_000), lookMonotonous(3_000), 5)).isLessThan(25);
  }

  @Test
  void tenTimesAsManySecretsAreLearnedOneByOneAtTenTimesTheCost() {
    assertThat(times(learnOneByOne(5_000), learnOneByOne(500), 5)).isLessThan(25);
  }

  @Test
  void tenTimesAsManyValuesAreReplacedInTenTimesTheTextAtTenTimesTheCost() {
    assertThat(times(replace(5_000), replace(500), 5)).isLessThan(25);
  }

  @Test
  void theValuesOfTenTimesTheItemsAreCheckedForTenTimesTheCost() {
    assertThat(times(check(4_000), check(400), 5)).isLessThan(25);
  }

  @Test
  void aCallThatGivesOrCorrectsTenTimesAsManyFieldsCostsTenTimesAsMuch() {
    assertThat(times(answer(4_000, 1), answer(400, 1), 5)).isLessThan(25);
    assertThat(times(answer(4_000, 0), answer(400, 0), 5)).isLessThan(25);
    assertThat(times(goBack(4_000), goBack(400), 5)).isLessThan(25);
  }

  @Test
  void anAnswerForAnItemOfAListCostsAtMostInProportionToItsItems() {
    assertThat((double) allocated(answerItem(1_000)) / allocated(answerItem(100))).isLessThan(12);
  }

  @Test
  void aCallThatAnswersAllItemsOfAListIsJudgedForLittleMoreThanItsEventsCost() {
    FlowProgram<?> program = FlowProgram.of(Loads.list(300), Loads.ROOMY);
    RunState asking = Loads.take(program, RunState.NONE, Loads.start(), null);
    ObjectNode answers = Json.object();
    IntStream.range(0, 300).forEach(i -> answers.put("each." + i + ".pieces", i));
    Input all = new Input.Continue(answers, 3);
    List<Event> events = ((Program.Accepted<RunState, Event>) program.accept(asking, all)).events();

    long judged = allocated(() -> program.accept(asking, all));
    long folded = allocated(() -> oneByOne(asking, events));
    assertThat((double) judged / folded).isLessThan(2);
  }

  /** As a drive folds them, which looks at the state between any two. */
  private static RunState oneByOne(RunState from, List<Event> events) {
    RunState state = from;
    for (Event event : events) {
      state = state.apply(event);
    }
    return state;
  }

  @Test
  void aStepThatWritesTenTimesAsManyValuesCostsTenTimesAsMuch() {
    assertThat((double) allocated(notes(4_000)) / allocated(notes(400))).isLessThan(15);
  }

  @Test
  void aCallAmongWidgetsOfTheItemsOfAListCostsAtMostTheirNumberForEach() {
    assertThat(times(seeing(800), seeing(100), 3)).isLessThan(180);
  }

  /** The next call is the first to see all widgets but one, so that it puts each once more. */
  private static Runnable seeing(int items) {
    FlowProgram<?> program = FlowProgram.of(Loads.display(items), Loads.ROOMY);
    RunState shown = Loads.take(program, RunState.NONE, Loads.start(), null);
    RunState unseen = shown.apply(new Event.Unattended(true, 2));
    return () -> Loads.take(program, unseen, new Input.Continue(Json.object(), 3), null);
  }

  @Test
  void aBranchThatWritesTenTimesAsManyValuesIsFoldedAndJoinedForTenTimesTheCost() {
    for (Class<? extends Event> kind : List.of(Event.Committed.class, Event.Joined.class)) {
      assertThat((double) allocated(apart(4_000, kind)) / allocated(apart(400, kind)))
          .as("%s", kind)
          .isLessThan(15);
    }
  }

  /** The first event of a kind in a run whose branch writes so many values. */
  private static Runnable apart(int notes, Class<? extends Event> kind) {
    Driver driver = new Driver(Loads.notingApart(notes), Loads.ROOMY);
    driver.start();
    RunState state = RunState.NONE;
    for (Event event : driver.journal) {
      boolean writes =
          !(event instanceof Event.Committed committed) || committed.writes().size() == notes;
      if (kind.isInstance(event) && writes) {
        RunState before = state;
        return () -> before.apply(event);
      }
      state = state.apply(event);
    }
    throw new AssertionError("There is no " + kind);
  }

  private static Runnable answerItem(int items) {
    FlowProgram<?> program = FlowProgram.of(Loads.list(items), Loads.ROOMY);
    RunState asking = Loads.take(program, RunState.NONE, Loads.start(), null);
    ObjectNode answer = Json.object().put("each.3.pieces", 3);
    return () -> Loads.take(program, asking, new Input.Continue(answer, 3), null);
  }

  private static Map<String, JsonNode> given(int fields, int filled) {
    Map<String, JsonNode> values = new LinkedHashMap<>();
    for (int i = 0; i < fields; i++) {
      values.put("each." + i + ".pieces", filled == 0 ? NullNode.getInstance() : Json.tree(filled));
    }
    return values;
  }

  private static StateMemory answered(int fields) {
    StateMemory memory = StateMemory.EMPTY;
    for (String field : given(fields, 1).keySet()) {
      memory = memory.accept(field, 1);
    }
    return memory.answer(given(fields, 1), List.of(), 2);
  }

  private static Runnable answer(int fields, int filled) {
    StateMemory memory = answered(fields);
    Map<String, JsonNode> values = given(fields, filled);
    return () -> memory.answer(values, List.of(), 3);
  }

  private static Runnable goBack(int fields) {
    Map<String, StateMemory.Answer> known = answered(fields).answers();
    return () -> StateMemory.EMPTY.again(known, 1, 3);
  }

  private static Runnable replace(int values) {
    Inventions inventions = new Inventions(1, true);
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < values; i++) {
      inventions.add(Json.tree("card-" + (100_000 + i)));
      text.append("a card-").append(100_000 + i);
    }
    return () -> inventions.text(text.toString());
  }

  record Item(String name, Integer pieces) {}

  record Items(String title) {}

  private static Runnable check(int items) {
    StateSchema<?> schema =
        new StateSchema<>(
            Items.class,
            Map.of("each", new StateSchema.Inner(new StateSchema<>(Item.class), true)),
            Set.of());
    ObjectNode sent = Json.object().put("title", "all");
    ObjectNode each = sent.putObject("each");
    for (int i = 0; i < items; i++) {
      each.putObject("" + i).put("name", "item").put("pieces", i);
    }
    return () -> assertThat(schema.check(sent, Limits.DEFAULT).violations()).isEmpty();
  }

  /** One long secret, and a text that was cut off. */
  private static Runnable lookCut(int length) {
    Secrets secrets = new Secrets();
    secrets.add(Json.tree("secret".repeat(length / 6)));
    String text = "a text ".repeat(length / 7) + "…";
    return () -> secrets.in(text);
  }

  /** Many secrets that begin alike, and a text where one might begin at every fourth character. */
  private static Runnable lookAlike(int length) {
    Secrets secrets = new Secrets();
    IntStream.range(0, length / 10).forEach(i -> secrets.add(Json.tree("card" + i)));
    String text = "card".repeat(length / 4);
    return () -> secrets.in(text);
  }

  private static Runnable lookMonotonous(int length) {
    Secrets secrets = new Secrets();
    secrets.add(Json.tree("a".repeat(length / 2) + "b"));
    String text = "a".repeat(length);
    return () -> secrets.in(text);
  }

  private static Runnable learnOneByOne(int values) {
    return () -> {
      Secrets secrets = new Secrets();
      for (int i = 0; i < values; i++) {
        secrets.add(Json.tree("card-" + i));
        secrets.in("no card");
      }
    };
  }

  private static Runnable append(int lines) {
    ObjectNode element = Json.object().put("item", "one more");
    StateMemory memory = StateMemory.EMPTY;
    for (int i = 0; i < lines; i++) {
      memory = memory.write(List.of(new Write(Write.Verb.APPEND, "lines", element)), i);
    }
    StateMemory filled = memory;
    return () -> filled.write(List.of(new Write(Write.Verb.APPEND, "lines", element)), lines);
  }

  private static Runnable compile(int nodes) {
    return () -> Loads.linear(nodes);
  }

  private static Runnable foldLine(int nodes) {
    List<Event> journal = Loads.journal(Loads.linear(nodes));
    return () -> Driver.fold(journal);
  }

  private static Runnable writes(int lines) {
    return going(Loads.filled(lines));
  }

  private static Runnable appends(int lines) {
    return going(Loads.growing(lines));
  }

  @Test
  void theReasonsForAValueOfTenTimesTheRoundsAreFoundForTenTimesTheCost() {
    assertThat(times(why(2_000), why(200), 5)).isLessThan(25);
    assertThat(times(fed(2_000), fed(200), 5)).isLessThan(25);
  }

  private static Runnable why(int rounds) {
    Trace trace = traced(rounds);
    return () -> trace.why("n");
  }

  private static Runnable fed(int rounds) {
    Trace trace = traced(rounds);
    return () -> trace.fed("n");
  }

  private static Trace traced(int rounds) {
    Driver driver = new Driver(Loads.loop(rounds), Loads.ROOMY);
    driver.start();
    return Trace.of(driver.program.flow(), driver.journal);
  }

  private static Runnable notes(int notes) {
    return going(Loads.noting(notes));
  }

  private static Runnable going(Flow<?> flow) {
    FlowProgram<?> program = FlowProgram.of(flow, Loads.ROOMY);
    RunState waiting = Loads.take(program, RunState.NONE, Loads.start(), null);
    return () -> Loads.take(program, waiting, Loads.go(), null);
  }

  private static Runnable loop(int rounds) {
    FlowProgram<?> program = FlowProgram.of(Loads.loop(rounds), Loads.ROOMY);
    return () -> Loads.take(program, RunState.NONE, Loads.start(), null);
  }

  private static Runnable fold(int steps) {
    Driver driver = new Driver(Loads.loop(steps), Loads.ROOMY);
    driver.start();
    List<Event> journal = List.copyOf(driver.journal);
    return () -> Driver.fold(journal);
  }
}
