package io.fermata.session.admin;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.RequestedCall;
import io.fermata.agent.message.Side;
import io.fermata.agent.model.Usage;
import io.fermata.agent.state.CallState;
import io.fermata.agent.state.StepFrame;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadState;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** What clients are shown of a thread's events. */
class ThreadJsonTest {
  @Test
  void theEndOfAStepNamesItsCallsAsTheEventsAndAnswersAboutThemDo() {
    List<RequestedCall> calls =
        List.of(RequestedCall.of("c1", "one", "{}"), RequestedCall.of("c2", "two", "{}"));
    ThreadEvent.StepEnded ended =
        new ThreadEvent.StepEnded(
            StepFrame.TOP,
            Message.assistant("Let me see.").withToolCalls(calls).placed("m-s1", 1, 0, null),
            calls,
            new ThreadEvent.StepLog("s1", "m", "stop", Usage.ZERO, List.of(), 1, 2, null));
    ThreadState state =
        ThreadState.NONE.apply(
            List.of(
                new ThreadEvent.Created("t1", "desk", "ann", Set.of(), Map.of(), null, 10, 1),
                new ThreadEvent.StepBegan(StepFrame.TOP, Side.A, "desk", 1, 1, "m-s1", 1),
                ended),
            1);

    JsonNode shown =
        ThreadJson.notifications(ended).stream()
            .filter(it -> it.type().equals("step.ended"))
            .findFirst()
            .orElseThrow()
            .data();

    assertThat(shown.path("calls"))
        .extracting(call -> call.path("call").textValue())
        .containsExactly("s1.0", "s1.1")
        .containsExactlyElementsOf(
            Objects.requireNonNull(state.frames().get(StepFrame.TOP)).calls().stream()
                .map(CallState::key)
                .toList());
  }
}
