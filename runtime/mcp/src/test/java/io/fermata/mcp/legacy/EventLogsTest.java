package io.fermata.mcp.legacy;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.mcp.rpc.RpcException;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** Whose stream is kept where there are many. */
class EventLogsTest {
  private final EventLogs replays = new EventLogs();

  private EventLog open() {
    return Objects.requireNonNull(replays.open("s", "ada", () -> {}));
  }

  private static String id(EventLog replay) {
    return new String(replay.opening(0), UTF_8).replaceFirst("(?s)id: (\\S+)\\n.*", "$1");
  }

  private static void answer(EventLog replay, boolean live) {
    replay.append("the answer".getBytes(UTF_8), live);
    replay.end();
  }

  @Test
  void theStreamOfAClientThatIsToComeBackOutlastsThoseThatWereHeardToTheirEnd() {
    EventLog running = open();
    EventLog unheard = open();
    unheard.disconnected(null);
    answer(unheard, false);
    EventLog first = open();
    answer(first, true);

    for (int i = 0; i < 2 * EventLogs.MOST_OF_ONE; i++) {
      answer(open(), true);
    }

    assertThat(replays.find("s", "ada", id(running)).replay()).isSameAs(running);
    assertThat(replays.find("s", "ada", id(unheard)).replay()).isSameAs(unheard);
    assertThatThrownBy(() -> replays.find("s", "ada", id(first))).isInstanceOf(RpcException.class);
  }

  @Test
  void noneIsKeptThatWouldPushOutOneThatIsNeeded() {
    EventLog eldest = open();
    for (int i = 1; i < EventLogs.MOST_OF_ONE; i++) {
      open();
    }

    assertThat(replays.open("s", "ada", () -> {})).isNull();
    assertThat(replays.open("s", "bob", () -> {})).isNotNull();
    assertThat(replays.find("s", "ada", id(eldest)).replay()).isSameAs(eldest);

    answer(eldest, true);
    open();
  }
}
