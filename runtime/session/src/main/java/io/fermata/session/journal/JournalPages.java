package io.fermata.session.journal;

import io.fermata.persistence.spi.DamagedException;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.StoredEntry;
import io.fermata.session.key.RootCauses;
import io.fermata.session.key.Stages;
import java.io.NotSerializableException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Reads journals page by page, on threads that may block. A damaged journal fails with a {@link
 * DamagedException}, so that a reader of many can continue with the others.
 */
public final class JournalPages {
  private static final int PAGE = 500;

  private JournalPages() {}

  /** What an entry makes of what the entries before it made. */
  public interface Fold<T> {
    T apply(T before, StoredEntry entry) throws NotSerializableException;
  }

  /**
   * Folds a journal from its first entry to its last.
   *
   * @throws DamagedException if an entry is missing, altered or another journal's
   * @throws NotSerializableException if the fold cannot read one
   */
  public static <T> T fold(OpenStore store, String journal, T initial, Fold<T> fold)
      throws NotSerializableException {
    return fold(store, journal, 1, Long.MAX_VALUE, initial, fold);
  }

  /** As {@link #fold(OpenStore, String, Object, Fold)}, of the entries from one to another. */
  public static <T> T fold(
      OpenStore store, String journal, long from, long to, T initial, Fold<T> fold)
      throws NotSerializableException {
    T folded = initial;
    List<StoredEntry> page = now(store.read(journal, from, PAGE));
    while (!page.isEmpty()) {
      for (StoredEntry entry : page) {
        if (entry.seq() > to) {
          return folded;
        }
        folded = fold.apply(folded, entry);
      }
      long next = page.get(page.size() - 1).seq() + 1;
      page = page.size() < PAGE ? List.of() : now(store.read(journal, next, PAGE));
    }
    return folded;
  }

  /**
   * The entries of a journal, decrypted, each as what is made of it.
   *
   * @throws DamagedException if an entry is missing, altered or another journal's
   * @throws NotSerializableException if one cannot be read
   */
  public static <T> List<T> entries(
      OpenStore store, Encryption encryption, String journal, Function<Entry<?>, T> each)
      throws NotSerializableException {
    return entries(store, encryption, journal, 1, Long.MAX_VALUE, each);
  }

  /** As {@link #entries(OpenStore, Encryption, String, Function)}, of those from one to another. */
  public static <T> List<T> entries(
      OpenStore store,
      Encryption encryption,
      String journal,
      long from,
      long to,
      Function<Entry<?>, T> each)
      throws NotSerializableException {
    List<T> entries = new ArrayList<>();
    return fold(
        store,
        journal,
        from,
        to,
        entries,
        (all, stored) -> {
          all.add(each.apply(encryption.read(journal, stored)));
          return all;
        });
  }

  /**
   * The last entry of a journal; null if it has none.
   *
   * @throws DamagedException if it is not what was written
   */
  public static @Nullable StoredEntry last(OpenStore store, String journal) {
    List<StoredEntry> last = before(store, journal, Long.MAX_VALUE, 1);
    return last.isEmpty() ? null : last.get(0);
  }

  /**
   * Up to max entries of a journal before a number, the latest first.
   *
   * @throws DamagedException if one is not what was written
   */
  public static List<StoredEntry> before(OpenStore store, String journal, long seq, int max) {
    return now(store.readBack(journal, seq, max));
  }

  private static <T> T now(CompletionStage<T> stage) {
    try {
      return Stages.now(stage);
    } catch (CompletionException e) {
      DamagedException damaged = RootCauses.find(e, DamagedException.class);
      throw damaged == null ? e : damaged;
    }
  }
}
