package io.fermata.session.host;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.persistence.Store;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.session.admin.ThreadException;
import io.fermata.session.journal.Encryption;
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
}
