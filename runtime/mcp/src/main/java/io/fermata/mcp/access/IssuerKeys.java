package io.fermata.mcp.access;

import com.nimbusds.jose.jwk.JWKSet;
import io.fermata.mcp.rpc.RpcException;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The public keys of an issuer. They are fetched on a thread of their own, for which only those
 * wait who need a key that is not known; while the issuer is away, those that are known hold.
 */
public final class IssuerKeys {
  private static final Logger LOG = LoggerFactory.getLogger(IssuerKeys.class);

  /** When they are looked at again, without anybody waiting. */
  static final Duration FRESH = Duration.ofMinutes(5);

  /** How long they hold if the issuer stays away: nobody could withdraw one. */
  static final Duration KEPT = Duration.ofHours(24);

  /** Tokens with unknown keys are for anybody to make up, and must not trouble the issuer. */
  public static final int BURST = 3;

  static final int SECONDS_BETWEEN = 10;

  /** The keys as they were at a time; equal to none but itself. */
  static final class Known {
    private final JWKSet keys;
    private final long since;

    private Known(JWKSet keys, long since) {
      this.keys = keys;
      this.since = since;
    }

    JWKSet keys() {
      return keys;
    }
  }

  private final String issuer;
  private final Callable<JWKSet> source;
  private final LongSupplier nanos;
  private final TokenBucket fetches;
  private final ThreadPoolExecutor thread =
      new ThreadPoolExecutor(
          1, 1, 1, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), IssuerKeys::daemon);

  private volatile @Nullable Known known;
  private volatile boolean failing;
  private @Nullable CompletableFuture<Known> underWay;

  /**
   * @param source fetches the keys, and may take its time
   */
  public IssuerKeys(String issuer, Callable<JWKSet> source, LongSupplier nanos) {
    this.issuer = issuer;
    this.source = source;
    this.nanos = nanos;
    this.fetches = new TokenBucket(BURST, 1.0 / SECONDS_BETWEEN, nanos.getAsLong());
    thread.allowCoreThreadTimeOut(true);
  }

  private static Thread daemon(Runnable task) {
    Thread thread = new Thread(task, "fermata-mcp-issuer");
    thread.setDaemon(true);
    return thread;
  }

  /** The keys that are known now; null if there are none. */
  @Nullable Known known() {
    Known now = known;
    if (now == null) {
      return null;
    }
    long age = nanos.getAsLong() - now.since;
    if (age > FRESH.toNanos()) {
      fetching();
    }
    return age > KEPT.toNanos() ? null : now;
  }

  /**
   * The keys as the issuer has them now, or as it had them a moment ago. Fails with a refusal if
   * they cannot be had.
   */
  public CompletionStage<Known> latest() {
    CompletionStage<Known> fetching = fetching();
    if (fetching != null) {
      return fetching;
    }
    Known had = known();
    return had == null || failing
        ? CompletableFuture.failedFuture(away())
        : CompletableFuture.completedFuture(had);
  }

  private static RpcException away() {
    return RpcException.issuerUnavailable(SECONDS_BETWEEN);
  }

  /** Has the keys fetched; null if that was too often of late. */
  private synchronized @Nullable CompletionStage<Known> fetching() {
    if (underWay != null) {
      return underWay;
    } else if (fetches.take(1, nanos.getAsLong()) > 0) {
      return null;
    }
    CompletableFuture<Known> fetching = new CompletableFuture<>();
    underWay = fetching;
    try {
      thread.execute(() -> fetch(fetching));
    } catch (RuntimeException | Error e) {
      ended(fetching, null, e);
    }
    return fetching;
  }

  private void fetch(CompletableFuture<Known> fetching) {
    try {
      ended(fetching, new Known(source.call(), nanos.getAsLong()), null);
    } catch (Throwable e) {
      ended(fetching, null, e);
    }
  }

  /** Whatever came of it, the next one may begin. */
  private void ended(
      CompletableFuture<Known> fetching, @Nullable Known fetched, @Nullable Throwable failure) {
    if (fetched != null) {
      known = fetched;
    }
    failing = fetched == null;
    synchronized (this) {
      underWay = null;
    }
    if (fetched == null) {
      LOG.warn("Cannot fetch the keys of the issuer {}", issuer, failure);
      fetching.completeExceptionally(away());
    } else {
      fetching.complete(fetched);
    }
  }
}
