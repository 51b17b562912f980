package io.fermata.mcp.access;

import io.fermata.mcp.rpc.RpcException;
import io.fermata.mcp.settings.PrincipalLimits;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/** Limits the calls of each principal, per second and in flight. */
public final class CallQuotas {
  /** From so many on, those that have not been heard of for a while are looked for. */
  private static final int MANY = 10_000;

  private final PrincipalLimits limits;
  private final LongSupplier nanos;
  private final PrincipalCounts underWay;
  private final Map<String, TokenBucket> buckets = new ConcurrentHashMap<>();

  public CallQuotas(PrincipalLimits limits, LongSupplier nanos) {
    this.limits = limits;
    this.nanos = nanos;
    this.underWay = new PrincipalCounts(limits.callsUnderWay());
  }

  public PrincipalLimits limits() {
    return limits;
  }

  /**
   * Counts calls that arrived.
   *
   * @throws RpcException if they are more than the principal may make now
   */
  public void countArrivals(String principal, int calls) {
    if (limits.callsPerSecond() == Double.POSITIVE_INFINITY) {
      return;
    }
    long now = nanos.getAsLong();
    double wait = bucket(principal, now).take(calls, now);
    if (wait > 0) {
      throw RpcException.tooManyCalls(
          "There were too many calls: send fewer than %s per second."
              .formatted(shown(limits.callsPerSecond())),
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
    if (buckets.size() >= MANY) {
      // One that is full knows nothing that a new one does not.
      buckets.values().removeIf(each -> each.full(now));
    }
    return buckets.computeIfAbsent(
        principal, who -> new TokenBucket(limits.burst(), limits.callsPerSecond(), now));
  }

  /**
   * Counts a call for as long as it is under way.
   *
   * @throws RpcException if the principal has as many under way as it may
   */
  public <T> CompletionStage<T> during(String principal, Supplier<CompletionStage<T>> call) {
    if (!underWay.tryEnter(principal, 1)) {
      throw RpcException.tooManyCalls(
          "%d calls are under way already: wait for one to end.".formatted(underWay.max()), 1);
    }
    CompletionStage<T> answer;
    try {
      answer = call.get();
    } catch (RuntimeException | Error e) {
      underWay.leave(principal, 1);
      throw e;
    }
    answer.whenComplete((result, failure) -> underWay.leave(principal, 1));
    return answer;
  }
}
