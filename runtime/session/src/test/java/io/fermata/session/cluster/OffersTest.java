package io.fermata.session.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class OffersTest {
  private static Offers offers(Set<Integer> versions) {
    return offers(versions, Map.of());
  }

  /**
   * @param migrated the versions on which runs of earlier ones continue
   */
  private static Offers offers(Set<Integer> versions, Map<Integer, Set<Integer>> migrated) {
    Offers.Versions trip = new Offers.Versions();
    versions.forEach(version -> trip.registered().put(version, "graph" + version));
    migrated.forEach((from, to) -> trip.migrated().put(from, new TreeSet<>(to)));
    return new Offers(
        new TreeMap<>(Map.of("trip", trip)),
        new TreeSet<>(),
        ClusterSerializer.formats(),
        Offers.Keys.NONE);
  }

  private static Offers keys(@Nullable String encrypts, String... decrypt) {
    return keys(new Offers.Keys(encrypts, new TreeSet<>(Set.of(decrypt))));
  }

  private static Offers keys(Offers.Keys keys) {
    return new Offers(OLD.flows(), OLD.agents(), OLD.formats(), keys);
  }

  private static final Offers OLD = offers(Set.of(1));
  private static final Offers BOTH = offers(Set.of(1, 2));
  private static final Offers HEIR = offers(Set.of(2), Map.of(1, Set.of(2)));
  private static final Offers STRANGER = offers(Set.of(2));

  @Test
  void aHostRunsWhatHasItsVersions() {
    assertThat(BOTH.runs(OLD)).isTrue();
    assertThat(OLD.runs(BOTH)).isFalse();
    assertThat(HEIR.runs(OLD)).isFalse();
  }

  @Test
  void aHostThatLeavesOutAVersionRunsWhatItMigratesToOneThatTheOthersRun() {
    assertThat(HEIR.runs(BOTH)).isTrue();
    assertThat(offers(Set.of(2, 3), Map.of(1, Set.of(2))).runs(BOTH)).isTrue();
    assertThat(STRANGER.runs(BOTH)).isFalse();
    assertThat(offers(Set.of(2, 3), Map.of(1, Set.of(3))).runs(BOTH)).isFalse();
    assertThat(offers(Set.of(2, 3), Map.of(1, Set.of(2))).runs(offers(Set.of(1, 3))))
        .as("the others lack the version on which its runs continue")
        .isFalse();
  }

  @Test
  void aHostThatMigratesAVersionHasNoGap() {
    assertThat(HEIR.gap(OLD)).isNull();
    assertThat(BOTH.gap(OLD)).isNull();
    assertThat(STRANGER.gap(OLD)).contains("neither has nor migrates the flow trip version 1");
    assertThat(OLD.gap(HEIR)).contains("neither has nor migrates the flow trip version 2");
  }

  @Test
  void aReleaseWithOtherFormatsHasAGap() {
    Offers other =
        new Offers(OLD.flows(), OLD.agents(), new TreeSet<>(Set.of("run:9")), Offers.Keys.NONE);
    assertThat(other.gap(OLD)).contains("other formats");
  }

  @Test
  void offersOfAReleaseThatWritesThemOtherwiseAreNeverMatched() {
    Offers other = Offers.parse("{\"tools\":[\"trip\"]}");
    assertThat(OLD.gap(other)).contains("other formats");
    assertThat(other.runs(OLD)).isFalse();
    assertThat(next(OLD, other)).isNull();
  }

  @Test
  void hostsAgreeOnTheNewReleaseWhenAllHaveIt() {
    assertThat(next(OLD, BOTH)).isNull();
    assertThat(next(OLD, HEIR)).isNull();
    assertThat(next(BOTH, BOTH)).isEqualTo(BOTH);
    assertThat(next(HEIR)).isEqualTo(HEIR);
    assertThat(next(OLD, OLD)).isNull();
    assertThat(next()).isNull();
  }

  /** What hosts that are all seen agree on instead of the old release. */
  private static @Nullable Offers next(Offers... offers) {
    Map<String, Offers> seen = seen(offers);
    return Agreement.next(OLD, seen, seen.keySet());
  }

  private static Map<String, Offers> seen(Offers... offers) {
    Map<String, Offers> seen = new LinkedHashMap<>();
    for (Offers each : offers) {
      seen.put("host" + seen.size(), each);
    }
    return seen;
  }

  @Test
  void aMemberThatWasNotSeenLatelyHasItsSay() {
    assertThat(Agreement.next(OLD, seen(HEIR), Set.of("host0", "host1"))).isNull();
    assertThat(Agreement.next(OLD, seen(HEIR, HEIR), Set.of("host0", "host1"))).isEqualTo(HEIR);
    assertThat(Agreement.next(OLD, seen(HEIR, OLD), Set.of("host0"))).isNull();
  }

  @Test
  void hostsOfDifferentReleasesAgreeOnTheEldestWhenNoneIsLeftThatRunsTheLast() {
    assertThat(next(HEIR, STRANGER)).isEqualTo(HEIR);
    assertThat(next(BOTH, HEIR)).isNull();
  }

  @Test
  void offersAreReadAsTheyWereWritten() {
    assertThat(Offers.parse(HEIR.text())).isEqualTo(HEIR);
  }

  @Test
  void aKeyIsGivenToAllHostsBeforeOneEncryptsWithIt() {
    Offers old = keys("old", "old");
    Offers prepared = keys("old", "old", "new");
    Offers rotated = keys("new", "new", "old");
    assertThat(prepared.gap(old)).isNull();
    assertThat(rotated.gap(old)).contains("it encrypts with the key new, which they lack");
    assertThat(rotated.gap(prepared)).isNull();
    assertThat(prepared.gap(rotated)).isNull();
    assertThat(keys("new", "new").gap(rotated)).isNull();
    assertThat(old.gap(rotated)).contains("it lacks the key new, with which they encrypt");
    assertThat(old.runs(rotated)).isFalse();
    assertThat(prepared.runs(rotated)).isTrue();
  }

  @Test
  void aHostWithoutKeysMayNotJoinHostsThatEncrypt() {
    assertThat(OLD.gap(keys("old", "old"))).contains("it lacks the key old");
    assertThat(keys(null, "old").gap(OLD)).as("it has a key but encrypts nothing").isNull();
  }

  @Test
  void keysThatCannotBeListedAreNotCompared() {
    Offers unknown = keys(new Offers.Keys("new", null));
    assertThat(unknown.gap(keys("old", "old", "new"))).isNull();
    assertThat(keys("old", "old", "new").gap(unknown)).isNull();
    assertThat(Offers.parse(unknown.text())).isEqualTo(unknown);
  }
}
