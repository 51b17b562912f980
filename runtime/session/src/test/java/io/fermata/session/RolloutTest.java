package io.fermata.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import com.fasterxml.jackson.databind.JsonNode;
import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.data.message.AiMessage;
import io.fermata.agent.Agent;
import io.fermata.agent.FlowTool;
import io.fermata.agent.Prompt;
import io.fermata.agent.ScheduledHandler;
import io.fermata.agent.Tool;
import io.fermata.agent.message.Message;
import io.fermata.agent.state.HeldWork;
import io.fermata.flow.Flow;
import io.fermata.persistence.Store;
import io.fermata.session.admin.ThreadJson;
import io.fermata.session.admin.Threads;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Threads that wait for what a release lacks. */
class RolloutTest {
  private record Nothing() {}

  private static final Duration DELAY = Duration.ofDays(3);

  private final AtomicInteger paid = new AtomicInteger();
  private final CountDownLatch reminded = new CountDownLatch(1);
  private final AtomicInteger reminders = new AtomicInteger();
  private final ScheduledHandler remind =
      ScheduledHandler.of(
          "remind",
          "Reminds.",
          Nothing.class,
          (flow, args) -> {
            reminders.incrementAndGet();
            reminded.countDown();
          });

  private @TempDir Path folder;

  private static <T> T now(CompletionStage<T> stage) throws Exception {
    return stage.toCompletableFuture().get(60, TimeUnit.SECONDS);
  }

  private Agent desk(String tool) {
    Tool pays =
        Tool.of(tool, "Pays.", (flow, args) -> "paid " + paid.incrementAndGet())
            .approval(args -> "Pay?");
    Tool plans =
        Tool.of("plans", "Plans.", (flow, args) -> flow.scheduleEffect("remind", Map.of(), DELAY));
    return Agent.aiHuman(
        "desk",
        Prompt.of(
                "p",
                ScriptedModels.answering(
                    messages ->
                        AiMessage.from(
                            ToolExecutionRequest.builder()
                                .id("" + messages.size())
                                .name(messages.size() == 1 ? "plans" : "pay")
                                .arguments("{}")
                                .build())))
            .tools(pays, plans));
  }

  @Test
  void aThreadWhoseEffectOrApprovalTheReleaseLacksIsNamed() throws Exception {
    Store store = Store.sqlite(folder.resolve("t.db"));
    String id;
    try (Fermata host = Fermata.host().store(store).agent(desk("pay").effects(remind)).start()) {
      id = asked(host).threadId();
      assertThat(now(host.journals().check()).complete()).isTrue();
      assertThat(now(host.journals().check(List.of(desk("refund")))).complete()).isFalse();
    }

    Rollout rollout = Rollout.check(store, List.of(desk("refund")));
    assertThat(rollout.complete()).isFalse();
    assertThat(rollout.held()).extracting(Rollout.ThreadResult::threadId).containsExactly(id);
    assertThat(rollout.text()).contains("1 thread(s): 1 are held", id, "effect remind", "tool pay");
    assertThat(Rollout.check(store).text()).contains("no agent desk is registered");
    assertThat(Rollout.check(store, List.of(desk("pay").effects(remind))).complete()).isTrue();
  }

  @Test
  void aHostIsCheckedAsItWouldStart() throws Exception {
    Store store = Store.sqlite(folder.resolve("t.db"));
    Flow<TestFlows.Trip> trip = TestFlows.trip();
    Agent books =
        Agent.aiHuman(
            "books",
            Prompt.of("p", ScriptedModels.answering(messages -> AiMessage.from("Booked.")))
                .tools(FlowTool.of("trip", "Books.", trip)));
    HostBuilder host = Fermata.host().store(store).agent(books).agent(desk("pay").effects(remind));
    try (Fermata started = host.start()) {
      asked(started);
    }

    assertThat(host.flows()).extracting(Flow::id).containsExactly("trip");
    assertThat(Rollout.check(host).complete()).isTrue();
    assertThat(WhatIf.of(host).over(store).complete()).isTrue();
    assertThat(Rollout.check(Fermata.host().store(store).agent(books)).held()).hasSize(1);
  }

