package io.fermata.testkit;

import static io.fermata.testkit.ScriptedModel.lastIsResultOf;
import static io.fermata.testkit.ScriptedModel.lastUserContains;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.agent.Agent;
import io.fermata.agent.FlowTool;
import io.fermata.agent.Prompt;
import io.fermata.agent.ScheduledHandler;
import io.fermata.agent.SubAgent;
import io.fermata.agent.Tool;
import io.fermata.agent.ToolHandler;
import io.fermata.agent.message.Message;
import io.fermata.agent.model.Model;
import io.fermata.agent.replay.ThreadReplay;
import io.fermata.flow.Flow;
import io.fermata.flow.schema.Computed;
import io.fermata.flow.schema.Secret;
import io.fermata.persistence.Store;
import io.fermata.session.admin.Threads;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A conversation survives a kill of its host at every entry, and a defect that a kill shows is
 * found.
 */
@Tag("slow")
@Tag("faults")
class AgentProbeTest {
  record Order(String number) {}

  @TempDir Path directory;

  private static Model model() {
    return ScriptedModel.script()
        .when(lastIsResultOf("refund"))
        .say("Your money is on its way.")
        .when(lastUserContains("refund"))
        .call("refund", Map.of("number", "B-1"))
        .otherwise()
        .say("How can I help?")
        .model("scripted");
  }

  private static Agent desk(ToolHandler<Order> refund, UnaryOperator<Tool> options) {
    Tool tool = options.apply(Tool.of("refund", "Pays an order back.", Order.class, refund));
    return Agent.aiHuman("desk", Prompt.of("support", model()).text("Help.").tools(tool))
        .effects(
            ScheduledHandler.of(
                "follow_up",
                "Asks how it went.",
                Order.class,
                (flow, args) ->
                    flow.injectMessage(
                        Message.assistant("Has it arrived, " + args.number() + "?"))));
  }

  private static void refunds(AgentProbe probe) {
    probe.say("Hello").says("How can I help?").rests("stop_on_response");
    probe.say("A refund, please.").asks("Pay B-1 back?");
    probe.approve().says("on its way").stores("paid", 1).rests("stop_on_response");
  }

  private static Tool approved(Tool tool) {
    return tool.approval(args -> "Pay " + args.path("number").asText() + " back?");
  }

  @Test
  void aConversationEndsAsWithoutACrashWhereverTheHostIsKilled() {
    Map<String, Integer> attempts = new ConcurrentHashMap<>();
    Agent desk =
        desk(
            (flow, args) -> {
              attempts.merge(flow.idempotencyKey(), 1, Integer::sum);
              flow.storage().put("paid", 1);
              return "paid";
            },
            AgentProbeTest::approved);
    try (AgentProbe probe =
        AgentProbe.of(Store.sqlite(directory.resolve("desk.db")), host -> host, desk)) {
      probe.crashEverywhere(AgentProbeTest::refunds);

      ThreadReplay.of(List.of(desk), probe.journal()).requireSame();
    }
    assertThat(attempts).hasSizeGreaterThan(10);
    assertThat(attempts.values()).as("only a lost attempt is repeated").containsOnly(1, 2);
  }

  record Card(@Secret String number) {}

  @Test
  void anExpectationThatFailsHidesSecrets() {
    Model model =
        ScriptedModel.script()
            .when(lastIsResultOf("charge"))
            .say("Charged.")
            .otherwise()
            .call("charge", Map.of("number", "4111-2222"))
            .model("charging");
    Tool charge = Tool.of("charge", "Charges a card.", Card.class, (flow, card) -> "charged");
    Agent till = Agent.aiHuman("till", Prompt.of("charging", model).tools(charge));
    try (AgentProbe probe = AgentProbe.of(till)) {
      probe.patience(Duration.ofMillis(10)).say("Charge 4111-2222, please.");
      assertThatThrownBy(() -> probe.says("refunded"))
          .hasMessageContainingAll("Expected the agent to say", "charge", "charged", "Charged.")
          .hasMessageContaining("[redacted]")
          .hasMessageNotContaining("4111-2222");
    }
  }

