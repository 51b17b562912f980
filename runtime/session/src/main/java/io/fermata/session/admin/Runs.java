package io.fermata.session.admin;

import io.fermata.flow.event.Input;
import io.fermata.flow.replay.ForkException;
import io.fermata.flow.replay.ForkOptions;
import io.fermata.session.call.ToolReply;
import io.fermata.session.key.HostError;
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
   * An entry in the journal of a run, in words and without secrets.
   *
   * @param entry its number, at which the run can be forked
   * @param at when it was written, in milliseconds of the epoch
   * @param by what caused it: {@code caller}, {@code signal}, {@code effect}, {@code timer} or
   *     {@code host}; what a call leads to while it is open is its caller's, but for timers that
   *     were set before
   * @param principal the caller; null for other causes
   * @param account what happened, one sentence after another
   */
  record Entry(long entry, long at, String by, @Nullable String principal, List<String> account) {
    public Entry {
      account = List.copyOf(account);
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
   *
   * @throws IllegalArgumentException if the query is invalid, or {@code most} is negative
   */
  CompletionStage<Integer> count(RunQuery query, int most);

  /** The list entry of a run; empty if there is none. Fails as {@link #list} does. */
  CompletionStage<Optional<RunInfo>> get(String flow, String runId);

  /**
   * What happened in the entries of a run, in any status, without its secrets: the earliest of
   * those after a number, at most so many. Fails with a {@link ThreadException}, {@code
   * unknown_run}, if the journal does not have the run.
   */
  default CompletionStage<List<Entry>> entries(String flow, String runId, long after, int limit) {
    return notRunning();
  }

  /**
   * Rebuilds the list from the journals, while sessions continue. In a cluster a host rebuilds the
   * part of the sessions that it runs, so call it at each; it fails if one of them moves meanwhile.
   * Fails as {@link #list} does.
   */
  CompletionStage<Rebuilt> rebuild();

  /**
   * Starts a new run from an entry of another one, in any status; see {@code Fermata.fork}. The
   * reply has no secrets. Fails with a {@link ForkException} where nothing runs.
   */
  default CompletionStage<Fork> fork(String flow, String runId, long entry, ForkOptions options) {
    return CompletableFuture.failedFuture(
        new ForkException(
            HostError.NOT_RUNNING.wireName(),
            "Runs of a store that is only read cannot be forked; start a host on the store"));
  }

  /**
   * What a run is doing, as {@code action: status} replies to its owner, without its secrets.
   * Unlike {@link #get}, it is up to date and wakes the session. The stage does not fail: a run
   * that is not the latest of its session has the error {@code unknown_run}.
   */
  default CompletionStage<ToolReply> status(String flow, String runId) {
    return notRunning();
  }

  /**
   * Cancels a run of anybody and compensates its effects, as its owner could. The reply has no
   * secrets; the stage does not fail.
   *
   * @param by who cancels it, for its journal
   */
  default CompletionStage<ToolReply> cancel(String flow, String runId, String by) {
    return notRunning();
  }

  /**
   * Resolves the step at which a run stopped because its outcome is unknown or its compensation
   * failed, and continues. If the run then ends, its owner fetches the result. The reply has no
   * secrets; the stage does not fail.
   *
   * @param by who resolves it, for its journal
   */
  default CompletionStage<ToolReply> resolve(
      String flow, String runId, Input.Resolution resolution, String by) {
    return resolve(flow, runId, resolution, by, null);
  }

  /**
   * Resolves as without a key, but once: by the time that it is repeated, another step may wait for
   * a decision, so the same resolution under the same key gets the recorded reply, or once that is
   * not kept any more the error {@code stale_call}, or that of a run that has ended. Another
   * resolution under it has the error {@code key_used}.
   *
   * @param key by which {@code by} names this resolution of the run; null for none
   */
  default CompletionStage<ToolReply> resolve(
      String flow, String runId, Input.Resolution resolution, String by, @Nullable String key) {
    return notRunning();
  }

  /** Erases a run, with the journal that it shares; see {@code Fermata.erase}. */
  default CompletionStage<Erased> erase(String flow, String runId) {
    return notRunning();
  }

  /** Erases all runs and threads of a principal; see {@code Fermata.erase}. */
  default CompletionStage<Erased> erasePrincipal(String principal) {
    return notRunning();
  }

  private static <T> CompletionStage<T> notRunning() {
    return CompletableFuture.failedFuture(
        new ThreadException(
            HostError.NOT_RUNNING,
            "Runs of a store that is only read cannot be operated; start a host on the store"));
  }

  /** The runs of a store that was opened only for them. */
  interface Opened extends Runs, AutoCloseable {
    @Override
    void close();
  }
}
