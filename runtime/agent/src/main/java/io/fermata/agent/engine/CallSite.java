package io.fermata.agent.engine;

import io.fermata.agent.Agent;
import io.fermata.agent.Agents;
import io.fermata.agent.Handoff;
import io.fermata.agent.Offered;
import io.fermata.agent.Prompt;
import io.fermata.agent.SubAgent;
import io.fermata.agent.Tool;
import io.fermata.agent.state.CallState;
import io.fermata.agent.state.StepFrame;
import io.fermata.agent.state.ThreadState;
import io.fermata.flow.event.Policy;
import io.fermata.flow.event.Retry;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * A step with the agent and the prompt whose tools it calls.
 *
 * @param prompt null where code acts, or calls were queued at rest
 */
record CallSite(Agent agent, @Nullable Prompt prompt, StepFrame frame) {
  /** Delegating is idempotent, and the child may be working even if it seemed to fail. */
  private static final Policy DELEGATING =
      Policy.DEFAULT.timeout(Duration.ofMinutes(1)).retry(Retry.of(10, Duration.ofMillis(200)));

  static CallSite of(Agents agents, ThreadState state, StepFrame frame) {
    Agent agent = agents.of(state, frame);
    return new CallSite(agent, ChangeRecorder.prompt(agent, frame), frame);
  }

  /**
   * What is called; null if it is not offered. A release may offer what has been admitted in
   * another prompt, except for a handoff, which only the prompt of its step makes.
   */
  @Nullable Offered offered(CallState call) {
    String name = call.call().name();
    boolean anywhere = call.queued() || call.admitted();
    Offered found = ToolCalls.offered(agent, prompt, name, anywhere);
    return found instanceof Handoff && !call.queued() && !handsOver(name) ? null : found;
  }

  /** Whether its prompt hands the thread over by a call of this name. */
  boolean handsOver(String name) {
    return prompt != null && ToolCalls.offered(prompt, name) instanceof Handoff;
  }

  /**
   * Whether a call that people decide or have approved, or that is or may be at work, has no tool
   * in this release; it waits for the next one.
   */
  boolean lacks(CallState call) {
    return call.admitted() && offered(call) == null;
  }

  Policy policy(CallState call) {
    Offered offered = offered(call);
    return offered instanceof Tool tool
        ? tool.policy()
        : offered instanceof SubAgent ? DELEGATING : WantedEffects.LONG;
  }

  boolean parallel() {
    return prompt != null && prompt.parallel();
  }

  HookRunner hooks(Agents agents) {
    return HookRunner.of(agents, agent, prompt);
  }
}
