package io.fermata.session.host;

import io.fermata.session.admin.Settings;
import io.fermata.session.key.HandlerThreads;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.UnaryOperator;

/**
 * The threads of a host beside its actor system.
 *
 * @param handlers run handlers, which may block
 * @param replies complete replies
 * @param feeds deliver entries to subscribers
 */
public record HostThreads(ExecutorService handlers, ReplyThreads replies, ExecutorService feeds) {
  /**
   * Completes replies, also those of a closed host: to its callers, who need to know that it is
   * closed, on their own threads.
   */
  public static final class ReplyThreads implements Executor {
    private final ExecutorService threads;

    ReplyThreads(ExecutorService threads) {
      this.threads = threads;
    }

    @Override
    public void execute(Runnable task) {
      try {
        threads.execute(task);
      } catch (RejectedExecutionException e) {
        task.run();
      }
    }
  }

  /**
   * Starts them.
   *
   * @param handlers stands in front of the threads of handlers
   */
  public static HostThreads start(Settings settings, UnaryOperator<ExecutorService> handlers) {
    return new HostThreads(
        handlers.apply(HandlerThreads.create(settings.handlerThreads(), "fermata-handler-")),
        new ReplyThreads(HandlerThreads.replies()),
        HandlerThreads.feeds());
  }

  public void stop() {
    handlers.shutdownNow();
    replies.threads.shutdown();
    feeds.shutdown();
  }
}
