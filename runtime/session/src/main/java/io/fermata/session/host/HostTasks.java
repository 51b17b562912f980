package io.fermata.session.host;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.session.actor.Gateway;
import io.fermata.session.actor.SessionSubscriptions;
import io.fermata.session.call.CallAction;
import io.fermata.session.call.FlowCatalog;
import io.fermata.session.call.QuestionIds;
import io.fermata.session.call.Request;
import io.fermata.session.call.TaskRun;
import io.fermata.session.call.TaskView;
import io.fermata.session.call.Tasks;
import io.fermata.session.call.ToolReply;
import io.fermata.session.journal.Entry;
import io.fermata.session.run.RunReplies;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/** The tasks of a host, as commands to the sessions of their runs. */
public record HostTasks(Gateway gateway, FlowCatalog catalog, SessionSubscriptions subscriptions)
    implements Tasks {
  @Override
  public CompletionStage<TaskView> view(TaskRun run) {
    return command(run, CallAction.STATUS, Json.object(), null).thenApply(HostTasks::viewed);
  }

  @Override
  public CompletionStage<ToolReply> answer(
      TaskRun run, ObjectNode answers, Map<String, String> asked) {
    Map<String, String> answered = new LinkedHashMap<>();
    answers
        .fieldNames()
        .forEachRemaining(field -> answered.put(field, asked.getOrDefault(field, "")));
    return command(run, CallAction.CONTINUE, answers, new QuestionIds(run.runId(), answered));
  }

  @Override
  public CompletionStage<ToolReply> postpone(TaskRun run, Map<String, String> asked) {
    ObjectNode fields = Json.object();
    asked.keySet().forEach(fields::putNull);
    return command(run, CallAction.POSTPONE, fields, new QuestionIds(run.runId(), asked));
  }

  @Override
  public CompletionStage<ToolReply> cancel(TaskRun run) {
    return command(run, CallAction.CANCEL, Json.object(), null);
  }

  private CompletionStage<ToolReply> command(
      TaskRun run, CallAction action, ObjectNode updates, @Nullable QuestionIds asked) {
    return run.possible() && catalog.offers(run.tool())
        ? gateway.command(
            run, Request.OfRun.of(action, updates, new Request.Only(run.runId(), null, asked)))
        : CompletableFuture.completedFuture(RunReplies.unknown());
  }

  @Override
  public Runnable watch(TaskRun run, Runnable changed) {
    if (!run.possible()) {
      return () -> {};
    }
    SessionSubscriptions.Subscriber watcher =
        new SessionSubscriptions.Subscriber() {
          @Override
          public void persisted(Entry<?> entry, boolean last) {
            changed.run();
          }

          @Override
          public void missed() {
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
    JsonNode status = run.remove(RunReplies.STATUS);
    Map<String, String> asked = new LinkedHashMap<>();
    JsonNode names = run.remove(RunReplies.ASKED);
    if (names != null) {
      names.properties().forEach(name -> asked.put(name.getKey(), name.getValue().asText()));
    }
    JsonNode changedAt = run.remove(RunReplies.CHANGED_AT);
    JsonNode keptUntil = run.remove(RunReplies.KEPT_UNTIL);
    return new TaskView(
        status == null ? TaskView.Status.UNREACHABLE : TaskView.Status.valueOf(status.asText()),
        reply,
        asked,
        Instant.ofEpochMilli(changedAt == null ? 0 : changedAt.asLong()),
        keptUntil == null ? null : Instant.ofEpochMilli(keptUntil.asLong()));
  }
}
