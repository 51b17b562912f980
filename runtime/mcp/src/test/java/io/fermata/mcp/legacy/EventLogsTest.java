package io.fermata.mcp.legacy;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.mcp.rpc.RpcException;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** Which logs are kept if there are many. */
class EventLogsTest {
  private final EventLogs logs = new EventLogs();

  private EventLog open() {
    return Objects.requireNonNull(logs.open("s", "ada", () -> {}));
  }

  private static String id(EventLog replay) {
    return new String(replay.opening(0), UTF_8).replaceFirst("(?s)id: (\\S+)\\n.*", "$1");
  }

  private static void answer(EventLog replay, boolean live) {
    replay.append("the answer".getBytes(UTF_8), live);
    replay.end();
  }

  @Test
  void theStreamOfAClientThatMayResumeOutlastsThoseThatWereFullyReceived() {
    EventLog running = open();
    EventLog unread = open();
    unread.disconnected(null);
    answer(unread, false);
    EventLog first = open();
    answer(first, true);

    for (int i = 0; i < 2 * EventLogs.MAX_PER_PRINCIPAL; i++) {
      answer(open(), true);
    }

    assertThat(logs.find("s", "ada", id(running)).log()).isSameAs(running);
    assertThat(logs.find("s", "ada", id(unread)).log()).isSameAs(unread);
    assertThatThrownBy(() -> logs.find("s", "ada", id(first))).isInstanceOf(RpcException.class);
  }

  @Test
  void noneIsKeptThatWouldPushOutOneThatIsNeeded() {
    EventLog eldest = open();
    for (int i = 1; i < EventLogs.MAX_PER_PRINCIPAL; i++) {
      open();
    }

    assertThat(logs.open("s", "ada", () -> {})).isNull();
    assertThat(logs.open("s", "bob", () -> {})).isNotNull();
    assertThat(logs.find("s", "ada", id(eldest)).log()).isSameAs(eldest);

    answer(eldest, true);
    open();
  }
}
