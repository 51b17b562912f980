package io.fermata.mcp.access;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jose.crypto.RSASSASigner;
import com.nimbusds.jose.crypto.opts.AllowWeakRSAKey;
import com.nimbusds.jose.jwk.JWKSet;
import com.nimbusds.jose.jwk.RSAKey;
import com.nimbusds.jose.jwk.gen.RSAKeyGenerator;
import com.nimbusds.jwt.SignedJWT;
import io.fermata.mcp.Issuer;
import io.fermata.mcp.rpc.RpcException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.slf4j.LoggerFactory;

/** When and on which thread a token is checked. */
@Timeout(30)
class AccessTokensTest {
  private static final RSAKey RSA = Issuer.rsa("r1");
  private static final RSAKey OTHER = Issuer.rsa("r2");

  private final Issuer issuer = Issuer.running(RSA);
  private final AtomicReference<JWKSet> there =
      new AtomicReference<>(new JWKSet(RSA.toPublicJWK()));
  private final AtomicLong passed = new AtomicLong();
  private final AtomicBoolean full = new AtomicBoolean();
  private final Deque<Runnable> waiting = new ArrayDeque<>();
  private final IssuerKeys keys =
      new IssuerKeys(issuer.url(), there::get, () -> System.nanoTime() + passed.get() * 1_000_000);
  private final AccessTokens tokens =
      new AccessTokens(
          issuer.oauth(),
          keys,
          new AuthChallenge(null, Set.of()),
          () -> System.currentTimeMillis() + passed.get(),
          this::later);

  private void later(Runnable task) {
    if (full.get()) {
      throw new RejectedExecutionException();
    }
    waiting.add(task);
  }

  private void work() {
    while (!waiting.isEmpty()) {
      waiting.remove().run();
    }
  }

  @BeforeEach
  void fetch() {
    keys.latest(keys.known()).toCompletableFuture().join();
  }

  @AfterEach
  void stop() {
    issuer.close();
  }

  private static boolean done(CompletionStage<AuthenticatedCaller> caller) {
    return caller.toCompletableFuture().isDone();
  }

  private static String principal(CompletionStage<AuthenticatedCaller> caller) {
    return caller.toCompletableFuture().join().principal();
  }

  private static RpcException refusal(CompletionStage<AuthenticatedCaller> caller) {
    CompletableFuture<AuthenticatedCaller> refused = caller.toCompletableFuture();
    Throwable thrown = catchThrowable(refused::join);
    assertThat(thrown).isInstanceOf(CompletionException.class);
    return (RpcException) Objects.requireNonNull(thrown.getCause());
  }

  @Test
  void anRsaKeyOfFewerThan2048BitsIsRefusedAndNamedInTheLog() throws Exception {
    ListAppender<ILoggingEvent> lines = new ListAppender<>();
    Logger log = (Logger) LoggerFactory.getLogger(IssuerKeys.class);
    lines.start();
    log.addAppender(lines);
    try {
      RSAKey weak = new RSAKeyGenerator(1024, true).keyID("of-2003").generate();
      there.set(new JWKSet(List.of(RSA.toPublicJWK(), weak.toPublicJWK())));
      JWSHeader header = new JWSHeader.Builder(JWSAlgorithm.RS256).keyID("of-2003").build();
      SignedJWT jwt = new SignedJWT(header, issuer.claims(claims -> {}));
      jwt.sign(new RSASSASigner(weak.toRSAPrivateKey(), Set.of(AllowWeakRSAKey.getInstance())));
      CompletionStage<AuthenticatedCaller> refused = tokens.caller(jwt.serialize());
      work();

      assertThat(refusal(refused).status).isEqualTo(401);
      assertThat(refusal(refused).reason).contains("RSA key of fewer than 2048 bits");
      assertThat(lines.list)
          .extracting(ILoggingEvent::getFormattedMessage)
          .anySatisfy(line -> assertThat(line).contains("of-2003", "1024 bits", issuer.url()));
      CompletionStage<AuthenticatedCaller> strong = tokens.caller(issuer.token("ann"));
      work();
      assertThat(principal(strong)).isEqualTo(issuer.url() + "#ann");
    } finally {
      log.detachAppender(lines);
    }
  }

  @Test
  void aNewTokenIsCheckedElsewhereOnceForAllWhoBringItAndThenKnown() {
    String token = issuer.token("ann");
    CompletionStage<AuthenticatedCaller> first = tokens.caller(token);
    CompletionStage<AuthenticatedCaller> second = tokens.caller(token);
    assertThat(done(first) || done(second)).isFalse();
    assertThat(waiting).hasSize(1);

    work();

    assertThat(principal(first)).isEqualTo(issuer.url() + "#ann");
    assertThat(principal(second)).isEqualTo(issuer.url() + "#ann");
    assertThat(done(tokens.caller(token))).isTrue();
    assertThat(waiting).isEmpty();
  }

  @Test
  void aKnownTokenIsCheckedAgainWhenItHasEnded() {
    String token = issuer.token(claims -> claims.expirationTime(Issuer.in(60)));
    CompletionStage<AuthenticatedCaller> good = tokens.caller(token);
    work();
    assertThat(principal(good)).startsWith(issuer.url());

    passed.set(AccessTokens.LEEWAY.plusSeconds(61).toMillis());
    CompletionStage<AuthenticatedCaller> ended = tokens.caller(token);
    work();

    assertThat(refusal(ended).reason).contains("expired");
  }

  @Test
  void aKnownTokenIsCheckedAgainWithKeysThatAreNew() throws Exception {
    String token = issuer.token("ann");
    tokens.caller(token);
    work();
    there.set(new JWKSet(OTHER.toPublicJWK()));
    IssuerKeys.Known before = keys.known();
    passed.set(IssuerKeys.FRESH.plus(Duration.ofSeconds(1)).toMillis());
    while (keys.known() == before) {
      Thread.sleep(5);
    }

    CompletionStage<AuthenticatedCaller> rotated = tokens.caller(token);
    assertThat(done(rotated)).isFalse();
    work();

    assertThat(refusal(rotated).status).isEqualTo(401);
  }

  @Test
  void whileTooManyTokensAreCheckedCallersAreRefusedAsOverloaded() {
    full.set(true);
    assertThat(refusal(tokens.caller(issuer.token("ann"))).status).isEqualTo(503);

    full.set(false);
    String token = issuer.token("ann");
    CompletionStage<AuthenticatedCaller> later = tokens.caller(token);
    work();
    assertThat(principal(later)).isEqualTo(issuer.url() + "#ann");
  }
}
