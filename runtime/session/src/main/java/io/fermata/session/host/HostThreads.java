package io.fermata.session.host;

import io.fermata.session.admin.Settings;
import io.fermata.session.key.HandlerThreads;
import java.util.concurrent.ExecutorService;
import java.util.function.UnaryOperator;

/**
 * The threads of a host beside its actor system.
 *
 * @param handlers run handlers, which may block
 * @param replies complete replies
 * @param feeds deliver entries to subscribers
 */
public record HostThreads(
    ExecutorService handlers, ExecutorService replies, ExecutorService feeds) {

  /**
   * Starts them.
   *
   * @param handlers stands in front of the threads of handlers
   */
  public static HostThreads start(Settings settings, UnaryOperator<ExecutorService> handlers) {
    return new HostThreads(
        handlers.apply(HandlerThreads.create(settings.handlerThreads(), "fermata-handler-")),
        HandlerThreads.replies(),
        HandlerThreads.feeds());
  }

  public void stop() {
    handlers.shutdownNow();
    replies.shutdown();
    feeds.shutdown();
  }
}
