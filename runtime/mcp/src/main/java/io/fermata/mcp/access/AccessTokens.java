package io.fermata.mcp.access;

import com.nimbusds.jose.JOSEException;
import com.nimbusds.jose.JOSEObjectType;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jose.crypto.factories.DefaultJWSVerifierFactory;
import com.nimbusds.jose.jwk.AsymmetricJWK;
import com.nimbusds.jose.jwk.JWK;
import com.nimbusds.jose.jwk.JWKMatcher;
import com.nimbusds.jose.jwk.JWKSelector;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.SignedJWT;
import io.fermata.flow.json.Digests;
import io.fermata.flow.json.Texts;
import io.fermata.mcp.rpc.RpcException;
import io.fermata.mcp.settings.OAuth;
import io.fermata.session.key.HandlerThreads;
import java.text.ParseException;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.Base64;
import java.util.Collection;
import java.util.Date;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Verifies access tokens: JWTs that the issuer signed for this server. A new token is verified on a
 * separate thread, once for all concurrent requests that carry it. Verified tokens are cached.
 */
public final class AccessTokens {
  /** How far the clocks of the issuer and this server may differ. */
  public static final Duration LEEWAY = Duration.ofSeconds(30);

  /** Some issuers write the year 292278994 into tokens that do not expire. */
  private static final Instant NEVER = Instant.ofEpochMilli(Long.MAX_VALUE);

  /** With a symmetric algorithm, everyone who can verify a token could also sign one. */
  private static final Set<JWSAlgorithm> ALGORITHMS =
      Set.of(
          JWSAlgorithm.RS256,
          JWSAlgorithm.RS384,
          JWSAlgorithm.RS512,
          JWSAlgorithm.PS256,
          JWSAlgorithm.PS384,
          JWSAlgorithm.PS512,
          JWSAlgorithm.ES256,
          JWSAlgorithm.ES384,
          JWSAlgorithm.ES512);

  /** Issuers also sign tokens of other types, which must not be accepted from a caller. */
  private static final Set<String> TYPES = Set.of("jwt", "at+jwt", "application/at+jwt");

  private static final int MAX_SUBJECT = 255;
  private static final int REMEMBERED = 2_000;

  /** How many tokens may wait to be verified. */
  private static final int MOST_WAITING = 1_024;

  private static final int MOST_THREADS = 4;
  private static final DefaultJWSVerifierFactory VERIFIERS = new DefaultJWSVerifierFactory();

  /** A token that these keys verified. */
  private record Verified(AuthenticatedCaller caller, IssuerKeys.Known keys) {}

  private final String issuer;
  private final Set<String> audience;
  private final IssuerKeys keys;
  private final AuthChallenge challenge;
  private final LongSupplier clock;
  private final Executor threads;

  /** Checks in flight, by the digest of the token. */
  private final Map<String, CompletableFuture<AuthenticatedCaller>> inFlight =
      new ConcurrentHashMap<>();

