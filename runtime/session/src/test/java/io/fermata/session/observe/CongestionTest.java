package io.fermata.session.observe;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** When a host has more calls than it can handle. */
final class CongestionTest {
  private static final long SECOND = Duration.ofSeconds(1).toNanos();
  private static final long LONG = 6 * SECOND;

  private final AtomicLong now = new AtomicLong();
  private final Congestion congestion = new Congestion(Duration.ofSeconds(5), now::get);

  private void reached(int calls, long waited) {
    for (int i = 0; i < calls; i++) {
      congestion.reached(now.get() - waited);
    }
  }

  private void appended(int entries, long waited) {
    for (int i = 0; i < entries; i++) {
      congestion.appended(waited);
    }
  }

  private boolean afterASecond() {
    now.addAndGet(SECOND);
    congestion.look();
    return congestion.isCongested();
  }

  @Test
  void aBurstInWhichSomeCallsWaitIsNone() {
    reached(100, LONG);
    reached(1, 1);
    assertThat(afterASecond()).isFalse();
  }

  @Test
  void aSecondInWhichEveryCallWaitedTooLongIsOne() {
    reached(100, LONG);
    congestion.look();
    assertThat(congestion.isCongested()).as("it is not over").isFalse();
    assertThat(afterASecond()).isTrue();
  }

  @Test
  void fewCallsThatWaitedAreNone() {
    reached(4, LONG);
    appended(4, LONG);
    assertThat(afterASecond()).isFalse();
  }

  @Test
  void sessionsThatAreReachedAtOnceDoNotHideAStoreThatCannotKeepUp() {
    reached(100, 1);
    appended(100, LONG);
    assertThat(afterASecond()).isTrue();
  }

  @Test
  void itEndsWithASecondInWhichSomeCallDidNotWait() {
    reached(100, LONG);
    afterASecond();
    reached(100, LONG);
    assertThat(afterASecond()).isTrue();
    reached(100, LONG);
    reached(1, 1);
    assertThat(afterASecond()).isFalse();
  }

  @Test
  void itEndsWithASecondInWhichNothingIsMeasured() {
    appended(100, LONG);
    afterASecond();
    assertThat(afterASecond()).isFalse();
  }
}
