package io.fermata.session.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.persistence.Store;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.StoredEntry;
import io.fermata.session.AlteredStore;
import io.fermata.session.admin.ThreadException;
import io.fermata.session.admin.Threads;
import io.fermata.session.journal.Encryption;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class ThreadJournalsTest {
  @Test
  void aThreadThatIsListedStillHasNoMessagesOnceItsJournalIsErased() {
    try (OpenStore store = Store.memory().open()) {
      ThreadJournals journals =
          new ThreadJournals(store, Encryption.reading(null), Runnable::run, Runnable::run);

      assertThatThrownBy(
              () -> journals.messages("desk|1", null, 10, 0, false).toCompletableFuture().join())
          .hasCauseInstanceOf(ThreadException.class)
          .hasMessageContaining("deleted");
    }
  }

  @Test
  void requestsThatReadMessagesTakeTurns() {
    Queue<CompletableFuture<List<StoredEntry>>> asked = new ConcurrentLinkedQueue<>();
    Store slow =
        AlteredStore.of(
            Store.memory(), request -> request.is("readBack") ? waiting(asked) : request.ask());
    try (OpenStore store = slow.open()) {
      ThreadJournals journals =
          new ThreadJournals(store, Encryption.reading(null), Runnable::run, Runnable::run);
      List<CompletableFuture<Threads.Messages>> pages =
          IntStream.range(0, 100)
              .mapToObj(i -> journals.messages("desk|" + i, null, 10, 0, false))
              .map(CompletionStage::toCompletableFuture)
              .toList();
      assertThat(asked).hasSizeLessThan(20);

      int answered = 0;
      for (var next = asked.poll(); next != null; next = asked.poll()) {
        answered++;
        next.complete(List.of());
      }
      assertThat(answered).isEqualTo(100);
      assertThat(pages).allMatch(CompletableFuture::isCompletedExceptionally);
    }
  }

  private static CompletionStage<List<StoredEntry>> waiting(
      Queue<CompletableFuture<List<StoredEntry>>> asked) {
    CompletableFuture<List<StoredEntry>> answer = new CompletableFuture<>();
    asked.add(answer);
    return answer;
  }

  @Test
  void anyNumberOfRequestsMayFailAtOnceWhenTheirTurnComes() {
    CompletableFuture<List<StoredEntry>> first = new CompletableFuture<>();
    AtomicInteger asked = new AtomicInteger();
    Store away =
        AlteredStore.of(
            Store.memory(),
            request ->
                !request.is("readBack")
                    ? request.ask()
                    : asked.incrementAndGet() < 9 ? first : AlteredStore.away());
    try (OpenStore store = away.open()) {
      ThreadJournals journals =
          new ThreadJournals(store, Encryption.reading(null), Runnable::run, Runnable::run);
      List<CompletableFuture<Threads.Messages>> pages =
          IntStream.range(0, 20_000)
              .mapToObj(i -> journals.messages("desk|" + i, null, 10, 0, false))
              .map(CompletionStage::toCompletableFuture)
              .toList();
      first.complete(List.of());
      assertThat(asked.get()).isEqualTo(20_000);
      assertThat(pages).allMatch(CompletableFuture::isCompletedExceptionally);
    }
  }
}
