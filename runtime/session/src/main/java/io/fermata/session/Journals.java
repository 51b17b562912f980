package io.fermata.session;

import io.fermata.agent.Agent;
import io.fermata.agent.replay.ThreadJournal;
import io.fermata.flow.Flow;
import io.fermata.flow.replay.RunJournal;
import io.fermata.persistence.Store;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.session.admin.ArchiveException;
import io.fermata.session.admin.Imported;
import io.fermata.session.host.BoundedWork;
import io.fermata.session.journal.Encryption;
import java.io.InputStream;
import java.nio.file.Path;
import java.util.Collection;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;

/**
 * The journals of a host as data: each of them to read, export and record, and all of them to copy
 * and to decide again. No session is affected. Once the host is closed, the stages fail with an
 * {@link IllegalStateException}.
 *
 * <pre>{@code
 * host.journals().run("quote", runId).export(out);
 * host.journals().thread(threadId).readWithSecrets();
 * }</pre>
 */
public final class Journals {
  private final HostParts host;
  private final BoundedWork trying = new BoundedWork(1);

  Journals(HostParts host) {
    this.host = host;
  }

  /**
   * The journal of a run. Its export includes other kept runs of the same flow and session.
   *
   * @param runId the run id, as in {@link io.fermata.flow.action.Run#id} and in every observation
   */
  public StoredRun run(String flow, String runId) {
    return new StoredRun(host, flow, runId);
  }

  /** The journal of a thread, without the runs and threads that it started. */
  public StoredJournal<ThreadJournal> thread(String threadId) {
    return new StoredThread(host, threadId);
  }

  /**
   * Reads the journal of a run from a store that no host has open, or that hosts of a cluster have.
   * Encrypted data is read with the keys from the environment.
   *
   * @throws IllegalArgumentException if the store has no journal of the run
   * @throws io.fermata.persistence.spi.StoreException if the store cannot be read
   */
  public static RunJournal readRun(Store store, String flow, String runId) {
    return read(store, stored -> stored.run(flow, runId));
  }

  /**
   * As {@link #readRun}, of a thread.
   *
   * @throws IllegalArgumentException if the store has no journal of the thread
   */
  public static ThreadJournal readThread(Store store, String threadId) {
    return read(store, stored -> stored.thread(threadId));
  }

  private static <T> T read(Store store, Function<StoredJournals, T> reading) {
    try (OpenStore open = store.openToRead()) {
      return reading.apply(new StoredJournals(open, Encryption.ofEnvironment(), store.toString()));
    }
  }

  /**
   * Checks what a release with other flows would do with the runs of this host, and its agents with
   * the threads.
   *
   * @param flows all flows of the release, in all versions, including tools of agents
   */
  public CompletionStage<Rollout> check(Flow<?>... flows) {
    return check(host.agents.all(), flows);
  }

  /** Like {@link #check(Flow...)}, with the agents of the release. */
  public CompletionStage<Rollout> check(Collection<Agent> agents, Flow<?>... flows) {
    return host.whileOpen(
        () ->
            CompletableFuture.supplyAsync(
                () ->
                    Rollout.check(
                        host.store,
                        host.encryption,
                        host.settings.limits(),
                        host.config.clock.instant(),
                        agents,
                        flows),
                host.threads.handlers()));
  }

  /**
   * What other code would have decided in the runs and threads of this host, or of its cluster,
   * while they continue. They are not affected, and one processor is used; the memory is that of a
   * few runs. Keys and limits are those of this host, unless others are given.
   *
   * @return fails with an {@link IllegalStateException} while another one is under way
   */
  public CompletionStage<WhatIfResult> whatIf(WhatIf tried) {
    return host.whileOpen(
        () ->
            trying.begin(
                () -> CompletableFuture.supplyAsync(() -> decided(tried), host.threads.handlers()),
                () ->
                    CompletableFuture.failedFuture(
                        new IllegalStateException(
                            "Another what-if of this host is under way; ask again when it has ended"))));
  }

  private WhatIfResult decided(WhatIf tried) {
    try {
      return tried.over(host.store, host.encryption, host.settings.limits(), host::requireOpen);
    } catch (RuntimeException e) {
      // A store that is being closed fails in its own words.
      host.requireOpen();
      throw e;
    }
  }

  /**
   * Imports a journal from another store. The run or thread continues where it was, with its timers
   * and unfinished work. Everything is validated before anything is written, and waits for that in
   * a temporary file, so a journal may be larger than the memory.
   *
   * <p>Ids do not change: runs, threads and sessions with a client's key are found as before.
   * Session handles of the other store are accepted only with {@link HostBuilder#acceptHandlesOf}.
   *
   * @return fails with an {@link ArchiveException} if the archive is incomplete or inconsistent,
   *     has an unknown format or flow, or if the store already has the run or thread
   */
  public CompletionStage<Imported> importFrom(InputStream from) {
    if (host.cluster != null) {
      return CompletableFuture.failedFuture(
          new ArchiveException(
              "Journals are imported while no cluster has the store open; stop its hosts first"));
    }
    return host.whileOpen(
        () -> host.archives.read(from, host.catalog::has, host.config.clock.millis()));
  }

  /** Copies the store into a new file while it is in use; see {@link OpenStore#backup}. */
  public CompletionStage<Void> backup(Path file) {
    return host.whileOpen(() -> host.store.backup(file).thenAccept(done -> {}));
  }
}
