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
import io.fermata.session.admin.RunInfo;
import io.fermata.session.admin.RunQuery;
import io.fermata.session.admin.ThreadException;
import io.fermata.session.admin.Threads;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolReply;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A store that fails once a fork is written, when its source is looked for again. */
class UncheckedForkTest {
  record Trip(String city) {}

  @TempDir Path folder;

  /** Where journals end whose ends cannot be read. */
  private final AtomicReference<@Nullable String> unreadable = new AtomicReference<>();

  private Store store() {
    return AlteredStore.of(
        Store.sqlite(folder.resolve("fermata.db")),
        request -> {
          String end = unreadable.get();
          return request.is("readBack")
                  && end != null
                  && request.argument(0).toString().endsWith(end)
              ? AlteredStore.away()
              : request.ask();
        });
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

  @Test
  void aRunDoesNotStayBehind() throws Exception {
    try (Fermata host = Fermata.host().store(store()).flow(trip()).start()) {
      ObjectNode start = Json.object().put("action", "start").put("intent", "travels");
      ObjectNode meta = Json.object().put("fermata/sessionId", "s");
      ToolReply reply =
          now(host.call(new ToolCall("trip", "ann", start, meta, null), progress -> {}));
      String source = reply.meta().path("fermata/run").path("runId").asText();
      String journal = source.substring(0, source.indexOf('.'));
      unreadable.set(journal);

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
  void aThreadDoesNotStayBehind() throws Exception {
    Agent desk = Agent.aiHuman("desk", Prompt.of("desk", ScriptedModels.saying("Heard.")));
    try (Fermata host = Fermata.host().store(store()).agent(desk).start()) {
      Threads threads = host.threads();
      String source =
          now(threads.create(
                  new Threads.NewThread("ann", "desk", null, Set.of(), Map.of(), List.of())))
              .threadId();
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
