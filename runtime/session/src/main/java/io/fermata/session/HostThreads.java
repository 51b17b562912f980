package io.fermata.session;

import java.util.concurrent.ExecutorService;

/**
 * The threads of a host beside its actor system.
 *
 * @param handlers run authors' code, which may block
 * @param replies hand replies to callers
 * @param feeds hand entries to those who follow sessions
 */
record HostThreads(ExecutorService handlers, ExecutorService replies, ExecutorService feeds) {

  static HostThreads start(Settings settings) {
    return new HostThreads(
        HandlerThreads.create(settings.handlerThreads()),
        HandlerThreads.replies(),
        HandlerThreads.feeds());
  }

  void stop() {
    handlers.shutdownNow();
    replies.shutdown();
    feeds.shutdown();
  }
}
