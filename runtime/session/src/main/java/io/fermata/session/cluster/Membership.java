package io.fermata.session.cluster;

import io.fermata.persistence.spi.SharedStore;
import io.fermata.session.key.HandlerThreads;
import io.fermata.session.key.RootCauses;
import java.time.Duration;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.apache.pekko.actor.Address;
import org.apache.pekko.actor.AddressFromURIString;
import org.apache.pekko.cluster.Member;
import org.apache.pekko.cluster.MemberStatus;
import org.apache.pekko.cluster.typed.Cluster;
import org.apache.pekko.cluster.typed.Down;
import org.apache.pekko.cluster.typed.Join;
import org.apache.pekko.cluster.typed.JoinSeedNodes;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * How a host finds the others, in the store that they share. Each writes its address there once a
 * second. A host that starts joins those it finds; if there are none, the one that gets the lease
 * of the cluster forms it alone, and the others of a crowd join that one.
 *
 * <p>All hosts of a cluster renew that lease together. Another cluster can form when none of them
 * could for a while; of the two the one with more hosts stays.
 */
final class Membership {
  private static final Logger LOG = LoggerFactory.getLogger(Membership.class);

  private static final String LEASE = "cluster";
  private static final Duration LEASED = Duration.ofSeconds(6);
  private static final Duration BEAT = Duration.ofSeconds(1);
  private static final Duration LOOK_FOR_ENDED = Duration.ofMillis(250);

  /** Without a heartbeat for this long, other hosts do not find this one. */
  private static final Duration FORGOTTEN = Duration.ofSeconds(10);

  private static final Duration LOOK = Duration.ofMillis(200);
  private static final Duration JOINING = Duration.ofSeconds(10);
  private static final Duration FORMING = Duration.ofSeconds(60);
  private static final Duration ASKING = Duration.ofSeconds(5);

  /** A host that has ended is seen in the store for a while; hosts that are apart stay there. */
  private static final Duration APART = FORGOTTEN.multipliedBy(2);

  /**
   * A host that the store did not renew for this long, while it renewed another without a gap, is
   * cut off from the store, and ends.
   */
  private static final Duration CUT_OFF = Duration.ofSeconds(15);

  /** The longest time between two renewals, if the store is there. */
  private static final Duration GAP = Duration.ofSeconds(4);

  /** A host that announced that it leaves, and is still there without another word, stays. */
  private static final Duration LEAVING = Duration.ofSeconds(5);

  /** Timers of sessions follow the clock of the host that runs them. */
  private static final Duration CLOCKS = Duration.ofSeconds(30);

  private static final String CUT_OFF_FROM_STORE =
      "This host could not reach the store for %s seconds, while other hosts of the cluster did;"
          + " check the network between this host and the database, and restart it";

  private static final String ORPHANED =
      "Another cluster of hosts has formed on the store while this host was paused or cut off, or"
          + " the store was away; restart this host, so that it joins that one";

  private static final String APART_FROM_MOST =
      "This host and most others of its cluster have removed each other; restart it, so that it"
          + " joins them again";

  private static final String ALONE =
      "No cluster could be formed: this host did not come up as its first member; look whether its"
          + " configuration asks for more of them (pekko.cluster.min-nr-of-members) and whether its"
          + " machine is overloaded, and start it again";

  private final SharedStore store;
  private final Cluster cluster;
  private final Agreement agreement;
  private final EndedHosts ended;
  private final String id = UUID.randomUUID().toString();
  private final CompletableFuture<String> lost = new CompletableFuture<>();
  private final ScheduledExecutorService thread =
      Executors.newSingleThreadScheduledExecutor(HandlerThreads.named("fermata-cluster-"));

  /** To ask an address takes long if its name is looked up; heartbeats must not wait. */
  private final ScheduledExecutorService asking =
      Executors.newSingleThreadScheduledExecutor(HandlerThreads.named("fermata-ended-"));

  /** The cluster that this host belongs to, by the id of the host that formed it. */
  private volatile @Nullable String joined;

  private boolean leaving;

  /** The hosts that leave, by address, and when each last announced it. */
  private final Map<String, Long> leavers = new ConcurrentHashMap<>();

  private volatile long renewedNanos = System.nanoTime();