  /** Verified tokens by their digests, least recently used first. */
  private final Map<String, Verified> good =
      new LinkedHashMap<>(16, 0.75f, true) {
        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Verified> eldest) {
          return size() > REMEMBERED;
        }
      };

  /**
   * @param clock the time in milliseconds
   * @param threads verifies tokens; it may reject one
   */
  AccessTokens(
      OAuth oauth, IssuerKeys keys, AuthChallenge challenge, LongSupplier clock, Executor threads) {
    this.issuer = oauth.issuer();
    this.audience = oauth.audience();
    this.keys = keys;
    this.challenge = challenge;
    this.clock = clock;
    this.threads = threads;
  }

  /**
   * Those of an issuer, whose keys are fetched.
   *
   * @param nanos the time that passes, in nanoseconds
   */
  public static AccessTokens of(OAuth oauth, AuthChallenge challenge, LongSupplier nanos) {
    IssuerMetadata metadata = new IssuerMetadata(oauth.issuer(), oauth.keys());
    IssuerKeys keys = new IssuerKeys(oauth.issuer(), metadata, nanos);
    // So the first caller does not wait, and a misconfiguration is logged at start.
    keys.latest(null);
    return new AccessTokens(oauth, keys, challenge, System::currentTimeMillis, threads());
  }

  /** The threads that verify tokens; they end when idle. */
  private static Executor threads() {
    int count = Math.min(MOST_THREADS, Runtime.getRuntime().availableProcessors());
    ThreadPoolExecutor threads =
        new ThreadPoolExecutor(
            count,
            count,
            10,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(MOST_WAITING),
            HandlerThreads.named("fermata-mcp-tokens-"));
    threads.allowCoreThreadTimeOut(true);
    return threads;
  }

  String issuer() {
    return issuer;
  }

  /**
   * The caller that presents a token; fails with a refusal if it is invalid, or cannot be verified
   * now.
   */
  CompletionStage<AuthenticatedCaller> caller(String token) {
    IssuerKeys.Known known = keys.known();
    String digest = Base64.getEncoder().encodeToString(Digests.sha256(token));
    AuthenticatedCaller remembered = cached(digest, known);
    if (remembered != null) {
      return CompletableFuture.completedFuture(remembered);
    }
    CompletableFuture<AuthenticatedCaller> check = new CompletableFuture<>();
    CompletableFuture<AuthenticatedCaller> before = inFlight.putIfAbsent(digest, check);
    if (before != null) {
      return before.copy();
    }
    try {
      threads.execute(
          () ->
              check(token, known, digest)
                  .whenComplete((caller, failure) -> complete(digest, check, caller, failure)));
    } catch (RejectedExecutionException e) {
      complete(digest, check, null, RpcException.overloaded());
    }
    return check.copy();
  }

  private void complete(
      String digest,
      CompletableFuture<AuthenticatedCaller> check,
      @Nullable AuthenticatedCaller caller,
      @Nullable Throwable failure) {
    inFlight.remove(digest);
    if (caller == null) {
      check.completeExceptionally(
          failure == null ? new IllegalStateException("The token names no caller") : failure);
    } else {
      check.complete(caller);
    }
  }

  private CompletionStage<AuthenticatedCaller> check(
      String token, IssuerKeys.@Nullable Known known, String digest) {
    try {
      SignedJWT jwt = parse(token);
      if (known != null && !matchingKeys(jwt, known).isEmpty()) {
        return CompletableFuture.completedFuture(verify(jwt, known, digest));
      }
      return keys.latest(known).thenApply(latest -> verify(jwt, latest, digest));
    } catch (RuntimeException | Error refusal) {
      return CompletableFuture.failedFuture(refusal);
    }
  }

  private @Nullable AuthenticatedCaller cached(String digest, IssuerKeys.@Nullable Known known) {
    synchronized (good) {
      Verified before = good.get(digest);
      return before != null
              && before.keys() == known
              && clock.getAsLong() < before.caller().expiresAt()
          ? before.caller()
          : null;
    }
  }

  /** Parses a token, and checks its header. */
  private SignedJWT parse(String token) {
    SignedJWT jwt;
    try {
      jwt = SignedJWT.parse(token);
    } catch (ParseException | IllegalArgumentException e) {
      throw invalid("The token is not a signed JWT");
    }
    JWSHeader header = jwt.getHeader();
    JOSEObjectType type = header.getType();
    if (!ALGORITHMS.contains(header.getAlgorithm())) {
      throw invalid("The token is signed with an algorithm that is not accepted");
    } else if (header.getKeyID() == null) {
      throw invalid("The token has no kid");
    } else if (type != null && !TYPES.contains(type.getType().toLowerCase(Locale.ROOT))) {
      throw invalid("The token is not an access token");
    }
    return jwt;
  }

  private static List<JWK> matchingKeys(SignedJWT jwt, IssuerKeys.Known among) {
    return new JWKSelector(JWKMatcher.forJWSHeader(jwt.getHeader())).select(among.keys());
  }

  private AuthenticatedCaller verify(SignedJWT jwt, IssuerKeys.Known with, String digest) {
    List<JWK> fitting = matchingKeys(jwt, with);
    if (fitting.isEmpty()) {
      throw invalid("The token is signed with a key that its issuer does not publish");
    }
    fitting = fitting.stream().filter(key -> !IssuerKeys.weak(key)).toList();
    if (fitting.isEmpty()) {
      throw invalid(
          "The token is signed with an RSA key of fewer than %s bits"
              .formatted(IssuerKeys.MIN_RSA_BITS));
    } else if (fitting.stream().noneMatch(key -> signedBy(key, jwt))) {
      throw invalid("The signature of the token is invalid");
    }
    try {
      JWTClaimsSet claims = jwt.getJWTClaimsSet();
      long until = current(claims);
      AuthenticatedCaller caller =
          new AuthenticatedCaller(principal(claims), scopes(claims), until);
      synchronized (good) {
        good.put(digest, new Verified(caller, with));
      }
      return caller;
    } catch (ParseException e) {
      throw invalid("The claims of the token cannot be read");
    }
  }

  private static boolean signedBy(JWK key, SignedJWT jwt) {
    try {
      return key instanceof AsymmetricJWK pair
          && jwt.verify(VERIFIERS.createJWSVerifier(jwt.getHeader(), pair.toPublicKey()));
    } catch (JOSEException e) {
      return false;
    }
  }

  /** The time at which the token expires, in milliseconds. */
  private long current(JWTClaimsSet claims) {
    Instant now = Instant.ofEpochMilli(clock.getAsLong());
    Date end = claims.getExpirationTime();
    Date beginning = claims.getNotBeforeTime();
    if (!issuer.equals(claims.getIssuer())) {
      throw invalid("The token is of another issuer");
    } else if (claims.getAudience().stream().noneMatch(audience::contains)) {
      throw invalid("The token is for another audience");
    } else if (end == null) {
      throw invalid("The token has no exp");
    } else if (!now.isBefore(end.toInstant().plus(LEEWAY))) {
      throw invalid("The token has expired");
    } else if (beginning != null && now.isBefore(beginning.toInstant().minus(LEEWAY))) {
      throw invalid("The token is not valid yet");
    }
    Instant until = end.toInstant().plus(LEEWAY);
    return until.isBefore(NEVER) ? until.toEpochMilli() : NEVER.toEpochMilli();
  }

  /** An issuer has no fragment, so the {@code #} keeps principals distinct. */
  public static String principal(String issuer, String subject) {
    return issuer + "#" + subject;
  }

  /** Whether a principal is that of a token of an issuer. */
  public static boolean isSubject(String issuer, String principal) {
    String before = principal(issuer, "");
    return principal.length() > before.length() && principal.startsWith(before);
  }

  private String principal(JWTClaimsSet claims) {
    String subject = claims.getSubject();
    if (subject == null
        || subject.isBlank()
        || subject.length() > MAX_SUBJECT
        || subject.chars().anyMatch(Character::isISOControl)
        || !subject.equals(Texts.sound(subject))) {
      throw invalid("The token has no usable sub");
    }
    return principal(issuer, subject);
  }

  private static Set<String> scopes(JWTClaimsSet claims) {
    Object claim =
        claims.getClaim("scope") == null ? claims.getClaim("scp") : claims.getClaim("scope");
    if (claim instanceof String text) {
      return Arrays.stream(text.split(" "))
          .filter(each -> !each.isEmpty())
          .collect(Collectors.toSet());
    }
    Set<String> scopes = new HashSet<>();
    if (claim instanceof Collection<?> each) {
      each.forEach(scope -> scopes.add(String.valueOf(scope)));
    }
    return scopes;
  }

  private RpcException invalid(String why) {
    return challenge.invalid(why + ": get a new one from " + issuer, why);
  }
}
