package io.fermata.persistence.postgres;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.persistence.PostgresProbe;
import io.fermata.persistence.contract.Host;
import io.fermata.persistence.pekko.JournalTip;
import io.fermata.persistence.pekko.Serialized;
import io.fermata.persistence.pekko.SerializedEntry;
import io.fermata.persistence.pekko.StoreJournals;
import io.fermata.persistence.pekko.StoreSetup;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.SharedStore;
import io.fermata.persistence.spi.StoreProblem;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Shards are handed from host to host in the middle of writes, and the hosts that lose them learn
 * it from the database alone.
 */
@Tag("slow")
final class HandOverTest {

  /** {@code -Dhandover.rounds=1000} tries longer. */
  private static final int ROUNDS = Integer.getInteger("handover.rounds", 60);

  private static final int SESSIONS_EACH = 3;
  private static final List<Integer> MOVING = List.of(90, 3, 40);
  private static final int STAYING = 41;

  /** A host that has written so much of a shard that it lost will not notice any more. */
  private static final int ENOUGH = 20;

  private final PostgresProbe database = PostgresProbe.fresh();

  /** The texts of entries by session and number. */
  private final Map<String, Map<Long, String>> acknowledged = new ConcurrentHashMap<>();

  private static List<String> sessions(int shard) {
    return IntStream.range(0, SESSIONS_EACH)
        .mapToObj(each -> SharedStoreTest.in(shard, "session" + each + "-"))
        .toList();
  }

  @Test
  void noSessionIsEverWrittenByTwoHostsAndWhatWasAcknowledgedIsThere() {
    ExecutorService threads = Executors.newCachedThreadPool();
    try (OpenStore first = database.store().openShared();
        OpenStore second = database.store().openShared()) {
      Writer one = new Writer("one", first, threads);
      Writer two = new Writer("two", second, threads);
      one.take(STAYING);
      MOVING.forEach(one::take);
      MOVING.forEach(one::write);
      one.write(STAYING);
      Writer from = one;
      Writer to = two;
      for (int round = 0; round < ROUNDS; round++) {
        int shard = MOVING.get(round % MOVING.size());
        handOver(shard, from, to);
        if (round % MOVING.size() == MOVING.size() - 1) {
          Writer last = from;
          from = to;
          to = last;
        }
      }
      one.stop();
      two.stop();
      assertThat(one.failures(STAYING)).as("the shard that stayed").isEmpty();
      assertComplete(first);
    } finally {
      threads.shutdownNow();
    }
    List<String> damages = new ArrayList<>();
    database.store().verify(damages::add);
    assertThat(damages).isEmpty();
  }

  private static void handOver(int shard, Writer from, Writer to) {
    from.awaitProgress(shard);
    to.take(shard);
    List<Long> ends = to.ends(shard);
    int written = from.written(shard);
    // As it goes on to write, it is refused, or the database would take more from it.
    await(() -> from.hasStopped(shard) || from.written(shard) > written + ENOUGH);
    assertThat(to.ends(shard)).as("of shard %s after it was taken", shard).isEqualTo(ends);
    assertThat(from.failures(shard)).containsExactly(StoreProblem.MOVED);
    to.write(shard);
  }

  private void assertComplete(OpenStore store) {
    acknowledged.forEach(
        (session, entries) -> {
          List<Long> stored = database.records(session);
          assertThat(stored).isEqualTo(LongStream.rangeClosed(1, stored.size()).boxed().toList());
          Map<Long, String> texts = new ConcurrentHashMap<>();
          Host.await(journals(store).read(session, 1, Long.MAX_VALUE, Long.MAX_VALUE))
              .forEach(
                  entry -> texts.put(entry.sequenceNr(), new String(entry.event().bytes(), UTF_8)));
          assertThat(texts).containsAllEntriesOf(entries);
        });
  }

  private static StoreJournals journals(OpenStore store) {
    return ((StoreSetup) store.setup()).journals();
  }

  private static void await(BooleanSupplier condition) {
    long end = System.nanoTime() + Duration.ofSeconds(60).toNanos();
    while (!condition.getAsBoolean()) {
      assertThat(System.nanoTime()).as("waited long enough").isLessThan(end);
      Thread.onSpinWait();
    }
  }

  /** The writers of a shard: how much they wrote, and why each ended. */
  private record Loops(AtomicInteger count, List<CompletableFuture<Optional<StoreProblem>>> ends) {}

  /** Writes the sessions of its shards, each as fast as it can, until it is refused. */
  private final class Writer {

    private final String name;
    private final StoreJournals journals;
    private final SharedStore shared;
    private final ExecutorService threads;
    private final Map<Integer, Loops> loops = new ConcurrentHashMap<>();
    private volatile boolean stopping;

    Writer(String name, OpenStore store, ExecutorService threads) {
      this.name = name;
      this.journals = journals(store);
      this.shared = SharedStoreTest.shared(store);
      this.threads = threads;
    }

    void take(int shard) {
      Host.await(shared.acquire(shard, name));
    }

    void write(int shard) {
      AtomicInteger count = new AtomicInteger();
      List<CompletableFuture<Optional<StoreProblem>>> ends =
          sessions(shard).stream()
              .map(session -> CompletableFuture.supplyAsync(() -> write(session, count), threads))
              .toList();
      loops.put(shard, new Loops(count, ends));
    }

    /** Returns why it ended; empty if it was stopped. */
    private Optional<StoreProblem> write(String session, AtomicInteger count) {
      JournalTip tip = Host.await(journals.tip(session));
      while (!stopping) {
        SerializedEntry entry = entry(session, tip);
        try {
          Host.await(journals.append(session, List.of(entry), 0));
        } catch (AssertionError refused) {
          return Optional.of(StoreProblem.of(refused));
        }
        acknowledged
            .computeIfAbsent(session, each -> new ConcurrentHashMap<>())
            .put(entry.sequenceNr(), new String(entry.event().bytes(), UTF_8));
        tip = entry.tip();
        count.incrementAndGet();
      }
      return Optional.empty();
    }

    private SerializedEntry entry(String session, JournalTip tip) {
      String text = name + " " + (tip.seq() + 1);
      SerializedEntry entry =
          new SerializedEntry(
              session,
              tip.seq() + 1,
              name,
              0,
              Set.of(),
              new Serialized(text.getBytes(UTF_8), 1, ""),
              0,
              null);
      return SerializedEntry.chained(List.of(entry), tip).get(0);
    }

    void awaitProgress(int shard) {
      int before = written(shard);
      await(() -> written(shard) > before + 2);
    }

    int written(int shard) {
      return loops(shard).count().get();
    }

    boolean hasStopped(int shard) {
      return loops(shard).ends().stream().allMatch(CompletableFuture::isDone);
    }

    /** Why the sessions of a shard were refused; none if they were stopped. */
    Set<StoreProblem> failures(int shard) {
      return loops(shard).ends().stream()
          .flatMap(end -> end.join().stream())
          .collect(Collectors.toSet());
    }

    private Loops loops(int shard) {
      return Objects.requireNonNull(loops.get(shard));
    }

    List<Long> ends(int shard) {
      return sessions(shard).stream()
          .map(session -> Host.await(journals.tip(session)).seq())
          .toList();
    }

    void stop() {
      stopping = true;
      loops.values().forEach(each -> each.ends().forEach(CompletableFuture::join));
    }
  }
}
