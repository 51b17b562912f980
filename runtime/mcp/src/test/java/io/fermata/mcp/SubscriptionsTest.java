package io.fermata.mcp;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Json;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.Test;

/** Who hears of changes, and who does not any more. */
class SubscriptionsTest {
  private final Subscriptions subscriptions = new Subscriptions(new Streams(2));
  private final Progress way = new Progress(woken -> {});
  private final Set<String> watched = ConcurrentHashMap.newKeySet();
  private final Subscriptions.Subscription subscription =
      new Subscriptions.Subscription(
          null, Set.of(Subscriptions.Kind.TOOLS), watched, way, new CompletableFuture<>());

  private List<Subscriptions.Subscription> left() {
    List<Subscriptions.Subscription> left = new ArrayList<>();
    subscriptions.tell(
        "notifications/none",
        Json.object(),
        each -> {
          left.add(each);
          return false;
        });
    return left;
  }

  @Test
  void aClientThatGoesAwayLeavesNothingThoughItWatchedMoreMeanwhile() {
    subscriptions.add(subscription, Caller.trusted("ada"), () -> {});
    watched.add("test://a");
    assertThat(left()).containsExactly(subscription);

    way.gone();

    assertThat(left()).isEmpty();
  }

  @Test
  void whoIsToldThatItListensListensAlready() {
    List<Subscriptions.Subscription> listening = new ArrayList<>();

    subscriptions.add(subscription, Caller.trusted("ada"), () -> listening.addAll(left()));

    assertThat(listening).containsExactly(subscription);
  }

  @Test
  void nobodyListensLongerThanItsTokenIsGood() {
    Caller caller = new Caller("ada", Set.of(), System.currentTimeMillis() + 200);
    subscriptions.add(subscription, caller, () -> {});
    assertThat(left()).containsExactly(subscription);

    subscription.ended().join();

    assertThat(left()).isEmpty();
  }

  @Test
  void noAcknowledgementIsTooLongToBeTold() {
    ObjectNode filter = Json.object().put("long", "x".repeat(2 * Progress.ROOM));

    subscription.tell("dropped", filter);
    subscription.insist("insisted", filter);

    assertThat(way.take())
        .singleElement()
        .satisfies(told -> assertThat(new String(told, UTF_8)).contains("insisted"));
  }
}
