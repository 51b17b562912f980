package io.fermata.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.model.chat.ChatModel;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.output.TokenUsage;
import io.fermata.agent.Agent;
import io.fermata.agent.Budget;
import io.fermata.agent.Compaction;
import io.fermata.agent.Handoff;
import io.fermata.agent.InvalidAgentException;
import io.fermata.agent.Prompt;
import io.fermata.agent.SubAgent;
import io.fermata.agent.Tool;
import io.fermata.agent.message.Message;
import io.fermata.agent.model.Model;
import io.fermata.agent.state.ChildThread;
import io.fermata.agent.state.StopCode;
import io.fermata.persistence.Store;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.Unfinished;
import io.fermata.session.admin.Threads;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a thread, and those that it puts to work, may spend together. */
class BudgetTest {
  private static final Duration TIMEOUT = Duration.ofSeconds(30);

  @TempDir Path dir;

  private final AtomicInteger childSteps = new AtomicInteger();

  /** A reply costs ten dollars. */
  private static Model model(String name, ChatModel chat) {
    return Model.of(name, chat).attempts(1).price("1000000", "0", "0");
  }

  /** A reply that takes no tokens. */
  private static ChatResponse.Builder free() {
    return ChatResponse.builder().tokenUsage(new TokenUsage(0, 0));
  }

  private static ChatModel calling(String tool, String arguments) {
    return new ChatModel() {
      @Override
      public ChatResponse doChat(ChatRequest request) {
        boolean called =
            request.messages().get(request.messages().size() - 1)
                    instanceof ToolExecutionResultMessage result
                && result.toolName().equals(tool);
        AiMessage says =
            called
                ? AiMessage.from("Done.")
                : AiMessage.from(
                    ToolExecutionRequest.builder().id("1").name(tool).arguments(arguments).build());
        return free().aiMessage(says).build();
      }
    };
  }

  /** Works in many steps of ten dollars each. */
  private Agent worker(String name) {
    return worker(name, Tool.of("dig", "Digs.", (flow, args) -> "dug"));
  }

  private Agent worker(String name, Tool dig) {
    ChatModel digs =
        new ChatModel() {
          @Override
          public ChatResponse doChat(ChatRequest request) {
            int step = childSteps.incrementAndGet();
            return ChatResponse.builder()
                .aiMessage(
                    step % 20 == 0
                        ? AiMessage.from("A hole.")
                        : AiMessage.from(
                            ToolExecutionRequest.builder()
                                .id("d" + step)
                                .name("dig")
                                .arguments("{}")
                                .build()))
                .tokenUsage(new TokenUsage(10, 0))
                .build();
          }
        };
    return Agent.aiHuman(name, Prompt.of("dig", model("digger", digs)).tools(dig));
  }

  private static Agent boss(String name, String worker) {
    return Agent.aiHuman(
        name,
        Prompt.of("boss", model("boss", calling(worker, "{\"message\":\"dig\"}")))
            .tools(SubAgent.of(worker, "Works.").asBlocking()));
  }

  private static <T> T now(CompletionStage<T> stage) throws Exception {
    return stage.toCompletableFuture().get(60, TimeUnit.SECONDS);
  }

  private static Threads.View asked(Fermata host, String agent) throws Exception {
    Threads threads = host.threads();
    String id =
        now(threads.create(
                new Threads.NewThread("ann", agent, null, Set.of(), Map.of(), List.of())))
            .threadId();
    now(threads.post("ann", id, new Threads.NewMessage(Message.user("go"), List.of(), null)));
    return now(threads.settled("ann", id, TIMEOUT));
  }

  private static Fermata host(Agent... agents) {
    return host(Store.memory(), agents);
  }

  private static Fermata host(Store store, Agent... agents) {
    HostBuilder builder = Fermata.host().store(store);
    for (Agent agent : agents) {
      builder.agent(agent);
    }
    return builder.start();
  }

  @Test
  void whatAChildSpendsCountsInItsParentAndStopsBoth() throws Exception {
    try (Fermata host =
        host(boss("desk", "worker").budget(Budget.cost("15.00")), worker("worker"))) {
      Threads.View view = asked(host, "desk");

      assertThat(childSteps).hasValue(2);
      assertThat(view.usage().cost()).isEqualByComparingTo("20");
      assertThat(view.code()).isEqualTo(StopCode.BUDGET_SPENT);
      assertThat(view.children().get(0).usage().cost()).isEqualByComparingTo("20");
      Threads.View child = now(host.threads().get("ann", view.children().get(0).threadId()));
      assertThat(child.code()).isEqualTo(StopCode.BUDGET_SPENT);
      assertThat(child.progress().detail()).contains("agent desk", "20 US dollars");
    }
  }

  /** A tool of which only the second run ends. */
  private static Tool stuck(String name, AtomicInteger runs) {
    return Tool.of(
        name,
        "Works.",
        (flow, args) -> {
          if (runs.incrementAndGet() != 2) {
            new CountDownLatch(1).await();
          }
          return "done";
        });
  }