  /** Since when the store renews this host without a gap. */
  private volatile long steadyNanos = renewedNanos;

  /** How often in a row the store did not. */
  private final AtomicInteger failures = new AtomicInteger();

  private boolean warned;

  /** The hosts whose clocks differ too much from this one, as was logged. */
  private Set<String> ofAnotherTime = Set.of();

  /** When this host was last known, or may have been, in the larger part of its cluster. */
  private long togetherNanos;

  /** When this host was last known to be of the largest cluster on the store. */
  private long largestNanos;

  Membership(SharedStore store, Cluster cluster, Agreement agreement, EndedHosts ended) {
    this.store = store;
    this.cluster = cluster;
    this.agreement = agreement;
    this.ended = ended;
  }

  String id() {
    return id;
  }

  String address() {
    return cluster.selfMember().address().toString();
  }

  /** Whether this host may hold shards. */
  boolean mayHold() {
    return agreement.mayHold() && !lost.isDone();
  }

  /** A host has announced that it leaves. */
  void leaves(String address) {
    leavers.put(address, System.nanoTime());
  }

  /** Whether a host has announced lately that it leaves. */
  boolean isLeaving(String address) {
    Long announced = leavers.get(address);
    return announced != null && System.nanoTime() - announced < LEAVING.toNanos();
  }

  /** A host is no member any more; another one may come to its address. */
  void gone(String address) {
    leavers.remove(address);
  }

  CompletionStage<String> lost() {
    return lost;
  }

  /** The cluster that this host has joined; null until then. */
  @Nullable String cluster() {
    return joined;
  }

  /** Why this host is no member that others find in the store; null if it is one. */
  @Nullable String problem() {
    if (lost.isDone()) {
      return lost.join();
    } else if (joined == null) {
      return "this host has not joined its cluster yet; its log says whom it waits for";
    }
    return sinceRenewed().compareTo(FORGOTTEN) < 0
        ? null
        : "the store has not renewed this host's place in the cluster for %s seconds; check that it can be reached"
            .formatted(sinceRenewed().toSeconds());
  }

  /** The time since the store renewed this host's heartbeat and the lease of its cluster. */
  Duration sinceRenewed() {
    return Duration.ofNanos(System.nanoTime() - renewedNanos);
  }

  /** For how long, without a gap, the store has renewed this host; zero if it does not now. */
  Duration renewedFor() {
    return failures.get() > 0 || sinceRenewed().compareTo(GAP) > 0
        ? Duration.ZERO
        : Duration.ofNanos(renewedNanos - steadyNanos);
  }

  /**
   * Whether the store could not be reached for so long that this host must end if another one
   * reaches it. A host that was paused tries first.
   */
  boolean isCutOff() {
    return joined != null
        && !lost.isDone()
        && failures.get() >= 2
        && sinceRenewed().compareTo(CUT_OFF) > 0;
  }

  /**
   * Another host reaches the store.
   *
   * @param since for how long, without a gap
   */
  void reachedElsewhere(Duration since) {
    if (isCutOff() && since.compareTo(CUT_OFF) > 0) {
      lose(CUT_OFF_FROM_STORE.formatted(sinceRenewed().toSeconds()));
      // So the others take over at once, whatever becomes of this process.
      cluster.manager().tell(new Down(cluster.selfMember().address()));
    }
  }

  private void renewed() {
    long now = System.nanoTime();
    if (failures.get() > 0 || now - renewedNanos > GAP.toNanos()) {
      steadyNanos = now;
    }
    if (sinceRenewed().compareTo(FORGOTTEN) > 0) {
      LOG.info("The store renews this host's place in the cluster again");
    }
    warned = false;
    failures.set(0);
    renewedNanos = now;
  }

  private void notRenewed(Throwable why) {
    failures.incrementAndGet();
    agreement.unseen();
    togetherNanos = System.nanoTime();
    if (sinceRenewed().compareTo(FORGOTTEN) > 0 && !warned) {
      warned = true;
      LOG.warn(
          "The store has not renewed this host's place in the cluster for {} seconds; the host"
              + " ends if other hosts reach the store meanwhile",
          sinceRenewed().toSeconds(),
          why);
    } else {
      LOG.debug("The store could not be reached", why);
    }
  }

