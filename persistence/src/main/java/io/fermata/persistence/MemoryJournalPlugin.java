package io.fermata.persistence;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.function.Consumer;
import org.apache.pekko.dispatch.Futures;
import org.apache.pekko.persistence.AtomicWrite;
import org.apache.pekko.persistence.PersistentRepr;
import org.apache.pekko.persistence.journal.japi.AsyncWriteJournal;
import org.apache.pekko.serialization.Serialization;
import org.apache.pekko.serialization.SerializationExtension;
import org.jspecify.annotations.Nullable;
import scala.concurrent.Future;

/** The journal plugin of a memory store. */
final class MemoryJournalPlugin extends AsyncWriteJournal {

  private final MemoryJournals journals =
      StoreSetups.of(context().system(), MemorySetup.class).journals();
  private final Serialization serialization = SerializationExtension.get(context().system());

  @Override
  public Future<Iterable<Optional<Exception>>> doAsyncWriteMessages(Iterable<AtomicWrite> writes) {
    return result(
        () -> {
          List<Optional<Exception>> rejections = new ArrayList<>();
          for (AtomicWrite write : writes) {
            rejections.add(write(write));
          }
          return rejections;
        });
  }

  private Optional<Exception> write(AtomicWrite write) {
    List<SerializedRecord> records;
    try {
      records = SerializedRecord.all(write, serialization);
    } catch (Exception unserializable) {
      return Optional.of(unserializable);
    }
    journals.append(write.persistenceId(), records);
    return Optional.empty();
  }

  @Override
  public Future<@Nullable Void> doAsyncDeleteMessagesTo(String persistenceId, long toSequenceNr) {
    return result(
        () -> {
          journals.of(persistenceId).deleteTo(toSequenceNr);
          return null;
        });
  }

  @Override
  public Future<@Nullable Void> doAsyncReplayMessages(
      String persistenceId, long from, long to, long max, Consumer<PersistentRepr> replay) {
    return result(
        () -> {
          journals
              .of(persistenceId)
              .read(from, to, max)
              .forEach(record -> replay.accept(record.read(serialization)));
          return null;
        });
  }

  @Override
  public Future<Long> doAsyncReadHighestSequenceNr(String persistenceId, long from) {
    return result(() -> journals.of(persistenceId).highest());
  }

  private static <T extends @Nullable Object> Future<T> result(Callable<T> work) {
    try {
      return Futures.successful(work.call());
    } catch (Exception failure) {
      return Futures.failed(failure);
    }
  }
}
