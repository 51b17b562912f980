package io.fermata.mcp;

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
 * Reads access tokens: JWTs that the issuer signed for this server. One that is new is checked on
 * another thread than that of who brings it, once for all who bring it meanwhile.
 */
final class Tokens {
  /** How far the issuer's clock and ours may be apart. */
  static final Duration LEEWAY = Duration.ofSeconds(30);

  /** Some issuers say of a token that does not end that it ends in the year 292278994. */
  private static final Instant NEVER = Instant.ofEpochMilli(Long.MAX_VALUE);

  /** With a symmetric one, whoever can check a token could make one. */
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

  /** Other kinds of tokens that an issuer signs are not for presenting to anybody. */
  private static final Set<String> TYPES = Set.of("jwt", "at+jwt", "application/at+jwt");

  private static final int MAX_SUBJECT = 255;
  private static final int REMEMBERED = 2_000;

  /** How many may wait to be checked. */
  private static final int MOST_WAITING = 1_024;

  private static final int MOST_THREADS = 4;
  private static final DefaultJWSVerifierFactory VERIFIERS = new DefaultJWSVerifierFactory();

  /** A token that was good with these keys. */
  private record Good(Caller caller, IssuerKeys.Known keys) {}

  private final String issuer;
  private final Set<String> audience;
  private final IssuerKeys keys;
  private final Challenge challenge;
  private final LongSupplier clock;
  private final Executor threads;

  /** Those that are being checked, by their digests. */
  private final Map<String, CompletableFuture<Caller>> underWay = new ConcurrentHashMap<>();