  /** The clusters' hosts, as they registered. */
  private List<Peer> beat() {
    Peer here =
        new Peer(
            id,
            address(),
            cluster.selfMember().uniqueAddress().longUid(),
            joined,
            System.currentTimeMillis(),
            agreement.mine());
    List<Peer> hosts = now(store.heartbeat(here.registered())).stream().map(Peer::of).toList();
    agreement.seen(hosts);
    ended.seen(hosts);
    return hosts;
  }

  /**
   * Joins the cluster.
   *
   * @throws IllegalStateException if that is not possible; the message says why
   */
  @SuppressWarnings("FutureReturnValueIgnored") // a beat logs its failures
  void join() {
    long end = System.nanoTime() + FORMING.toNanos();
    List<Peer> others = List.of();
    String asked = null;
    boolean first = false;
    while (joined == null) {
      if (System.nanoTime() - end > 0) {
        throw new IllegalStateException(first && others.isEmpty() ? ALONE : unreachable(others));
      }
      others = living(beat());
      if (asked != null && isUp()) {
        // Who formed the cluster writes its id a moment later.
        joined = clusterOf(others);
        if (joined == null) {
          pause();
        } else if (!joined.equals(asked)) {
          agreement.join(now(store.agreement()).orElseThrow());
        }
        continue;
      }
      String met = clusterOf(others);
      String wanted = met == null ? asked : met;
      if (wanted != null
          && begun()
          && others.stream().noneMatch(host -> wanted.equals(host.cluster()))) {
        throw new IllegalStateException(
            "The hosts of the cluster that this one was joining have ended; start it again");
      }
      if (!others.isEmpty()) {
        String joining =
            wanted != null && begun() ? wanted : Objects.requireNonNull(others.get(0).cluster());
        others = others.stream().filter(host -> joining.equals(host.cluster())).toList();
        if (others.stream().noneMatch(ended::renews)) {
          pause();
          continue;
        }
        asked = joining;
        requireSameTime(others);
        agreement.join(now(store.agreement()).orElseThrow());
        comesUp(others);
      } else if (now(store.lease(LEASE, id, LEASED))) {
        // A host may have formed the cluster since the look.
        others = living(beat());
        first = others.isEmpty();
        if (others.isEmpty() && comesUp(List.of())) {
          requireAlone(living(beat()).isEmpty() && agreeAlone());
          joined = id;
        }
      } else {
        pause();
      }
    }
    beat();
    renewed();
    togetherNanos = renewedNanos;
    largestNanos = renewedNanos;
    thread.scheduleWithFixedDelay(this::stay, 0, BEAT.toMillis(), TimeUnit.MILLISECONDS);
    asking.scheduleWithFixedDelay(
        this::removeEnded, 0, LOOK_FOR_ENDED.toMillis(), TimeUnit.MILLISECONDS);
    LOG.info("{} has joined the cluster {} of {} hosts", address(), joined, others.size() + 1);
  }

  /** Hosts whose store was away are back a moment later than one that has just started. */
  private void requireAlone(boolean alone) {
    if (!alone) {
      now(store.endLease(LEASE, id));
      throw new IllegalStateException(
          "The hosts of the cluster have come back to the store while this one formed another;"
              + " start it again, so that it joins them");
    }
  }

  /** Whether a cluster knows this host already: an actor system can join one in its life. */
  private boolean begun() {
    return !cluster.selfMember().status().equals(MemberStatus.removed());
  }

  private boolean isUp() {
    return cluster.selfMember().status().equals(MemberStatus.up());
  }

  /**
   * The cluster of the members that this host knows; null if the store does not say it yet. At the
   * address of a host that was killed may be a later process, of another cluster.
   */
  private @Nullable String clusterOf(List<Peer> hosts) {
    Set<Long> members = new HashSet<>();
    cluster.state().getMembers().forEach(member -> members.add(member.uniqueAddress().longUid()));
    return hosts.stream()
        .filter(host -> members.contains(host.uid()))
        .map(Peer::cluster)
        .findFirst()
        .orElse(null);
  }

