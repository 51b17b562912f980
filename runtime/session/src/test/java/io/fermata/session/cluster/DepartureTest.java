package io.fermata.session.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Set;
import org.junit.jupiter.api.Test;

/** How long a host that leaves stays. */
class DepartureTest {
  private final Departure departure = new Departure(Set.of(1, 2));

  @Test
  void aHostWithoutShardsLeavesAtOnce() {
    assertThat(new Departure(Set.of()).done()).isDone();
  }

  @Test
  void aHostStaysUntilOthersHaveOpenedAllItsShards() {
    departure.closed(1);
    departure.openedElsewhere(1);
    assertThat(departure.done()).isNotDone();

    departure.openedElsewhere(2);

    assertThat(departure.done()).isDone();
  }

  @Test
  void aHostWhoseShardsNobodyOpensLeavesNevertheless() {
    departure.closed(1);
    departure.closed(2);
    assertThat(departure.done()).isNotDone();

    assertThat(departure.done().join()).isNull();
  }

  @Test
  void aShardThatOpensHereMeanwhileIsWaitedForToo() {
    departure.opened(3);
    departure.openedElsewhere(1);
    departure.openedElsewhere(2);
    assertThat(departure.done()).isNotDone();

    departure.openedElsewhere(3);

    assertThat(departure.done()).isDone();
  }

  @Test
  void aHostThatNobodyFollowsMayLeaveWhenItsShardsAreClosed() {
    assertThat(new Departure(Set.of()).isClosed()).isTrue();
    departure.closed(1);
    assertThat(departure.isClosed()).isFalse();

    departure.closed(2);

    assertThat(departure.isClosed()).isTrue();
    departure.opened(3);
    assertThat(departure.isClosed()).isFalse();
  }

  @Test
  void theShardsOfOthersDoNotCount() {
    departure.openedElsewhere(3);
    departure.closed(3);

    assertThat(departure.done()).isNotDone();
  }
}
