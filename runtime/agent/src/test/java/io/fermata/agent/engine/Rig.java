package io.fermata.agent.engine;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.Agent;
import io.fermata.agent.Agents;
import io.fermata.agent.FlowState;
import io.fermata.agent.Hook;
import io.fermata.agent.Participant;
import io.fermata.agent.Tool;
import io.fermata.agent.message.ToolResult;
import io.fermata.agent.state.StepFrame;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadState;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** A thread that stands still, for tools to be called in. */
public final class Rig {
  private static final Outside NOWHERE =
      (Outside)
          java.lang.reflect.Proxy.newProxyInstance(
              Rig.class.getClassLoader(),
              new Class<?>[] {Outside.class},
              (proxy, method, arguments) -> {
                if (method.getName().equals("now")) {
                  return 1L;
                }
                throw new UnsupportedOperationException(method.getName());
              });

  private final ChangeRecorder recorder;
  private final FlowState flow;

  /**
   * @param hooks those of the prompt that the tools are called for
   */
  public Rig(String callKey, Hook... hooks) {
    Agent agent = Agent.of("desk", Participant.person(), Participant.code((flow, message) -> {}));
    ThreadEvent.Created created =
        new ThreadEvent.Created("t1", "desk", "ada", Set.of(), Map.of(), null, 10, 1);
    recorder =
        new ChangeRecorder(
            new Agents(List.of(agent)),
            agent,
            ThreadState.NONE.apply(List.of(created), 1),
            new HookRunner(List.of(hooks)),
            NOWHERE,
            callKey,
            1);
    flow = new RecordingFlowState(recorder, StepFrame.TOP);
  }

  public FlowState flow() {
    return flow;
  }

  /** What has been done to the thread. */
  public List<ThreadEvent.Change> changes() {
    return recorder.changes();
  }

  /** Calls a tool as the turn loop does. */
  public ToolResult call(Tool tool, ObjectNode arguments) throws Exception {
    return ToolCalls.run(tool, arguments, args -> tool.handler().run(flow, args));
  }
}
