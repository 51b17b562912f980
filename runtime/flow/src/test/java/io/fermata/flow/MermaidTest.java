package io.fermata.flow;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** The picture of a flow. */
class MermaidTest {
  @Test
  void everyNodeAndEveryWayIsDrawn() {
    assertThat(QuoteFlow.builder().compile().mermaid())
        .isEqualTo(
            """
            flowchart TD
              __start__((Start))
              ask_contact[/"ask_contact"/]
              classify["classify"]
              ask_company[/"ask_company"/]
              price["price"]
              show_plans[["show_plans"]]
              __end__((End))
              __start__ --> ask_contact
              ask_contact --> classify
              classify -. "company" .-> ask_company
              classify -. otherwise .-> price
              ask_company --> price
              price --> show_plans
              show_plans --> __end__
            """);
  }

  @Test
  void aLabelCannotBreakThePicture() {
    String drawn =
        Flows.talk()
            .act("a", run -> {})
            .edge(Flow.START, "a")
            .decide("a", d -> d.when("say \"hi\"\nnow", s -> true).to(Flow.END).otherwise(Flow.END))
            .compile()
            .mermaid();
    assertThat(drawn).contains("a -. \"say #quot;hi#quot; now\" .-> __end__\n");
  }
}
