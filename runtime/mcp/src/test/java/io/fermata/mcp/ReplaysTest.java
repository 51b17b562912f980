package io.fermata.mcp;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Objects;
import org.junit.jupiter.api.Test;

/** Whose stream is kept where there are many. */
class ReplaysTest {
  private final Replays replays = new Replays();

  private Replay open() {
    return Objects.requireNonNull(replays.open("s", "ada", () -> {}));
  }

  private static String id(Replay replay) {
    return new String(replay.opening(0), UTF_8).replaceFirst("(?s)id: (\\S+)\\n.*", "$1");
  }

  private static void answer(Replay replay, boolean live) {
    replay.tell("the answer".getBytes(UTF_8), live);
    replay.end();
  }

  @Test
  void theStreamOfAClientThatIsToComeBackOutlastsThoseThatWereHeardToTheirEnd() {
    Replay running = open();
    Replay unheard = open();
    unheard.left(null);
    answer(unheard, false);
    Replay first = open();
    answer(first, true);

    for (int i = 0; i < 2 * Replays.MOST_OF_ONE; i++) {
      answer(open(), true);
    }

    assertThat(replays.find("s", "ada", id(running)).replay()).isSameAs(running);
    assertThat(replays.find("s", "ada", id(unheard)).replay()).isSameAs(unheard);
    assertThatThrownBy(() -> replays.find("s", "ada", id(first))).isInstanceOf(Refusal.class);
  }

  @Test
  void noneIsKeptThatWouldPushOutOneThatIsNeeded() {
    Replay eldest = open();
    for (int i = 1; i < Replays.MOST_OF_ONE; i++) {
      open();
    }

    assertThat(replays.open("s", "ada", () -> {})).isNull();
    assertThat(replays.open("s", "bob", () -> {})).isNotNull();
    assertThat(replays.find("s", "ada", id(eldest)).replay()).isSameAs(eldest);

    answer(eldest, true);
    open();
  }
}
