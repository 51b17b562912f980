package io.fermata.session;

import static io.fermata.session.TestHost.eventually;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.TextNode;
import io.fermata.session.call.HostBus;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.RejectedExecutionException;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What the hosts of a cluster publish to each other, and claim from each other. */
@Tag("slow")
class ClusterBusTest extends ClusterOfHosts {
  @Test
  void aMessageReachesEveryOtherHostOnceAlsoOneThatIsKnownOnlyAfterwards()
      throws InterruptedException {
    HostBus one = host(TestFlows.trip()).bus();
    HostBus other = host(TestFlows.trip()).bus();
    List<String> received = new CopyOnWriteArrayList<>();
    other.subscribe(message -> received.add(message.asText()));
    List<String> receivedHere = new CopyOnWriteArrayList<>();
    one.subscribe(message -> receivedHere.add(message.asText()));

    one.publish(TextNode.valueOf("early"));
    eventually(() -> received.contains("early"));
    HostBus late = host(TestFlows.trip()).bus();
    List<String> receivedLate = new CopyOnWriteArrayList<>();
    late.subscribe(message -> receivedLate.add(message.asText()));
    one.publish(TextNode.valueOf("late"));
    eventually(() -> receivedLate.contains("late") && received.contains("late"));

    assertThat(received).containsExactly("early", "late");
    assertThat(receivedHere).as("by all servers of a host").containsExactly("early", "late");
    assertThat(receivedLate).endsWith("late").doesNotHaveDuplicates();
  }

  @Test
  void aNameIsClaimedByOneHostUntilItGivesItUpOrTheClaimExpires() throws InterruptedException {
    Duration minute = Duration.ofMinutes(1);
    HostBus one = host(TestFlows.trip()).bus();
    HostBus other = host(TestFlows.trip()).bus();
    assertThat(now(one.claim("reply", minute))).isTrue();
    assertThat(now(one.claim("reply", minute))).as("kept for longer").isTrue();
    assertThat(now(other.claim("reply", minute))).isFalse();
    assertThat(now(other.giveUp("reply"))).isTrue();
    assertThat(now(other.claim("reply", minute))).as("still the other's").isFalse();

    assertThat(now(one.giveUp("reply"))).isTrue();

    assertThat(now(other.claim("reply", minute))).isTrue();
    assertThat(now(one.claim("reply", minute))).isFalse();
    assertThat(now(one.claim("soon over", Duration.ofMillis(1)))).isTrue();
    eventually(() -> now(other.claim("soon over", minute)));
  }

  @Test
  void claimsBeyondWhatTheStoreTakesAreRefusedAtOnce() {
    HostBus bus = host(TestFlows.trip()).bus();
    List<CompletableFuture<Boolean>> claims =
        IntStream.range(0, 20_000)
            .mapToObj(i -> bus.claim("c" + i, Duration.ofMinutes(1)).toCompletableFuture())
            .toList();
    Map<Boolean, Long> refused =
        claims.stream()
            .map(claim -> claim.handle((claimed, thrown) -> thrown).join())
            .collect(
                Collectors.partitioningBy(
                    thrown -> thrown instanceof RejectedExecutionException, Collectors.counting()));
    assertThat(refused.get(false)).isGreaterThanOrEqualTo(1_000);
    assertThat(refused.get(true)).isPositive();
    assertThat(claims.stream().filter(each -> !each.isCompletedExceptionally()).count())
        .isEqualTo(refused.get(false));
  }
}
