package io.fermata.session;

import io.fermata.flow.observe.AttachedRecorder;
import io.fermata.flow.observe.Recorder;
import io.fermata.flow.replay.RunJournal;
import io.fermata.session.admin.Retention;
import io.fermata.session.admin.Scrubbing;
import io.fermata.session.archive.Archive;
import io.fermata.session.archive.Recordings;
import io.fermata.session.journal.JournalReplay;
import io.fermata.session.journal.UnreadableEntry;
import io.fermata.session.key.RootCauses;
import io.fermata.session.key.SessionKey;
import java.io.OutputStream;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** The journal of a run in the store of a host; it can be replayed to recorders, too. */
public final class StoredRun extends StoredJournal<RunJournal> {
  private final String flow;
  private final String runId;

  StoredRun(HostParts host, String flow, String runId) {
    super(host);
    this.flow = flow;
    this.runId = runId;
  }

  @Override
  Archive.Header header() {
    return Archive.Header.ofRun(flow, runId);
  }

  @Override
  RunJournal read(StoredJournals stored) {
    return stored.run(flow, runId);
  }

  @Override
  List<String> recording(Scrubbing scrubbing, RunJournal journal) {
    return Recordings.ofRun(host.catalog, host.settings.limits(), scrubbing, journal);
  }

  @Override
  public CompletionStage<Long> record(Scrubbing scrubbing, OutputStream to) {
    host.router.requireFlow(flow);
    return super.record(scrubbing, to);
  }

  /**
   * Replays the journal to recorders, from the start of the run to now, with the same events as
   * live delivery and without its secrets.
   *
   * @return completes when everything is delivered; fails with an {@link IllegalArgumentException}
   *     if the run is unknown, for example after its {@link Retention}, or this release cannot read
   *     its journal; with an {@link IllegalStateException} if the host is closed or a recorder
   *     threw
   */
  public CompletionStage<Void> replay(Recorder... recorders) {
    return replay(Arrays.stream(recorders).map(host.recorders::withoutSecrets).toList());
  }

  /** As {@link #replay}, including secrets. */
  public CompletionStage<Void> replayWithSecrets(Recorder... recorders) {
    return replay(Arrays.stream(recorders).map(AttachedRecorder::everywhere).toList());
  }

  private CompletionStage<Void> replay(List<AttachedRecorder> attached) {
    host.router.requireFlow(flow);
    return host.whileOpen(() -> replayed(attached));
  }

  private CompletionStage<Void> replayed(List<AttachedRecorder> attached) {
    return new JournalReplay(
            host.store,
            host.encryption,
            host.catalog,
            SessionKey.entityOf(flow, runId),
            runId,
            attached,
            host.threads.replies())
        .publish()
        .exceptionallyCompose(thrown -> CompletableFuture.failedFuture(explained(thrown)))
        .thenAccept(
            failures -> {
              if (failures.isEmpty()) {
                throw new IllegalArgumentException(StoredJournals.unknown(STORE, flow, runId));
              } else if (failures.getAsLong() > 0) {
                throw new IllegalStateException(
                    "Recorders threw %s times during the replay of the run %s; see onError of the other recorders"
                        .formatted(failures.getAsLong(), runId));
              }
            });
  }

  private static Throwable explained(Throwable thrown) {
    return RootCauses.of(thrown) instanceof UnreadableEntry why
        ? StoredJournals.unreadable(STORE, why)
        : thrown;
  }
}
