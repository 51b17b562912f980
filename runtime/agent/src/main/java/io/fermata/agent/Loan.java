package io.fermata.agent;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.Json;
import java.util.List;
import java.util.Optional;

/** Access to a thread for a step of the flow that one of its calls runs. */
public final class Loan {
  private final Scribe scribe;
  private final FlowState flow;

  private Loan(Scribe scribe, FlowState flow) {
    this.scribe = scribe;
    this.flow = flow;
  }

  /**
   * The thread with the changes of earlier steps.
   *
   * @param callKey the call of the flow; there is no access if it is not in progress
   * @param step distinguishes the step from every other one of the flow
   * @param before what earlier steps changed, as {@link #changes} returned it
   */
  public static Optional<Loan> of(
      Agents agents,
      ThreadState state,
      Outside outside,
      String callKey,
      String step,
      int attempt,
      List<JsonNode> before) {
    Frame frame = state.exists() ? state.frameOf(callKey) : null;
    if (frame == null) {
      return Optional.empty();
    }
    Agent agent = agents.get(state.agent());
    Scribe scribe =
        new Scribe(
                agents,
                agent,
                state,
                Hooks.of(agents, agent, Scribe.prompt(agent, frame)),
                outside,
                callKey + "/" + step,
                attempt)
            .following(before.stream().map(Loan::change).toList());
    return Optional.of(new Loan(scribe, new RecordingFlowState(scribe, frame.path())));
  }

  public FlowState flow() {
    return flow;
  }

  /** The changes so far, to be journaled and handed to the thread. */
  public List<JsonNode> changes() {
    return scribe.changes().stream().map(Json::tree).toList();
  }

  /** Reads a change back. */
  public static ThreadEvent.Change change(JsonNode kept) {
    return (ThreadEvent.Change) Json.value(kept, ThreadEvent.class);
  }
}
