package io.fermata.session;

import static io.fermata.session.TestHost.eventually;
import static org.assertj.core.api.Assertions.assertThat;

import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import io.fermata.agent.Agent;
import io.fermata.agent.FlowState;
import io.fermata.agent.FlowTool;
import io.fermata.agent.Prompt;
import io.fermata.agent.ThreadFiles;
import io.fermata.agent.message.Attachment;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.MessageDelta;
import io.fermata.agent.model.Model;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.flow.Flow;
import io.fermata.session.admin.RunInfo;
import io.fermata.session.admin.RunQuery;
import io.fermata.session.admin.ThreadException;
import io.fermata.session.admin.Threads;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Threads that any host of a cluster shows and drives. */
@Tag("slow")
class ClusterThreadsTest extends ClusterOfHosts {
  @Test
  void aThreadIsFollowedFromAnyHost() throws InterruptedException {
    Agent agent = Agent.aiHuman("echo", Prompt.of("p", ScriptedModels.saying("Heard.")));
    IntStream.range(0, 3).forEach(i -> host(builder -> builder.agent(agent)));
    for (int i = 0; i < 6; i++) {
      Threads.View thread =
          any()
              .threads()
              .create(new Threads.NewThread("ann", "echo", null, Set.of(), Map.of(), List.of()))
              .toCompletableFuture()
              .join();
      ConcurrentLinkedQueue<ThreadEvent> seen = new ConcurrentLinkedQueue<>();
      Threads.Feed feed =
          any()
              .threads()
              .follow("ann", thread.threadId(), 0, -1, listener(seen))
              .toCompletableFuture()
              .join();
      feed.request(1_000);
      any()
          .threads()
          .post(
              "ann",
              thread.threadId(),
              new Threads.NewMessage(Message.user("Hello"), List.<Attachment>of(), null))
          .toCompletableFuture()
          .join();
      eventually(() -> seen.stream().anyMatch(ThreadEvent.StepEnded.class::isInstance));
      feed.close();
    }
  }

  @Test
  void aThreadWithMoreTextThanFitsIntoAMessageIsReadAndDrivenFromAnyHost() {
    Agent agent = Agent.aiHuman("echo", Prompt.of("p", ScriptedModels.saying("Heard.")));
    IntStream.range(0, 2).forEach(i -> host(builder -> builder.agent(agent)));
    List<Message> texts =
        IntStream.range(0, 24).mapToObj(i -> Message.user("x".repeat(256 * 1024))).toList();
    Threads.NewThread wanted =
        new Threads.NewThread("ann", "echo", null, Set.of("a"), Map.of(), List.of());
    String id = now(any().threads().create(wanted)).threadId();
    for (Message message : texts) {
      now(any().threads().post("ann", id, new Threads.NewMessage(message, List.of(), null)));
    }
    Threads.View settled = now(any().threads().settled("ann", id, Duration.ofSeconds(30)));
    assertThat(settled.messages()).isGreaterThan(texts.size());
    for (Fermata host : hosts) {
      assertThat(now(host.threads().get("ann", id))).isEqualTo(settled);
      Threads.NewMessage more = new Threads.NewMessage(Message.user("more"), List.of(), "k");
      String posted = now(host.threads().post("ann", id, more)).messageId();
      assertThat(posted).isEqualTo("m-u" + (texts.size() + 1));
      settled = now(host.threads().settled("ann", id, Duration.ofSeconds(30)));
    }
  }

  record Parcel(@Nullable String receipt) {}

  /** Calls a tool, and then says its result. */
  private static Model calling(String tool, String says) {
    ToolExecutionRequest call =
        ToolExecutionRequest.builder().id("1").name(tool).arguments("{}").build();
    return ScriptedModels.answering(
        messages ->
            messages.get(messages.size() - 1) instanceof ToolExecutionResultMessage result
                ? AiMessage.from(says + result.text())
                : AiMessage.from(call));
  }

  @Test
  void aThreadLearnsAtOnceOfASignalForItsFlowOnWhicheverHostsTheyAre() throws InterruptedException {
    FlowTool send =
        FlowTool.of(
            "send",
            "Sends.",
            Flow.of("send", Parcel.class)
                .description("Sends.")
                .waitFor("pay", "paid", "receipt")
                .edge(Flow.START, "pay")
                .edge("pay", Flow.END)
                .compile());
    Model model = calling("send", "Sent: ");
    Agent desk = Agent.aiHuman("desk", Prompt.of("p", model).tools(send));
    InstantSource still = InstantSource.fixed(Instant.now());
    IntStream.range(0, 2).forEach(i -> host(builder -> builder.agent(desk).clock(still)));
    Threads.NewThread wanted =
        new Threads.NewThread("ann", "desk", null, Set.of(), Map.of(), List.of());
    int threads = 6;
    for (int i = 0; i < threads; i++) {
      String id = now(any().threads().create(wanted)).threadId();
      now(
          any()
              .threads()
              .post("ann", id, new Threads.NewMessage(Message.user("go"), List.of(), null)));
      eventually(() -> !now(any().threads().get("ann", id)).waits().isEmpty());
      RunQuery waiting = RunQuery.ALL.statuses(Set.of(RunInfo.Status.WAITING));
      eventually(() -> !now(any().runs().list(waiting)).runs().isEmpty());
      String runId = now(any().runs().list(waiting)).runs().get(0).runId();
      now(any().signal("send", runId, "paid", "r" + i, null));
      eventually(
          () ->
              now(any().threads().messages("ann", id, Threads.MessageQuery.latest(1).withSilent()))
                  .messages()
                  .stream()
                  .anyMatch(message -> String.valueOf(message.content()).startsWith("Sent:")));
      eventually(() -> now(any().runs().list(waiting)).runs().isEmpty());
    }
  }

