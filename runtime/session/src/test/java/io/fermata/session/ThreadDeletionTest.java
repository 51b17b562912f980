package io.fermata.session;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.langchain4j.data.message.AiMessage;
import io.fermata.agent.Agent;
import io.fermata.agent.FlowTool;
import io.fermata.agent.Prompt;
import io.fermata.agent.SubAgent;
import io.fermata.agent.Tool;
import io.fermata.agent.message.Message;
import io.fermata.agent.state.ChildThread;
import io.fermata.flow.Flow;
import io.fermata.persistence.Store;
import io.fermata.session.admin.Erasure;
import io.fermata.session.admin.RunQuery;
import io.fermata.session.admin.Threads;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the deletion of a thread means for those that it belongs together with. */
class ThreadDeletionTest {
  private static final Duration TIMEOUT = Duration.ofSeconds(30);

  record Payment(@Nullable String by) {}

  @TempDir Path folder;

  private final CountDownLatch digging = new CountDownLatch(1);
  private final List<String> done = new CopyOnWriteArrayList<>();
  private final BlockingQueue<String> dug = new LinkedBlockingQueue<>();

  private Fermata host() {
    return host(Store.sqlite(folder.resolve("t.db")));
  }

  private Fermata host(Store store) {
    Agent worker =
        Agent.aiHuman(
            "worker",
            Prompt.of("p", ScriptedModels.calling("dig", "{}", result -> result))
                .tools(
                    Tool.of(
                        "dig",
                        "Digs for ever.",
                        (flow, args) -> {
                          digging.countDown();
                          return new CompletableFuture<String>().get();
                        })));
    return host(store, worker);
  }

  private static Fermata host(Store store, Agent worker) {
    Agent desk =
        Agent.aiHuman(
            "desk",
            Prompt.of(
                    "p",
                    ScriptedModels.calling("worker", "{\"message\":\"dig\"}", result -> result))
                .tools(SubAgent.of("worker", "Works").asBlocking()));
    return Fermata.host().store(store).agent(desk).agent(worker).start();
  }

  private static <T> T now(CompletionStage<T> stage) throws Exception {
    return stage.toCompletableFuture().get(60, TimeUnit.SECONDS);
  }

  /** A thread whose child is at work. */
  private String delegating(Threads threads) throws Exception {
    String id =
        now(threads.create(
                new Threads.NewThread("ann", "desk", null, Set.of(), Map.of(), List.of())))
            .threadId();
    now(threads.post("ann", id, new Threads.NewMessage(Message.user("go"), List.of(), null)));
    assertThat(digging.await(60, TimeUnit.SECONDS)).isTrue();
    for (int i = 0; i < 600 && now(threads.get("ann", id)).children().isEmpty(); i++) {
      Thread.sleep(50);
    }
    return id;
  }

  @Test
  void aParentThatWaitsForAChildContinuesWhenTheChildIsDeleted() throws Exception {
    continuesAfter(
        Store.sqlite(folder.resolve("t.db")), (host, child) -> host.threads().delete("ann", child));
  }

  @Test
  void aParentThatWaitsForAChildContinuesWhenTheChildIsErased() throws Exception {
    continuesAfter(
        Store.sqlite(folder.resolve("t.db")), (host, child) -> host.erase(Erasure.thread(child)));
  }

  @Test
  void aParentIsInformedOfAnErasureAlsoIfWhatItLeftCannotBeOverwritten() throws Exception {
    Store store =
        AlteredStore.of(
            Store.memory(), request -> request.is("scrub") ? AlteredStore.away() : request.ask());
    continuesAfter(
        store,
        (host, child) ->
            host.erase(Erasure.thread(child))
                .handle((erased, thrown) -> assertThat(thrown).hasMessageContaining("away")));
  }

  private void continuesAfter(Store store, BiFunction<Fermata, String, CompletionStage<?>> removal)
      throws Exception {
    try (Fermata host = host(store)) {
      Threads threads = host.threads();
      String id = delegating(threads);

      now(removal.apply(host, now(threads.get("ann", id)).children().get(0).threadId()));
      Threads.View view = now(threads.settled("ann", id, TIMEOUT));

      assertThat(view.status()).isEqualTo(Threads.Status.RESTING);
      assertThat(view.children()).isEmpty();
      assertThat(
              now(threads.messages("ann", id, Threads.MessageQuery.latest(1).withSilent()))
                  .messages())
          .singleElement()
          .extracting(Message::content)
          .asString()
          .contains("deleted");
    }
  }

