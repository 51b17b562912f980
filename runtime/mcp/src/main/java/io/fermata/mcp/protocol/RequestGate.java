package io.fermata.mcp.protocol;

import io.fermata.mcp.rpc.RpcException;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Admits requests until shutdown, and counts those in flight. */
public final class RequestGate {
  private final AtomicInteger inside = new AtomicInteger();
  private final Map<Object, CompletableFuture<?>> waiting = new ConcurrentHashMap<>();
  private final Set<Runnable> handingBack = ConcurrentHashMap.newKeySet();
  private final CompletableFuture<Void> empty = new CompletableFuture<>();
  private volatile boolean closed;
  private volatile boolean cutOff;

  public boolean closed() {
    return closed;
  }

  /**
   * Admits a request.
   *
   * @throws RpcException if the server is shutting down
   */
  public void enter() {
    inside.incrementAndGet();
    if (closed) {
      leave();
      throw RpcException.shuttingDown();
    }
  }

  public void leave() {
    if (inside.decrementAndGet() == 0 && closed) {
      empty.complete(null);
    }
  }

  /** Counts work that outlasts its request as in flight. It fails if the server ends first. */
  public void hold(CompletableFuture<?> work) {
    inside.incrementAndGet();
    Object held = new Object();
    waiting.put(held, work);
    CompletionStage<?> done = work;
    done.whenComplete(
        (result, failure) -> {
          waiting.remove(held);
          leave();
        });
    if (cutOff || empty.isDone()) {
      work.completeExceptionally(RpcException.interrupted());
    }
  }

  /** The result of a request, or a refusal if the server ends first. */
  public <T> CompletionStage<T> orIfCutOff(CompletionStage<T> answer) {
    CompletableFuture<T> answered = answer.toCompletableFuture();
    if (answered.isDone()) {
      return answered;
    }
    CompletableFuture<T> either = new CompletableFuture<>();
    Object request = new Object();
    waiting.put(request, either);
    forward(answer, either, () -> waiting.remove(request));
    return either;
  }

  private static <T> void forward(
      CompletionStage<T> answer, CompletableFuture<T> either, Runnable first) {
    answer.whenComplete(
        (result, thrown) -> {
          first.run();
          if (thrown == null) {
            either.complete(result);
          } else {
            either.completeExceptionally(thrown);
          }
        });
  }

  /**
   * The result of work that can outlive its call, or the reply to its caller when the call is
   * handed back.
   *
   * @param handedBack the reply that says that the work continues; null while there is nothing to
   *     hand back
   */
  public <T> CompletionStage<T> orIfHandedBack(
      CompletionStage<T> answer, Supplier<@Nullable T> handedBack) {
    CompletableFuture<T> answered = answer.toCompletableFuture();
    if (answered.isDone()) {
      return answered;
    }
    CompletableFuture<T> either = new CompletableFuture<>();
    Runnable handing =
        () -> {
          T instead = either.isDone() ? null : handedBack.get();
          if (instead != null) {
            either.complete(instead);
          }
        };
    handingBack.add(handing);
    forward(answer, either, () -> handingBack.remove(handing));
    return either;
  }

  /** Hands back the requests that can be handed back by now. */
  void handBackAll() {
    handingBack.forEach(Runnable::run);
  }

  /** Admits no further request. The stage completes when none is in flight. */
  CompletableFuture<Void> close() {
    closed = true;
    if (inside.get() == 0) {
      empty.complete(null);
    }
    return empty.copy();
  }

  /** Rejects the requests that are still in flight. */
  void cutOff() {
    cutOff = true;
    waiting.values().forEach(each -> each.completeExceptionally(RpcException.interrupted()));
  }
}
