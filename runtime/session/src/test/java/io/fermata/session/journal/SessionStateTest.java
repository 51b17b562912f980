package io.fermata.session.journal;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.SecretFields;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.RunState;
import io.fermata.flow.json.Json;
import io.fermata.session.call.CallAction;
import io.fermata.session.call.Request;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

final class SessionStateTest {

  private static Entry<Event> ended(
      String runId, long keptUntil, @Nullable List<RunEnd.TaskEnd> earlier) {
    RunEnd end =
        new RunEnd(
            runId, 1, RunState.Status.COMPLETED, List.of(), null, 1, keptUntil, true, earlier);
    return Entry.<Event>of(1, 1, Entry.Origin.HOST, List.of())
        .belongingTo(List.of(), new RunReply(Json.object(), Json.object()))
        .ending(end);
  }

  @Test
  void aTaskWhoseEndIsWrittenAgainWhenItIsReportedIsKeptOnceAndForTheLongerTime() {
    SessionState<RunState> once =
        SessionState.replay(SessionState.of(RunState.NONE), ended("r", 100, null));
    SessionState<RunState> again = SessionState.replay(once, ended("r", 200, once.tasksAt(1)));

    assertThat(again.tasksAt(1)).hasSize(1);
    assertThat(again.taskEnd("r"))
        .isNotNull()
        .extracting(RunEnd.TaskEnd::keptUntil)
        .isEqualTo(200L);
  }

  @Test
  void aCallIsRememberedHoweverManyOthersAreStillBeingDriven() {
    SessionState<RunState> state = SessionState.of(RunState.NONE);
    for (int i = 0; i < 20; i++) {
      Entry<Event> entry = Entry.of(i + 1, 1, Entry.Origin.HOST, List.of());
      state = SessionState.replay(state, entry.belongingTo(List.of("call " + i, "first"), null));
    }
    CallLog calls = state.calls();
    assertThat(calls.open()).hasSize(16).contains("first", "call 0");
    assertThat(calls.past()).containsExactly("call 15", "call 16", "call 17", "call 18", "call 19");
  }

  private static String id(String name, String city, SecretFields secrets) {
    ObjectNode answers = Json.object().put("card", "4111").put("city", city);
    return Objects.requireNonNull(
        CallLog.id(name, Request.OfRun.of(CallAction.CONTINUE, answers, null), secrets));
  }

  private static CallLog after(CallLog calls, String callId, @Nullable RunReply reply) {
    return calls.after(
        Entry.<Event>of(1, 1, Entry.Origin.HOST, List.of()).belongingTo(List.of(callId), reply));
  }

  @Test
  void aCallThatIsRepeatedWhereOtherFieldsAreSecretIsTheSameByItsName() {
    SecretFields card = SecretFields.of("card");
    String before = id("pay", "Rome", SecretFields.NONE);
    String repeated = id("pay", "Rome", card);

    CallLog open = after(CallLog.EMPTY, before, null);
    assertThat(open.contradicts(repeated)).isFalse();
    assertThat(open.isOpen(repeated)).isTrue();
    assertThat(open.isOpen(id("other", "Rome", card))).isFalse();
    assertThat(open.contradicts(id("pay", "Oslo", SecretFields.NONE))).isTrue();
    assertThat(after(open, repeated, null).open()).containsExactly(before);

    RunReply reply = new RunReply(Json.object(), Json.object());
    CallLog replied = after(open, repeated, reply);
    assertThat(replied.open()).isEmpty();
    assertThat(replied.recorded(before)).isSameAs(reply);
    assertThat(replied.contradicts(id("pay", "Oslo", card))).isTrue();

    for (int i = 0; i < 16; i++) {
      replied = after(replied, id("later " + i, "Rome", card), reply);
    }
    assertThat(replied.recorded(before)).isNull();
    assertThat(replied.isPast(before)).isTrue();
  }

  @Test
  void whatARunChangesInItsThreadIsKnownInOrderUntilItEnds() {
    Event first = changing("a", "b");
    Event second = changing("c");
    SessionState<RunState> state = SessionState.of(RunState.NONE);
    assertThat(state.changesOfCaller(List.of(first))).hasSize(2);
    for (Event event : List.of(first, second)) {
      Entry<Event> step = Entry.of(1, 1, Entry.Origin.EFFECT, List.of(event));
      state = state.apply(step, RunState.NONE);
    }
    assertThat(state.changesOfCaller(List.of(changing("d"))))
        .extracting(change -> change.path("key").asText())
        .containsExactly("a", "b", "c", "d");
    assertThat(state.apply(ended("r", 100, null), RunState.NONE).changes()).isNull();
  }

  private static Event changing(String... keys) {
    List<JsonNode> changes =
        Stream.of(keys).<JsonNode>map(key -> Json.object().put("key", key)).toList();
    return new Event.Committed(
        Place.parse("paint#1"),
        List.of(),
        List.of(),
        List.of(Event.Emitted.toCaller(changes)),
        false,
        null);
  }
}
