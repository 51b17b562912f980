package io.fermata.mcp.access;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.ThrowableProxyUtil;
import ch.qos.logback.core.read.ListAppender;
import com.nimbusds.jose.jwk.JWKSet;
import com.nimbusds.jose.jwk.gen.RSAKeyGenerator;
import io.fermata.mcp.rpc.RpcException;
import java.io.IOException;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.slf4j.LoggerFactory;

/** When an issuer's keys are fetched, and how long they stay valid. */
@Timeout(20)
class IssuerKeysTest {
  private final AtomicLong now = new AtomicLong();
  private final AtomicInteger fetched = new AtomicInteger();
  private final AtomicReference<@Nullable JWKSet> there = new AtomicReference<>(new JWKSet());
  private String away = "away";
  private final AtomicReference<@Nullable Runnable> meanwhile = new AtomicReference<>();
  private final IssuerKeys keys =
      new IssuerKeys("https://auth.example.com", this::fetch, this::nanos);

  private long nanos() {
    Runnable other = meanwhile.getAndSet(null);
    if (other != null) {
      other.run();
    }
    return now.get();
  }

  private JWKSet fetch() throws IOException {
    fetched.incrementAndGet();
    JWKSet set = there.get();
    if (set == null) {
      throw new IOException(away);
    }
    return set;
  }

  private IssuerKeys.Known latest() {
    return Objects.requireNonNull(keys.latest(keys.known()).toCompletableFuture().join());
  }

  private void pass(Duration time) {
    now.addAndGet(time.toNanos());
  }

  @Test
  void theyAreKnownOnceTheyWereFetched() {
    assertThat(keys.known()).isNull();

    IssuerKeys.Known first = latest();

    assertThat(keys.known()).isSameAs(first);
    assertThat(fetched).hasValue(1);
  }

  @Test
  void theyAreLookedAtAgainWithoutAnybodyWaiting() throws Exception {
    IssuerKeys.Known first = latest();
    pass(IssuerKeys.FRESH.plusSeconds(1));

    assertThat(keys.known()).isNotNull();
    while (keys.known() == first) {
      Thread.sleep(5);
    }
    assertThat(fetched).hasValue(2);
  }

  @Test
  void thoseThatArriveWhileTheirAgeIsLookedAtAreNotFetchedAgain() throws Exception {
    IssuerKeys.Known first = latest();
    pass(IssuerKeys.FRESH.plusSeconds(1));

    meanwhile.set(() -> keys.latest(first).toCompletableFuture().join());
    keys.known();

    Thread.sleep(100);
    assertThat(fetched).hasValue(2);
  }

  @Test
  void thoseThatArrivedSinceACallerLookedAreNotFetchedAgain() {
    IssuerKeys.Known first = latest();

    assertThat(keys.latest(null).toCompletableFuture().join()).isSameAs(first);
    assertThat(fetched).hasValue(1);
  }

  @Test
  void theyAreFetchedSoOftenAndNoMore() {
    for (int i = 0; i < 20; i++) {
      latest();
    }
    assertThat(fetched).hasValue(IssuerKeys.BURST);

    pass(Duration.ofSeconds(IssuerKeys.SECONDS_BETWEEN));
    latest();
    latest();

    assertThat(fetched).hasValue(IssuerKeys.BURST + 1);
  }

  @Test
  void whileTheIssuerIsAwayTheyHoldForADay() {
    IssuerKeys.Known first = latest();
    there.set(null);

    pass(IssuerKeys.KEPT);
    assertThat(keys.known()).isSameAs(first);
    assertThatThrownBy(() -> keys.latest(first).toCompletableFuture().join())
        .hasCauseInstanceOf(RpcException.class);

    pass(Duration.ofSeconds(1));
    assertThat(keys.known()).isNull();
  }

  @Test
  void nothingOfAnIssuerForgesALineOfTheLog() throws Exception {
    ListAppender<ILoggingEvent> lines = new ListAppender<>();
    Logger log = (Logger) LoggerFactory.getLogger(IssuerKeys.class);
    lines.start();
    log.addAppender(lines);
    try {
      String forged = "x\r\n16:59:59.000 ERROR i.f.FORGED \u001b[31mred";
      there.set(new JWKSet(new RSAKeyGenerator(1024, true).keyID(forged).generate()));
      latest();
      there.set(null);
      away = forged;
      assertThatThrownBy(() -> keys.latest(keys.known()).toCompletableFuture().join())
          .hasCauseInstanceOf(RpcException.class);

      assertThat(lines.list).hasSize(2);
      assertThat(lines.list.get(0).getFormattedMessage())
          .startsWith("The key x  16:59:59.000 ERROR i.f.FORGED  [31mred of the issuer")
          .doesNotContainPattern("\\p{Cc}");
      assertThat(ThrowableProxyUtil.asString(lines.list.get(1).getThrowableProxy()))
          .contains("IOException: x  16:59:59.000", "IssuerKeysTest.fetch")
          .doesNotContain("\n16:59:59", "\u001b");
    } finally {
      log.detachAppender(lines);
    }
  }
}
