package io.fermata.agent.replay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.agent.Agent;
import io.fermata.agent.Conversation;
import io.fermata.agent.Prompt;
import io.fermata.agent.Scripted;
import io.fermata.agent.SubPrompt;
import io.fermata.agent.Tool;
import io.fermata.flow.schema.Secret;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Why a thread stands where it does, and what led to its calls, messages and variables. */
class ThreadCauseTest {
  private record Order(String number, @Nullable @Secret String card) {}

  private static final Tool LOOK_UP =
      Tool.of(
          "look_up",
          "Finds an order.",
          Order.class,
          (flow, order) -> {
            flow.storage().put("seen", order.number());
            return "Order " + order.number();
          });

  private static final Tool REFUND =
      Tool.of("refund", "Refunds.", Order.class, (flow, order) -> "Refunded").approval("Refund?");

  private static Agent desk(Scripted model, Tool... tools) {
    return Agent.aiHuman("desk", Prompt.of("talk", model.model()).text("Talk.").tools(tools));
  }

  private static final Map<String, String> ORDER = Map.of("number", "B-1");

  /** An order is found and then refunded, once Ann approves it. */
  private static Conversation refunded() {
    Scripted model =
        new Scripted().call("look_up", ORDER).call("refund", ORDER).say("It is refunded.");
    return Conversation.with(desk(model, LOOK_UP, REFUND)).say("Refund B-1");
  }

  private static final List<Agent> AGENTS = List.of(desk(new Scripted(), LOOK_UP, REFUND));

  @Test
  void aThreadThatStopsIsExplainedBackToTheMessageThatBeganItsTurn() {
    ThreadJournal journal = refunded().approve("s2.0").run().recorded();

    assertThat(journal.why(AGENTS))
        .hasToString(
            """
            the thread rests: stop_on_response (entry 8, caller ann)
              the model scripted replied "It is refunded.", step 3 of side A, prompt talk (entry 8, caller ann)
                the call s2.0 of refund ended: "Refunded" (entry 7, caller ann)
                  the model scripted replied nothing and calls refund {"number":"B-1"}, step 2 of side A, prompt talk (entry 5, caller ann)
                    the call s1.0 of look_up ended: "Order B-1" (entry 4, caller ann)
                      the model scripted replied nothing and calls look_up {"number":"B-1"}, step 1 of side A, prompt talk (entry 3, caller ann)
                        a message is received: user: Refund B-1 (entry 2, caller ann)
                  a person is asked to approve the call s2.0: {"question":"Refund?","tool":"refund","arguments":{"number":"B-1"}} (entry 5, caller ann)
                  a person approved the call s2.0 (entry 6, caller ann)
            """);
  }

  @Test
  void aThreadThatWaitsSaysForWhomAndWhatLedToTheQuestion() {
    assertThat(refunded().recorded().why(AGENTS).toString())
        .startsWith("the thread waits; a person is asked by the call s2.0 of refund\n")
        .containsSubsequence(
            "  the model scripted replied nothing and calls refund",
            "    the call s1.0 of look_up ended",
            "a message is received: user: Refund B-1",
            "\n  a person is asked to approve the call s2.0");
  }

  @Test
  void aThreadThatActsSaysWhatItDoes() {
    ThreadCause why = refunded().recorded().upTo(2).why(AGENTS);

    assertThat(why.text()).isEqualTo("the thread acts: a model is asked");
    assertThat(why.reasons()).singleElement().extracting(ThreadCause::entry).isEqualTo(2L);
  }

  @Test
  void aCallIsKnownByItsKeyTheIdOfItsModelAndItsMessage() {
    ThreadJournal journal = refunded().approve("s2.0").run().recorded();

    ThreadCause why = journal.why(AGENTS, "s1.0");
    assertThat(why.text()).startsWith("the call s1.0 of look_up ended");
    assertThat(journal.why(AGENTS, "c1")).isEqualTo(why);
    assertThat(journal.why(AGENTS, "m-s1.0")).isEqualTo(why);
    assertThatThrownBy(() -> journal.why(AGENTS, "storage.sen"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining(
            "has no call, message or variable storage.sen; did you mean storage.seen?");
  }

  @Test
  void aVariableIsExplainedByTheCallWhoseToolSetIt() {
    assertThat(refunded().recorded().why(AGENTS, "storage.seen").toString())
        .containsSubsequence(
            "storage.seen becomes \"B-1\"",
            "\n  the call s1.0 is made",
            "\n    the model scripted replied nothing and calls look_up",
            "\n      a message is received");
  }

  @Test
  void theResultOfASubPromptRestsOnWhatItsModelSaid() {
    Scripted inner = Scripted.saying("Four.");
    SubPrompt sum = Prompt.of("sum", inner.model()).text("Add.").toolDescription("Adds.").asTool();
    Scripted model = new Scripted().call("sum", Map.of("message", "2+2")).say("It is four.");
    Agent desk = Agent.aiHuman("desk", Prompt.of("talk", model.model()).text("Talk.").tools(sum));

    assertThat(Conversation.with(desk).say("Hi").recorded().why(List.of(desk), "s1.0").toString())
        .containsSubsequence(
            "the call s1.0 of sum ended",
            "\n  the model scripted replied nothing and calls sum",
            "\n  the model scripted replied \"Four.\", step 2 of side A, prompt sum",
            "\n    the model scripted replied nothing and calls sum",
            ", as above\n");
  }

  @Test
  void callsSideBySideHaveTheirCommonReasonOnce() {
    Scripted model = new Scripted().calls("look_up", "look_up", "look_up").say("Done.");
    Agent desk = desk(model, LOOK_UP);

    String why = Conversation.with(desk).say("Hi").recorded().why(List.of(desk)).toString();

    assertThat(why.split("a message is received", -1)).hasSize(2);
    assertThat(why.split(", as above", -1)).hasSize(3);
  }

  @Test
  void aLongTurnIsCutAndSaysSo() {
    Scripted model = new Scripted().always(request -> null);
    Agent endless = desk(model, LOOK_UP).maxSteps(200);
    for (int i = 0; i < 120; i++) {
      model.call("look_up", Map.of("number", "B-" + i));
    }
    model.say("Done.");

    String why = Conversation.with(endless).say("Hi").recorded().why(List.of(endless)).toString();

    assertThat(why.lines()).hasSize(101);
    assertThat(why).endsWith("what led to it is left out here\n");
  }

  @Test
  void secretsAreMaskedUnlessTheNameSaysOtherwise() {
    Scripted model =
        new Scripted().call("look_up", Map.of("card", "4111-1111")).say("Your 4111-1111.");
    Agent desk = desk(model, LOOK_UP);
    ThreadJournal journal = Conversation.with(desk).say("Hi").recorded();

    assertThat(journal.why(List.of(desk)).toString()).contains("[redacted]").doesNotContain("4111");
    assertThat(journal.whyWithSecrets().toString()).contains("Your 4111-1111.");
    assertThat(journal.whyWithSecrets("s1.0").toString()).contains("4111-1111");
  }
}
