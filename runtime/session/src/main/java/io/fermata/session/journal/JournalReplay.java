package io.fermata.session.journal;

import io.fermata.flow.Flow;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.RunState;
import io.fermata.flow.observe.AttachedRecorder;
import io.fermata.flow.record.RunObserver;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.StoredEntry;
import io.fermata.session.call.FlowCatalog;
import io.fermata.session.key.SessionKey;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/**
 * Publishes one run of a journal to recorders, without waking its session. It holds one page of
 * entries at a time, however long the journal is: the next is read once the recorders have those
 * before it.
 */
public final class JournalReplay {
  private final OpenStore store;
  private final Encryption encryption;
  private final FlowCatalog catalog;
  private final String entityId;
  private final String runId;
  private final List<AttachedRecorder> recorders;
  private final Executor executor;

  private RunState state = RunState.NONE;
  private @Nullable Flow<?> by;
  private @Nullable RunObserver observer;
  private long failures;

  /**
   * @param executor runs the recorders
   */
  public JournalReplay(
      OpenStore store,
      Encryption encryption,
      FlowCatalog catalog,
      String entityId,
      String runId,
      List<AttachedRecorder> recorders,
      Executor executor) {
    this.store = store;
    this.encryption = encryption;
    this.catalog = catalog;
    this.entityId = entityId;
    this.runId = runId;
    this.recorders = recorders;
    this.executor = executor;
  }

  /**
   * Reads the journal once. Completes with how often the recorders threw; empty if the run is not
   * in the journal.
   */
  public CompletionStage<OptionalLong> publish() {
    return JournalPages.foldAsync(
            store,
            entityId,
            1,
            0L,
            (last, stored) -> {
              requireNext(last, stored);
              publish(stored);
              return stored.seq();
            },
            executor)
        .thenApply(last -> failures());
  }

  /** A run that ends meanwhile may be swept, or erased. */
  private void requireNext(long last, StoredEntry next) {
    if (last > 0 && next.seq() != last + 1) {
      throw new IllegalStateException(
          "The entries after %s of the run %s were deleted during the replay"
              .formatted(last, runId));
    }
  }

  private OptionalLong failures() {
    return observer == null ? OptionalLong.empty() : OptionalLong.of(failures);
  }

  @SuppressWarnings("unchecked") // the entries of a run hold its events
  private void publish(StoredEntry stored) {
    Entry<Event> entry = (Entry<Event>) encryption.read(entityId, stored);
    if (entry.events().isEmpty()) {
      return;
    }
    RunState after = state.apply(entry.events());
    if (runId.equals(state.runId()) || runId.equals(after.runId())) {
      Flow<?> own = catalog.describing(SessionKey.flowOf(entityId), after);
      if (observer == null || own != by) {
        observer = RunObserver.from(state, own, entityId, recorders).only(runId);
        by = own;
      }
      long before = observer.failures();
      observer.record(stored.seq(), entry.at(), entry.events());
      failures += observer.failures() - before;
    }
    state = after;
  }
}
