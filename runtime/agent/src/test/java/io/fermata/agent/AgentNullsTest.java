package io.fermata.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.langchain4j.model.chat.ChatModel;
import dev.langchain4j.model.chat.StreamingChatModel;
import dev.langchain4j.model.chat.request.ChatRequestParameters;
import dev.langchain4j.model.chat.request.ToolChoice;
import io.fermata.agent.mcp.McpTools;
import io.fermata.agent.model.Model;
import io.fermata.agent.tool.ToolMethod;
import io.fermata.agent.tool.Tools;
import io.fermata.flow.Flow;
import io.fermata.flow.ToolHints;
import io.fermata.flow.json.Json;
import io.fermata.flow.observe.Recorder;
import io.fermata.flow.schema.ArgumentSchema;
import io.fermata.flow.schema.Describe;
import io.fermata.nulls.NullArguments;
import java.math.BigDecimal;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;

/** What an author of agents gives as null is refused, and named. */
class AgentNullsTest {
  record Lookup(@Describe("The number") String number) {}

  /** What refusals call those whose names they do not have. */
  private static final Map<String, String> NAMES =
      Map.ofEntries(
          Map.entry("agent", "name"),
          Map.entry("relation", "name"),
          Map.entry("called", "name"),
          Map.entry("sideA", "prompt"),
          Map.entry("sideB", "prompt"),
          Map.entry("other", "(prompt|model)"),
          Map.entry("firstWait", "first"),
          Map.entry("text", "description"),
          Map.entry("andCost", "cost"),
          Map.entry("longest", "longest backoff"),
          Map.entry("header", "headers"),
          Map.entry("tool", "changes.name"),
          Map.entry("change", "changes.1"));

  private final Model model = new Scripted().model();
  private final Prompt prompt = Prompt.of("support", model);
  private final Agent agent = Agent.aiHuman("desk", prompt);
  private final Tool tool = Tool.of("look", "Looks.", (flow, args) -> "found");
  private final ScheduledHandler effect = ScheduledHandler.of("remind", "Reminds.", (f, a) -> {});
  private final Hook hook = Hook.afterCreateMessage("hook", (flow, message) -> {});
  private final FlowTool flowTool = FlowTool.of("flow", "Runs a flow.", flow());

  private static Flow<Lookup> flow() {
    return Flow.of("flow", Lookup.class)
        .description("Asks for a number.")
        .ask("ask", q -> q.question("number", "Number?"))
        .edge(Flow.START, "ask")
        .edge("ask", Flow.END)
        .compile();
  }

  public static final class Methods {
    @ToolMethod("Looks.")
    public String look() {
      return "found";
    }
  }

  private Map<Class<?>, Object> samples() {
    Map<Class<?>, Object> samples = new HashMap<>();
    samples.put(String.class, "1");
    samples.put(String[].class, new String[] {"text"});
    samples.put(Class.class, Lookup.class);
    samples.put(int.class, 1);
    samples.put(long.class, 1L);
    samples.put(boolean.class, true);
    samples.put(Object.class, new Methods());
    samples.put(BigDecimal.class, BigDecimal.ONE);
    samples.put(Duration.class, Duration.ofHours(1));
    samples.put(ToolHints.class, ToolHints.NONE);
    samples.put(ToolChoice.class, ToolChoice.AUTO);
    samples.put(ChatRequestParameters.class, ChatRequestParameters.builder().build());
    samples.put(ChatModel.class, new ChatModel() {});
    samples.put(StreamingChatModel.class, new StreamingChatModel() {});
    samples.put(Flow.class, flow());
    samples.put(ObjectNode.class, Json.object().put("type", "object"));
    samples.put(ArgumentSchema.class, ArgumentSchema.nothing());
    samples.put(Recorder[].class, new Recorder[] {new Recorder() {}});
    samples.put(List.class, List.of(tool));
    samples.put(Model.class, model);
    samples.put(Model[].class, new Model[] {model});
    samples.put(Prompt.class, prompt);
    samples.put(Participant.class, Participant.prompt(prompt));
    samples.put(Offered[].class, new Offered[] {tool});
    samples.put(Hook.class, hook);
    samples.put(Hook[].class, new Hook[] {hook});
    samples.put(ScheduledHandler[].class, new ScheduledHandler[] {effect});
    samples.put(FlowTool[].class, new FlowTool[] {flowTool});
    samples.put(Budget.class, Budget.NONE);
    samples.put(Compaction.class, Compaction.by(model, 8, 2));
    samples.put(ToolHandler.class, (ToolHandler<Object>) (flow, args) -> "found");
    samples.put(TurnHandler.class, (TurnHandler) (flow, message) -> {});
    samples.put(ScheduledHandler.Work.class, (ScheduledHandler.Work<Object>) (flow, args) -> {});
    samples.put(Hook.Watch.class, (Hook.Watch<Object>) (flow, what) -> {});
    samples.put(Hook.Change.class, (Hook.Change<Object>) (flow, what) -> what);
    samples.put(Hook.CallWatch.class, (Hook.CallWatch<Object>) (flow, call, what) -> {});
    samples.put(Hook.ResultChange.class, (Hook.ResultChange) (flow, call, result) -> result);
    samples.put(Hook.ResultVeto.class, (Hook.ResultVeto) (flow, call, result) -> result);
    samples.put(Hook.UpdateChange.class, (Hook.UpdateChange) (flow, id, update) -> update);
    samples.put(Function.class, (Function<Object, Object>) any -> "text");
    samples.put(UnaryOperator.class, (UnaryOperator<Object>) any -> any);
    samples.put(Supplier.class, (Supplier<Object>) () -> "text");
    return samples;
  }

