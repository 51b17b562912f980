package io.fermata.session;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.Agent;
import io.fermata.agent.Prompt;
import io.fermata.flow.Flow;
import io.fermata.flow.json.Json;
import io.fermata.flow.replay.ForkException;
import io.fermata.flow.replay.ForkOptions;
import io.fermata.persistence.Store;
import io.fermata.session.admin.Erasure;
import io.fermata.session.admin.RunInfo;
import io.fermata.session.admin.RunQuery;
import io.fermata.session.admin.ThreadException;
import io.fermata.session.admin.Threads;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolReply;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What fails or happens once a fork is written, when its source is looked for again. */
class UncheckedForkTest {
  record Trip(String city) {}

  @TempDir Path folder;

  /** Where journals end whose ends cannot be read. */
  private final AtomicReference<@Nullable String> unreadable = new AtomicReference<>();

  /** What happens before such an end is looked for, which is then read after all. */
  private final AtomicReference<@Nullable Callable<CompletionStage<?>>> meanwhile =
      new AtomicReference<>();

  private Store store() {
    return AlteredStore.of(
        Store.sqlite(folder.resolve("fermata.db")),
        request -> {
          String end = unreadable.get();
          if (!request.is("readBack")
              || end == null
              || !request.argument(0).toString().endsWith(end)) {
            return request.ask();
          }
          Callable<CompletionStage<?>> first = meanwhile.getAndSet(null);
          if (first == null) {
            return AlteredStore.away();
          }
          unreadable.set(null);
          return first.call().thenCompose(done -> asked(request));
        });
  }

  private static CompletionStage<?> asked(AlteredStore.Request request) {
    try {
      return (CompletionStage<?>) Objects.requireNonNull(request.ask());
    } catch (Throwable e) {
      return CompletableFuture.failedFuture(e);
    }
  }

  private static <T> T now(CompletionStage<T> stage) throws Exception {
    return stage.toCompletableFuture().get(60, TimeUnit.SECONDS);
  }

  /** The directory lags behind the journals. */
  private static void await(Callable<List<String>> list, String... ids) throws Exception {
    long latest = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
    while (!Set.copyOf(list.call()).equals(Set.of(ids)) && System.nanoTime() < latest) {
      Thread.sleep(50);
    }
    assertThat(list.call()).containsExactlyInAnyOrder(ids);
  }

  private static Flow<Trip> trip() {
    return Flow.of("trip", Trip.class)
        .description("Books a trip.")
        .ask("ask_city", q -> q.question("city", "Where to?"))
        .edge(START, "ask_city")
        .edge("ask_city", END)
        .compile();
  }

  private static List<String> runs(Fermata host) throws Exception {
    return now(host.runs().list(RunQuery.ALL)).runs().stream().map(RunInfo::runId).toList();
  }

  private static CompletionStage<ToolReply> start(Fermata host) {
    ObjectNode start = Json.object().put("action", "start").put("intent", "travels");
    ObjectNode meta = Json.object().put("fermata/sessionId", "s");
    return host.call(new ToolCall("trip", "ann", start, meta, null), progress -> {});
  }

  private static String runId(ToolReply reply) {
    return reply.meta().path("fermata/run").path("runId").asText();
  }

  private static String journal(String runId) {
    return runId.substring(0, runId.indexOf('.'));
  }

  @Test
  void aRunDoesNotStayBehind() throws Exception {
    try (Fermata host = Fermata.host().store(store()).flow(trip()).start()) {
      String source = runId(now(start(host)));
      unreadable.set(journal(source));

      assertThatThrownBy(() -> now(host.fork("trip", source, 1, ForkOptions.live())))
          .cause()
          .isInstanceOfSatisfying(
              ForkException.class, e -> assertThat(e.code()).isEqualTo("store_unavailable"));

      unreadable.set(null);
      String fork = now(host.fork("trip", source, 1, ForkOptions.live())).runId();
      await(() -> runs(host), source, fork);
    }
  }

  @Test
  void aRunDoesNotStayBehindIfAnotherOneHasBegunInPlaceOfItsSource() throws Exception {
    try (Fermata host = Fermata.host().store(store()).flow(trip()).start()) {
      String source = runId(now(start(host)));
      unreadable.set(journal(source));
      meanwhile.set(() -> host.runs().erase("trip", source).thenCompose(erased -> start(host)));

      assertThatThrownBy(() -> now(host.fork("trip", source, 1, ForkOptions.live())))
          .cause()
          .isInstanceOfSatisfying(
              ForkException.class, e -> assertThat(e.code()).isEqualTo("unknown_run"));

      String other = runId(now(start(host)));
      assertThat(journal(other)).isEqualTo(journal(source));
      await(() -> runs(host), other);
    }
  }

  private static Agent desk() {
    return Agent.aiHuman("desk", Prompt.of("desk", ScriptedModels.saying("Heard.")));
  }

  private static CompletionStage<Threads.View> create(Threads threads) {
    return threads.create(
        new Threads.NewThread("ann", "desk", "a-key", Set.of(), Map.of(), List.of()));
  }

  @Test
  void aThreadDoesNotStayBehindIfAnotherOneIsCreatedInPlaceOfItsSource() throws Exception {
    try (Fermata host = Fermata.host().store(store()).agent(desk()).start()) {
      Threads threads = host.threads();
      String source = now(create(threads)).threadId();
      unreadable.set(source.substring(source.indexOf('.') + 1));
      meanwhile.set(
          () -> host.erase(Erasure.thread(source)).thenCompose(erased -> create(threads)));

      assertThatThrownBy(() -> now(threads.fork("ann", source, Threads.NewFork.live())))
          .cause()
          .isInstanceOfSatisfying(
              ThreadException.class, e -> assertThat(e.code()).isEqualTo("unknown_thread"));

      await(() -> listed(threads), source);
    }
  }

  @Test
  void aThreadDoesNotStayBehind() throws Exception {
    try (Fermata host = Fermata.host().store(store()).agent(desk()).start()) {
      Threads threads = host.threads();
      String source = now(create(threads)).threadId();
      unreadable.set(source.substring(source.indexOf('.') + 1));

      assertThatThrownBy(() -> now(threads.fork("ann", source, Threads.NewFork.live())))
          .hasRootCauseMessage("The store is away")
          .cause()
          .isInstanceOfSatisfying(
              ThreadException.class, e -> assertThat(e.code()).isEqualTo("store_unavailable"));

      unreadable.set(null);
      String fork = now(threads.fork("ann", source, Threads.NewFork.live())).threadId();
      await(() -> listed(threads), source, fork);
    }
  }

  private static List<String> listed(Threads threads) throws Exception {
    return now(threads.list(new Threads.Query("ann", null, Set.of(), null, null, false, 50, null)))
        .threads()
        .stream()
        .map(Threads.Listed::threadId)
        .toList();
  }
}