  /** Puts a worker to work and makes a note at once. */
  private static Agent noting(AtomicInteger notes) {
    ChatModel both =
        new ChatModel() {
          @Override
          public ChatResponse doChat(ChatRequest request) {
            return free()
                .aiMessage(
                    AiMessage.from(call("worker", "{\"message\":\"dig\"}"), call("note", "{}")))
                .build();
          }
        };
    return Agent.aiHuman(
        "desk",
        Prompt.of("boss", model("boss", both))
            .tools(SubAgent.of("worker", "Works.").asBlocking(), stuck("note", notes))
            .parallelToolCalls());
  }

  private static ToolExecutionRequest call(String tool, String arguments) {
    return ToolExecutionRequest.builder().id(tool).name(tool).arguments(arguments).build();
  }

  @Test
  void aChildContinuesWithoutTheAgentOfItsParentAndTheParentContinuesOnceItIsBack()
      throws Exception {
    AtomicInteger digs = new AtomicInteger();
    AtomicInteger notes = new AtomicInteger();
    Agent desk = noting(notes);
    Agent worker = worker("worker", stuck("dig", digs));
    Store store = Store.sqlite(dir.resolve("t.db"));
    String id;
    try (Fermata host = host(store, desk, worker)) {
      id =
          now(host.threads()
                  .create(
                      new Threads.NewThread("ann", "desk", null, Set.of(), Map.of(), List.of())))
              .threadId();
      now(
          host.threads()
              .post("ann", id, new Threads.NewMessage(Message.user("go"), List.of(), null)));
      TestHost.eventually(() -> digs.get() == 1 && notes.get() == 1);
      host.crash();
    }
    try (Fermata host = host(store, worker)) {
      TestHost.eventually(() -> digs.get() == 3);
      assertThat(now(host.threads().get("ann", id)).usage().cost()).isEqualByComparingTo("10");
      host.crash();
    }
    try (OpenStore left = store.open()) {
      assertThat(now(left.unfinished("", 10)))
          .extracting(Unfinished::persistenceId)
          .anyMatch(session -> session.startsWith("agent:desk|"));
    }
    try (Fermata host = host(store, desk, worker)) {
      TestHost.eventually(() -> notes.get() == 2);
      host.crash();
    }
  }

  @Test
  void anAgentThatHandsOverStillBoundsWhatTheThreadAndItsChildrenSpend() throws Exception {
    Agent desk =
        Agent.aiHuman(
                "desk",
                Prompt.of("desk", model("desk", calling("boss", "{}")))
                    .tools(Handoff.to("boss", "Has workers.")))
            .budget(Budget.cost("15.00"));
    try (Fermata host = host(desk, boss("boss", "worker"), worker("worker"))) {
      Threads.View view = asked(host, "desk");

      assertThat(view.agent()).isEqualTo("boss");
      assertThat(childSteps).hasValue(2);
      assertThat(view.code()).isEqualTo(StopCode.BUDGET_SPENT);
      Threads.View child = now(host.threads().get("ann", view.children().get(0).threadId()));
      assertThat(child.progress().detail()).contains("agent desk");
    }
  }

  /** Each child replies only when all are asked, so none of them knows what the others spend. */
  private static Model together(int children, AtomicInteger calls) {
    CountDownLatch all = new CountDownLatch(children);
    ChatModel model =
        new ChatModel() {
          @Override
          public ChatResponse doChat(ChatRequest request) {
            int call = calls.incrementAndGet();
            all.countDown();
            try {
              assertThat(all.await(TIMEOUT.toSeconds(), TimeUnit.SECONDS)).isTrue();
            } catch (InterruptedException interrupted) {
              throw new IllegalStateException(interrupted);
            }
            return ChatResponse.builder()
                .aiMessage(
                    AiMessage.from(
                        ToolExecutionRequest.builder()
                            .id("d" + call)
                            .name("dig")
                            .arguments("{}")
                            .build()))
                .tokenUsage(new TokenUsage(10, 0))
                .build();
          }
        };
    return model("digger", model);
  }

  @Test
  void childrenSideBySideExceedABudgetByTheStepsThatTheyHadBegunAndBeginNoFurtherOne()
      throws Exception {
    int children = 3;
    List<ToolExecutionRequest> requests =
        IntStream.range(0, children)
            .mapToObj(
                i ->
                    ToolExecutionRequest.builder()
                        .id("w" + i)
                        .name("worker")
                        .arguments("{\"message\":\"dig\"}")
                        .build())
            .toList();
    ChatModel asks =
        new ChatModel() {
          @Override
          public ChatResponse doChat(ChatRequest request) {
            boolean called =
                request.messages().get(request.messages().size() - 1)
                    instanceof ToolExecutionResultMessage;
            return free()
                .aiMessage(called ? AiMessage.from("They dig.") : AiMessage.from(requests))
                .build();
          }
        };
    Agent desk =
        Agent.aiHuman(
                "desk",
                Prompt.of("boss", model("boss", asks)).tools(SubAgent.of("worker", "Works.")))
            .budget(Budget.cost("5.00"));
    Agent worker =
        Agent.aiHuman(
            "worker",
            Prompt.of("dig", together(children, childSteps))
                .tools(Tool.of("dig", "Digs.", (flow, args) -> "dug")));
    try (Fermata host = host(desk, worker)) {
      Threads.View view = asked(host, "desk");
      for (ChildThread child : view.children()) {
        Threads.View ended = now(host.threads().settled("ann", child.threadId(), TIMEOUT));
        assertThat(ended.code()).isEqualTo(StopCode.BUDGET_SPENT);
        assertThat(ended.usage().cost()).isEqualByComparingTo("10");
      }
      assertThat(view.children()).hasSize(children);
      assertThat(childSteps).hasValue(children);
    }
  }

