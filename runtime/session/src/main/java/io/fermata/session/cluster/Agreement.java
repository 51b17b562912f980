package io.fermata.session.cluster;

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What the hosts of a cluster run while some have a new release. They agree in the store: runs
 * start on the versions that were agreed on, and hosts that lack one of them hold no shards. As
 * soon as all hosts have the same flows and agents they agree on these, and runs may start on the
 * new versions and migrate to them.
 */
final class Agreement {
  private static final Logger LOG = LoggerFactory.getLogger(Agreement.class);

  /** After this time without a failure of the store, a host that does not register is cut off. */
  private static final long STEADY_NANOS = Duration.ofSeconds(15).toNanos();

  private final Offers mine;
  private final Consumer<Offers> onAgreed;
  private volatile @Nullable Offers agreed;

  /** The offers of the hosts that registered, by address. */
  private volatile Map<String, Offers> offered = Map.of();

  private volatile long steadySince = System.nanoTime();

  /**
   * @param mine what this host runs
   * @param onAgreed is called whenever the hosts have agreed on something else
   */
  Agreement(Offers mine, Consumer<Offers> onAgreed) {
    this.mine = mine;
    this.onAgreed = onAgreed;
  }

  Offers mine() {
    return mine;
  }

  /**
   * This host joins others that have agreed on something.
   *
   * @throws IllegalStateException if it could not run their sessions
   */
  void join(String agreement) {
    Offers theirs = Offers.parse(agreement);
    String gap = mine.gap(theirs);
    if (gap != null) {
      throw new IllegalStateException(
          "This host and the others of the cluster could not run each other's sessions: %s"
              .formatted(gap));
    }
    agreed(theirs);
    if (!mine.runs(theirs)) {
      LOG.info(
          "This host lacks versions that the cluster runs, so it takes no sessions until all hosts are of its release");
    }
  }

  void agreed(Offers next) {
    if (!next.equals(agreed)) {
      agreed = next;
      onAgreed.accept(next);
      LOG.info("The cluster runs {}", next.summary());
    }
  }

  /**
   * What the hosts should agree on instead; null if they need not, or if a member that stays was
   * not seen lately, as it is to have its say.
   *
   * @param seen what hosts have, by their addresses
   * @param staying the addresses of the members that do not leave
   */
  static @Nullable Offers next(Offers before, Map<String, Offers> seen, Set<String> staying) {
    List<Offers> all = List.copyOf(seen.values());
    if (all.isEmpty() || !seen.keySet().containsAll(staying)) {
      return null;
    }
    boolean same = all.stream().allMatch(all.get(0)::equals);
    boolean stuck = all.stream().noneMatch(each -> each.runs(before));
    return (same || stuck) && !all.get(0).equals(before) ? all.get(0) : null;
  }

  /**
   * The hosts that have registered lately. A host that does not, while this one can, is cut off
   * from the store.
   */
  void seen(List<Peer> hosts) {
    Map<String, Offers> all = new HashMap<>();
    if (System.nanoTime() - steadySince < STEADY_NANOS) {
      all.putAll(offered);
    }
    hosts.forEach(host -> all.put(host.address(), host.offers()));
    offered = Map.copyOf(all);
  }

  /** The store could not be reached. */
  void unseen() {
    steadySince = System.nanoTime();
  }

  /** Whether this host may hold shards. */
  boolean mayHold() {
    Offers all = agreed;
    return all != null && mine.runs(all);
  }

  /** Whether another host may hold shards. */
  boolean mayHold(String address) {
    Offers all = agreed;
    Offers theirs = offered.get(address);
    return all != null && theirs != null && theirs.runs(all);
  }
}
