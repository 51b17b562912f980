package io.fermata.persistence.pekko;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
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

/** Pekko's journal plugin for every store. */
final class JournalPlugin extends AsyncWriteJournal {

  private final StoreJournals journals = StoreSetup.journals(context().system());
  private final Serialization serialization = SerializationExtension.get(context().system());
  private final Executor executor = context().dispatcher();

  @Override
  public Future<Iterable<Optional<Exception>>> doAsyncWriteMessages(Iterable<AtomicWrite> writes) {
    List<CompletableFuture<Optional<Exception>>> all = new ArrayList<>();
    writes.forEach(write -> all.add(write(write).toCompletableFuture()));
    CompletionStage<Iterable<Optional<Exception>>> results =
        CompletableFuture.allOf(all.toArray(CompletableFuture[]::new))
            .thenApply(done -> all.stream().map(CompletableFuture::join).toList());
    return FutureConverters.asScala(results);
  }

  /** A write that cannot be serialized is refused; the others proceed. */
  private CompletionStage<Optional<Exception>> write(AtomicWrite write) {
    List<SerializedEntry> records;
    try {
      records = SerializedEntry.all(write, serialization);
    } catch (Exception unserializable) {
      return CompletableFuture.completedFuture(Optional.of(unserializable));
    }
    return journals.append(write.persistenceId(), records).thenApply(done -> Optional.empty());
  }

  @Override
  public Future<@Nullable Void> doAsyncDeleteMessagesTo(String persistenceId, long toSequenceNr) {
    return FutureConverters.asScala(journals.deleteTo(persistenceId, toSequenceNr));
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
    return FutureConverters.asScala(journals.highest(persistenceId));
  }
}