  private static String unreachable(List<Peer> others) {
    return others.isEmpty()
        ? "No cluster could be formed: another host that started at the same time has the lease"
            + " but did not come up; look at its log, and start this one again"
        : "The hosts of the cluster, "
            + String.join(", ", others.stream().map(Peer::address).toList())
            + ", could not be reached from this one; make their addresses reachable from each"
            + " other (the address and the port of cluster(…)), and look whether all use the same"
            + " transport and certificates";
  }

  private List<Peer> membersOf(List<Peer> hosts) {
    return hosts.stream()
        .filter(host -> !host.id().equals(id) && !host.address().equals(address()))
        .filter(host -> host.cluster() != null)
        .toList();
  }

  /** The store knows hosts that were killed for a while; nobody can join them. */
  private List<Peer> living(List<Peer> hosts) {
    return membersOf(hosts).stream().filter(host -> !ended.hasEnded(host)).toList();
  }

  private boolean haveEnded(List<Peer> hosts) {
    beat();
    return hosts.stream().allMatch(ended::hasEnded);
  }

  /** One host with a wrong clock must not keep those with a right one from joining. */
  private static void requireSameTime(List<Peer> others) {
    List<Peer> apart = others.stream().filter(Membership::isOfAnotherTime).toList();
    if (2 * apart.size() > others.size()) {
      throw new IllegalStateException(clocksApart(apart.get(0)));
    }
  }

  private static boolean isOfAnotherTime(Peer host) {
    return secondsApart(host) > CLOCKS.toSeconds();
  }

  private static long secondsApart(Peer host) {
    return Math.abs(System.currentTimeMillis() - host.clock()) / 1_000;
  }

  private static String clocksApart(Peer host) {
    return "The clock of this host and that of %s are %s seconds apart; set them by NTP, as timers of sessions follow them"
        .formatted(host.address(), secondsApart(host));
  }

  /** A clock can be set wrong while its host runs. */
  private void watchClocks(List<Peer> hosts) {
    List<Peer> apart = membersOf(hosts).stream().filter(Membership::isOfAnotherTime).toList();
    apart.stream()
        .filter(host -> !ofAnotherTime.contains(host.id()))
        .forEach(host -> LOG.warn(clocksApart(host)));
    ofAnotherTime = apart.stream().map(Peer::id).collect(Collectors.toSet());
  }

  /** A cluster begins with what its first host runs. */
  private boolean agreeAlone() {
    String mine = agreement.mine().text();
    boolean agreed = now(store.agree(now(store.agreement()).orElse(null), mine));
    if (agreed) {
      agreement.join(mine);
    }
    return agreed;
  }

  /** When all hosts have the same flows and agents, runs may use all of them. */
  private void agree(List<Peer> hosts) {
    String written = now(store.agreement()).orElseThrow();
    Offers before = Offers.parse(written);
    Map<String, Offers> seen = new LinkedHashMap<>();
    ofCluster(hosts).forEach(host -> seen.put(host.address(), host.offers()));
    Set<String> staying = members();
    staying.removeIf(this::isLeaving);
    Offers next = Agreement.next(before, seen, staying);
    if (next == null) {
      agreement.agreed(before);
    } else if (now(store.agree(written, next.text()))) {
      agreement.agreed(next);
    }
  }

  private boolean comesUp(List<Peer> others) {
    if (others.isEmpty()) {
      cluster.manager().tell(Join.create(cluster.selfMember().address()));
    } else {
      List<Address> seeds =
          others.stream().map(Peer::address).map(AddressFromURIString::parse).toList();
      cluster.manager().tell(new JoinSeedNodes(seeds));
    }
    long end = System.nanoTime() + JOINING.toNanos();
    while (System.nanoTime() - end < 0) {
      if (isUp()) {
        return true;
      } else if (others.isEmpty()) {
        now(store.lease(LEASE, id, LEASED));
      } else if (haveEnded(others)) {
        return false;
      }
      pause();
    }
    return false;
  }