  /** By the digests of the tokens, the one longest unheard of first. */
  private final Map<String, Good> good =
      new LinkedHashMap<>(16, 0.75f, true) {
        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Good> eldest) {
          return size() > REMEMBERED;
        }
      };

  /**
   * @param clock tells the time in milliseconds
   * @param threads where tokens are checked; it may reject some
   */
  Tokens(OAuth oauth, IssuerKeys keys, Challenge challenge, LongSupplier clock, Executor threads) {
    this.issuer = oauth.issuer();
    this.audience = oauth.audience();
    this.keys = keys;
    this.challenge = challenge;
    this.clock = clock;
    this.threads = threads;
  }

  /** Threads for that, which end when there is nothing to check. */
  static Executor threads() {
    int count = Math.min(MOST_THREADS, Runtime.getRuntime().availableProcessors());
    ThreadPoolExecutor threads =
        new ThreadPoolExecutor(
            count,
            count,
            10,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(MOST_WAITING),
            task -> {
              Thread thread = new Thread(task, "fermata-mcp-tokens");
              thread.setDaemon(true);
              return thread;
            });
    threads.allowCoreThreadTimeOut(true);
    return threads;
  }

  String issuer() {
    return issuer;
  }

  /** Whose token it is; fails with a refusal if it is none, or cannot be checked now. */
  CompletionStage<Caller> caller(String token) {
    IssuerKeys.Known known = keys.known();
    String digest = Base64.getEncoder().encodeToString(Digests.sha256(token));
    Caller remembered = remembered(digest, known);
    if (remembered != null) {
      return CompletableFuture.completedFuture(remembered);
    }
    CompletableFuture<Caller> check = new CompletableFuture<>();
    CompletableFuture<Caller> before = underWay.putIfAbsent(digest, check);
    if (before != null) {
      return before.copy();
    }
    try {
      threads.execute(
          () ->
              check(token, known, digest)
                  .whenComplete((caller, failure) -> over(digest, check, caller, failure)));
    } catch (RejectedExecutionException e) {
      over(digest, check, null, Refusal.overloaded());
    }
    return check.copy();
  }

  private void over(
      String digest,
      CompletableFuture<Caller> check,
      @Nullable Caller caller,
      @Nullable Throwable failure) {
    underWay.remove(digest);
    if (caller == null) {
      check.completeExceptionally(
          failure == null ? new IllegalStateException("Nobody was found") : failure);
    } else {
      check.complete(caller);
    }
  }

  private CompletionStage<Caller> check(
      String token, IssuerKeys.@Nullable Known known, String digest) {
    try {
      SignedJWT jwt = signed(token);
      if (known != null && !fitting(jwt, known).isEmpty()) {
        return CompletableFuture.completedFuture(checked(jwt, known, digest));
      }
      return keys.latest().thenApply(latest -> checked(jwt, latest, digest));
    } catch (RuntimeException | Error refusal) {
      return CompletableFuture.failedFuture(refusal);
    }
  }

  private @Nullable Caller remembered(String digest, IssuerKeys.@Nullable Known known) {
    synchronized (good) {
      Good before = good.get(digest);
      return before != null && before.keys() == known && clock.getAsLong() < before.caller().until()
          ? before.caller()
          : null;
    }
  }

  /** A token whose head can be that of one for us. */
  private SignedJWT signed(String token) {
    SignedJWT jwt;
    try {
      jwt = SignedJWT.parse(token);
    } catch (ParseException | IllegalArgumentException e) {
      throw invalid("The token is not a signed JWT");
    }
    JWSHeader header = jwt.getHeader();
    JOSEObjectType type = header.getType();
    if (!ALGORITHMS.contains(header.getAlgorithm())) {
      throw invalid("The token is signed with an algorithm that is not taken");
    } else if (header.getKeyID() == null) {
      throw invalid("The token does not name its key");
    } else if (type != null && !TYPES.contains(type.getType().toLowerCase(Locale.ROOT))) {
      throw invalid("The token is not an access token");
    }
    return jwt;
  }

  private static List<JWK> fitting(SignedJWT jwt, IssuerKeys.Known among) {
    return new JWKSelector(JWKMatcher.forJWSHeader(jwt.getHeader())).select(among.keys());
  }

  private Caller checked(SignedJWT jwt, IssuerKeys.Known with, String digest) {
    List<JWK> fitting = fitting(jwt, with);
    if (fitting.isEmpty()) {
      throw invalid("The token is signed with a key that its issuer does not have");
    } else if (fitting.stream().noneMatch(key -> signedBy(key, jwt))) {
      throw invalid("The signature of the token is wrong");
    }
    try {
      JWTClaimsSet claims = jwt.getJWTClaimsSet();
      long until = current(claims);
      Caller caller = new Caller(principal(claims), scopes(claims), until);
      synchronized (good) {
        good.put(digest, new Good(caller, with));
      }
      return caller;
    } catch (ParseException e) {
      throw invalid("The token does not say what a token must");
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

  /** Until when it is good, in milliseconds. */
  private long current(JWTClaimsSet claims) {
    Instant now = Instant.ofEpochMilli(clock.getAsLong());
    Date end = claims.getExpirationTime();
    Date beginning = claims.getNotBeforeTime();
    if (!issuer.equals(claims.getIssuer())) {
      throw invalid("The token is of another issuer");
    } else if (claims.getAudience().stream().noneMatch(audience::contains)) {
      throw invalid("The token is for another audience");
    } else if (end == null) {
      throw invalid("The token does not say when it ends");
    } else if (!now.isBefore(end.toInstant().plus(LEEWAY))) {
      throw invalid("The token has expired");
    } else if (beginning != null && now.isBefore(beginning.toInstant().minus(LEEWAY))) {
      throw invalid("The token is not good yet");
    }
    Instant until = end.toInstant().plus(LEEWAY);
    return until.isBefore(NEVER) ? until.toEpochMilli() : NEVER.toEpochMilli();
  }

  /** An issuer has no fragment, so no two principals look the same. */
  private String principal(JWTClaimsSet claims) {
    String subject = claims.getSubject();
    if (subject == null
        || subject.isBlank()
        || subject.length() > MAX_SUBJECT
        || subject.chars().anyMatch(Character::isISOControl)
        || !subject.equals(Text.repaired(subject))) {
      throw invalid("The token does not say in so many words whose it is");
    }
    return issuer + "#" + subject;
  }

  private static Set<String> scopes(JWTClaimsSet claims) {
    Object said =
        claims.getClaim("scope") == null ? claims.getClaim("scp") : claims.getClaim("scope");
    if (said instanceof String text) {
      return Arrays.stream(text.split(" "))
          .filter(each -> !each.isEmpty())
          .collect(Collectors.toSet());
    }
    Set<String> scopes = new HashSet<>();
    if (said instanceof Collection<?> each) {
      each.forEach(scope -> scopes.add(String.valueOf(scope)));
    }
    return scopes;
  }

  private Refusal invalid(String why) {
    return challenge.invalid(why + ": get a new one of " + issuer, why);
  }
}