  /** A desk that lets a worker pay, who asks a clerk. */
  private static Agent[] withSubAgents(UnaryOperator<SubAgent> how) {
    Model delegating =
        ScriptedModel.script()
            .when(lastUserContains("refund"))
            .call("worker", Map.of("message", "A refund, please."))
            .otherwise()
            .say("It is done.")
            .model("delegating");
    Model working =
        ScriptedModel.script()
            .when(lastIsResultOf("refund"))
            .call("clerk", Map.of("message", "File it."))
            .when(lastUserContains("refund"))
            .call("refund", Map.of("number", "B-1"))
            .otherwise()
            .say("Paid and filed.")
            .model("working");
    Model filing = ScriptedModel.script().otherwise().say("Filed.").model("filing");
    Tool refund =
        Tool.of(
            "refund",
            "Pays an order back.",
            Order.class,
            (flow, args) -> {
              flow.storage().put("paid", args.number());
              return "paid";
            });
    SubAgent worker = how.apply(SubAgent.of("worker", "Pays back."));
    SubAgent clerk = SubAgent.of("clerk", "Files.").asBlocking();
    return new Agent[] {
      Agent.aiHuman("desk", Prompt.of("support", delegating).tools(worker)),
      Agent.aiHuman("worker", Prompt.of("work", working).tools(refund, clerk)),
      Agent.aiHuman("clerk", Prompt.of("file", filing))
    };
  }

  @Test
  void aReadThatFailsAsItsHostIsKilledIsRepeatedOnTheNext() {
    Agent desk = desk((flow, args) -> "paid", tool -> tool);
    try (ProbedHost probed =
        new ProbedHost(Store.memory(), host -> host.agent(desk), life -> host -> host, () -> {})) {
      probed.host();
      AtomicInteger reads = new AtomicInteger();
      String read =
          probed.call(
              () -> {
                if (reads.incrementAndGet() > 1) {
                  return CompletableFuture.completedStage("the journal");
                }
                probed.faults.kill();
                return CompletableFuture.failedStage(new IllegalStateException("killed"));
              },
              got -> false,
              "the journal");
      assertThat(read).isEqualTo("the journal");
      assertThat(reads).hasValue(2);
    }
  }

  @Test
  void aConversationWithSubAgentsEndsAsWithoutACrash() {
    Agent[] agents = withSubAgents(SubAgent::asBlocking);
    try (AgentProbe probe = AgentProbe.of(agents[0], agents[1], agents[2])) {
      probe.crashEverywhere(
          script -> script.say("A refund, please.").says("It is done.").rests("stop_on_response"));
    }
  }

  record Parcel(@Computed String receipt) {}

  @Test
  void aConversationMayEndWhileACallWaitsForAMoment() {
    Flow<Parcel> parcel =
        Flow.of("parcel", Parcel.class)
            .description("Sends a parcel.")
            .sleep("transit", Duration.ofDays(2))
            .edge(Flow.START, "transit")
            .edge("transit", Flow.END)
            .compile();
    Model sending =
        ScriptedModel.script()
            .when(lastUserContains("send"))
            .call("parcel", Map.of())
            .otherwise()
            .say("How can I help?")
            .model("sending");
    Agent desk =
        Agent.aiHuman(
            "desk",
            Prompt.of("support", sending).tools(FlowTool.of("parcel", "Sends a parcel.", parcel)));
    try (AgentProbe probe = AgentProbe.of(desk)) {
      probe.crashEverywhere(
          script ->
              assertThat(script.say("Please send it.").view().waits())
                  .extracting(Threads.Wait::tool)
                  .containsExactly("parcel"));
      probe.crashEverywhere(
          script -> {
            script.say("Please send it.").say("Hello").says("How can I help?");
            assertThat(script.journal().transcriptWithSecrets()).contains("It waits until ");
          });
    }
  }

  @Test
  void aToolThatGivesAnotherResultTheSecondTimeIsFound() {
    AtomicInteger paid = new AtomicInteger();
    Agent desk =
        desk(
            (flow, args) -> {
              flow.storage().put("paid", paid.incrementAndGet());
              return "paid";
            },
            tool -> tool);
    try (AgentProbe probe = AgentProbe.of(desk)) {
      assertThatThrownBy(() -> probe.crashEverywhere(script -> script.say("A refund, please.")))
          .isInstanceOf(AssertionError.class)
          .hasMessageContaining("the script ends otherwise")
          .hasMessageContaining("undisturbed")
          .hasMessageContaining("refund attempt 1");
    }
  }

  @Test
  void aToolThatIsCalledAgainAfterItsResultWasStoredIsFound() {
    Agent desk = desk((flow, args) -> "paid", tool -> tool);
    Store store = ForgetfulStore.of(Store.memory());
    try (AgentProbe probe = AgentProbe.of(store, host -> host, desk)) {
      assertThatThrownBy(() -> probe.crashEverywhere(script -> script.say("A refund, please.")))
          .isInstanceOf(AssertionError.class)
          .hasMessageContaining("refund was called again, although entry ")
          .hasMessageContaining(" has its result.");
    }
  }

