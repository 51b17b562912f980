package io.fermata.session.journal;

import io.fermata.flow.Flow;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.RunState;
import io.fermata.flow.observe.AttachedRecorder;
import io.fermata.flow.record.RunObserver;
import io.fermata.session.admin.EncryptionException;
import io.fermata.session.call.FlowCatalog;
import io.fermata.session.key.SessionKey;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.PostStop;
import org.apache.pekko.actor.typed.javadsl.ActorContext;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.persistence.typed.EventAdapter;
import org.apache.pekko.persistence.typed.PersistenceId;
import org.apache.pekko.persistence.typed.RecoveryCompleted;
import org.apache.pekko.persistence.typed.RecoveryFailed;
import org.apache.pekko.persistence.typed.SnapshotSelectionCriteria;
import org.apache.pekko.persistence.typed.javadsl.CommandHandler;
import org.apache.pekko.persistence.typed.javadsl.EventHandler;
import org.apache.pekko.persistence.typed.javadsl.EventSourcedBehavior;
import org.apache.pekko.persistence.typed.javadsl.Recovery;
import org.apache.pekko.persistence.typed.javadsl.SignalHandler;

/** Reads the journal of a session from its start, independently of the session. */
public final class JournalReader
    extends EventSourcedBehavior<JournalReader.Done, Entry<Event>, List<Entry<Event>>> {
  /** The journal has been read. */
  record Done() {}

  /** The entries of a journal, and the sequence number of the last. */
  public record Journal(List<Entry<Event>> records, long lastSeq) {

    /**
     * Publishes one run to recorders. Returns how often they threw; empty if the run is not in the
     * journal.
     */
    public OptionalLong publish(
        String entityId, String runId, FlowCatalog catalog, List<AttachedRecorder> recorders) {
      String flow = SessionKey.flowOf(entityId);
      RunState state = RunState.NONE;
      Flow<?> by = null;
      RunObserver recording = null;
      long failures = 0;
      long seq = lastSeq - records.size();
      for (Entry<Event> entry : records) {
        seq++;
        if (!entry.events().isEmpty()) {
          RunState after = state.apply(entry.events());
          if (runId.equals(state.runId()) || runId.equals(after.runId())) {
            Flow<?> own = catalog.describing(flow, after);
            if (recording == null || own != by) {
              recording = RunObserver.from(state, own, entityId, recorders).only(runId);
              by = own;
            }
            long before = recording.failures();
            recording.record(seq, entry.at(), entry.events());
            failures += recording.failures() - before;
          }
          state = after;
        }
      }
      return recording == null ? OptionalLong.empty() : OptionalLong.of(failures);
    }
  }

  private final ActorContext<Done> context;
  private final CompletableFuture<Journal> read;
  private final EntryEncryption encryption;

  private JournalReader(
      String entityId,
      Encryption host,
      ActorContext<Done> context,
      CompletableFuture<Journal> read) {
    super(PersistenceId.ofUniqueId(entityId));
    this.encryption = host.of(entityId);
    this.context = context;
    this.read = read;
  }

  public static Behavior<Done> create(
      String entityId, Encryption host, CompletableFuture<Journal> read) {
    return Behaviors.setup(context -> new JournalReader(entityId, host, context, read));
  }

  @Override
  public List<Entry<Event>> emptyState() {
    return new ArrayList<>();
  }

  @Override
  public Recovery recovery() {
    return Recovery.withSnapshotSelectionCriteria(SnapshotSelectionCriteria.none());
  }

  @Override
  public EventAdapter<Entry<Event>, Object> eventAdapter() {
    return encryption.entries();
  }

  @Override
  public EventHandler<List<Entry<Event>>, Entry<Event>> eventHandler() {
    return (records, entry) -> {
      records.add(entry);
      return records;
    };
  }

  @Override
  public CommandHandler<Done, Entry<Event>, List<Entry<Event>>> commandHandler() {
    return (records, done) -> Effect().stop();
  }

  @Override
  public SignalHandler<List<Entry<Event>>> signalHandler() {
    return newSignalHandlerBuilder()
        .onSignal(RecoveryCompleted.instance(), this::end)
        .onSignal(
            RecoveryFailed.class,
            (records, failed) -> read.completeExceptionally(failed.getFailure()))
        .onSignal(
            PostStop.instance(),
            records ->
                read.completeExceptionally(
                    new IllegalStateException(
                        "The host was closed while it was reading" + " the journal")))
        .build();
  }

  private void end(List<Entry<Event>> records) {
    EncryptionException unreadable = encryption.unreadable();
    if (unreadable != null) {
      read.completeExceptionally(unreadable);
    }
    read.complete(new Journal(List.copyOf(records), lastSequenceNumber(context)));
    context.getSelf().tell(new Done());
  }
}
