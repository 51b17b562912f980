package io.fermata.mcp.access;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Which entries are evicted from a full map. */
class FairSharesTest {
  private final List<String> dropped = new ArrayList<>();
  private final FairShares<String, Integer> shares =
      new FairShares<>(3, 5, (principal, value) -> dropped.add(principal + value));

  private void put(String principal, int value) {
    shares.put(principal, principal + value, value);
  }

  @Test
  void nobodyHasMoreThanItMayAndItsEldestGoesFirst() {
    put("ann", 1);
    put("ann", 2);
    put("ann", 3);
    put("ann", 1);
    put("ann", 4);

    assertThat(dropped).containsExactly("ann2");
    assertThat(shares.has("ann1")).isTrue();
  }

  @Test
  void whoHasMostGivesWayToThoseWhoHaveLess() {
    put("bob", 1);
    put("ann", 1);
    put("ann", 2);
    put("ann", 3);
    put("eve", 1);
    put("eve", 2);
    put("eve", 3);

    assertThat(dropped).containsExactly("ann1", "eve1");
    assertThat(shares.has("bob1")).isTrue();
  }

  @Test
  void whereThereIsNoRoomTheEldestThatNobodyNeedsGivesWayOrNone() {
    put("ann", 1);
    assertThat(shares.makeRoom("ann", value -> true)).isTrue();
    assertThat(dropped).isEmpty();
    put("ann", 12);
    put("ann", 13);
    assertThat(shares.makeRoom("ann", value -> value > 100)).isFalse();

    assertThat(shares.makeRoom("ann", value -> value > 10)).isTrue();
    assertThat(dropped).containsExactly("ann12");

    put("bob", 14);
    put("bob", 2);
    put("eve", 3);
    assertThat(shares.makeRoom("joe", value -> value < 3)).isTrue();
    assertThat(dropped).containsExactly("ann12", "ann1");
  }

  @Test
  void whatIsOldIsRemovedUpToTheFirstThatIsNot() {
    put("ann", 1);
    put("bob", 2);
    put("ann", 9);
    put("bob", 1);

    shares.removeEldestWhile(value -> value < 5);

    assertThat(shares.has("ann1") || shares.has("bob2")).isFalse();
    assertThat(shares.has("ann9") && shares.has("bob1")).isTrue();
    assertThat(shares.remove("bob1")).isEqualTo(1);
    assertThat(shares.remove("bob1")).isNull();
    assertThat(dropped).isEmpty();
  }
}