  private synchronized void stay() {
    try {
      if (leaving) {
        // Until it is gone this host may be the one that places the shards.
        agreement.agreed(Offers.parse(now(store.agreement()).orElseThrow()));
        return;
      } else if (lost.isDone()) {
        // Others need not wait for it.
        return;
      }
      List<Peer> hosts = beat();
      watchClocks(hosts);
      boolean leased = now(store.lease(LEASE, Objects.requireNonNull(joined), LEASED));
      if (isOrphan(hosts, leased)) {
        // Those who stay must not count it any more.
        now(store.leave(id));
        lose(ORPHANED);
      } else if (leased) {
        renewed();
        agree(hosts);
        endIfApart(hosts);
      } else {
        throw new IllegalStateException("Another host has the lease of the cluster");
      }
    } catch (RuntimeException | Error e) {
      // What is thrown on would end the heartbeats.
      notRenewed(e);
    }
  }

  /** The hosts of a cluster that was away come back one after the other. */
  private boolean isOrphan(List<Peer> hosts, boolean leased) {
    long now = System.nanoTime();
    if (!Peer.isOrphan(Objects.requireNonNull(joined), hosts, leased)) {
      largestNanos = now;
    }
    return now - largestNanos > FORGOTTEN.toNanos();
  }

  /**
   * Hosts that have removed each other from their cluster all believe to be it. The store knows
   * them all, so the smaller part ends.
   */
  private void endIfApart(List<Peer> hosts) {
    if (Peer.areMost(ofCluster(hosts), members())) {
      togetherNanos = System.nanoTime();
    } else if (System.nanoTime() - togetherNanos > APART.toNanos()) {
      lose(APART_FROM_MOST);
    }
  }

  private List<Peer> ofCluster(List<Peer> hosts) {
    return hosts.stream().filter(host -> Objects.equals(host.cluster(), joined)).toList();
  }

  /** The addresses of the members, as this host knows them. */
  private Set<String> members() {
    Set<String> members = new HashSet<>();
    for (Member member : cluster.state().getMembers()) {
      if (!member.status().equals(MemberStatus.down())) {
        members.add(member.address().toString());
      }
    }
    return members;
  }

  /**
   * The sessions of a host whose process has ended, as it was killed, need not wait for what a
   * partition must wait for.
   */
  private void removeEnded() {
    try {
      for (Member member : cluster.state().getUnreachable()) {
        if (!lost.isDone()
            && !member.status().equals(MemberStatus.down())
            && ended.hasEnded(member.uniqueAddress())
            // A later process may have taken its place while it was asked.
            && cluster.state().getUnreachable().contains(member)) {
          LOG.warn(
              "The process of the host {} has ended; the others continue its sessions",
              member.address());
          cluster.manager().tell(new Down(member.address()));
        }
      }
    } catch (RuntimeException | Error e) {
      LOG.warn("It is not known whether hosts that cannot be reached have ended", e);
    }
  }

  /** This host is no member any more. */
  void removed() {
    lose(
        "The other hosts have removed this one from their cluster, as they could not reach it;"
            + " restart it, so that it joins again");
  }

  /** What follows may take long, and must not hold up the cluster. */
  private void lose(String reason) {
    lost.completeAsync(() -> reason);
  }

  /** Other hosts do not count this one any more; {@link #stop} is still to be called. */
  synchronized void leave() {
    leaving = true;
    try {
      now(store.leave(id));
    } catch (RuntimeException e) {
      LOG.debug("The host could not be removed from the store; it expires there", e);
    }
  }

  /** If this host is the last of its cluster, the next one need not wait to form another. */
  synchronized void end() {
    try {
      if (joined != null) {
        now(store.endLeaseOfLast(LEASE, joined, id));
      }
    } catch (RuntimeException e) {
      LOG.debug("The lease of the cluster could not be released; it expires", e);
    }
  }

  void stop() {
    thread.shutdownNow();
    asking.shutdownNow();
  }

  private static void pause() {
    try {
      Thread.sleep(LOOK.toMillis());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("Interrupted while joining the cluster", e);
    }
  }

  private static <T> T now(CompletionStage<T> stage) {
    try {
      return stage.toCompletableFuture().get(ASKING.toMillis(), TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("Interrupted", e);
    } catch (TimeoutException e) {
      throw new IllegalStateException("The store did not respond in " + ASKING, e);
    } catch (ExecutionException e) {
      Throwable cause = RootCauses.of(e);
      throw cause instanceof RuntimeException known ? known : new IllegalStateException(cause);
    }
  }
}
