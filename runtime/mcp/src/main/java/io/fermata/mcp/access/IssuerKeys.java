package io.fermata.mcp.access;

import com.nimbusds.jose.jwk.JWK;
import com.nimbusds.jose.jwk.JWKSet;
import com.nimbusds.jose.jwk.RSAKey;
import io.fermata.flow.json.Texts;
import io.fermata.flow.logging.LoggedFailure;
import io.fermata.mcp.rpc.RpcException;
import io.fermata.session.key.HandlerThreads;
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
 * The public keys of an issuer, fetched on a separate thread. Only a caller that needs an unknown
 * key waits for a fetch. While the issuer is unavailable, known keys stay valid.
 */
public final class IssuerKeys {
  private static final Logger LOG = LoggerFactory.getLogger(IssuerKeys.class);

  /** The age at which keys are refreshed in the background. */
  static final Duration FRESH = Duration.ofMinutes(5);

  /** How long keys stay valid while the issuer is unavailable, when it cannot withdraw one. */
  static final Duration KEPT = Duration.ofHours(24);

  /**
   * Limits fetches: anybody can make up tokens with unknown keys, and they must not flood the
   * issuer.
   */
  public static final int BURST = 3;

  static final int SECONDS_BETWEEN = 10;

  /** Shorter RSA keys can be broken, or will be before long. */
  static final int MIN_RSA_BITS = 2_048;

  /** The keys of one fetch, compared by identity. */
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
          1,
          1,
          1,
          TimeUnit.SECONDS,
          new LinkedBlockingQueue<>(),
          HandlerThreads.named("fermata-mcp-issuer-"));

  private volatile @Nullable Known known;
  private volatile boolean failing;
  private @Nullable CompletableFuture<Known> inFlight;

  /**
   * @param source fetches the keys; it may block
   */
  public IssuerKeys(String issuer, Callable<JWKSet> source, LongSupplier nanos) {
    this.issuer = issuer;
    this.source = source;
    this.nanos = nanos;
    this.fetches = new TokenBucket(BURST, 1.0 / SECONDS_BETWEEN, nanos.getAsLong());
    thread.allowCoreThreadTimeOut(true);
  }

  /**
   * The keys that are known and still valid; null if there are none. Old ones are refreshed in the
   * background.
   */
  @Nullable Known known() {
    Known now = known;
    if (now == null) {
      return null;
    }
    long age = nanos.getAsLong() - now.since;
    if (age > FRESH.toNanos()) {
      fetching(now);
    }
    return age > KEPT.toNanos() ? null : now;
  }

  /**
   * The keys as the issuer publishes them now, or the known ones if there were too many fetches of
   * late. Fails with a refusal if the issuer is unavailable.
   *
   * @param seen the keys that the caller found wanting; newer ones are not fetched again
   */
  public CompletionStage<Known> latest(@Nullable Known seen) {
    CompletionStage<Known> fetching = fetching(seen);
    if (fetching != null) {
      return fetching;
    }
    Known had = known();
    return had == null || failing
        ? CompletableFuture.failedFuture(unavailable())
        : CompletableFuture.completedFuture(had);
  }

  static boolean weak(JWK key) {
    return key instanceof RSAKey && key.size() < MIN_RSA_BITS;
  }

  private void refuse(JWK key) {
    LOG.warn(
        "The key {} of the issuer {} is refused: RSA with {} bits, at least {} are needed",
        Texts.inOneLine(String.valueOf(key.getKeyID())),
        issuer,
        key.size(),
        MIN_RSA_BITS);
  }

  private static RpcException unavailable() {
    return RpcException.issuerUnavailable(SECONDS_BETWEEN);
  }

  /**
   * Starts or joins a fetch; null if there were too many of late.
   *
   * @param seen the keys that are to be replaced; newer ones are not fetched again while fresh
   */
  @SuppressWarnings("ReferenceEquality") // the very keys that the caller has seen
  private synchronized @Nullable CompletionStage<Known> fetching(@Nullable Known seen) {
    Known now = known;
    if (now != null && now != seen && nanos.getAsLong() - now.since <= FRESH.toNanos()) {
      return CompletableFuture.completedFuture(now);
    } else if (inFlight != null) {
      return inFlight;
    } else if (fetches.take(1, nanos.getAsLong()) > 0) {
      return null;
    }
    CompletableFuture<Known> fetching = new CompletableFuture<>();
    inFlight = fetching;
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

  /** Completes a fetch, so that the next one may begin. */
  private void ended(
      CompletableFuture<Known> fetching, @Nullable Known fetched, @Nullable Throwable failure) {
    if (fetched != null) {
      known = fetched;
      fetched.keys().getKeys().stream().filter(IssuerKeys::weak).forEach(this::refuse);
    }
    failing = fetched == null;
    synchronized (this) {
      inFlight = null;
    }
    if (fetched == null) {
      Throwable trace = failure == null ? null : LoggedFailure.of(failure);
      LOG.warn("Cannot fetch the keys of the issuer {}", issuer, trace);
      fetching.completeExceptionally(unavailable());
    } else {
      fetching.complete(fetched);
    }
  }
}
