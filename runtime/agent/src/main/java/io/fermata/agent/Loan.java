package io.fermata.agent;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.Json;
import java.util.List;
import java.util.Optional;

/** A thread, lent to a step of the flow that one of its calls is about. */
public final class Loan {
  private final Scribe scribe;
  private final FlowState flow;

  private Loan(Scribe scribe, FlowState flow) {
    this.scribe = scribe;
    this.flow = flow;
  }

  /**
   * The thread as it stands, with what earlier steps did to it.
   *
   * @param callKey the call of the flow; there is no loan if it is not under way
   * @param step what tells the step from every other one of the flow
   * @param before what earlier steps did, as {@link #changes} told it
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

  /** What has been done to the thread by it, to be kept and handed to the thread. */
  public List<JsonNode> changes() {
    return scribe.changes().stream().map(Json::tree).toList();
  }

  /** A change, read back. */
  public static ThreadEvent.Change change(JsonNode kept) {
    return (ThreadEvent.Change) Json.value(kept, ThreadEvent.class);
  }
}
