package io.fermata.mcp.call;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.logging.LoggedFailure;
import io.fermata.mcp.catalog.Subscriptions;
import io.fermata.mcp.protocol.McpRequest;
import io.fermata.mcp.protocol.OutboundQueue;
import io.fermata.mcp.rpc.RpcException;
import io.fermata.session.call.TaskView;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Notifies a subscriber of the status of its tasks: at once, and after every change. It views one
 * task after the other, and only while there is room for the notification: a slow client gets the
 * latest status, later.
 */
final class TaskNotifier {
  private static final Logger LOG = LoggerFactory.getLogger(TaskNotifier.class);

  /** The first and the longest wait before a failed view is repeated; it doubles each time. */
  private static final long MIN_RETRY_MILLIS = 250;

  private static final long MAX_RETRY_MILLIS = 30_000;

  private static final Set<String> FINAL = Set.of("completed", "failed", "cancelled");

  private final TaskMethods taskMethods;
  private final McpRequest request;
  private final Subscriptions.Subscription listener;
  private final OutboundQueue queue;

  // Guarded by this.
  private final Map<TaskIds.Task, Runnable> watched = new HashMap<>();
  private final Map<TaskIds.Task, ObjectNode> last = new HashMap<>();
  private final Set<TaskIds.Task> changed = new LinkedHashSet<>();
  private final Set<TaskIds.Task> retrying = new HashSet<>();
  private boolean viewing;

  // Accessed by one view at a time.
  private final Map<TaskIds.Task, Long> retryMillis = new HashMap<>();

  /**
   * @param request the request that subscribed
   */
  TaskNotifier(
      TaskMethods taskMethods,
      McpRequest request,
      Subscriptions.Subscription listener,
      OutboundQueue queue) {
    this.taskMethods = taskMethods;
    this.request = request;
    this.listener = listener;
    this.queue = queue;
  }

  /** Begins to notify. */
  void start(List<TaskIds.Task> tasks) {
    for (TaskIds.Task task : tasks) {
      Runnable unwatch = taskMethods.tasks().watch(task.run(), () -> refresh(task));
      synchronized (this) {
        watched.put(task, unwatch);
      }
    }
    CompletionStage<Void> ended = listener.ended();
    ended.whenComplete((done, failure) -> tasks.forEach(this::end));
    tasks.forEach(this::refresh);
  }

  private void refresh(TaskIds.Task task) {
    synchronized (this) {
      if (watched.containsKey(task) && !retrying.contains(task)) {
        changed.add(task);
      }
    }
    viewNext();
  }

  private void viewNext() {
    TaskIds.Task next;
    synchronized (this) {
      if (viewing || changed.isEmpty()) {
        return;
      }
      viewing = true;
      next = changed.iterator().next();
      changed.remove(next);
    }
    queue.onRoom(() -> view(next));
  }

  private void view(TaskIds.Task task) {
    taskMethods
        .tasks()
        .view(task.run())
        .whenComplete(
            (view, failure) -> {
              try {
                received(task, view);
              } finally {
                synchronized (this) {
                  viewing = false;
                }
                viewNext();
              }
            });
  }

  private void received(TaskIds.Task task, @Nullable TaskView view) {
    if (view == null || TaskMethods.unavailable(view)) {
      retry(task);
      return;
    }
    retryMillis.remove(task);
    try {
      publish(task, view);
    } catch (RpcException nothing) {
      // A run of which nothing is known has no status.
    } catch (RuntimeException e) {
      LOG.error("A subscriber could not be notified of a task", LoggedFailure.of(e));
    }
  }

  /** Changes do not shorten the wait, in which other tasks are viewed. */
  private void retry(TaskIds.Task task) {
    synchronized (this) {
      changed.remove(task);
      retrying.add(task);
    }
    long wait = retryMillis.getOrDefault(task, MIN_RETRY_MILLIS);
    retryMillis.put(task, Math.min(2 * wait, MAX_RETRY_MILLIS));
    CompletableFuture.delayedExecutor(wait, TimeUnit.MILLISECONDS)
        .execute(
            () -> {
              synchronized (this) {
                retrying.remove(task);
              }
              refresh(task);
            });
  }

  private void publish(TaskIds.Task task, TaskView view) {
    ObjectNode json = taskMethods.taskJson(task, view, request);
    ObjectNode status = json.deepCopy();
    status.remove("lastUpdatedAt");
    synchronized (this) {
      if (!watched.containsKey(task) || status.equals(last.put(task, status))) {
        return;
      }
    }
    listener.send(task.id(), "notifications/tasks", json);
    if (FINAL.contains(json.path("status").asText())) {
      end(task);
    }
  }

  private void end(TaskIds.Task task) {
    Runnable unwatch;
    synchronized (this) {
      unwatch = watched.remove(task);
      last.remove(task);
      changed.remove(task);
    }
    if (unwatch != null) {
      unwatch.run();
    }
  }
}
