package io.fermata.session.journal;

import io.fermata.agent.replay.ThreadJournal;
import io.fermata.agent.state.EarlierEntries;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.flow.event.RunState;
import io.fermata.flow.replay.RunJournal;
import io.fermata.persistence.spi.DamagedException;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.StoredEntry;
import io.fermata.session.key.RootCauses;
import io.fermata.session.key.SessionKey;
import io.fermata.session.key.Stages;
import io.fermata.session.key.ThreadKey;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.BiFunction;
import java.util.function.BiPredicate;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Reads journals page by page. What returns no stage may block. A damaged journal fails with a
 * {@link DamagedException}, so that a reader of many can continue with the others.
 */
public final class JournalPages {
  /** How many bytes of entries are held at once by what needs them all. */
  public static final long LONGEST_WHOLE = 32 << 20;

  private static final int PAGE = 100;

  /** Smaller, as many journals may be read at once. */
  private static final int PAGE_OF_MANY = 16;

  /** How many bytes of entries a page may have, if the next are as large as the last. */
  private static final int PAGE_BYTES = 4 << 20;

  private JournalPages() {}

  /**
   * Folds a journal from its first entry to its last: what an entry makes of what those before it
   * made.
   *
   * @throws DamagedException if an entry is missing, altered or another journal's
   */
  public static <T> T fold(
      OpenStore store, String journal, T initial, BiFunction<T, StoredEntry, T> fold) {
    return fold(store, journal, 1, initial, (folded, next) -> false, fold);
  }

  /**
   * As {@link #fold(OpenStore, String, Object, BiFunction)}, from an entry on.
   *
   * @param enough whether the next entry and those after it are not needed
   */
  public static <T> T fold(
      OpenStore store,
      String journal,
      long from,
      T initial,
      BiPredicate<T, StoredEntry> enough,
      BiFunction<T, StoredEntry, T> fold) {
    T folded = initial;
    int asked = PAGE_OF_MANY;
    List<StoredEntry> page = now(store.read(journal, from, asked));
    while (!page.isEmpty()) {
      for (StoredEntry entry : page) {
        if (enough.test(folded, entry)) {
          return folded;
        }
        folded = fold.apply(folded, entry);
      }
      if (page.size() < asked) {
        return folded;
      }
      long next = page.get(page.size() - 1).seq() + 1;
      asked = after(page, PAGE);
      page = now(store.read(journal, next, asked));
    }
    return folded;
  }

  /** How many entries to read after a page: fewer, if they are large. */
  private static int after(List<StoredEntry> page, int most) {
    int largest = page.stream().mapToInt(entry -> entry.payload().length).max().orElse(0);
    return Math.max(1, Math.min(most, PAGE_BYTES / Math.max(1, largest)));
  }

  /**
   * As {@link #fold(OpenStore, String, Object, BiFunction)}, from an entry on, without blocking. It
   * fails as the store does, or the fold.
   *
   * @param executor runs the fold
   */
  public static <T> CompletionStage<T> foldAsync(
      OpenStore store,
      String journal,
      long from,
      T initial,
      BiFunction<T, StoredEntry, T> fold,
      Executor executor) {
    return foldAsync(store, journal, from, PAGE_OF_MANY, initial, fold, executor);
  }

  private static <T> CompletionStage<T> foldAsync(
      OpenStore store,
      String journal,
      long from,
      int asked,
      T initial,
      BiFunction<T, StoredEntry, T> fold,
      Executor executor) {
    return store
        .read(journal, from, asked)
        .thenComposeAsync(
            page -> {
              T folded = initial;
              for (StoredEntry entry : page) {
                folded = fold.apply(folded, entry);
              }
              return page.size() < asked
                  ? CompletableFuture.completedFuture(folded)
                  : foldAsync(
                      store,
                      journal,
                      page.get(page.size() - 1).seq() + 1,
                      after(page, PAGE_OF_MANY),
                      folded,
                      fold,
                      executor);
            },
            executor);
  }

  /**
   * The entries of a journal, decrypted, each as what is made of it.
   *
   * @throws DamagedException if an entry is missing, altered or another journal's
   * @throws UnreadableEntry if one cannot be read
   */
  public static <T> List<T> entries(
      OpenStore store, Encryption encryption, String journal, Function<Entry<?>, T> each) {
    return entries(store, encryption, journal, 1, Long.MAX_VALUE, each);
  }

  /** As {@link #entries(OpenStore, Encryption, String, Function)}, of those from one to another. */
  public static <T> List<T> entries(
      OpenStore store,
      Encryption encryption,
      String journal,
      long from,
      long to,
      Function<Entry<?>, T> each) {
    List<T> entries = new ArrayList<>();
    return fold(
        store,
        journal,
        from,
        entries,
        (all, next) -> next.seq() > to,
        (all, stored) -> {
          all.add(each.apply(encryption.read(journal, stored)));
          return all;
        });
  }

  /**
   * The journal of a run; without entries if the store has none of it.
   *
   * @throws UnreadableEntry if an entry cannot be read
   */
  public static RunJournal run(OpenStore store, Encryption encryption, String flow, String runId) {
    String journal = SessionKey.entityOf(flow, runId);
    return RunJournal.of(flow, runId, entries(store, encryption, journal, Entry::ofRun));
  }

  /**
   * The journal of a thread; without entries if the store has none.
   *
   * @throws UnreadableEntry if an entry cannot be read
   */
  public static ThreadJournal thread(OpenStore store, Encryption encryption, ThreadKey key) {
    return new ThreadJournal(
        key.agent(), key.threadId(), entries(store, encryption, key.entityId(), Entry::ofThread));
  }

  /** The entries of a thread's journal as code that is decided again reads them. */
  public static EarlierEntries earlier(OpenStore store, Encryption encryption, String journal) {
    return new EarlierEntries() {
      @Override
      public List<ThreadEvent> entry(long seq) {
        List<List<ThreadEvent>> found = before(seq + 1, 1);
        return found.isEmpty() ? List.of() : found.get(0);
      }

      @Override
      public List<List<ThreadEvent>> before(long seq, int max) {
        return JournalPages.before(store, journal, seq, max).stream()
            .map(stored -> encryption.read(journal, stored).ofThread().events())
            .toList();
      }
    };
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
   * The state of a run's session after the last entry of its journal, from that alone. Only the end
   * of a run says enough; before it, the session is as if it had no journal.
   *
   * @param executor reads the entry
   */
  public static CompletionStage<SessionState<RunState>> ended(
      OpenStore store, Encryption encryption, String journal, Executor executor) {
    SessionState<RunState> none = SessionState.of(RunState.NONE);
    return store
        .readBack(journal, Long.MAX_VALUE, 1)
        .thenApplyAsync(
            page -> {
              Entry<?> last = page.isEmpty() ? null : encryption.read(journal, page.get(0));
              return last == null || last.end() == null ? none : SessionState.replay(none, last);
            },
            executor);
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
