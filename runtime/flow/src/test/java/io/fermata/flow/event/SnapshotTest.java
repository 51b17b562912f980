package io.fermata.flow.event;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.Flows.ask;
import static io.fermata.flow.Flows.talk;
import static io.fermata.flow.route.Condition.lt;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Driver;
import io.fermata.flow.Loads;
import io.fermata.flow.json.Json;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What a snapshot of a run takes, and what is left of it after it was read. */
class SnapshotTest {
  private static final int LINES = 1_000;

  /** A run with a state of more than 100 KB that has made so many steps which can be undone. */
  private static RunState undoable(int steps) {
    Driver talk =
        new Driver(
            ask(ask(talk(), "a"), "b")
                .act(
                    "count",
                    run -> {
                      Integer n = run.get("number", Integer.class);
                      run.set("number", n == null ? 1 : n + 1);
                    })
                .compensate("count", run -> {})
                .edge(START, "ask_a")
                .edge("ask_a", "count")
                .decide("count", d -> d.when(lt("number", steps)).to("count").otherwise("ask_b"))
                .edge("ask_b", END)
                .compile(),
            Loads.ROOMY);
    talk.start("list", Collections.nCopies(LINES, "x".repeat(100)), "a", "y".repeat(1_000));
    assertThat(talk.state.done()).hasSize(steps);
    return talk.state;
  }

  private static String text(Object value) {
    try {
      return Json.MAPPER.writeValueAsString(value);
    } catch (JsonProcessingException e) {
      throw new AssertionError(e);
    }
  }

  private static <T> T read(String text, Class<T> type) {
    try {
      return Json.MAPPER.readValue(text, type);
    } catch (JsonProcessingException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void whatManyStepsCouldUndoToIsWrittenOnce() {
    int few = text(undoable(2)).length();
    assertThat(few).isGreaterThan(LINES * 100);
    assertThat(text(undoable(200)).length()).isLessThan(2 * few);
  }

  @Test
  void whatWasSharedIsSharedAgainAfterItWasRead() {
    RunState state = undoable(200);
    RunState read = read(text(state), RunState.class);
    assertThat(read).isEqualTo(state);
    JsonNode list = read.data().get("list");
    assertThat(read.done()).allSatisfy(undo -> assertThat(undo.data().get("list")).isSameAs(list));
    Branch.Checkpoint asking = requireNonNull(read.branch("").entered().get("ask_a"));
    StateMemory asked = asking.memory();
    assertThat(asked.data().get("list")).isSameAs(list);
    assertThat(requireNonNull(asked.answers().get("list")).value()).isSameAs(list);
    assertThat(asked.data().get("a")).as("a long text").isSameAs(read.data().get("a"));
  }

  @Test
  void anyTreeReadsBackAsItWas() {
    JsonNode five = Json.tree(List.of(5));
    JsonNode part = Json.tree(Map.of("long", "z".repeat(100), "none", List.of()));
    ObjectNode data =
        Driver.object(
            "numbers", List.of(five, List.of(0), List.of(0, 1), List.of(List.of(3))),
            "truths", List.of(true, List.of(true), List.of(true, 5), List.of(false)),
            "again", List.of(part, part, five),
            "exact", List.of(1.50, 10_000_000_000L, -0.0),
            "", Map.of("", Map.of(), "0", "", "1", "0"));
    data.set("part", part);
    data.set("five", five);
    data.putArray("nulls").addNull().add(part).addNull();
    data.putNull("null");
    RunState.Undo undo = new RunState.Undo(new Place("a", 1), 1, data);
    RunState.Undo[] undos = {undo, new RunState.Undo(new Place("b", 1), 2, data)};
    RunState.Undo[] read = read(text(undos), RunState.Undo[].class);
    assertThat(read).isEqualTo(undos);
    assertThat(read[1].data()).isSameAs(read[0].data());
    assertThat(read[0].data().get("nulls").get(1)).isSameAs(read[0].data().get("part"));
  }
}