  @Test
  void aDifferenceAtTheEndOfALongQuestionIsFound() {
    AtomicInteger asked = new AtomicInteger();
    Agent desk =
        desk(
            (flow, args) -> "paid",
            tool -> tool.approval(args -> "long ".repeat(100) + asked.incrementAndGet()));
    try (AgentProbe probe = AgentProbe.of(desk)) {
      assertThatThrownBy(() -> probe.crashEverywhere(script -> script.say("A refund, please.")))
          .isInstanceOf(AssertionError.class)
          .hasMessageContaining("the script ends otherwise");
    }
  }

  @Test
  void aWriteThatFailsIsSeenByTheClientAndNothingIsLost() {
    try (AgentProbe probe = AgentProbe.of(desk((flow, args) -> "paid", tool -> tool))) {
      probe.say("Hello").says("How can I help?");
      probe.failNextWrite().say("A refund, please.").fails("store_unavailable");
      probe.say("A refund, please.").says("on its way");
      probe.crash().say("Hello").says("How can I help?");
    }
  }

  @Test
  void deferredWorkHappensWhenItsTimeHasPassed() {
    Agent desk =
        desk(
            (flow, args) -> {
              flow.scheduleEffect("follow_up", args, Duration.ofDays(3));
              return "paid";
            },
            tool -> tool);
    try (AgentProbe probe = AgentProbe.of(desk).manualTime()) {
      probe.say("A refund, please.").says("on its way");
      probe.passTime(Duration.ofDays(1)).says("on its way");
      probe.restart().passTime(Duration.ofDays(3)).says("Has it arrived, B-1?");
    }
  }

  @Test
  void anExpectationIsOneOfTheThreadAsItIsNow() {
    try (AgentProbe probe = AgentProbe.of(desk((flow, args) -> "paid", AgentProbeTest::approved))) {
      probe.say("A refund, please.").asks("Pay B-1 back?");
      probe.crash().asks("Pay B-1 back?");
      String call = probe.view().questions().get(0).call();
      probe
          .host()
          .threads()
          .answer("tester", probe.threadId(), new Threads.Answer(call, "a", true, null, null))
          .toCompletableFuture()
          .join();
      probe.rests("stop_on_response");
      assertThat(probe.view().questions()).isEmpty();
    }
  }

  @Test
  void anExpectationHoldsOfWhatACallEndedWithAlthoughTheThreadGoesOnByItself() {
    try (AgentProbe probe = AgentProbe.of(desk((flow, args) -> "paid", AgentProbeTest::approved))) {
      probe.say("Hello");
      Threads threads = probe.host().threads();
      Threads.NewMessage more =
          new Threads.NewMessage(Message.user("A refund, please."), List.of(), "more");
      threads
          .post("tester", probe.threadId(), more)
          .thenCompose(
              posted -> threads.settled("tester", probe.threadId(), Duration.ofSeconds(30)))
          .toCompletableFuture()
          .join();
      probe.rests("stop_on_response").asks("Pay B-1 back?");
      assertThatThrownBy(
              () -> probe.restart().patience(Duration.ofMillis(10)).rests("stop_on_response"))
          .hasMessageContaining("but it asks");
    }
  }

  @Test
  void anApprovalIsRepeatedAfterACallThatWasRefused() {
    try (AgentProbe probe = AgentProbe.of(desk((flow, args) -> "paid", AgentProbeTest::approved))) {
      probe.say("A refund, please.").asks("Pay B-1 back?");
      probe.failNextWrite().approve().fails("store_unavailable");
      probe.asks("Pay B-1 back?").approve().says("on its way").rests("stop_on_response");
      assertThatThrownBy(() -> probe.crash().fails("store_unavailable"))
          .isInstanceOf(AssertionError.class);
    }
  }

  @Test
  void anExpectationThatFailsTellsTheConversation() {
    try (AgentProbe probe = AgentProbe.of(desk((flow, args) -> "paid", AgentProbeTest::approved))) {
      probe.patience(Duration.ofMillis(10)).say("A refund, please.");
      assertThatThrownBy(() -> probe.rests("stop_on_response"))
          .hasMessageContaining("Expected the thread to rest: stop_on_response")
          .hasMessageContaining("» say A refund, please.")
          .hasMessageContaining("in the thread")
          .hasMessageContaining("refund")
          .hasMessageContaining("it asks");
      assertThatThrownBy(() -> probe.asks("Pay B-2 back?")).hasMessageContaining("B-2");
      probe.deny("too late").stop().rests("stop_on_response");
    }
  }
}
