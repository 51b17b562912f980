package io.fermata.mcp;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.session.TaskView;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Notifies a subscriber of the status of a task: at once, and after every change. */
final class TaskFeed {
  /** When it looks again where it could not, each time twice as late as before, up to that. */
  private static final long SOON_MILLIS = 250;

  private static final long LATEST_MILLIS = 30_000;

  private static final Set<String> OVER = Set.of("completed", "failed", "cancelled");

  private final TaskCalls calls;
  private final TaskIds.Task task;
  private final Request request;
  private final Subscriptions.Subscription listener;
  private final Looks looking;
  private @Nullable Runnable unwatch;
  private @Nullable ObjectNode last;
  private boolean looks;
  private boolean changed;
  private boolean over;
  private long rest = SOON_MILLIS;

  private TaskFeed(
      TaskCalls calls,
      TaskIds.Task task,
      Request request,
      Subscriptions.Subscription listener,
      Looks looking) {
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
      TaskCalls calls,
      TaskIds.Task task,
      Request request,
      Subscriptions.Subscription listener,
      Looks looking) {
    TaskFeed feed = new TaskFeed(calls, task, request, listener, looking);
    Runnable unwatch = calls.tasks().watch(task.run(), feed::look);
    feed.watches(unwatch);
    CompletionStage<Void> ended = listener.ended();
    ended.whenComplete((done, failure) -> feed.end());
    feed.look();
  }

  private synchronized void watches(Runnable ending) {
    unwatch = ending;
  }

  /** One look follows the other, however often the run changes. */
  private void look() {
    synchronized (this) {
      changed = looks;
      if (looks || over) {
        return;
      }
      looks = true;
    }
    looking.take(this::view);
  }

  private void view() {
    boolean wanted;
    synchronized (this) {
      changed = false;
      wanted = !over;
    }
    if (!wanted) {
      looking.over();
      return;
    }
    calls
        .tasks()
        .view(task.run())
        .whenComplete(
            (view, failure) -> {
              try {
                seen(view);
              } finally {
                looking.over();
              }
            });
  }

  private void seen(@Nullable TaskView view) {
    if (view == null || TaskCalls.missed(view)) {
      Executor later = CompletableFuture.delayedExecutor(rest, TimeUnit.MILLISECONDS);
      rest = Math.min(2 * rest, LATEST_MILLIS);
      later.execute(this::rested);
      return;
    }
    rest = SOON_MILLIS;
    tell(view);
    boolean again;
    synchronized (this) {
      looks = false;
      again = changed;
    }
    if (again) {
      look();
    }
  }

  private void rested() {
    synchronized (this) {
      looks = false;
    }
    look();
  }

  private void tell(TaskView view) {
    ObjectNode told;
    try {
      told = calls.told(task, view, request);
    } catch (Refusal nothing) {
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
    listener.insist(task.id(), "notifications/tasks", told);
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
