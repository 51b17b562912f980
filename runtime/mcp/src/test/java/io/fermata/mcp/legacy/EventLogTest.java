package io.fermata.mcp.legacy;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** The events that are kept for a client that reconnects. */
class EventLogTest {
  private static final String LARGE = "x".repeat(EventLog.ROOM / 2);

  private final AtomicInteger forgotten = new AtomicInteger();
  private final AtomicInteger lost = new AtomicInteger();
  private final EventLog replay =
      new EventLog("r", forgotten::incrementAndGet, lost::incrementAndGet);

  /** A listener that counts its wake-ups. */
  private static final class Client implements EventLog.Listener {
    int woken;
    boolean replaced;

    @Override
    public void wake() {
      woken++;
    }

    @Override
    public void replaced() {
      replaced = true;
    }

    @Override
    public void release() {}
  }

  private void append(String message, boolean live) {
    replay.append(message.getBytes(UTF_8), live);
  }

  private List<String> ids(long after) {
    List<byte[]> events = replay.after(after);
    return events == null
        ? List.of("a gap")
        : events.stream()
            .map(event -> new String(event, UTF_8).replaceFirst("(?s).*\\nid: (\\S+).*", "$1"))
            .toList();
  }

  @Test
  void oldEventsAreDroppedForNewOnes() {
    for (int i = 0; i < 4; i++) {
      append(LARGE, true);
    }
    assertThat(ids(0)).containsExactly("a gap");
    assertThat(ids(3)).containsExactly("r.4");
  }

  @Test
  void anAnswerOfAnyLengthIsKeptWithWhatMayBeOnItsWayBeforeIt() {
    append("begun", true);
    append("x".repeat(EventLog.ROOM + 1), true);
    replay.end();

    assertThat(ids(0)).containsExactly("r.1", "r.2");
  }

  @Test
  void theAnswerIsKeptWithAllThatTheClientHasNotReceived() {
    append("begun", true);
    replay.disconnected(null);
    append(LARGE, false);
    assertThat(replay.hasRoom()).isFalse();
    append(LARGE, false);
    append(LARGE, false);
    replay.end();

    Client client = new Client();
    assertThat(replay.listen(client, 1)).isTrue();
    assertThat(ids(1)).containsExactly("r.2", "r.3", "r.4");
    assertThat(replay.completedAt(3)).isFalse();
    assertThat(replay.completedAt(4)).isTrue();
  }

  @Test
  void nothingIsDroppedThatTheLatestClientToResumeHasNotReceived() {
    append(LARGE, true);
    append("two", true);
    replay.listen(new Client(), 2);
    assertThat(replay.completedAt(2)).isFalse();

    Client second = new Client();
    replay.listen(second, 0);
    append(LARGE, false);
    append(LARGE, false);

    assertThat(ids(0)).containsExactly("r.1", "r.2", "r.3", "r.4");
    assertThat(second.woken).isEqualTo(3);
    assertThat(replay.hasRoom()).isFalse();
  }

  @Test
  void aClientThatResumesAnExpiredLogIsRefusedAtOnce() {
    append("one", true);
    int mark = replay.disconnected(null);
    replay.expire(mark);

    assertThat(replay.listen(new Client(), 1)).isFalse();
    assertThat(replay.expired()).isTrue();
    replay.expire(mark);
    assertThat(lost).hasValue(1);
    assertThat(forgotten).hasValue(1);
  }

  @Test
  void aClientThatResumesInTimeIsKept() {
    AtomicInteger resumed = new AtomicInteger();
    replay.onResume(resumed::incrementAndGet);
    int mark = replay.disconnected(null);
    Client first = new Client();
    replay.listen(first, 0);
    replay.expire(mark);
    assertThat(lost).hasValue(0);
    assertThat(replay.disconnected(null)).isNegative();

    Client second = new Client();
    replay.listen(second, 0);
    assertThat(first.replaced).isTrue();
    assertThat(replay.disconnected(first)).isNegative();
    replay.expire(replay.disconnected(second));

    assertThat(resumed).hasValue(2);
    assertThat(lost).hasValue(1);
  }
}