  private AiMessage found() {
    digging.countDown();
    try {
      return AiMessage.from(dug.take());
    } catch (InterruptedException e) {
      throw new CompletionException(e);
    }
  }

  @Test
  void aParentLearnsThatAChildWasDeletedInTheWorkAfterItsReport() throws Exception {
    Agent worker =
        Agent.aiHuman("worker", Prompt.of("p", ScriptedModels.answering(messages -> found())));
    try (Fermata host = host(Store.memory(), worker)) {
      Threads threads = host.threads();
      String id = delegating(threads);
      String child = now(threads.get("ann", id)).children().get(0).threadId();
      now(threads.post("ann", child, new Threads.NewMessage(Message.user("on"), List.of(), null)));
      dug.add("a hole");
      Threads.View reported = now(threads.settled("ann", id, TIMEOUT));
      assertThat(reported.status()).isEqualTo(Threads.Status.RESTING);
      assertThat(reported.children())
          .singleElement()
          .extracting(ChildThread::status)
          .isEqualTo(ChildThread.Status.RUNNING);

      now(threads.delete("ann", child));
      try {
        TestHost.eventually(
            () ->
                threads
                    .messages("ann", id, Threads.MessageQuery.latest(10).withSilent())
                    .toCompletableFuture()
                    .join()
                    .messages()
                    .stream()
                    .map(message -> String.valueOf(message.content()))
                    .anyMatch(content -> content.contains("failed: deleted")));
      } finally {
        dug.addAll(List.of("a hole", "a hole", "a hole"));
      }
    }
  }

  @Test
  void aParentIsDeletedTogetherWithItsChildren() throws Exception {
    try (Fermata host = host()) {
      Threads threads = host.threads();
      String id = delegating(threads);
      String child = now(threads.get("ann", id)).children().get(0).threadId();

      now(threads.delete("ann", id));
      boolean there = true;
      for (int i = 0; i < 600 && there; i++) {
        Thread.sleep(50);
        there = now(threads.get("ann", child).handle((view, gone) -> gone == null));
      }

      assertThatThrownBy(() -> now(threads.get("ann", child)))
          .hasMessageContaining("no such thread");
    }
  }

  private FlowTool charging() {
    Flow<Payment> pay =
        Flow.of("pay", Payment.class)
            .description("Pays.")
            .act(
                "charge",
                run -> {
                  done.add("charged");
                  digging.countDown();
                })
            .ask("approve", q -> q.question("by", "Who approves?"))
            .compensate(
                "charge",
                run -> {
                  Thread.sleep(300);
                  done.add("refunded");
                })
            .edge(START, "charge")
            .edge("charge", "approve")
            .edge("approve", END)
            .result(Payment::by)
            .compile();
    return FlowTool.of("pay", "Pays", pay);
  }

  @Test
  void whatTheFlowsOfChildrenDidIsUndoneBeforeTheirParentIsErased() throws Exception {
    Agent worker =
        Agent.aiHuman(
            "worker",
            Prompt.of("p", ScriptedModels.calling("pay", "{}", result -> result))
                .tools(charging()));
    try (Fermata host = host(Store.memory(), worker)) {
      Threads threads = host.threads();
      String id = delegating(threads);
      assertThat(now(threads.settled("ann", id, TIMEOUT)).status())
          .isEqualTo(Threads.Status.ASKING);

      now(threads.delete("ann", id));
      TestHost.eventually(() -> host.awake() == 0);

      assertThat(done).containsExactly("charged", "refunded");
      assertThat(now(host.runs().list(RunQuery.ALL)).runs()).isEmpty();
    }
  }

  @Test
  void whatAThreadLeavesInTheFilesIsOverwrittenOnce() throws Exception {
    List<String> requests = new CopyOnWriteArrayList<>();
    Store store =
        AlteredStore.of(
            Store.memory(),
            request -> {
              List.of("delete", "scrub").stream().filter(request::is).forEach(requests::add);
              return request.ask();
            });
    try (Fermata host = host(store)) {
      String id =
          now(host.threads()
                  .create(
                      new Threads.NewThread("ann", "desk", null, Set.of(), Map.of(), List.of())))
              .threadId();
      now(host.threads().delete("ann", id));
      for (int i = 0; i < 600 && host.awake() > 0; i++) {
        Thread.sleep(50);
      }
      assertThat(requests).containsExactly("delete", "scrub");
    }
  }
}
