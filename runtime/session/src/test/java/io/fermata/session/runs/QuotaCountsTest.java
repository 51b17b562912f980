package io.fermata.session.runs;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Flow;
import io.fermata.flow.json.Json;
import io.fermata.flow.replay.ForkException;
import io.fermata.flow.replay.ForkOptions;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import io.fermata.session.TestHost;
import io.fermata.session.admin.Fork;
import io.fermata.session.admin.RunInfo;
import io.fermata.session.admin.RunQuery;
import io.fermata.session.admin.Runs;
import io.fermata.session.admin.Settings;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolReply;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** How many runs one principal may have that have not ended. */
@Timeout(60)
class QuotaCountsTest {
  record Note(String text) {}

  private static final Flow<Note> NOTE =
      Flow.of("note", Note.class)
          .description("Asks.")
          .ask("ask_text", q -> q.question("text", "What?"))
          .edge(START, "ask_text")
          .edge("ask_text", END)
          .compile();

  @TempDir Path directory;
  private Fermata host;

  @BeforeEach
  void start() {
    host =
        Fermata.host()
            .store(Store.sqlite(directory.resolve("runs.db")))
            .flow(NOTE)
            .settings(Settings.DEFAULT.unfinishedRuns(3))
            .start();
  }

  @AfterEach
  void stop() {
    host.close();
  }

  private ToolReply call(String principal, String session, ObjectNode arguments) throws Exception {
    ObjectNode meta = Json.object().put("fermata/sessionId", session);
    return host.call(new ToolCall("note", principal, arguments, meta, null))
        .toCompletableFuture()
        .get(60, TimeUnit.SECONDS);
  }

  private String begin(String principal, String session) throws Exception {
    ObjectNode start = Json.object().put("action", "start").put("intent", "to note");
    ToolReply reply = call(principal, session, start);
    return reply.error()
        ? reply.structured().path("code").asText()
        : reply.structured().path("status").asText();
  }

  private void finish(String principal, String session) throws Exception {
    ObjectNode answer = Json.object().put("action", "continue");
    answer.putObject("stateUpdates").put("text", "x");
    assertThat(TestHost.status(call(principal, session, answer))).isEqualTo("complete");
  }

  private void fill() throws Exception {
    for (String session : new String[] {"a", "b", "c"}) {
      assertThat(begin("ann", session)).isEqualTo("interrupt");
    }
  }

  @Test
  void whoHasAsManyAsItMayLearnsHowManyAndMayBeginAnotherWhenOneHasEnded() throws Exception {
    fill();

    ObjectNode start = Json.object().put("action", "start").put("intent", "to note");
    ToolReply refused = call("ann", "d", start);
    assertThat(refused.structured().path("code").asText()).isEqualTo("too_many_runs");
    assertThat(refused.structured().path("error").asText()).contains("3", "Finish");
    assertThat(begin("bob", "d")).isEqualTo("interrupt");
    assertThat(begin("ann", "a")).as("in place of another").isEqualTo("interrupt");
    assertThat(begin("ann", "d")).isEqualTo("too_many_runs");

    finish("ann", "b");
    assertThat(begin("ann", "d")).isEqualTo("interrupt");
    assertThat(begin("ann", "e")).isEqualTo("too_many_runs");
    call("ann", "c", Json.object().put("action", "cancel"));
    assertThat(begin("ann", "e")).isEqualTo("interrupt");
  }

  @Test
  void aForkIsOneMoreUnlessItIsInASandbox() throws Exception {
    fill();
    ToolReply source = call("ann", "a", Json.object().put("action", "status"));
    String runId = source.meta().path("fermata/run").path("runId").asText();

    assertThatThrownBy(() -> fork(runId, ForkOptions.live()))
        .cause()
        .isInstanceOfSatisfying(
            ForkException.class, refused -> assertThat(refused.code()).isEqualTo("too_many_runs"));
    assertThat(fork(runId, ForkOptions.sandbox()).principal()).isEqualTo("ann");

    finish("ann", "b");
    assertThat(fork(runId, ForkOptions.replayEffects()).principal()).isEqualTo("ann");
    assertThat(begin("ann", "d")).isEqualTo("too_many_runs");
  }

  private Fork fork(String runId, ForkOptions options) throws Exception {
    return host.fork("note", runId, 1, options).toCompletableFuture().get(60, TimeUnit.SECONDS);
  }

  @Test
  void theyAreCountedWhenTheHostComesBack() throws Exception {
    fill();
    host.close();
    start();

    // The first call has them counted, which takes a moment.
    while (begin("ann", "d").equals("interrupt")) {
      finish("ann", "d");
      Thread.sleep(20);
    }
    assertThat(begin("ann", "d")).isEqualTo("too_many_runs");
  }

  @Test
  void noneIsNoLimit() {
    assertThatThrownBy(() -> Settings.DEFAULT.unfinishedRuns(0))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("unfinishedRuns");
  }

  @Test
  void aClientMayNotNameItsSessionsLikeThoseOfToolUses() throws Exception {
    fill();
    assertThat(begin("ann", "a.b\n1")).isEqualTo("too_many_runs");
  }

  @Test
  void whatWasCountedWrongIsCountedAgain() {
    Counted list = new Counted();
    QuotaCounts tally =
        new QuotaCounts(
            QuotaCounts.unfinished(list),
            () -> CompletableFuture.completedFuture(null),
            2,
            Duration.ofNanos(1),
            Duration.ofNanos(1));
    list.there = 2;
    tally.full("ann");
    assertThat(tally.full("ann")).as("two are listed").isTrue();

    list.there = 1; // somebody erased one
    tally.full("ann");
    assertThat(tally.full("ann")).isFalse();

    list.there = -1; // the store is away
    tally.began("ann");
    list.there = 2;
    tally.full("ann");
    assertThat(tally.full("ann")).as("read again when the store is back").isTrue();
  }

  @Test
  void oneLessOfTooManyIsStillTooMany() {
    Counted list = new Counted();
    QuotaCounts tally =
        new QuotaCounts(
            QuotaCounts.unfinished(list),
            () -> CompletableFuture.completedFuture(null),
            2,
            Duration.ofMinutes(1),
            Duration.ofMinutes(1));
    list.there = 5;
    tally.full("ann");

    list.there = 3;
    tally.ended("ann");
    tally.ended("ann");
    assertThat(tally.full("ann")).isTrue();

    list.there = 1;
    tally.ended("ann");
    assertThat(tally.full("ann")).as("counted again").isFalse();
  }

  /** A list of so many runs; of less than none where it cannot be read. */
  private static final class Counted implements Runs {
    int there;

    @Override
    public CompletionStage<Page> list(RunQuery query) {
      throw new UnsupportedOperationException();
    }

    @Override
    public CompletionStage<Integer> count(RunQuery query, int most) {
      return there < 0
          ? CompletableFuture.failedFuture(new IllegalStateException("away"))
          : CompletableFuture.completedFuture(Math.min(there, most));
    }

    @Override
    public CompletionStage<Optional<RunInfo>> get(String flow, String runId) {
      throw new UnsupportedOperationException();
    }

    @Override
    public CompletionStage<Rebuilt> rebuild() {
      throw new UnsupportedOperationException();
    }
  }
}
