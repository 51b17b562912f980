package io.fermata.session;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Json;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The tasks of a host: commands to the sessions that their runs live in. */
final class HostTasks implements Tasks {
  /** How a session tells of a run beside the reply; no client sees it. */
  static final String STANDING = "standing";

  static final String ASKED = "asked";
  static final String CHANGED_AT = "changedAt";
  static final String KEPT_UNTIL = "keptUntil";

  /** A way to the sessions. */
  interface Way {
    CompletionStage<ToolReply> call(ToolCall call, Manner manner, Consumer<ToolProgress> progress);

    CompletionStage<ToolReply> tell(
        TaskRun run, Action action, ObjectNode updates, @Nullable Asked asked);
  }

  private final Way way;
  private final FlowCatalog catalog;
  private final TaskWatches watches;

  HostTasks(Way way, FlowCatalog catalog, TaskWatches watches) {
    this.way = way;
    this.catalog = catalog;
    this.watches = watches;
  }

  static ToolReply reply(HostError error) {
    return new ToolReply(Wire.body(error.failure()), Json.object());
  }

  /** As {@link #reply(HostError)}, with a message that says more. */
  static ToolReply reply(HostError error, String message) {
    return new ToolReply(Wire.body(error.failure()).put("error", message), Json.object());
  }

  @Override
  public CompletionStage<ToolReply> call(ToolCall call, Consumer<ToolProgress> progress) {
    return way.call(call, catalog.manner(call.tool()), progress);
  }

  @Override
  public CompletionStage<TaskView> view(TaskRun run) {
    return tell(run, Action.STATUS, Json.object(), null).thenApply(HostTasks::viewed);
  }

  @Override
  public CompletionStage<ToolReply> answer(
      TaskRun run, ObjectNode answers, Map<String, String> asked) {
    Map<String, String> answered = new LinkedHashMap<>();
    answers
        .fieldNames()
        .forEachRemaining(field -> answered.put(field, asked.getOrDefault(field, "")));
    return tell(run, Action.CONTINUE, answers, new Asked(run.runId(), answered));
  }

  @Override
  public CompletionStage<ToolReply> cancel(TaskRun run) {
    return tell(run, Action.CANCEL, Json.object(), null);
  }

  private CompletionStage<ToolReply> tell(
      TaskRun run, Action action, ObjectNode updates, @Nullable Asked asked) {
    return run.possible() && catalog.offers(run.tool())
        ? way.tell(run, action, updates, asked)
        : CompletableFuture.completedFuture(Replies.unknown());
  }

  @Override
  public Runnable watch(TaskRun run, Runnable changed) {
    return run.possible() ? watches.watch(run.entityId(), changed) : () -> {};
  }

  private static TaskView viewed(ToolReply reply) {
    ObjectNode run =
        reply.meta().path("fermata/run") instanceof ObjectNode found ? found : Json.object();
    JsonNode standing = run.remove(STANDING);
    Map<String, String> asked = new LinkedHashMap<>();
    JsonNode names = run.remove(ASKED);
    if (names != null) {
      names.properties().forEach(name -> asked.put(name.getKey(), name.getValue().asText()));
    }
    JsonNode changedAt = run.remove(CHANGED_AT);
    JsonNode keptUntil = run.remove(KEPT_UNTIL);
    return new TaskView(
        standing == null
            ? TaskView.Standing.UNREACHABLE
            : TaskView.Standing.valueOf(standing.asText()),
        reply,
        asked,
        Instant.ofEpochMilli(changedAt == null ? 0 : changedAt.asLong()),
        keptUntil == null ? null : Instant.ofEpochMilli(keptUntil.asLong()));
  }
}
