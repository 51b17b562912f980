package io.fermata.session;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.flow.Flow;
import io.fermata.flow.QuestionOptions;
import io.fermata.flow.event.Verdict;
import io.fermata.persistence.Store;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.session.call.ToolReply;
import java.nio.file.Path;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A host that starts continues the work that another one left unfinished. */
@Tag("slow")
final class UnfinishedWorkTest {
  /** Two pages, and one more. */
  private static final int SESSIONS = 2 * OpenStore.MAX_ENTRIES + 1;

  /** Calls that begin at a time: more would wait beyond their deadline on a slow machine. */
  private final Semaphore room = new Semaphore(100);

  private final CountDownLatch begun = new CountDownLatch(SESSIONS);
  private final CountDownLatch continued = new CountDownLatch(SESSIONS);
  private final Queue<String> places = new ConcurrentLinkedQueue<>();

  @TempDir Path directory;

  /** Its first attempt to act never ends. */
  private Flow<TestFlows.Trip> trip() {
    return TestFlows.tripAsync(
            run -> {
              if (run.attempt() == 1) {
                begun.countDown();
                room.release();
                return new CompletableFuture<>();
              }
              places.add(run.state().from());
              continued.countDown();
              return CompletableFuture.completedFuture(run.set("price", 3));
            },
            options -> {})
        .compile();
  }

  @Test
  void allSessionsContinueWhenAHostStartsHoweverManyThereAre() throws Exception {
    try (TestHost host = new TestHost(Store.sqlite(directory.resolve("many.db")), trip())) {
      for (int i = 0; i < SESSIONS; i++) {
        assertThat(room.tryAcquire(2, TimeUnit.MINUTES)).as("place %s may begin", i).isTrue();
        TestHost.Client client = host.client();
        // The host is killed before it replies.
        Future<?> unused =
            client.sendLater(
                client.arguments("start").put("intent", "to test"), "from", "place " + i);
      }
      awaitAll(begun);

      host.crash();

      awaitAll(continued);
      assertThat(places).hasSize(SESSIONS).doesNotHaveDuplicates();
    }
  }

  private static Flow<TestFlows.Talk> talk(Consumer<QuestionOptions<TestFlows.Talk>> check) {
    return Flow.of("talk", TestFlows.Talk.class)
        .description("Talks.")
        .ask("ask_word", q -> q.question("word", "Which word?", check))
        .edge(START, "ask_word")
        .edge("ask_word", END)
        .result(talk -> talk)
        .compile();
  }

  @Test
  void anAnswerWhoseCheckWasRunningIsJudgedByTheValidatorThatTheQuestionHasNow() throws Exception {
    CountDownLatch asked = new CountDownLatch(1);
    Flow<TestFlows.Talk> slow =
        talk(
            o ->
                o.validateAsync(
                    (String word) -> {
                      asked.countDown();
                      return new CompletableFuture<>();
                    }));
    Flow<TestFlows.Talk> quick =
        talk(
            o ->
                o.validate(
                    (String word) ->
                        word.equals("no") ? Verdict.reject("Rude.") : Verdict.accept()));
    try (TestHost host = new TestHost(Store.sqlite(directory.resolve("check.db")), slow)) {
      TestHost.Client client = host.client();
      client.start();
      // The host is killed before it replies.
      Future<?> unused = client.proceedLater("word", "no");
      assertThat(asked.await(1, TimeUnit.MINUTES)).isTrue();

      host.crash(quick);

      assertThat(TestHost.field(client.outcome(client.proceed()))).isEqualTo("word");
      ToolReply done = client.proceed("word", "yes");
      assertThat(done.structured().at("/result/word").asText()).as("%s", done).isEqualTo("yes");
    }
  }

  /** However slow the machine is, as long as there are more and more. */
  private static void awaitAll(CountDownLatch sessions) throws InterruptedException {
    long missing = sessions.getCount();
    while (!sessions.await(2, TimeUnit.MINUTES)) {
      assertThat(sessions.getCount())
          .as("of %s sessions are missing", SESSIONS)
          .isLessThan(missing);
      missing = sessions.getCount();
    }
  }
}
