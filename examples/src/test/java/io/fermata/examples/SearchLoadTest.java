package io.fermata.examples;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.examples.flows.Displays;
import io.fermata.examples.flows.QuoteFlow;
import io.fermata.flow.json.Json;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import io.fermata.session.admin.RunQuery;
import io.fermata.session.admin.Settings;
import io.fermata.session.call.ToolCall;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Who searches a large list does not keep others from the server. */
@Tag("long")
class SearchLoadTest {
  private static final int RUNS = 12_000;
  private static final int AT_ONCE = 200;
  private static final int SEARCHERS = 6;
  private static final int LOOKS = 30;
  private static final ObjectMapper MAPPER = new ObjectMapper();

  @TempDir Path directory;

  private final HttpClient http = HttpClient.newHttpClient();
  private final AtomicBoolean over = new AtomicBoolean();
  private final AtomicLong searches = new AtomicLong();

  private static ObjectNode start() {
    return Json.object().put("action", "start").put("intent", "a price");
  }

  private void startRuns() throws InterruptedException {
    Settings settings = Settings.DEFAULT.unfinishedRuns(2 * RUNS);
    try (Fermata host =
        Fermata.host()
            .store(Store.sqlite(directory.resolve("test.db")))
            .flow(QuoteFlow.create())
            .display(Displays.showPlans())
            .settings(settings)
            .start()) {
      for (int first = 0; first < RUNS; first += AT_ONCE) {
        List<CompletableFuture<?>> started = new ArrayList<>();
        for (int i = first; i < first + AT_ONCE; i++) {
          ObjectNode meta = Json.object().put("fermata/sessionId", "session " + i);
          ToolCall call = new ToolCall("quote", "local", start(), meta, null);
          started.add(host.call(call).toCompletableFuture());
        }
        started.forEach(CompletableFuture::join);
      }
      RunQuery all = RunQuery.ALL.principal("local");
      while (host.runs().count(all, 2 * RUNS).toCompletableFuture().join() < RUNS) {
        Thread.sleep(50);
      }
    }
  }

  private HttpResponse<String> get(ServerProcess server, String path) throws Exception {
    return http.send(HttpRequest.newBuilder(server.at(path)).build(), BodyHandlers.ofString());
  }

  /** Of all runs, of few, and of none. */
  private Void search(ServerProcess server) throws Exception {
    for (int i = 0; !over.get(); i++) {
      String text = List.of("quote", "session+77", "nowhere").get(i % 3);
      HttpResponse<String> page = get(server, "/runs?limit=100&q=" + text);
      assertThat(page.statusCode()).as(page.body()).isIn(200, 429);
      searches.incrementAndGet();
    }
    return null;
  }

  @Test
  void sixSearchesInALoopLeaveTheServerReadyAndItsCallsAndShortListsAnswered() throws Exception {
    startRuns();
    ExecutorService searchers = Executors.newFixedThreadPool(SEARCHERS);
    try (ServerProcess server =
        ServerProcess.start(
            directory,
            "serve",
            "--port",
            "0",
            "--store",
            "sqlite:test.db",
            "--unfinished-runs",
            Integer.toString(2 * RUNS))) {
      JsonNode found = MAPPER.readTree(get(server, "/runs?limit=100&q=quote").body());
      assertThat(found.path("runs")).hasSize(100);
      assertThat(found.path("cursor").asText()).isNotEmpty();
      List<Future<Void>> loops = new ArrayList<>();
      for (int i = 0; i < SEARCHERS; i++) {
        loops.add(searchers.submit(() -> search(server)));
      }
      long[] meanwhile = new long[LOOKS];
      for (int look = 0; look < LOOKS; look++) {
        HttpResponse<String> ready = get(server, "/health/ready");
        assertThat(ready.statusCode()).as(ready.body()).isEqualTo(200);
        long before = searches.get();
        HttpResponse<String> one = get(server, "/runs?limit=1");
        meanwhile[look] = searches.get() - before;
        assertThat(one.statusCode()).as(one.body()).isEqualTo(200);
        assertThat(MAPPER.readTree(one.body()).path("runs")).hasSize(1);
        assertThat(server.call("quote", start()).path("status").asText()).isEqualTo("interrupt");
      }
      over.set(true);
      for (Future<Void> loop : loops) {
        loop.get(5, TimeUnit.MINUTES);
      }
      Arrays.sort(meanwhile);
      assertThat(searches.get()).isGreaterThan(SEARCHERS);
      assertThat(meanwhile[LOOKS / 2])
          .as("searches that ended while a list of one row waited: %s", Arrays.toString(meanwhile))
          .isLessThanOrEqualTo(2 * SEARCHERS);
    } finally {
      over.set(true);
      searchers.shutdownNow();
    }
  }
}
