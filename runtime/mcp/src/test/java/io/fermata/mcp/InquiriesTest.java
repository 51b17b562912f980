package io.fermata.mcp;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What becomes of questions that nobody replies to. */
@Timeout(60)
class InquiriesTest {
  private final Progress way = new Progress(woken -> {});

  private Refusal refusal(Duration patience, Runnable meanwhile) {
    CompletableFuture<Throwable> failed = new CompletableFuture<>();
    new Inquiries(patience, 10)
        .ask(Map.of("roots", McpAsk.roots()), "ada", way)
        .whenComplete((replies, failure) -> failed.complete(failure));
    meanwhile.run();
    Throwable failure = failed.join();
    Throwable cause = failure instanceof CompletionException ? failure.getCause() : failure;
    return (Refusal) Objects.requireNonNull(cause);
  }

  @Test
  void aClientThatLeavesCancelsItsRequest() {
    assertThat(refusal(Inquiries.PATIENCE, way::gone).reason).contains("cancelled");
  }

  @Test
  void aClientThatDoesNotReplyInTimeIsTold() {
    Refusal refusal = refusal(Duration.ofMillis(1), () -> {});

    assertThat(refusal.status).isEqualTo(200);
    assertThat(refusal.reason).contains("in time");
  }
}
