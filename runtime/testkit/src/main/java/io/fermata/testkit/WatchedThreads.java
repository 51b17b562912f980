package io.fermata.testkit;

import java.util.List;
import java.util.concurrent.AbstractExecutorService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.TimeUnit;

/** The threads of handlers, with notice of each task: from when it waits for a thread. */
final class WatchedThreads extends AbstractExecutorService {
  private final ExecutorService threads;
  private final Runnable begins;
  private final Runnable ended;

  WatchedThreads(ExecutorService threads, Runnable begins, Runnable ended) {
    this.threads = threads;
    this.begins = begins;
    this.ended = ended;
  }

  @Override
  public void execute(Runnable task) {
    begins.run();
    boolean accepted = false;
    try {
      threads.execute(
          () -> {
            try {
              task.run();
            } finally {
              ended.run();
            }
          });
      accepted = true;
    } finally {
      if (!accepted) {
        ended.run();
      }
    }
  }

  /** Tasks that no thread had begun are over. */
  @Override
  public List<Runnable> shutdownNow() {
    List<Runnable> waiting = threads.shutdownNow();
    waiting.forEach(task -> ended.run());
    return waiting;
  }

  @Override
  public void shutdown() {
    threads.shutdown();
  }

  @Override
  public boolean isShutdown() {
    return threads.isShutdown();
  }

  @Override
  public boolean isTerminated() {
    return threads.isTerminated();
  }

  @Override
  public boolean awaitTermination(long time, TimeUnit unit) throws InterruptedException {
    return threads.awaitTermination(time, unit);
  }
}