  /** A thread that has scheduled the effect and asks whether to pay. */
  private static Threads.View asked(Fermata host) throws Exception {
    Threads threads = host.threads();
    String id =
        now(threads.create(
                new Threads.NewThread("ann", "desk", null, Set.of(), Map.of(), List.of())))
            .threadId();
    now(threads.post("ann", id, new Threads.NewMessage(Message.user("go"), List.of(), null)));
    return asking(host, id);
  }

  private static Threads.View asking(Fermata host, String id) throws Exception {
    Threads.View view = now(host.threads().settled("ann", id, Duration.ofSeconds(30)));
    assertThat(view.status()).isEqualTo(Threads.Status.ASKING);
    return view;
  }

  @Test
  void aThreadShowsWhatIsHeldAndWhy() throws Exception {
    Store store = Store.sqlite(folder.resolve("t.db"));
    String id;
    String call;
    try (Fermata host = Fermata.host().store(store).agent(desk("pay").effects(remind)).start()) {
      Threads.View asked = asked(host);
      id = asked.threadId();
      call = asked.questions().get(0).call();
      assertThat(asked.held()).isEmpty();
    }

    try (Fermata host = Fermata.host().store(store).agent(desk("refund")).start()) {
      JsonNode held = ThreadJson.view(now(host.threads().get("ann", id))).path("held");
      assertThat(held).hasSize(2);
      assertThat(held.get(0).path("what").asText()).isEqualTo("effect");
      assertThat(held.get(0).path("name").asText()).isEqualTo("remind");
      assertThat(held.get(0).path("why").asText()).contains("desk has no effect remind");
      assertThat(held.get(1).path("what").asText()).isEqualTo("call");
      assertThat(held.get(1).path("id").asText()).isEqualTo(call);
      assertThat(held.get(1).path("why").asText()).contains("desk has no tool pay");
      assertThat(now(host.journals().check(List.of(desk("refund")))).held())
          .as("what check names")
          .flatExtracting(Rollout.ThreadResult::missing)
          .containsExactlyElementsOf(held.findValuesAsText("why"));
    }

    Agent other = Agent.aiHuman("other", Prompt.of("p", ScriptedModels.saying("ok")));
    try (Fermata host = Fermata.host().store(store).agent(other).start()) {
      assertThat(now(host.threads().get("ann", id)).held())
          .extracting(HeldWork::what, HeldWork::why)
          .containsExactly(tuple(HeldWork.What.THREAD, "no agent desk is registered"));
    }
  }

  private static Fermata host(Store store, Instant now, Agent desk) {
    return Fermata.host().store(store).clock(() -> now).agent(desk).start();
  }

  @Test
  void anEffectAndAnApprovalAreHeldUntilAHostHasWhatTheyNeedAgain() throws Exception {
    Store store = Store.sqlite(folder.resolve("t.db"));
    Instant began = Instant.now();
    Instant due = began.plus(DELAY).plusSeconds(1);
    String id;
    Threads.Answer yes;
    try (Fermata host = host(store, began, desk("pay").effects(remind))) {
      Threads.View asked = asked(host);
      id = asked.threadId();
      yes = new Threads.Answer(asked.questions().get(0).call(), "yes", true, null, null);
    }

    for (int restart = 0; restart < 2; restart++) {
      try (Fermata host = host(store, due, desk("refund"))) {
        assertThatThrownBy(() -> now(host.threads().answer("ann", id, yes)))
            .hasMessageContainingAll("The tool pay is not registered", "register it again");
        // An entry that is written meanwhile does not forget what is held.
        now(host.threads().change("ann", id, Set.of("restart " + restart), Map.of()));
        assertThat(asking(host, id).questions())
            .extracting(Threads.Question::call)
            .containsExactly(yes.call());
        assertThat(now(host.journals().check()).held())
            .singleElement()
            .satisfies(held -> assertThat(held.missing()).hasSize(2));
      }
    }
    assertThat(reminders).hasValue(0);
    assertThat(paid).hasValue(0);

    try (Fermata host = host(store, due, desk("pay").effects(remind))) {
      assertThat(reminded.await(60, TimeUnit.SECONDS)).as("the effect runs by itself").isTrue();
      now(host.threads().answer("ann", id, yes));
      assertThat(asking(host, id).questions())
          .as("the next question")
          .extracting(Threads.Question::call)
          .doesNotContain(yes.call());
      assertThat(paid).hasValue(1);
      assertThat(reminders).hasValue(1);
      assertThat(now(host.journals().check()).complete()).isTrue();
    }
  }
}
