package io.fermata.mcp.access;

import io.fermata.mcp.rpc.RpcException;
import io.fermata.mcp.settings.PrincipalLimits;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/** Limits the calls of each principal, per second and in flight, and their arriving bodies. */
public final class CallQuotas {
  /** The number of buckets from which on idle ones are evicted. */
  private static final int EVICTION_THRESHOLD = 10_000;

  private final PrincipalLimits limits;
  private final LongSupplier nanos;
  private final PrincipalCounts inFlight;
  private final PrincipalCounts arriving;
  private final Map<String, TokenBucket> buckets = new ConcurrentHashMap<>();

  public CallQuotas(PrincipalLimits limits, LongSupplier nanos) {
    this.limits = limits;
    this.nanos = nanos;
    this.inFlight = new PrincipalCounts(limits.callsInFlight());
    this.arriving = new PrincipalCounts(limits.arrivingBytes());
  }

  public PrincipalLimits limits() {
    return limits;
  }

  /**
   * Counts calls that arrived.
   *
   * @throws RpcException if they exceed the principal's rate
   */
  public void countArrivals(String principal, int calls) {
    if (limits.callsPerSecond() == Double.POSITIVE_INFINITY) {
      return;
    }
    long now = nanos.getAsLong();
    double wait = bucket(principal, now).take(calls, now);
    if (wait > 0) {
      throw RpcException.tooManyCalls(
          "Too many calls: send at most %s per second.".formatted(shown(limits.callsPerSecond())),
          (long) Math.ceil(wait));
    }
  }

  private static String shown(double number) {
    return number == Math.rint(number) ? String.valueOf((long) number) : String.valueOf(number);
  }

  private TokenBucket bucket(String principal, long now) {
    TokenBucket known = buckets.get(principal);
    if (known != null) {
      return known;
    }
    if (buckets.size() >= EVICTION_THRESHOLD) {
      // A full bucket is the same as a new one.
      buckets.values().removeIf(each -> each.full(now));
    }
    return buckets.computeIfAbsent(
        principal, who -> new TokenBucket(limits.burst(), limits.callsPerSecond(), now));
  }

  /**
   * The body of a request of a principal, of which nothing has arrived yet.
   *
   * @param refused gets the refusal if too much of the principal's bodies arrives
   */
  public ArrivingBody arriving(String principal, Consumer<RpcException> refused) {
    return new ArrivingBody(arriving, principal, refused);
  }

  /**
   * Runs a call, and counts it while it is in flight. Who has the answer may call again.
   *
   * @throws RpcException if the principal has too many calls in flight
   */
  public <T> CompletionStage<T> during(String principal, Supplier<CompletionStage<T>> call) {
    if (!inFlight.tryEnter(principal, 1)) {
      throw RpcException.tooManyCalls(
          "%s calls are in flight already: wait for one to end.".formatted(inFlight.max()), 1);
    }
    CompletionStage<T> answer;
    try {
      answer = call.get();
    } catch (RuntimeException | Error e) {
      inFlight.leave(principal, 1);
      throw e;
    }
    return answer.whenComplete((result, failure) -> inFlight.leave(principal, 1));
  }
}
