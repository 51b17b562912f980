package io.fermata.agent.tool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.FlowState;
import io.fermata.agent.Tool;
import io.fermata.agent.engine.Rig;
import io.fermata.agent.engine.ToolCalls;
import io.fermata.agent.message.RequestedCall;
import io.fermata.agent.message.ToolResult;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.flow.json.Json;
import io.fermata.flow.schema.Describe;
import jakarta.validation.constraints.Min;
import java.io.IOException;
import java.math.BigDecimal;
import java.time.LocalDate;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Methods as tools. */
class ToolsTest {
  private final Rig rig = new Rig("c1");

  record Refund(@Describe("The order's number") String order, @Min(1) int cents) {}

  enum Sort {
    NEWEST,
    CHEAPEST
  }

  @SuppressWarnings("unused")
  static class Orders {
    @ToolMethod("Finds orders.")
    public List<String> find_orders(
        @Describe("Their mail address") String customer,
        @Nullable Integer limit,
        Sort sort,
        @Nullable List<LocalDate> days) {
      return List.of(customer, "" + limit, sort.name(), "" + days);
    }

    @ToolMethod(
        value = "Pays an order back.",
        name = "refund",
        once = true,
        approval = "Pay it back?")
    public ToolResult payBack(FlowState flow, Refund refund) {
      flow.context("refunded", refund.order());
      return ToolResult.success(refund.cents()).withText("paid " + refund.cents());
    }

    @ToolMethod("Adds up.")
    public CompletionStage<BigDecimal> total(@Arg("first-part") BigDecimal a, int b) {
      return CompletableFuture.completedFuture(a.add(BigDecimal.valueOf(b)));
    }

    @ToolMethod("Does it.")
    public void touch() {}

    @ToolMethod("Fails.")
    public String fail() throws IOException {
      throw new IOException("The shop is closed");
    }

    public void notATool() {}
  }

  private final List<Tool> tools = Tools.of(new Orders());

  private Tool tool(String name) {
    return tools.stream().filter(t -> t.name().equals(name)).findFirst().orElseThrow();
  }

  private static ObjectNode json(String text) {
    return Objects.requireNonNull(
        ToolCalls.arguments(RequestedCall.of("c1", "any", text.replace('\'', '"'))));
  }

  @Test
  void everyAnnotatedMethodIsAToolInTheOrderOfTheirNames() {
    assertThat(tools)
        .extracting(Tool::name)
        .containsExactly("fail", "find_orders", "refund", "total", "touch");
    assertThat(tool("find_orders").description()).isEqualTo("Finds orders.");
  }

  @Test
  void parametersAreTheArgumentsThatAModelIsShown() {
    ObjectNode schema = tool("find_orders").arguments().json();

    assertThat(schema)
        .isEqualTo(
            json(
                """
                {'type':'object','properties':{
                 'customer':{'type':'string','description':'Their mail address'},
                 'limit':{'type':'integer'},
                 'sort':{'type':'string','enum':['NEWEST','CHEAPEST']},
                 'days':{'type':'array','items':{'type':'string','format':'date'}}},
                 'required':['customer','sort'],'additionalProperties':false}"""));
  }

  @Test
  void aCallHandsTheParametersTheirValues() throws Exception {
    ToolResult result =
        rig.call(
            tool("find_orders"),
            json("{'customer':'a@b.c','limit':3,'sort':'CHEAPEST','days':['2026-01-31']}"));

    assertThat(result.text()).isEqualTo("[\"a@b.c\",\"3\",\"CHEAPEST\",\"[2026-01-31]\"]");
  }

  @Test
  void anIntegerMayBeWrittenWithAFraction() throws Exception {
    ToolResult result =
        rig.call(tool("find_orders"), json("{'customer':'a@b.c','limit':3.0,'sort':'NEWEST'}"));

    assertThat(result.text()).isEqualTo("[\"a@b.c\",\"3\",\"NEWEST\",\"null\"]");
  }

  @Test
  void whatMayBeAbsentIsNull() throws Exception {
    ToolResult result =
        rig.call(tool("find_orders"), json("{'customer':'a@b.c','limit':null,'sort':'NEWEST'}"));

    assertThat(result.failed()).isFalse();
    assertThat(result.text()).isEqualTo("[\"a@b.c\",\"null\",\"NEWEST\",\"null\"]");
  }

  record Limits(Map<String, Integer> by, @Nullable List<Limits.Of> of) {
    record Of(Map<String, Integer> by) {}

    Limits {
      by = Map.copyOf(by);
    }
  }

