package io.fermata.mcp.call;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.logging.LoggedFailure;
import io.fermata.mcp.catalog.Subscriptions;
import io.fermata.mcp.protocol.McpRequest;
import io.fermata.mcp.rpc.RpcException;
import io.fermata.session.call.TaskView;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Notifies a subscriber of the status of a task: at once, and after every change. */
final class TaskNotifier {
  private static final Logger LOG = LoggerFactory.getLogger(TaskNotifier.class);

  /** The first and the longest wait before a failed view is repeated; it doubles each time. */
  private static final long MIN_RETRY_MILLIS = 250;

  private static final long MAX_RETRY_MILLIS = 30_000;

  private static final Set<String> FINAL = Set.of("completed", "failed", "cancelled");

  private final TaskMethods taskMethods;
  private final TaskIds.Task task;
  private final McpRequest request;
  private final Subscriptions.Subscription listener;
  private final PacedTaskViews views;
  private @Nullable Runnable unwatch;
  private @Nullable ObjectNode last;
  private boolean viewing;
  private boolean changed;
  private boolean over;
  private long retryMillis = MIN_RETRY_MILLIS;

  /**
   * @param request the request that subscribed
   * @param views the views of all tasks of the subscription
   */
  TaskNotifier(
      TaskMethods taskMethods,
      TaskIds.Task task,
      McpRequest request,
      Subscriptions.Subscription listener,
      PacedTaskViews views) {
    this.taskMethods = taskMethods;
    this.task = task;
    this.request = request;
    this.listener = listener;
    this.views = views;
  }

  /** Begins to notify. */
  void start() {
    watches(taskMethods.tasks().watch(task.run(), this::refresh));
    CompletionStage<Void> ended = listener.ended();
    ended.whenComplete((done, failure) -> end());
    refresh();
  }

  /** The run may have ended already. */
  private void watches(Runnable ending) {
    synchronized (this) {
      if (!over) {
        unwatch = ending;
        return;
      }
    }
    ending.run();
  }

  /** Views run one after the other, however often the run changes. */
  private void refresh() {
    synchronized (this) {
      changed = viewing;
      if (viewing || over) {
        return;
      }
      viewing = true;
    }
    views.enqueue(this::view);
  }

  private void view() {
    boolean wanted;
    synchronized (this) {
      changed = false;
      wanted = !over;
    }
    if (!wanted) {
      views.finished();
      return;
    }
    taskMethods
        .tasks()
        .view(task.run())
        .whenComplete(
            (view, failure) -> {
              try {
                received(view);
              } finally {
                views.finished();
              }
            });
  }

  private void received(@Nullable TaskView view) {
    if (view == null || TaskMethods.unavailable(view)) {
      Executor later = CompletableFuture.delayedExecutor(retryMillis, TimeUnit.MILLISECONDS);
      retryMillis = Math.min(2 * retryMillis, MAX_RETRY_MILLIS);
      later.execute(this::retry);
      return;
    }
    retryMillis = MIN_RETRY_MILLIS;
    try {
      publish(view);
    } catch (RuntimeException e) {
      LOG.error("A subscriber could not be notified of a task", LoggedFailure.of(e));
    }
    boolean again;
    synchronized (this) {
      viewing = false;
      again = changed;
    }
    if (again) {
      refresh();
    }
  }

  private void retry() {
    synchronized (this) {
      viewing = false;
    }
    refresh();
  }

  private void publish(TaskView view) {
    ObjectNode json;
    try {
      json = taskMethods.taskJson(task, view, request);
    } catch (RpcException nothing) {
      return;
    }
    ObjectNode status = json.deepCopy();
    status.remove("lastUpdatedAt");
    synchronized (this) {
      if (over || status.equals(last)) {
        return;
      }
      last = status;
    }
    listener.send(task.id(), "notifications/tasks", json);
    if (FINAL.contains(json.path("status").asText())) {
      end();
    }
  }

  private void end() {
    Runnable ending;
    synchronized (this) {
      over = true;
      last = null;
      ending = unwatch;
      unwatch = null;
    }
    if (ending != null) {
      ending.run();
    }
  }
}
