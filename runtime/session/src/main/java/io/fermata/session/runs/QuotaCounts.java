package io.fermata.session.runs;

import io.fermata.persistence.directory.Directory;
import io.fermata.persistence.directory.DirectoryQuery;
import io.fermata.session.admin.RunQuery;
import io.fermata.session.admin.Runs;
import io.fermata.session.key.SessionKey;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The approximate number of what each principal has: of its unfinished runs, or its threads. It is
 * counted in their list, updated by sessions, and recounted now and then, as the list lags behind
 * and erasures and imports are not reported. Until the first count, or if the store cannot list,
 * only what began since is counted.
 */
public final class QuotaCounts {
  /** The number of cached principals; others are recounted. */
  private static final int MOST_PRINCIPALS = 10_000;

  /** The kind of threads in the directory. */
  public static final String THREADS = "thread";

  /** Counts what a principal has in the list, up to a number. */
  public interface Listed {
    CompletionStage<Integer> count(String principal, int most);
  }

  private static final class Count {
    int number;

    /** Whether there are more than were counted, so that one less may still be too many. */
    boolean more;

    /** The change since the list is being read. */
    int meanwhile;

    boolean reading;
    boolean listed;
    long listedAt;
  }

  private final Listed list;
  private final Supplier<CompletionStage<Void>> entered;
  private final int most;
  private final Duration good;
  private final Duration refusing;

  /** Least recently used first. */
  private final Map<String, Count> counts =
      new LinkedHashMap<>(16, 0.75f, true) {
        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Count> eldest) {
          return size() > MOST_PRINCIPALS;
        }
      };

  /**
   * @param entered brings the list up to date
   * @param most the quota of a principal
   */
  public QuotaCounts(Listed list, Supplier<CompletionStage<Void>> entered, int most) {
    this(list, entered, most, Duration.ofMinutes(1), Duration.ofSeconds(2));
  }

  /** Of the runs that have not ended. */
  public static Listed unfinished(Runs runs) {
    return (principal, most) ->
        runs.count(RunQuery.ALL.principal(principal).statuses(RunRow.LIVE), most);
  }

  /** Of the threads in a directory. */
  public static Listed threads(Directory directory) {
    return (principal, most) ->
        directory.count(DirectoryQuery.of(THREADS).belongingTo(SessionKey.lookup(principal)), most);
  }

  /**
   * @param good how long a count is valid
   * @param refusing how long a count is valid while it exceeds the quota
   */
  QuotaCounts(
      Listed list,
      Supplier<CompletionStage<Void>> entered,
      int most,
      Duration good,
      Duration refusing) {
    this.list = list;
    this.entered = entered;
    this.most = most;
    this.good = good;
    this.refusing = refusing;
  }

  public int most() {
    return most;
  }

  /** Whether a principal has reached its quota. */
  public boolean full(String principal) {
    return count(principal, 0) >= most;
  }

  public void began(String principal) {
    count(principal, 1);
  }

  public void ended(String principal) {
    count(principal, -1);
  }

  private int count(String principal, int change) {
    Count count;
    int now;
    synchronized (this) {
      count = counts.computeIfAbsent(principal, first -> new Count());
      if (count.more && change < 0) {
        count.listed = false;
      } else {
        count.number += change;
      }
      count.meanwhile += change;
      now = count.number;
      if (count.reading || isGood(count)) {
        return now;
      }
      count.reading = true;
    }
    read(principal, count, now >= most);
    return now;
  }

  /**
   * @param exact whether to bring the list up to date first; costly, so only before a refusal
   */
  private void read(String principal, Count count, boolean exact) {
    CompletionStage<Void> ready = exact ? entered.get() : CompletableFuture.completedFuture(null);
    ready
        .thenCompose(
            done -> {
              synchronized (this) {
                count.meanwhile = 0;
              }
              return list.count(principal, most == Integer.MAX_VALUE ? most : most + 1);
            })
        .whenComplete((listed, failure) -> counted(count, listed));
  }

  private boolean isGood(Count count) {
    Duration limit = count.number >= most ? refusing : good;
    return count.listed && System.nanoTime() - count.listedAt < limit.toNanos();
  }

  /** If the list could not be read, the next request reads it again. */
  private synchronized void counted(Count count, @Nullable Integer listed) {
    if (listed != null) {
      count.number = listed + count.meanwhile;
      count.more = listed > most;
      count.listedAt = System.nanoTime();
    }
    count.listed = listed != null;
    count.reading = false;
  }
}
