package io.fermata.session.host;

import io.fermata.session.admin.Settings;
import io.fermata.session.key.HandlerThreads;
import java.util.concurrent.ExecutorService;

/**
 * The threads of a host beside its actor system.
 *
 * @param handlers run handlers, which may block
 * @param replies complete replies
 * @param feeds deliver entries to subscribers
 */
public record HostThreads(
    ExecutorService handlers, ExecutorService replies, ExecutorService feeds) {

  public static HostThreads start(Settings settings) {
    return new HostThreads(
        HandlerThreads.create(settings.handlerThreads(), "fermata-handler-"),
        HandlerThreads.replies(),
        HandlerThreads.feeds());
  }

  public void stop() {
    handlers.shutdownNow();
    replies.shutdown();
    feeds.shutdown();
  }
}
