package io.fermata.session.key;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.session.TestHost.eventually;
import static org.assertj.core.api.Assertions.assertThat;

import dev.langchain4j.data.message.AiMessage;
import io.fermata.agent.Agent;
import io.fermata.agent.FlowTool;
import io.fermata.agent.Prompt;
import io.fermata.agent.SubAgent;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.MessageDelta;
import io.fermata.agent.state.ChildThread;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.flow.Flow;
import io.fermata.flow.json.Json;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import io.fermata.session.HostBuilder;
import io.fermata.session.ScriptedModels;
import io.fermata.session.admin.Settings;
import io.fermata.session.admin.Threads;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Threads that work for threads, and what a host has room for, on a real store. */
@Tag("slow")
class ThreadFamilyTest {
  private static final Duration TIMEOUT = Duration.ofSeconds(30);
  private static final String FULL = "more calls than it can handle";

  @TempDir Path folder;

  record Case(@Nullable String colour) {}

  private static Agent desk() {
    return Agent.aiHuman(
        "desk",
        Prompt.of(
                "p", ScriptedModels.calling("painter", "{\"message\":\"paint\"}", result -> "done"))
            .tools(SubAgent.of("painter", "Paints").asBlocking()));
  }

  private static Agent painter(FlowTool paint) {
    return Agent.aiHuman(
        "painter",
        Prompt.of("p", ScriptedModels.calling("paint", "{}", result -> "done: " + result))
            .tools(paint));
  }

  private static FlowTool asks() {
    return FlowTool.of(
        "paint",
        "Paints.",
        Flow.of("paint", Case.class)
            .description("Paints.")
            .ask("ask", a -> a.question("colour", "Which colour?"))
            .edge(START, "ask")
            .edge("ask", END)
            .compile());
  }

  private Fermata host(UnaryOperator<Settings> settings, Agent... agents) {
    HostBuilder builder =
        Fermata.host()
            .store(Store.sqlite(folder.resolve("t.db")))
            .settings(settings.apply(Settings.DEFAULT));
    for (Agent agent : agents) {
      builder.agent(agent);
    }
    return builder.start();
  }

  private static <T> T now(CompletionStage<T> stage) throws Exception {
    return stage.toCompletableFuture().get(60, TimeUnit.SECONDS);
  }

  private static Threads.NewThread thread(String agent) {
    return new Threads.NewThread("ann", agent, null, Set.of(), Map.of(), List.of());
  }

  private static Threads.NewMessage says(String text) {
    return new Threads.NewMessage(Message.user(text), List.of(), null);
  }

  @Test
  void theParentShowsTheQuestionOfAChildAndAnAnswerThereEndsTheTurn() throws Exception {
    String id;
    try (Fermata host = host(s -> s, desk(), painter(asks()))) {
      id = now(host.threads().create(thread("desk"))).threadId();
      now(host.threads().post("ann", id, says("go")));
      assertThat(now(host.threads().settled("ann", id, TIMEOUT)).status())
          .isEqualTo(Threads.Status.ASKING);
    }
    try (Fermata host = host(s -> s, desk(), painter(asks()))) {
      Threads threads = host.threads();
      ChildThread child = now(threads.get("ann", id)).children().get(0);
      assertThat(child.status()).isEqualTo(ChildThread.Status.ASKING);
      Threads.Question question = now(threads.get("ann", child.threadId())).questions().get(0);
      now(
          threads.answer(
              "ann",
              child.threadId(),
              new Threads.Answer(
                  question.call(), "a1", null, Json.object().put("colour", "red"), null)));
      now(threads.settled("ann", child.threadId(), TIMEOUT));
      Threads.View view = now(threads.settled("ann", id, TIMEOUT));
      while (view.status() == Threads.Status.ASKING) {
        view = now(threads.settled("ann", id, TIMEOUT));
      }
      assertThat(view.status()).isEqualTo(Threads.Status.RESTING);
      assertThat(view.code()).isEqualTo("stop_on_response");
    }
  }

