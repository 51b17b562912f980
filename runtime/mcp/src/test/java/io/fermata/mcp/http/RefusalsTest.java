package io.fermata.mcp.http;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.fermata.mcp.FakeHost;
import io.fermata.mcp.ManualTime;
import io.fermata.mcp.McpServer;
import io.fermata.mcp.Wired;
import io.fermata.mcp.settings.PrincipalLimits;
import io.fermata.session.observe.Meter;
import io.fermata.session.observe.Telemetry;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.slf4j.LoggerFactory;

/** What an operator learns of requests that a server refused. */
@Timeout(60)
@Tag("slow")
class RefusalsTest {
  private final ListAppender<ILoggingEvent> lines = new ListAppender<>();
  private final Logger log = (Logger) LoggerFactory.getLogger("io.fermata.mcp.http");
  private final Queue<String> counted = new ConcurrentLinkedQueue<>();
  private final Telemetry telemetry =
      new Telemetry() {
        @Override
        public void measured(Meter meter, double value, List<String> tags) {
          if (meter == Meter.REFUSALS && value > 0) {
            counted.addAll(tags);
          }
        }
      };
  private final ManualTime time = new ManualTime();
  private final McpServer server =
      time.of(McpServer.serving(new FakeHost()))
          .port(0)
          .apiKey("ann", "ann-s-key")
          .perPrincipal(PrincipalLimits.DEFAULT.callsPerSecond(0.001, 1))
          .telemetry(telemetry)
          .start();

  @BeforeEach
  void listen() {
    lines.start();
    log.setLevel(Level.WARN);
    log.addAppender(lines);
  }

  @AfterEach
  void stop() {
    log.detachAppender(lines);
    log.setLevel(null);
    server.close();
  }

  private List<String> logged() {
    return List.copyOf(lines.list).stream().map(ILoggingEvent::getFormattedMessage).toList();
  }

  @Test
  void aFailedAuthenticationIsLoggedWithAddressAndReasonButWithoutTheKey() {
    int status =
        new Wired(server).with("Authorization", "Bearer guessed-key").request("ping", "").status();

    assertThat(status).isEqualTo(401);
    assertThat(logged())
        .singleElement()
        .asString()
        .contains("127.0.0.1", "401", "The key is unknown")
        .doesNotContain("guessed-key");
    assertThat(counted).containsExactly("unauthenticated");
  }

  @Test
  void aRequestWithoutAKeyIsLoggedAsSuch() {
    new Wired(server).request("ping", "");

    assertThat(logged()).singleElement().asString().contains("401", "no key or token");
  }

  @Test
  void allAreCountedButFiveAreLoggedAndThenOneInFiveSeconds() {
    guess(100);
    assertThat(counted).hasSize(100);
    assertThat(logged()).hasSize(5);

    time.pass(Duration.ofMillis(4_999));
    guess(1);
    assertThat(logged()).hasSize(5);

    time.pass(Duration.ofMillis(1));
    guess(10);
    assertThat(counted).hasSize(111);
    assertThat(logged()).hasSize(6).last().asString().endsWith("(96 more were not logged)");

    time.pass(Duration.ofHours(1));
    guess(100);
    assertThat(counted).hasSize(211);
    assertThat(logged()).hasSize(11);
  }

  private void guess(int times) {
    for (int i = 0; i < times; i++) {
      new Wired(server).with("Authorization", "Bearer guess-" + i).request("ping", "");
    }
  }

  @Test
  void aForeignOriginAndAnExceededRateLeaveATrace() {
    new Wired(server).with("Origin", "https://evil.example.com").request("ping", "");
    for (int i = 0; i < 2; i++) {
      new Wired(server).with("Authorization", "Bearer ann-s-key").request("ping", "");
    }

    assertThat(counted).containsExactly("forbidden", "rate");
    assertThat(logged())
        .anySatisfy(line -> assertThat(line).contains("https://evil.example.com"))
        .anySatisfy(line -> assertThat(line).contains("429"));
  }

  @Test
  void aBodyThatIsTooMuchForItsPrincipalLeavesATrace() {
    try (McpServer strict =
        McpServer.serving(new FakeHost())
            .port(0)
            .apiKey("ann", "ann-s-key")
            .perPrincipal(PrincipalLimits.DEFAULT.arrivingBytes(10))
            .telemetry(telemetry)
            .start()) {
      int status =
          new Wired(strict).with("Authorization", "Bearer ann-s-key").request("ping", "").status();

      assertThat(status).isEqualTo(429);
    }
    assertThat(counted).containsExactly("rate");
    assertThat(logged()).singleElement().asString().contains("429", "10 bytes");
  }
}
