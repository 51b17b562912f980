package io.fermata.agent.engine;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.agent.Agents;
import io.fermata.agent.FlowState;
import io.fermata.agent.state.StepFrame;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadState;
import io.fermata.flow.json.Json;
import java.util.List;
import java.util.Optional;

/** Access to a thread for a step of the flow that one of its calls runs. */
public final class ThreadAccess {
  private final ChangeRecorder recorder;
  private final FlowState flow;

  private ThreadAccess(ChangeRecorder recorder, FlowState flow) {
    this.recorder = recorder;
    this.flow = flow;
  }

  /**
   * The thread with the changes of earlier steps.
   *
   * @param callKey the call of the flow; there is no access if it is not in progress
   * @param step distinguishes the step from every other one of the flow
   * @param before what earlier steps changed, as {@link #changes} returned it
   */
  public static Optional<ThreadAccess> of(
      Agents agents,
      ThreadState state,
      Outside outside,
      String callKey,
      String step,
      int attempt,
      List<JsonNode> before) {
    StepFrame frame = state.exists() ? state.frameOf(callKey) : null;
    if (frame == null) {
      return Optional.empty();
    }
    CallSite site = CallSite.of(agents, state, frame);
    ChangeRecorder recorder =
        new ChangeRecorder(
                agents,
                site.agent(),
                state,
                site.hooks(agents),
                outside,
                callKey + "/" + step,
                attempt)
            .following(before.stream().map(ThreadAccess::change).toList());
    return Optional.of(new ThreadAccess(recorder, new RecordingFlowState(recorder, frame.place())));
  }

  public FlowState flow() {
    return flow;
  }

  /** The changes, to be journaled and handed to the thread; later ones are refused. */
  public List<JsonNode> changes() {
    return recorder.changes().stream().map(Json::tree).toList();
  }

  /** Reads a change back. */
  public static ThreadEvent.Change change(JsonNode kept) {
    return (ThreadEvent.Change) Json.value(kept, ThreadEvent.class);
  }
}
