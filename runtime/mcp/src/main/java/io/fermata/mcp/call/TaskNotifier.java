package io.fermata.mcp.call;

import com.fasterxml.jackson.databind.node.ObjectNode;
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

/** Notifies a subscriber of the status of a task: at once, and after every change. */
final class TaskNotifier {
  /** When it looks again where it could not, each time twice as late as before, up to that. */
  private static final long SOON_MILLIS = 250;

  private static final long LATEST_MILLIS = 30_000;

  private static final Set<String> OVER = Set.of("completed", "failed", "cancelled");

  private final TaskMethods calls;
  private final TaskIds.Task task;
  private final McpRequest request;
  private final Subscriptions.Subscription listener;
  private final PacedTaskViews looking;
  private @Nullable Runnable unwatch;
  private @Nullable ObjectNode last;
  private boolean looks;
  private boolean changed;
  private boolean over;
  private long rest = SOON_MILLIS;

  private TaskNotifier(
      TaskMethods calls,
      TaskIds.Task task,
      McpRequest request,
      Subscriptions.Subscription listener,
      PacedTaskViews looking) {
    this.calls = calls;
    this.task = task;
    this.request = request;
    this.listener = listener;
    this.looking = looking;
  }

  /**
   * Begins to tell.
   *
   * @param request what the client that listens sent
   * @param looking the looks at all that it listens to
   */
  static void start(
      TaskMethods calls,
      TaskIds.Task task,
      McpRequest request,
      Subscriptions.Subscription listener,
      PacedTaskViews looking) {
    TaskNotifier feed = new TaskNotifier(calls, task, request, listener, looking);
    Runnable unwatch = calls.tasks().watch(task.run(), feed::refresh);
    feed.watches(unwatch);
    CompletionStage<Void> ended = listener.ended();
    ended.whenComplete((done, failure) -> feed.end());
    feed.refresh();
  }

  private synchronized void watches(Runnable ending) {
    unwatch = ending;
  }

  /** One look follows the other, however often the run changes. */
  private void refresh() {
    synchronized (this) {
      changed = looks;
      if (looks || over) {
        return;
      }
      looks = true;
    }
    looking.enqueue(this::view);
  }

  private void view() {
    boolean wanted;
    synchronized (this) {
      changed = false;
      wanted = !over;
    }
    if (!wanted) {
      looking.finished();
      return;
    }
    calls
        .tasks()
        .view(task.run())
        .whenComplete(
            (view, failure) -> {
              try {
                received(view);
              } finally {
                looking.finished();
              }
            });
  }

  private void received(@Nullable TaskView view) {
    if (view == null || TaskMethods.unavailable(view)) {
      Executor later = CompletableFuture.delayedExecutor(rest, TimeUnit.MILLISECONDS);
      rest = Math.min(2 * rest, LATEST_MILLIS);
      later.execute(this::retry);
      return;
    }
    rest = SOON_MILLIS;
    publish(view);
    boolean again;
    synchronized (this) {
      looks = false;
      again = changed;
    }
    if (again) {
      refresh();
    }
  }

  private void retry() {
    synchronized (this) {
      looks = false;
    }
    refresh();
  }

  private void publish(TaskView view) {
    ObjectNode told;
    try {
      told = calls.taskJson(task, view, request);
    } catch (RpcException nothing) {
      return;
    }
    ObjectNode stands = told.deepCopy();
    stands.remove("lastUpdatedAt");
    synchronized (this) {
      if (over || stands.equals(last)) {
        return;
      }
      last = stands;
    }
    listener.send(task.id(), "notifications/tasks", told);
    if (OVER.contains(told.path("status").asText())) {
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
