package io.fermata.session.admin;

import io.fermata.flow.replay.ForkException;
import io.fermata.flow.replay.ForkOptions;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * The runs of a store, listed without waking them. The list follows the journals within a second
 * and is never authoritative; after a crash it catches up by itself. An ended run is listed as long
 * as its journal is kept.
 */
public interface Runs {

  /**
   * A page of a list. A search for what is rare ends a page after a bounded number of runs, so it
   * may be short or even empty while another page follows.
   *
   * @param cursor the cursor of the next page; null if there is none
   */
  record Page(List<RunInfo> runs, @Nullable String cursor) {
    public Page {
      runs = List.copyOf(runs);
    }
  }

  /**
   * The counts of a rebuild.
   *
   * @param journals journals that were read
   * @param entered runs that are listed
   * @param removed entries without a run that were removed
   */
  record Rebuilt(long journals, long entered, long removed) {}

  /**
   * Lists the runs of a query, page by page. Pages list every run once, even if runs start and end
   * meanwhile. With a store that cannot list, it fails with a {@link ThreadException}, {@code
   * not_kept}.
   *
   * @throws IllegalArgumentException if the query is invalid
   */
  CompletionStage<Page> list(RunQuery query);

  /**
   * The number of runs of a query, counted up to {@code most}. A search for what is rare examines
   * as many runs as for one page, and counts those that it finds. Fails as {@link #list} does.
   */
  CompletionStage<Integer> count(RunQuery query, int most);

  /** The list entry of a run; empty if there is none. Fails as {@link #list} does. */
  CompletionStage<Optional<RunInfo>> get(String flow, String runId);

  /** Rebuilds the list from the journals, while sessions continue. Fails as {@link #list} does. */
  CompletionStage<Rebuilt> rebuild();

  /**
   * Starts a new run from an entry of another one, in any status; see {@code Fermata.fork}. Fails
   * with a {@link ForkException} where nothing runs.
   */
  default CompletionStage<Fork> fork(String flow, String runId, long entry, ForkOptions options) {
    return CompletableFuture.failedFuture(
        new ForkException(
            "not_running",
            "Runs of a store that is only read cannot be forked; start a host on the store"));
  }

  /** The runs of a store that was opened only for them. */
  interface Opened extends Runs, AutoCloseable {
    @Override
    void close();
  }
}
