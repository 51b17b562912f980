package io.fermata.mcp.catalog;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.mcp.access.AuthenticatedCaller;
import io.fermata.mcp.protocol.OutboundQueue;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Which subscribers are notified of changes. */
class SubscriptionsTest {
  private final Subscriptions subscriptions = new Subscriptions(new StreamQuota(2));
  private final OutboundQueue way = new OutboundQueue(woken -> {});
  private final Set<String> watched = ConcurrentHashMap.newKeySet();
  private final Subscriptions.Subscription subscription =
      new Subscriptions.Subscription(
          null, Set.of(Subscriptions.Kind.TOOLS), watched, way, new CompletableFuture<>());

  private List<Subscriptions.Subscription> left() {
    List<Subscriptions.Subscription> left = new ArrayList<>();
    subscriptions.publish(
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
    subscriptions.add(subscription, AuthenticatedCaller.trusted("ada"), () -> {});
    watched.add("test://a");
    assertThat(left()).containsExactly(subscription);

    way.disconnect();

    assertThat(left()).isEmpty();
  }

  @Test
  void aSubscriptionIsActiveWhenItIsAcknowledged() {
    List<Subscriptions.Subscription> listening = new ArrayList<>();

    subscriptions.add(
        subscription, AuthenticatedCaller.trusted("ada"), () -> listening.addAll(left()));

    assertThat(listening).containsExactly(subscription);
  }

  @Test
  void nobodyListensLongerThanItsTokenIsGood() {
    AuthenticatedCaller caller =
        new AuthenticatedCaller("ada", Set.of(), System.currentTimeMillis() + 200);
    List<Subscriptions.Subscription> listening = new ArrayList<>();
    subscriptions.add(subscription, caller, () -> listening.addAll(left()));
    assertThat(listening).containsExactly(subscription);

    subscription.ended().join();

    assertThat(left()).isEmpty();
  }

  @Test
  void noAcknowledgementIsTooLongToBeSent() {
    ObjectNode filter = Json.object().put("long", "x".repeat(2 * OutboundQueue.ROOM));

    subscription.send("acknowledged", filter);

    assertThat(way.take())
        .singleElement()
        .satisfies(sent -> assertThat(new String(sent, UTF_8)).contains("acknowledged"));
  }

  @Test
  void ofManyChangesAtOnceNoneIsDroppedAndOneOfTheSameIsSentOnce() {
    subscriptions.add(subscription, AuthenticatedCaller.trusted("ada"), () -> {});
    List<String> uris = IntStream.range(0, 500).mapToObj(i -> "test://" + i).toList();

    for (int times = 0; times < 2; times++) {
      uris.forEach(
          uri -> subscriptions.publish("updated", Json.object().put("uri", uri), each -> true));
      subscriptions.publish("list_changed", Json.object(), each -> true);
    }

    List<String> sent = new ArrayList<>();
    for (List<byte[]> some = way.take(); !some.isEmpty(); some = way.take()) {
      some.forEach(message -> sent.add(new String(message, UTF_8)));
    }
    assertThat(sent).hasSize(501).doesNotHaveDuplicates();
    uris.forEach(uri -> assertThat(sent).anyMatch(each -> each.contains('"' + uri + '"')));
    assertThat(sent).anyMatch(each -> each.contains("list_changed"));
  }
}
