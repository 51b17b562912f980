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
  /** Calls the tools of the host. */
  interface Caller {
    CompletionStage<ToolReply> call(ToolCall call, ReplyMode mode, Consumer<ToolProgress> progress);
  }

  private final Caller caller;
  private final Gateway gateway;
  private final FlowCatalog catalog;
  private final Subscriptions subscriptions;

  HostTasks(Caller caller, Gateway gateway, FlowCatalog catalog, Subscriptions subscriptions) {
    this.caller = caller;
    this.gateway = gateway;
    this.catalog = catalog;
    this.subscriptions = subscriptions;
  }

  @Override
  public CompletionStage<ToolReply> call(ToolCall call, Consumer<ToolProgress> progress) {
    return caller.call(call, catalog.replyMode(call.tool()), progress);
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
        ? gateway.tell(
            run, Request.OfRun.of(action, updates, new Request.Only(run.runId(), null, asked)))
        : CompletableFuture.completedFuture(RunReplies.unknown());
  }

  @Override
  public Runnable watch(TaskRun run, Runnable changed) {
    if (!run.possible()) {
      return () -> {};
    }
    Subscriptions.Subscriber watcher =
        new Subscriptions.Subscriber() {
          @Override
          public void persisted(Entry<?> entry, boolean last) {
            changed.run();
          }

          @Override
          public void ended(@Nullable Throwable why) {
            changed.run();
          }
        };
    subscriptions.add(run.entityId(), watcher);
    return () -> subscriptions.remove(run.entityId(), watcher);
  }

  private static TaskView viewed(ToolReply reply) {
    ObjectNode run =
        reply.meta().path("fermata/run") instanceof ObjectNode found ? found : Json.object();
    JsonNode standing = run.remove(RunReplies.STANDING);
    Map<String, String> asked = new LinkedHashMap<>();
    JsonNode names = run.remove(RunReplies.ASKED);
    if (names != null) {
      names.properties().forEach(name -> asked.put(name.getKey(), name.getValue().asText()));
    }
    JsonNode changedAt = run.remove(RunReplies.CHANGED_AT);
    JsonNode keptUntil = run.remove(RunReplies.KEPT_UNTIL);
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
