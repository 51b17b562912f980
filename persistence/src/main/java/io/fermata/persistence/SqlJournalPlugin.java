package io.fermata.persistence;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import org.apache.pekko.persistence.AtomicWrite;
import org.apache.pekko.persistence.PersistentRepr;
import org.apache.pekko.persistence.journal.japi.AsyncWriteJournal;
import org.apache.pekko.serialization.Serialization;
import org.apache.pekko.serialization.SerializationExtension;
import org.jspecify.annotations.Nullable;
import scala.concurrent.Future;
import scala.jdk.javaapi.FutureConverters;

/** The journal plugin of a relational database. */
final class SqlJournalPlugin extends AsyncWriteJournal {

  private final SqlJournals journals =
      StoreSetups.of(context().system(), SqlSetup.class).journals();
  private final Serialization serialization = SerializationExtension.get(context().system());
  private final Executor executor = context().dispatcher();

  /** What is being written, which a session that begins anew must not read past. */
  private final Map<String, CompletableFuture<?>> underWay = new ConcurrentHashMap<>();

  @Override
  public Future<Iterable<Optional<Exception>>> doAsyncWriteMessages(Iterable<AtomicWrite> writes) {
    List<CompletableFuture<Optional<Exception>>> all = new ArrayList<>();
    writes.forEach(write -> all.add(write(write)));
    CompletionStage<Iterable<Optional<Exception>>> results =
        CompletableFuture.allOf(all.toArray(CompletableFuture[]::new))
            .thenApply(done -> all.stream().map(CompletableFuture::join).toList());
    return FutureConverters.asScala(results);
  }

  private CompletableFuture<Optional<Exception>> write(AtomicWrite write) {
    List<SerializedRecord> records;
    try {
      records = SerializedRecord.all(write, serialization);
    } catch (Exception unserializable) {
      return CompletableFuture.completedFuture(Optional.of(unserializable));
    }
    String persistenceId = write.persistenceId();
    CompletableFuture<@Nullable Void> appended = journals.append(records);
    underWay.put(persistenceId, appended);
    return appended
        .whenComplete((done, failure) -> underWay.remove(persistenceId, appended))
        .thenApply(done -> Optional.empty());
  }

  @Override
  public Future<@Nullable Void> doAsyncDeleteMessagesTo(String persistenceId, long toSequenceNr) {
    return FutureConverters.asScala(
        journals.deleteTo(persistenceId, toSequenceNr).thenAccept(deleted -> {}));
  }

  @Override
  public Future<@Nullable Void> doAsyncReplayMessages(
      String persistenceId, long from, long to, long max, Consumer<PersistentRepr> replay) {
    return FutureConverters.asScala(
        journals
            .read(persistenceId, from, to, max)
            .thenAcceptAsync(
                records -> records.forEach(record -> replay.accept(record.read(serialization))),
                executor));
  }

  @Override
  public Future<Long> doAsyncReadHighestSequenceNr(String persistenceId, long from) {
    CompletableFuture<?> before = underWay.get(persistenceId);
    return FutureConverters.asScala(
        before == null
            ? journals.highest(persistenceId)
            : before
                .handle((done, failure) -> done)
                .thenCompose(done -> journals.highest(persistenceId)));
  }
}
