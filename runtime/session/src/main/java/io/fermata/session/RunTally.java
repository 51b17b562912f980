package io.fermata.session;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * How many runs each principal has that have not ended. They are counted in the list of runs when
 * the principal is first heard of, and kept up with what sessions journal; until they are counted,
 * and where the store lists no runs, only those are known that began meanwhile.
 */
final class RunTally {
  /** Of how many principals it is known; of the others it is counted again. */
  private static final int MOST_PRINCIPALS = 10_000;

  private static final Set<RunInfo.Status> LIVE =
      Set.of(RunInfo.Status.WORKING, RunInfo.Status.WAITING, RunInfo.Status.STOPPED);

  private static final int PAGE = 500;

  private static final class Count {
    int runs;
  }

  private final Runs runs;
  private final int most;

  /** The one longest unheard of first. */
  private final Map<String, Count> counts =
      new LinkedHashMap<>(16, 0.75f, true) {
        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Count> eldest) {
          return size() > MOST_PRINCIPALS;
        }
      };

  /**
   * @param most how many one principal may have
   */
  RunTally(Runs runs, int most) {
    this.runs = runs;
    this.most = most;
  }

  int most() {
    return most;
  }

  /** Whether a principal has as many as it may. */
  boolean full(String principal) {
    return count(principal, 0) >= most;
  }

  void began(String principal) {
    count(principal, 1);
  }

  void ended(String principal) {
    count(principal, -1);
  }

  /** Runs came or went that no session tells of: all are to be counted again. */
  synchronized void forget() {
    counts.clear();
  }

  private int count(String principal, int change) {
    Count count;
    synchronized (this) {
      count = counts.get(principal);
      if (count != null) {
        count.runs += change;
        return count.runs;
      }
      count = new Count();
      counts.put(principal, count);
      count.runs = change;
    }
    Count fresh = count;
    listed(principal, null, 0)
        .whenComplete(
            (listed, failure) -> {
              if (listed != null) {
                counted(fresh, listed);
              }
            });
    return change;
  }

  private synchronized void counted(Count count, int listed) {
    count.runs += listed;
  }

  /** How many are listed, as far as that matters. */
  private CompletionStage<Integer> listed(String principal, @Nullable String cursor, int before) {
    RunQuery query = RunQuery.ALL.principal(principal).statuses(LIVE).limit(PAGE).cursor(cursor);
    return runs.list(query)
        .thenCompose(
            page -> {
              int all = before + page.runs().size();
              return page.cursor() == null || all >= most
                  ? CompletableFuture.completedFuture(all)
                  : listed(principal, page.cursor(), all);
            });
  }
}