  @Test
  void aFlowReadsTheWholeThreadThatCalledItAlsoIfThatIsLargeAndOnAnotherHost()
      throws InterruptedException {
    FlowTool count =
        FlowTool.of(
            "count",
            "Counts.",
            Flow.of("count", Parcel.class)
                .description("Counts.")
                .act(
                    "read",
                    run ->
                        run.set(
                            "receipt",
                            "whole "
                                + run.caller(FlowState.class)
                                    .orElseThrow()
                                    .messageHistory()
                                    .size()))
                .edge(Flow.START, "read")
                .edge("read", Flow.END)
                .result(Parcel::receipt)
                .compile());
    Model model = calling("count", "Counted: ");
    Agent desk = Agent.aiHuman("desk", Prompt.of("p", model).tools(count));
    IntStream.range(0, 2).forEach(i -> host(builder -> builder.agent(desk)));
    Threads.NewThread wanted =
        new Threads.NewThread("ann", "desk", null, Set.of(), Map.of(), List.of());
    String id = now(any().threads().create(wanted)).threadId();
    Message large = Message.user("x".repeat(256 * 1024));
    for (int i = 0; i < 16; i++) {
      post(id, large, "large " + i);
    }
    for (int i = 0; i < 20; i++) {
      post(id, Message.user("go"), "go " + i);
      assertThat(
              persistently(
                      () ->
                          any()
                              .threads()
                              .messages("ann", id, Threads.MessageQuery.latest(1).withSilent()))
                  .messages())
          .singleElement()
          .extracting(message -> String.valueOf(message.content()))
          .asString()
          .contains("Counted", "whole ");
    }
  }

  @Test
  void whatAFlowDidToItsThreadReachesThatAlsoIfItIsLargeAndTheThreadOnAnotherHost() {
    byte[] data = new byte[1024 * 1024];
    random.nextBytes(data);
    FlowTool paint =
        FlowTool.of(
            "paint",
            "Paints.",
            Flow.of("paint", Parcel.class)
                .description("Paints.")
                .act(
                    "draw",
                    run -> {
                      ThreadFiles files = run.caller(FlowState.class).orElseThrow().files();
                      for (int i = 0; i < 3; i++) {
                        files.write("/picture" + i, "image/png", data);
                      }
                      run.set("receipt", "three pictures");
                    })
                .edge(Flow.START, "draw")
                .edge("draw", Flow.END)
                .result(Parcel::receipt)
                .compile());
    Agent desk = Agent.aiHuman("desk", Prompt.of("p", calling("paint", "Painted: ")).tools(paint));
    IntStream.range(0, 2).forEach(i -> host(builder -> builder.agent(desk)));
    Threads.NewThread wanted =
        new Threads.NewThread("ann", "desk", null, Set.of(), Map.of(), List.of());
    for (int i = 0; i < 8; i++) {
      String id = now(any().threads().create(wanted)).threadId();
      post(id, Message.user("go"), "go");
      Threads.MessageQuery latest = Threads.MessageQuery.latest(1).withSilent();
      assertThat(persistently(() -> any().threads().messages("ann", id, latest)).messages())
          .singleElement()
          .extracting(message -> String.valueOf(message.content()))
          .asString()
          .contains("Painted", "three pictures");
      assertThat(persistently(() -> any().threads().file("ann", id, "/picture2")).data())
          .isEqualTo(data);
    }
  }

  private void post(String thread, Message message, String key) {
    Threads.NewMessage posted = new Threads.NewMessage(message, List.of(), key);
    persistently(() -> any().threads().post("ann", thread, posted));
    persistently(() -> any().threads().settled("ann", thread, Duration.ofSeconds(30)));
  }

  /** Hosts that have just joined still share out the sessions, so a client may have to repeat. */
  private static <T> T persistently(Supplier<CompletionStage<T>> call) {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
    while (true) {
      try {
        return now(call.get());
      } catch (CompletionException e) {
        boolean moved = e.getCause() instanceof ThreadException of && of.code().equals("moved");
        if (!moved || System.nanoTime() - end > 0) {
          throw e;
        }
      }
    }
  }

  private static Threads.Listener listener(ConcurrentLinkedQueue<ThreadEvent> seen) {
    return new Threads.Listener() {
      @Override
      public void happened(long seq, int index, long at, ThreadEvent event) {
        seen.add(event);
      }

      @Override
      public void streamed(MessageDelta delta) {}

      @Override
      public void ended(@Nullable Throwable why) {}
    };
  }
}
