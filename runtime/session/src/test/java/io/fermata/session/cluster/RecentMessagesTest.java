package io.fermata.session.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.IntNode;
import com.fasterxml.jackson.databind.node.TextNode;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class RecentMessagesTest {
  private final RecentMessages messages = new RecentMessages();

  @Test
  void messagesAreKeptInTheirOrder() {
    messages.add(TextNode.valueOf("first"), 10, 1);
    messages.add(TextNode.valueOf("second"), 10, 2);

    assertThat(messages.at(3))
        .containsExactly(TextNode.valueOf("first"), TextNode.valueOf("second"));
  }

  @Test
  void oldMessagesAreForgotten() {
    messages.add(TextNode.valueOf("old"), 10, 0);
    messages.add(TextNode.valueOf("new"), 10, Duration.ofSeconds(1).toNanos());

    assertThat(messages.at(RecentMessages.KEPT.toNanos() + 1))
        .containsExactly(TextNode.valueOf("new"));
    assertThat(messages.at(RecentMessages.KEPT.plusSeconds(2).toNanos())).isEmpty();
  }

  @Test
  void theOldestGiveWayToWhatIsLarge() {
    for (int i = 0; i < 20; i++) {
      messages.add(IntNode.valueOf(i), 1024 * 1024, i);
    }

    assertThat(messages.at(20)).hasSize(16).first().isEqualTo(IntNode.valueOf(4));
  }
}
