package io.fermata.session.host;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;

/** Work that costs memory of the host: so much at once, and what is more waits in its order. */
final class QueuedWork {
  private final Queue<Supplier<CompletionStage<?>>> waiting = new ArrayDeque<>();
  private int left;

  QueuedWork(int atOnce) {
    this.left = atOnce;
  }

  void begin(Supplier<CompletionStage<?>> work) {
    synchronized (waiting) {
      if (left == 0) {
        waiting.add(work);
        return;
      }
      left--;
    }
    run(work);
  }

  @SuppressWarnings("FutureReturnValueIgnored") // the work reports its failures
  private void run(Supplier<CompletionStage<?>> work) {
    CompletionStage<?> end;
    try {
      end = work.get();
    } catch (RuntimeException | Error e) {
      ended();
      throw e;
    }
    end.whenComplete((done, thrown) -> ended());
  }

  private void ended() {
    Supplier<CompletionStage<?>> next;
    synchronized (waiting) {
      next = waiting.poll();
      if (next == null) {
        left++;
        return;
      }
    }
    run(next);
  }
}