  @Test
  void aCallOfAFlowLeavesTheOnlyHandlerThreadToTheFlow() throws Exception {
    FlowTool acts =
        FlowTool.of(
            "paint",
            "Paints.",
            Flow.of("paint", Case.class)
                .description("Paints.")
                .act("dip", run -> run.set("colour", "red"))
                .edge(START, "dip")
                .edge("dip", END)
                .compile());
    UnaryOperator<Settings> narrow = s -> s.handlerThreads(1).callDeadline(Duration.ofMinutes(10));
    try (Fermata host = host(narrow, painter(acts))) {
      String id = now(host.threads().create(thread("painter"))).threadId();
      now(host.threads().post("ann", id, says("go")));
      assertThat(now(host.threads().settled("ann", id, Duration.ofSeconds(20))).status())
          .isEqualTo(Threads.Status.RESTING);
      assertThat(
              now(host.threads().messages("ann", id, Threads.MessageQuery.latest(10).withSilent()))
                  .messages())
          .extracting(Message::content)
          .anyMatch(text -> text != null && text.contains("red"));
    }
  }

  @Test
  void callsBeyondThoseInFlightAreRefusedWhileThreadsReachEachOther() throws Exception {
    CountDownLatch held = new CountDownLatch(1);
    Agent slow =
        Agent.aiHuman(
            "painter",
            Prompt.of(
                "p",
                ScriptedModels.answering(
                    messages -> {
                      try {
                        held.await();
                      } catch (InterruptedException e) {
                        throw new IllegalStateException(e);
                      }
                      return AiMessage.from("painted");
                    })));
    try (Fermata host = host(s -> s.callsInFlight(1), desk(), slow)) {
      Threads threads = host.threads();
      String id = now(threads.create(thread("desk"))).threadId();
      admitted(() -> threads.post("ann", id, says("go"))).get(60, TimeUnit.SECONDS);
      CompletableFuture<Threads.View> waiting = admitted(() -> threads.settled("ann", id, TIMEOUT));
      eventually(() -> isRefused(threads.get("ann", id)));
      held.countDown();
      assertThat(now(waiting).status()).isEqualTo(Threads.Status.RESTING);
      assertThat(now(admitted(() -> threads.get("ann", id))).code()).isEqualTo("stop_on_response");
    }
  }

  /** A call that the host has no room for is made again, as its error says. */
  private static <T> CompletableFuture<T> admitted(Supplier<CompletionStage<T>> call) {
    return call.get()
        .toCompletableFuture()
        .exceptionallyCompose(
            refused -> {
              assertThat(refused).hasMessageContaining(FULL);
              return CompletableFuture.runAsync(
                      () -> {}, CompletableFuture.delayedExecutor(10, TimeUnit.MILLISECONDS))
                  .thenCompose(waited -> admitted(call));
            });
  }

  private static boolean isRefused(CompletionStage<?> call) {
    try {
      now(call);
      return false;
    } catch (Exception e) {
      return String.valueOf(e.getMessage()).contains(FULL);
    }
  }

  @Test
  void thoseWhoWatchShareAFewThreads() throws Exception {
    Set<String> names = ConcurrentHashMap.newKeySet();
    int watchers = 50;
    CountDownLatch notified = new CountDownLatch(watchers);
    try (Fermata host = host(s -> s, painter(asks()))) {
      String id = now(host.threads().create(thread("painter"))).threadId();
      for (int i = 0; i < watchers; i++) {
        Threads.Listener listener =
            new Threads.Listener() {
              @Override
              public void happened(long offset, int index, long at, ThreadEvent event) {
                names.add(Thread.currentThread().getName());
                notified.countDown();
              }

              @Override
              public void streamed(MessageDelta delta) {}

              @Override
              public void ended(@Nullable Throwable why) {}
            };
        now(host.threads().follow("ann", id, 0, -1, listener)).request(1);
      }
      assertThat(notified.await(60, TimeUnit.SECONDS)).isTrue();
    }
    assertThat(names)
        .hasSizeLessThanOrEqualTo(HandlerThreads.FEEDS)
        .allMatch(name -> name.startsWith("fermata-feed-"));
  }
}
