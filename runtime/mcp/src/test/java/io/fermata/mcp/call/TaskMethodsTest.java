package io.fermata.mcp.call;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.mcp.FakeHost;
import io.fermata.mcp.McpServer;
import io.fermata.mcp.TaskClient;
import io.fermata.mcp.Wired;
import io.fermata.mcp.settings.PrincipalLimits;
import io.fermata.session.call.TaskRun;
import io.fermata.session.call.TaskView;
import io.fermata.session.call.Tasks;
import io.fermata.session.call.ToolReply;
import io.fermata.session.key.HostError;
import java.time.Instant;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
class TaskMethodsTest {

  @ParameterizedTest
  @CsvSource({
    "BUSY, true",
    "STORE_UNAVAILABLE, true",
    "MOVED, true",
    "ROLLING_OUT, true",
    "DAMAGED, false",
    "KEY_MISSING, false"
  })
  void aTaskThatMovesIsThereAgainInAMoment(HostError error, boolean soon) {
    TaskView view =
        new TaskView(
            TaskView.Status.UNREACHABLE, ToolReply.refused(error), Map.of(), Instant.EPOCH, null);

    assertThat(TaskMethods.unavailable(view)).isEqualTo(soon);
  }

  @ParameterizedTest
  @ValueSource(strings = {"get", "update", "cancel"})
  void aCallThatWaitsForATaskIsInFlight(String method) throws Exception {
    FakeHost host = new FakeHost();
    CountDownLatch asked = new CountDownLatch(1);
    CompletableFuture<TaskView> stalled = new CompletableFuture<>();
    host.tasks = new StalledTasks(asked, stalled);
    String id = new TaskIds(host.handles()).mint(new TaskRun("ann", "noop", "some-run"), 0).id();
    try (McpServer server =
        McpServer.serving(host)
            .port(0)
            .apiKey("ann", "ann-key")
            .perPrincipal(PrincipalLimits.DEFAULT.callsInFlight(1))
            .start()) {
      TaskClient ann = new TaskClient(server.endpoint()).key("ann-key");
      CompletableFuture<Wired.Said> first =
          CompletableFuture.supplyAsync(
              () -> method.equals("update") ? ann.update(id, Json.object()) : ann.task(method, id),
              task -> new Thread(task).start());
      asked.await();

      Wired.Said second = ann.call("noop", "{}");

      assertThat(second.status()).isEqualTo(429);
      stalled.complete(
          new TaskView(
              TaskView.Status.UNKNOWN,
              ToolReply.refused(HostError.UNKNOWN_SESSION),
              Map.of(),
              Instant.EPOCH,
              null));
      first.join();
      assertThat(ann.call("noop", "{}").status()).isEqualTo(200);
    }
  }

  /** Tasks whose store does not answer. */
  private record StalledTasks(CountDownLatch asked, CompletableFuture<TaskView> view)
      implements Tasks {
    @Override
    public CompletionStage<TaskView> view(TaskRun run) {
      asked.countDown();
      return view;
    }

    @Override
    public CompletionStage<ToolReply> answer(
        TaskRun run, ObjectNode answers, Map<String, String> questions) {
      throw new AssertionError("The task is unknown");
    }

    @Override
    public CompletionStage<ToolReply> postpone(TaskRun run, Map<String, String> asked) {
      throw new AssertionError("The task is unknown");
    }

    @Override
    public CompletionStage<ToolReply> cancel(TaskRun run) {
      throw new AssertionError("The task is unknown");
    }

    @Override
    public Runnable watch(TaskRun run, Runnable changed) {
      return () -> {};
    }
  }
}