  /** An agent with what was made. */
  private Agent used(Object made) {
    if (made instanceof Offered offered) {
      return Agent.aiHuman("desk", prompt.tools(offered));
    } else if (made instanceof Prompt other) {
      return Agent.aiHuman("desk", other);
    } else if (made instanceof Participant side) {
      return Agent.of("desk", Participant.prompt(prompt.tools(tool)), side);
    } else if (made instanceof Hook another) {
      return agent.hooks(another);
    } else if (made instanceof ScheduledHandler handler) {
      return agent.effects(handler);
    } else if (made instanceof Compaction compaction) {
      return agent.compaction(compaction);
    }
    return agent;
  }

  @Test
  void everyRefusalOfANullNamesTheArgumentOrTheOption() {
    McpTools http = McpTools.http("crm", "http://localhost:1/mcp");
    McpTools server = McpTools.stdio("crm", "server");
    NullArguments nulls =
        new NullArguments(samples(), NAMES)
            .tried(Agent.class, call -> call.of(agent), "effect", "side", "prompt", "offered")
            .tried(Prompt.class, call -> used(call.of(prompt)))
            .tried(Participant.class, call -> used(call.of(null)))
            .tried(Participant.Speaker.class, call -> used(call.of(Participant.prompt(prompt))))
            .tried(Tool.class, call -> used(call.of(tool)), "equals")
            .tried(ScheduledHandler.class, call -> used(call.of(effect)), "equals")
            .tried(FlowTool.class, call -> used(call.of(flowTool)), "wrong", "mapped", "sameWork")
            .tried(SubAgent.class, call -> used(call.of(SubAgent.of("a", "b"))), "equals")
            .tried(Handoff.class, call -> used(call.of(Handoff.to("a", "b"))), "equals")
            .tried(SubPrompt.class, call -> used(call.of(prompt.asTool())), "equals")
            .tried(Hook.class, call -> used(call.of(null)))
            .tried(Budget.class, call -> call.of(Budget.NONE), "spent", "equals")
            .tried(
                Compaction.class, call -> used(call.of(Compaction.by(model, 8, 2))), "by", "equals")
            .tried(Model.class, call -> call.of(model), "call")
            .tried(Tools.class, call -> call.of(null))
            .tried(McpTools.class, call -> call.of(http), "env", "http")
            .tried(McpTools.class, call -> call.of(server), "header", "bearer", "http");
    assertThat(nulls.calls()).isGreaterThan(100);
    assertThat(nulls.unnamed()).isEmpty();
  }

  @Test
  @SuppressWarnings("NullAway") // what is given by mistake
  void allThatIsNullIsNamedAtOnceWithItsAgentOrPrompt() {
    assertThatThrownBy(() -> agent.compaction(new Compaction(null, 8, 2, null)))
        .isInstanceOf(InvalidAgentException.class)
        .hasMessage(
            """
            The agent desk is invalid:
            - compaction.model is null; give it a value
            - compaction.instruction is null; give it a value""");
    assertThatThrownBy(() -> prompt.hooks(hook, Hook.toolCallStarted(null, null)))
        .hasMessage(
            """
            The prompt support: hooks.1.id is null; give it a value
            The prompt support: hooks.1.function is null; give it a value""");
    assertThatThrownBy(() -> agent.env("v", null)).hasMessageContaining("env.v is null");
    assertThatThrownBy(() -> McpTools.http("crm", null)).hasMessage("url");
  }

  @Test
  @SuppressWarnings("NullAway") // what is given by mistake
  void aToolIsNeverWithoutTheApprovalThatItsAuthorMeant() {
    String none = null;
    assertThatThrownBy(() -> tool.approval(none)).hasMessage("question");
    assertThatThrownBy(() -> flowTool.approval(none)).hasMessage("question");
  }
}