  @Test
  void nullInAMapOfValuesIsAbsentForTheHandlerAsForTheCheck() throws Exception {
    Tool limit =
        Tool.of("limit", "Sets limits.", Limits.class, (flow, limits) -> limits.toString());

    ToolResult result = rig.call(limit, json("{'by':{'a':null,'b':1},'of':[{'by':{'c':null}}]}"));

    assertThat(result.text()).isEqualTo("Limits[by={b=1}, of=[Of[by={}]]]");
  }

  @Test
  void argumentsThatDoNotFitNeverReachTheMethod() throws Exception {
    ToolResult result =
        rig.call(
            tool("find_orders"),
            json("{'customer':7,'limit':99999999999,'sort':'DEAREST','day':1}"));

    assertThat(result.code()).isEqualTo("invalid_arguments");
    assertThat(result.text())
        .contains("[customer]", "[sort]", "[day]", "did you mean days?")
        .doesNotContain("null");

    ToolResult range =
        rig.call(tool("find_orders"), json("{'customer':'a','limit':99999999999,'sort':'NEWEST'}"));
    assertThat(range.text()).contains("[limit] cannot be read");
  }

  @Test
  void aSingleRecordIsAllTheArguments() throws Exception {
    assertThat(tool("refund").arguments().check(json("{'order':'A1','cents':0}")))
        .extracting(v -> v.field())
        .containsExactly("cents");

    ToolResult result = rig.call(tool("refund"), json("{'order':'A1','cents':250}"));

    assertThat(result.text()).isEqualTo("paid 250");
    assertThat(rig.changes())
        .containsExactly(new ThreadEvent.ContextSet("refunded", Json.tree("A1")));
  }

  @Test
  void theAnnotationSaysHowItIsCarriedOut() {
    Tool refund = tool("refund");
    assertThat(refund.policy().once()).isTrue();
    assertThat(refund.approval()).isNotNull();
    assertThat(tool("touch").policy()).isEqualTo(io.fermata.flow.event.Policy.DEFAULT);
    assertThat(tool("touch").approval()).isNull();
  }

  @Test
  void aStageIsWaitedForAndNothingIsASuccessWithoutWords() throws Exception {
    assertThat(rig.call(tool("total"), json("{'first-part':1.50,'b':2}")).text()).isEqualTo("3.50");
    assertThat(rig.call(tool("touch"), json("{}"))).isEqualTo(ToolResult.success(null));
  }

  @Test
  void whatAMethodThrowsIsThrownAsItIs() {
    assertThatThrownBy(() -> rig.call(tool("fail"), json("{}")))
        .isInstanceOf(IOException.class)
        .hasMessage("The shop is closed");
  }

  @SuppressWarnings({"unused", "NullAway"})
  static final class Wrong {
    @ToolMethod("Is hidden.")
    void hidden() {}

    @ToolMethod(" ")
    public void silent() {}

    @ToolMethod(value = "Has bad options.", name = "bad name")
    public void options() {}

    @ToolMethod("Takes the state late.")
    public void late(String a, FlowState flow) {}

    @ToolMethod("Is optional in the wrong way.")
    public void optional(Optional<String> a) {}

    @ToolMethod("Has a constraint that nobody checks.")
    public void constrained(@Min(1) int a) {}

    @ToolMethod("Has two of one name.")
    public void twins(@Arg("a") String one, @Arg("a") String two) {}

    @ToolMethod("Is one of two.")
    public void same(String a) {}

    @ToolMethod("Is the other of two.")
    public void same(int a) {}

    @ToolMethod("Contains itself.")
    public void circular(Node node) {}
  }

  record Node(List<Node> children) {}

  @Test
  void everythingThatIsWrongIsReportedAtOnceWithWhatToDo() {
    assertThatThrownBy(() -> Tools.of(new Wrong()))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContainingAll(
            "The methods of io.fermata.agent.tool.ToolsTest$Wrong cannot be tools:",
            "- hidden(): is not public; make it public",
            "- silent(): has no description; describe for the model when to call it",
            "- options(): its name \"bad name\" is not 1 to 64",
            "- late(String, FlowState): takes the FlowState at flow; it can only be the first",
            "- optional(Optional): a is an Optional; say @Nullable instead",
            "- constrained(int): @Min at a has no effect on a parameter; take a record that has it",
            "- twins(String, String): two parameters are named a; rename one",
            "- same(int): ",
            "give one of them a name of its own",
            "- circular(Node): Node contains itself");
  }

  @Test
  void anObjectWithoutToolsIsRefused() {
    assertThatThrownBy(() -> Tools.of("text"))
        .hasMessageContaining("none of its methods has @ToolMethod");
  }
}
