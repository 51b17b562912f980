package io.fermata.persistence.keyvalue;

import io.fermata.persistence.keyvalue.KvStore.KeyPage;
import io.fermata.persistence.keyvalue.KvStore.Versioned;
import io.fermata.persistence.pekko.ChainCheck;
import io.fermata.persistence.pekko.SerializedEntry;
import io.fermata.persistence.pekko.SerializedSnapshot;
import io.fermata.persistence.pekko.StoreFailures;
import io.fermata.persistence.spi.DamagedException;
import io.fermata.persistence.spi.ServerKey;
import io.fermata.persistence.spi.StoreException;
import io.fermata.persistence.spi.Verified;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Checks what a key-value store holds, while hosts may be writing it: its server key, its index,
 * and the sessions that its keys or, if these cannot be listed, its index name. It writes nothing,
 * and reads a few values at a time, each of which a host replaces as a whole.
 */
final class KvVerification {

  private static final int AT_ONCE = 16;
  private static final String SERVER_KEY = OpenKeyValueStore.SERVER_KEY;

  /** The key of no value, to find out whether the store responds. */
  private static final String NOTHING = "nothing";

  private final KvCalls kv;
  private final Consumer<String> damage;

  /** A key may be listed more than once. */
  private final Set<String> damaged = new HashSet<>();

  private long found;
  private long journals;
  private long entries;

  private KvVerification(KvCalls kv, Consumer<String> damage) {
    this.kv = kv;
    this.damage = damage;
  }

  static Verified of(KvCalls kv, Consumer<String> damage) {
    KvVerification verification = new KvVerification(kv, damage);
    Set<String> named = verification.index();
    boolean listed = verification.listed(named);
    verification.journals(named);
    verification.serverKey();
    return new Verified(
        verification.journals,
        verification.entries,
        verification.damaged.size(),
        listed ? List.of() : List.of(unread(kv)));
  }

  private static String unread(KvCalls kv) {
    return kv.name()
        + " cannot list its keys, so only the sessions that work or wait for a moment were read; any"
        + " other is checked when it is called";
  }

  /** The sessions that have work to do. */
  private Set<String> index() {
    Set<String> named = new TreeSet<>();
    for (int shard = 0; shard < KvIndex.SHARDS; shard++) {
      String key = KvIndex.key(shard);
      checked(key, kv.get(key), value -> named.addAll(KvFormat.marks(key, value.value()).keySet()));
    }
    return named;
  }

  /**
   * Checks all sessions.
   *
   * @param named of which those that were checked are removed
   * @return whether the store can list them
   */
  private boolean listed(Set<String> named) {
    String after = "";
    do {
      Optional<KeyPage> page = now(kv.keys(KvJournals.KEY, after));
      if (page.isEmpty()) {
        return false;
      }
      List<String> sessions =
          page.get().keys().stream().map(key -> key.substring(KvJournals.KEY.length())).toList();
      journals(sessions);
      sessions.forEach(named::remove);
      after = page.get().next();
    } while (!after.isEmpty());
    return true;
  }

  private void journals(Iterable<String> sessions) {
    List<String> some = new ArrayList<>();
    for (String session : sessions) {
      some.add(session);
      if (some.size() == AT_ONCE) {
        together(some);
        some.clear();
      }
    }
    together(some);
  }

  private void together(List<String> sessions) {
    List<CompletionStage<Optional<Versioned>>> values =
        sessions.stream().map(session -> kv.get(KvJournals.KEY + session)).toList();
    for (int i = 0; i < values.size(); i++) {
      String session = sessions.get(i);
      checked(
          KvJournals.KEY + session,
          values.get(i),
          value -> journal(session, KvFormat.journal(session, value.value())));
    }
  }

  /** A session that ended or was erased meanwhile has no value, nor one whose mark is stale. */
  private void checked(
      String key, CompletionStage<Optional<Versioned>> reading, Consumer<Versioned> check) {
    Versioned value = read(key, reading);
    if (value == null) {
      return;
    }
    found++;
    try {
      check.accept(value);
    } catch (StoreException wrong) {
      report(key, wrong);
    }
  }

  /** A value that cannot be read is damaged if the store responds. */
  private @Nullable Versioned read(String key, CompletionStage<Optional<Versioned>> reading) {
    try {
      return now(reading).orElse(null);
    } catch (StoreException unreadable) {
      now(kv.get(NOTHING));
      found++;
      report(key, unreadable);
      return null;
    }
  }

  private void report(String key, StoreException wrong) {
    if (damaged.add(key)) {
      damage.accept(String.valueOf(wrong.getMessage()));
    }
  }

  private static <T> T now(CompletionStage<T> stage) {
    try {
      return stage.toCompletableFuture().join();
    } catch (CompletionException failed) {
      throw StoreFailures.of(failed) instanceof StoreException known ? known : failed;
    }
  }

  private void journal(String persistenceId, KvDocument document) {
    ChainCheck check = ChainCheck.after(persistenceId, null);
    document.records().forEach(check::accept);
    check.requireEnd(document.tip());
    if (document.snapshot() != null) {
      requireFits(check, document.snapshot(), document.records());
    }
    if (document.tip().seq() > 0) {
      journals++;
      entries += document.records().size();
    }
  }

  private static void requireFits(
      ChainCheck check, SerializedSnapshot snapshot, List<SerializedEntry> entries) {
    long seq = snapshot.sequenceNr();
    check.requireFits(
        snapshot,
        entries.stream().filter(each -> each.sequenceNr() == seq).findFirst().orElse(null));
    if (!entries.isEmpty() && entries.get(0).sequenceNr() > seq + 1) {
      throw check.missing(seq + 1);
    }
  }

  private void serverKey() {
    Versioned key = read(SERVER_KEY, kv.get(SERVER_KEY));
    if (key == null && found == 0) {
      throw new StoreException(
          kv.name() + " holds nothing of Fermata; name the store that a host uses");
    } else if (key == null || key.value().length != ServerKey.BYTES) {
      report(
          SERVER_KEY,
          new DamagedException(
              "The value of the server key", key == null ? "it is missing" : "it was altered"));
    }
  }
}
