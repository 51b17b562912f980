package io.fermata.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.agent.model.Model;
import java.math.BigDecimal;
import java.time.Duration;
import java.util.List;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

/** Mistakes of authors are refused early, with the thing, the reason and the next step. */
class AgentMistakesTest {
  private final Model model = new Scripted().model();
  private final Agent desk = desk();

  private Agent desk(Offered... tools) {
    return Agent.aiHuman("desk", Prompt.of("support", model).tools(tools));
  }

  private static void refused(ThrowingCallable mistake, String... words) {
    assertThatThrownBy(mistake)
        .isInstanceOf(IllegalArgumentException.class)
        .isNotInstanceOf(NumberFormatException.class)
        .hasMessageContainingAll(words);
  }

  @Test
  void anAmountOfMoneyIsANumberThatIsNotNegative() {
    for (String text : List.of("five", "$5", "2,50", "")) {
      refused(
          () -> Budget.cost(text),
          "The cost of a budget is \"" + text + "\"",
          "write US dollars with digits and a point");
      refused(
          () -> model.price("1", text, "0"),
          "Model " + model.name() + ": the price of output is \"" + text + "\"");
    }
    refused(() -> Budget.tokens(5).andCost("x"), "The cost of a budget is \"x\"");
    refused(() -> Budget.cost("-1"), "The cost of a budget is negative: -1; give US dollars");
    refused(
        () -> model.price("-1", "1", "1"), "the price of input is negative: -1; give US dollars");
    assertThat(Budget.cost("2.50").cost()).isEqualTo(new BigDecimal("2.50"));
    assertThat(model.price("0", "0", "0").unpriced()).isEmpty();
  }

  @Test
  void aBudgetAllowsSomething() {
    refused(() -> Budget.tokens(0), "A budget of 0 tokens allows no step; give more");
    refused(() -> Budget.tokens(-5), "A budget of -5 tokens cannot be spent");
    refused(() -> Budget.cost("0"), "A budget of 0 dollars allows no step; give more");
    refused(() -> new Budget(0, BigDecimal.ONE.negate()), "A budget of -1 dollars");
  }

  @Test
  void aTimeOfAToolCanPass() {
    Tool tool = Tool.of("look", "Looks.", (flow, args) -> "found");
    refused(
        () -> desk(tool.timeout(Duration.ZERO)),
        "the tool look has the timeout PT0S; give it a time that can pass");
    refused(() -> tool.retry(0, Duration.ofSeconds(1)), "0 attempts makes none; give at least 1");
    refused(() -> tool.retry(2, Duration.ofSeconds(-1)), "waits PT-1S first");
  }

  @Test
  void anApprovalAsksAndAnExplanationHasSomethingToExplain() {
    Tool pay = Tool.of("pay", "Pays.", (flow, args) -> "paid");
    refused(
        () -> pay.approval(" "),
        "The approval of pay asks nothing; give it a question, or leave it out");
    refused(
        () -> CalledFlow.of("refund", "Pays back.").approval(""),
        "The approval of refund asks nothing");
    refused(FlowTool::explanations, "explain_call would explain nothing; give it the flows");
  }

  @Test
  void aBoundIsNoNegativeNumber() {
    refused(() -> desk.maxSteps(0), "maxSteps is 0; give at least 1");
    refused(() -> desk.maxSessionTurns(-1), "maxSessionTurns is -1; give at least 0");
    refused(
        () -> desk(SubAgent.of("billing", "Bills.").atMost(-1)),
        "atMost of the sub-agent billing is -1; give at least 0");
  }

  @Test
  @SuppressWarnings("NullAway") // what is given by mistake
  void aNameIsGivenAndOnlyOnce() {
    ScheduledHandler remind = ScheduledHandler.of("remind", "Reminds.", (flow, args) -> {});
    refused(() -> desk.effects(remind, remind), "two effects are named remind; rename one");
    refused(() -> Prompt.of(null, model), "The prompt's name \"null\"");
  }

  @Test
  void anUnknownAgentIsRefusedWithTheNearestOrElseWithAll() {
    Agent billing = Agent.aiHuman("billing", Prompt.of("bills", model));
    Agents agents = new Agents(List.of(desk, billing));

    assertThat(agents.unknown("biling"))
        .isEqualTo("There is no agent biling; did you mean billing?");
    assertThat(agents.unknown("warehouse"))
        .isEqualTo("There is no agent warehouse; there are desk, billing");
    assertThatThrownBy(() -> agents.get("biling")).hasMessageContaining("did you mean billing?");
    refused(
        () -> new Agents(List.of(desk(SubAgent.of("biling", "Bills.")), billing)),
        "it refers to the agent biling, which is not registered; register it, too; did you mean"
            + " billing?");
    assertThatThrownBy(() -> new Agents(List.of(desk(SubAgent.of("desc", "Bills.")))))
        .hasMessageEndingWith("register it, too");
  }
}