  @Test
  void aBudgetHoldsWithAProviderThatReportsNoTokens() throws Exception {
    ChatModel silent =
        new ChatModel() {
          @Override
          public ChatResponse doChat(ChatRequest request) {
            String step = "d" + childSteps.incrementAndGet();
            return ChatResponse.builder()
                .aiMessage(
                    AiMessage.from(
                        ToolExecutionRequest.builder()
                            .id(step)
                            .name("dig")
                            .arguments("{}")
                            .build()))
                .build();
          }
        };
    Agent digger =
        Agent.aiHuman(
                "digger",
                Prompt.of("dig", model("digger", silent))
                    .tools(Tool.of("dig", "Digs.", (flow, args) -> "dug")))
            .budget(Budget.tokens(100));
    try (Fermata host = host(digger)) {
      assertThat(asked(host, "digger").code()).isEqualTo(StopCode.BUDGET_SPENT);
      assertThat(childSteps.get()).isBetween(2, 20);
    }
  }

  @Test
  void theBudgetOfAGrandparentHoldsForAGrandchild() throws Exception {
    try (Fermata host =
        host(
            boss("desk", "foreman").budget(Budget.tokens(35)),
            boss("foreman", "worker"),
            worker("worker"))) {
      Threads.View view = asked(host, "desk");

      assertThat(childSteps).hasValue(4);
      assertThat(view.usage().inputTokens()).isEqualTo(40);
      assertThat(view.code()).isEqualTo(StopCode.BUDGET_SPENT);
    }
  }

  @Test
  void aChildDoesNotStartOnceTheBudgetOfItsParentIsSpent() throws Exception {
    ChatModel expensive =
        new ChatModel() {
          @Override
          public ChatResponse doChat(ChatRequest request) {
            return ChatResponse.builder()
                .aiMessage(calling("worker", "{\"message\":\"dig\"}").doChat(request).aiMessage())
                .tokenUsage(new TokenUsage(100, 0))
                .build();
          }
        };
    Agent desk =
        Agent.aiHuman(
                "desk",
                Prompt.of("boss", model("boss", expensive))
                    .tools(SubAgent.of("worker", "Works.").asBlocking()))
            .budget(Budget.tokens(100));
    try (Fermata host = host(desk, worker("worker"))) {
      assertThat(asked(host, "desk").code()).isEqualTo(StopCode.BUDGET_SPENT);
      assertThat(childSteps).hasValue(0);
    }
  }

  @Test
  void aBudgetInMoneyNeedsPricesOfEveryModelThatItReaches() {
    Model free = Model.of("free", calling("x", "{}"));
    Agent plain = Agent.aiHuman("plain", Prompt.of("p", free));
    Budget cost = Budget.cost("1.00");

    refused(List.of("plain", "free", "price", "Budget.tokens"), plain.budget(cost));
    refused(List.of("desk", "free", "agent plain"), boss("desk", "plain").budget(cost), plain);
    Prompt priced = Prompt.of("p", model("priced", calling("x", "{}")));
    refused(
        List.of("free", "agent plain"),
        Agent.aiHuman("desk", priced.tools(Handoff.to("plain", "There."))).budget(cost),
        plain);
    refused(
        List.of("free"),
        Agent.aiHuman("desk", Prompt.of("p", model("priced", calling("x", "{}")).fallback(free)))
            .budget(cost));
    refused(
        List.of("free"),
        Agent.aiHuman("desk", priced).compaction(Compaction.by(free, 80, 20)).budget(cost));
    refused(
        List.of("free"),
        Agent.aiHuman(
                "desk", priced.tools(Prompt.of("sub", free).toolDescription("Sums up.").asTool()))
            .budget(cost));
    host(Agent.aiHuman("desk", Prompt.of("p", free.price("0", "0", "0"))).budget(cost)).close();
    host(plain.budget(Budget.tokens(10))).close();
  }

  private static void refused(List<String> words, Agent... agents) {
    assertThatThrownBy(() -> host(agents).close())
        .isInstanceOf(InvalidAgentException.class)
        .hasMessageContainingAll(words.toArray(String[]::new));
  }
}
