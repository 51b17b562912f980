package io.fermata.session.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.agent.Agent;
import io.fermata.agent.Prompt;
import io.fermata.agent.message.Bounds;
import io.fermata.agent.message.Message;
import io.fermata.agent.model.Model;
import io.fermata.persistence.Store;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.StoredEntry;
import io.fermata.session.AlteredStore;
import io.fermata.session.Fermata;
import io.fermata.session.ScriptedModels;
import io.fermata.session.admin.ThreadException;
import io.fermata.session.admin.Threads;
import io.fermata.session.journal.Encryption;
import io.fermata.session.key.ThreadKey;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ThreadJournalsTest {
  private static final Threads.MessageQuery TEN = Threads.MessageQuery.latest(10);
  private static final Threads.MessageQuery HUNDRED = Threads.MessageQuery.latest(100);

  @Test
  void aThreadThatIsListedStillHasNoMessagesOnceItsJournalIsErased() {
    try (OpenStore store = Store.memory().open()) {
      ThreadJournals journals =
          new ThreadJournals(store, Encryption.reading(null), Runnable::run, Runnable::run);

      assertThatThrownBy(() -> journals.messages("desk|1", TEN).toCompletableFuture().join())
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
              .mapToObj(i -> journals.messages("desk|" + i, TEN))
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
              .mapToObj(i -> journals.messages("desk|" + i, TEN))
              .map(CompletionStage::toCompletableFuture)
              .toList();
      first.complete(List.of());
      assertThat(asked.get()).isEqualTo(20_000);
      assertThat(pages).allMatch(CompletableFuture::isCompletedExceptionally);
    }
  }

  // --- pages -----------------------------------------------------------------------------------

  @TempDir private Path folder;

  private Store file() {
    return Store.sqlite(folder.resolve("t.db"));
  }

  private Fermata host() {
    Model silent = ScriptedModels.saying("Heard.");
    return Fermata.host()
        .store(file())
        .agent(Agent.aiHuman("desk", Prompt.of("desk", silent)))
        .start();
  }

  private static <T> T now(CompletionStage<T> stage) throws Exception {
    return stage.toCompletableFuture().get(60, TimeUnit.SECONDS);
  }

  /** A thread with so many messages, which nobody answers; its id. */
  private static String thread(Threads threads, int messages, String text) throws Exception {
    String id =
        now(threads.create(
                new Threads.NewThread("ann", "desk", null, Set.of(), Map.of(), List.of())))
            .threadId();
    for (int i = 0; i < messages; i++) {
      now(post(threads, id, text));
    }
    now(threads.settled("ann", id, Duration.ofSeconds(30)));
    return id;
  }

  private static CompletionStage<Threads.Posted> post(Threads threads, String id, String text) {
    Message message = Message.assistant(text);
    return threads.post("ann", id, new Threads.NewMessage(message, List.of(), null));
  }

  @Test
  void aPageOfLongMessagesHasFewerAndThePagesTogetherHaveEachOnce() throws Exception {
    try (Fermata host = host()) {
      String id = thread(host.threads(), 30, "x".repeat(Bounds.TEXT));
      List<String> ids = new ArrayList<>();
      String before = null;
      do {
        Threads.Messages page = now(host.threads().messages("ann", id, HUNDRED.before(before)));
        assertThat(page.messages()).hasSizeBetween(1, 4);
        page.messages().forEach(message -> ids.add(message.id()));
        before = page.before();
      } while (before != null);

      assertThat(ids).hasSize(30).doesNotHaveDuplicates();
    }
  }

  @Test
  void aPageHasNothingThatWasSaidAfterTheViewThatItIsReadAsOf() throws Exception {
    try (Fermata host = host()) {
      Threads threads = host.threads();
      String id = thread(threads, 2, "before");
      Threads.View view = now(threads.get("ann", id));
      now(post(threads, id, "after"));

      assertThat(now(threads.messages("ann", id, HUNDRED.asOf(view))).messages())
          .extracting(Message::content)
          .containsExactly("before", "before");
    }
  }

  @Test
  void aThreadThatIsErasedWhileItIsReadHasNoMessages() throws Exception {
    String id;
    try (Fermata host = host()) {
      id = thread(host.threads(), 40, "hi");
    }
    AtomicInteger asked = new AtomicInteger();
    AlteredStore.Answers erased =
        request ->
            request.is("readBack") && asked.incrementAndGet() > 1
                ? CompletableFuture.completedFuture(List.of())
                : request.ask();
    try (OpenStore store = AlteredStore.of(file(), erased).open()) {
      ThreadJournals journals =
          new ThreadJournals(store, Encryption.reading(null), Runnable::run, Runnable::run);
      String entity = ThreadKey.require(id).entityId();

      assertThatThrownBy(() -> now(journals.messages(entity, HUNDRED)))
          .hasRootCauseInstanceOf(ThreadException.class)
          .hasMessageContaining("deleted");
    }
  }

  /** A journal that is read when the test says so. */
  private record Asked(long before, Runnable read) {
    boolean begins() {
      return before == Long.MAX_VALUE;
    }
  }

  private static Asked asked(
      AlteredStore.Request request, CompletableFuture<@Nullable Object> answer) {
    return new Asked(
        (long) request.argument(1),
        () -> {
          try {
            CompletionStage<?> read = (CompletionStage<?>) Objects.requireNonNull(request.ask());
            answer.complete(read.toCompletableFuture().get(60, TimeUnit.SECONDS));
          } catch (Throwable e) {
            answer.completeExceptionally(e);
          }
        });
  }

  /** Reads pages of a thread at once, and hands over what is read of its journal, in order. */
  @SuppressWarnings("FutureReturnValueIgnored") // the store hands it to its caller
  private List<Asked> reads(String id, int requests, Threads.MessageQuery query) {
    Queue<Asked> waiting = new ConcurrentLinkedQueue<>();
    AlteredStore.Answers answers =
        request -> {
          if (!request.is("readBack")) {
            return request.ask();
          }
          CompletableFuture<@Nullable Object> answer = new CompletableFuture<>();
          waiting.add(asked(request, answer));
          return answer;
        };
    List<Asked> reads = new ArrayList<>();
    try (OpenStore store = AlteredStore.of(file(), answers).open()) {
      ThreadJournals journals =
          new ThreadJournals(store, Encryption.reading(null), Runnable::run, Runnable::run);
      String entity = ThreadKey.require(id).entityId();
      List<CompletableFuture<Threads.Messages>> pages =
          IntStream.range(0, requests)
              .mapToObj(i -> journals.messages(entity, query).toCompletableFuture())
              .toList();
      for (Asked next = waiting.poll(); next != null; next = waiting.poll()) {
        reads.add(next);
        next.read().run();
      }
      assertThat(pages).allMatch(page -> page.isDone() && !page.isCompletedExceptionally());
    }
    return reads;
  }

  @Test
  void aRequestThatHoldsMessagesReadsToItsEndBeforeAnotherBegins() throws Exception {
    String id;
    try (Fermata host = host()) {
      id = thread(host.threads(), 40, "hi");
    }

    List<Asked> reads = reads(id, 20, HUNDRED);

    assertThat(reads.stream().filter(Asked::begins)).hasSize(20);
    int begun = 0;
    int ended = 0;
    for (Asked read : reads) {
      begun += read.begins() ? 1 : 0;
      assertThat(begun - ended).isLessThanOrEqualTo(8);
      ended += read.before() <= 33 ? 1 : 0;
    }
  }

  @Test
  void aRequestThatHasFoundNothingYetLetsOthersBegin() throws Exception {
    String id;
    String oldest;
    try (Fermata host = host()) {
      id = thread(host.threads(), 40, "hi");
      List<Message> all = now(host.threads().messages("ann", id, HUNDRED)).messages();
      oldest = all.get(all.size() - 2).id();
    }

    List<Asked> reads = reads(id, 20, HUNDRED.before(oldest));

    assertThat(reads.subList(0, 20)).allMatch(Asked::begins);
    assertThat(reads).hasSize(40);
  }
}
