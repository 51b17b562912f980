package io.fermata.session.admin;

import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * The runs of a store, listed without waking any. The list follows the journals within a second and
 * is never the truth: after a crash it catches up by itself. A run that has ended is listed for as
 * long as its journal is kept.
 */
public interface Runs {

  /**
   * A part of a list.
   *
   * @param cursor names the next page; null if there is none
   */
  record Page(List<RunInfo> runs, @Nullable String cursor) {
    public Page {
      runs = List.copyOf(runs);
    }
  }

  /**
   * What a rebuild did.
   *
   * @param journals how many it read
   * @param entered runs that are listed
   * @param removed runs that were listed and are none
   */
  record Rebuilt(long journals, long entered, long removed) {}

  /**
   * The runs of a query, page by page. Pages list every run once, whatever starts and ends
   * meanwhile. A store that cannot list fails it with a {@link ThreadException}, {@code not_kept}.
   *
   * @throws IllegalArgumentException if the query makes no sense
   */
  CompletionStage<Page> list(RunQuery query);

  /** What is listed of a run; empty if nothing is. A store that cannot list fails this, too. */
  CompletionStage<Optional<RunInfo>> get(String flow, String runId);

  /**
   * Makes the list anew from the journals. Whoever runs meanwhile is not disturbed. A store that
   * cannot list fails this, too.
   */
  CompletionStage<Rebuilt> rebuild();

  /** The runs of a store that this process has opened for them alone. */
  interface Opened extends Runs, AutoCloseable {
    @Override
    void close();
  }
}
