package io.fermata.bench.load;

import static org.bsc.langgraph4j.action.AsyncEdgeAction.edge_async;
import static org.bsc.langgraph4j.action.AsyncNodeAction.node_async;

import java.util.Map;
import java.util.UUID;
import org.bsc.langgraph4j.CompileConfig;
import org.bsc.langgraph4j.CompiledGraph;
import org.bsc.langgraph4j.GraphInput;
import org.bsc.langgraph4j.GraphStateException;
import org.bsc.langgraph4j.RunnableConfig;
import org.bsc.langgraph4j.StateGraph;
import org.bsc.langgraph4j.checkpoint.MemorySaver;
import org.bsc.langgraph4j.state.AgentState;

/** The same workload as a graph of LangGraph4j with checkpoints in memory. */
record LangGraphContender(CompiledGraph<AgentState> graph) implements Contender {

  static LangGraphContender create() throws GraphStateException {
    StateGraph<AgentState> graph =
        new StateGraph<>(AgentState::new)
            .addNode("ask_topic", node_async(state -> Map.of()))
            .addNode("assign", node_async(LangGraphContender::assign))
            .addNode("escalate", node_async(state -> Map.of("queue", "now")))
            .addNode("ask_contact", node_async(state -> Map.of()))
            .addNode("done", node_async(state -> Map.of()))
            .addEdge(StateGraph.START, "ask_topic")
            .addConditionalEdges(
                "ask_topic",
                edge_async(LangGraphContender::route),
                Map.of("escalate", "escalate", "assign", "assign"))
            .addEdge("assign", "ask_contact")
            .addEdge("escalate", "ask_contact")
            .addEdge("ask_contact", "done")
            .addEdge("done", StateGraph.END);
    return new LangGraphContender(
        graph.compile(
            CompileConfig.builder()
                .checkpointSaver(new MemorySaver())
                .interruptAfter("ask_topic", "ask_contact")
                .interruptBeforeEdge(true)
                .releaseThread(true)
                .build()));
  }

  private static Map<String, Object> assign(AgentState state) {
    return Map.of("queue", "q-" + urgency(state));
  }

  private static String route(AgentState state) {
    return urgency(state) > 3 ? "escalate" : "assign";
  }

  private static int urgency(AgentState state) {
    return state.<Integer>value("urgency").orElseThrow();
  }

  @Override
  public String name() {
    return "LangGraph4j in memory";
  }

  @Override
  public Load.Unit caller() {
    return (recorder, number) -> {
      RunnableConfig thread =
          RunnableConfig.builder().threadId(UUID.randomUUID().toString()).build();
      int urgency = (int) (number % 5 + 1);
      String queue = urgency > 3 ? "now" : "q-" + urgency;
      recorder.timed(() -> call(GraphInput.args(Map.of("intent", "to measure")), thread, ""));
      recorder.timed(
          () ->
              call(
                  GraphInput.resume(Map.of("topic", "door " + number, "urgency", urgency)),
                  thread,
                  queue));
      recorder.timed(() -> call(GraphInput.resume(Map.of("contact", "c" + number)), thread, queue));
    };
  }

  private String call(GraphInput input, RunnableConfig thread, String queue) {
    AgentState state = graph.invoke(input, thread).orElseThrow();
    String reached = state.<String>value("queue").orElse("");
    if (!reached.equals(queue)) {
      throw new IllegalStateException("LangGraph4j returned " + state);
    }
    return reached;
  }

  @Override
  public void close() {}
}
