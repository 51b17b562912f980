package io.fermata.session.host;

import static org.assertj.core.api.Assertions.assertThat;

import com.typesafe.config.ConfigFactory;
import io.fermata.flow.event.RunState;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Limits;
import io.fermata.session.admin.Schedule;
import io.fermata.session.call.FlowCatalog;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolOutcome;
import io.fermata.session.call.ToolReply;
import io.fermata.session.call.ToolUse;
import io.fermata.session.journal.SessionState;
import io.fermata.session.key.HostError;
import io.fermata.session.key.SessionKey;
import io.fermata.session.observe.Meter;
import io.fermata.session.observe.ScheduleObserver;
import io.fermata.session.observe.Telemetry;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Function;
import org.apache.pekko.actor.testkit.typed.javadsl.ActorTestKit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What calls sessions for somebody else repeats a call that met a passing condition of the host.
 */
class TemporaryErrorsTest {
  private static final FlowCatalog NO_FLOWS =
      new FlowCatalog(List.of(), List.of(), List.of(), Limits.DEFAULT);

  private static final ToolUse USE = new ToolUse("refund", "thread", "call");

  @ParameterizedTest
  @EnumSource(
      names = {
        "BUSY",
        "OVERLOADED",
        "STORE_UNAVAILABLE",
        "MOVED",
        "ROLLING_OUT",
        "SHUTTING_DOWN",
        "STILL_WORKING"
      })
  void anAgentFetchesTheOutcomeLater(HostError error) {
    assertThat(outcome(error))
        .isInstanceOfSatisfying(
            ToolOutcome.Unfinished.class,
            later -> assertThat(later.code()).isEqualTo(error.wireName()));
  }

  @ParameterizedTest
  @EnumSource(names = {"INVALID_ARGUMENTS", "TOO_MANY_RUNS", "CALL_TOO_LARGE", "ERASED"})
  void anAgentDoesNotRepeatWhatWouldBeRefusedAgain(HostError error) {
    assertThat(outcome(error)).isInstanceOf(ToolOutcome.Refused.class);
  }

  @ParameterizedTest
  @EnumSource(
      names = {"BUSY", "OVERLOADED", "STORE_UNAVAILABLE", "MOVED", "ROLLING_OUT", "SHUTTING_DOWN"})
  void aFailedUseThatCannotBeEndedNowIsFetchedLater(HostError error) {
    assertThat(failed(ToolReply.refused(error)))
        .isInstanceOfSatisfying(
            ToolOutcome.Unfinished.class,
            later -> assertThat(later.code()).isEqualTo(error.wireName()));
  }

  @ParameterizedTest
  @ValueSource(strings = {"key_missing", "version_changed"})
  void aFailedUseThatOnlyAnotherHostCanEndSaysSo(String code) {
    assertThat(failed(replying("error", code)))
        .isInstanceOfSatisfying(
            ToolOutcome.Refused.class, later -> assertThat(later.code()).isEqualTo(code));
  }

  @Test
  void aFailedUseThatEndsSaysWhyItFailed() {
    for (ToolReply ends :
        List.of(
            replying("error", "still_working"),
            replying("waiting", null),
            replying("complete", null),
            replying("error", "run_cancelled"))) {
      assertThat(failed(ends)).isEqualTo(new ToolOutcome.Result("No.", true));
    }
  }

  @Test
  void aReplyThatIsTooLargeForAMessageIsFetchedLaterIfTheJournalCannotBeRead() {
    assertThat(outcome(HostError.REPLY_TOO_LARGE)).isInstanceOf(ToolOutcome.Refused.class);
    assertThat(
            outcome(
                HostError.REPLY_TOO_LARGE,
                key -> CompletableFuture.failedFuture(new IllegalStateException("away"))))
        .isInstanceOfSatisfying(
            ToolOutcome.Unfinished.class,
            later -> assertThat(later.code()).isEqualTo("store_unavailable"));
  }

  /** The outcome of a use whose step failed, if its withdrawal gets a reply. */
  private static ToolOutcome failed(ToolReply cancelled) {
    return new ToolUses(
            (call, progress) ->
                replyOf(
                    call.arguments().path("action").asText().equals("cancel")
                        ? cancelled
                        : replying("error", "step_failed")),
            NO_FLOWS,
            TemporaryErrorsTest::nothing)
        .again(USE)
        .toCompletableFuture()
        .join();
  }

  private static ToolReply replying(String status, @Nullable String code) {
    return new ToolReply(
        Json.object().put("status", status).put("code", code).put("error", "No."), Json.object());
  }

  private static ToolOutcome outcome(HostError error) {
    return outcome(error, TemporaryErrorsTest::nothing);
  }

  private static ToolOutcome outcome(
      HostError error, Function<SessionKey, CompletionStage<SessionState<RunState>>> ends) {
    return new ToolUses((call, progress) -> replyOf(ToolReply.refused(error)), NO_FLOWS, ends)
        .again(USE)
        .toCompletableFuture()
        .join();
  }

  private static CompletableFuture<ToolReply> replyOf(ToolReply reply) {
    return CompletableFuture.completedFuture(reply);
  }

  @Test
  void anOccurrenceThatMeetsARolloutOrAMovingSessionStartsItsRunAfterwards() {
    ToolReply started = new ToolReply(Json.object().put("status", "complete"), Json.object());
    List<ToolReply> replies =
        List.of(
            ToolReply.refused(HostError.ROLLING_OUT),
            ToolReply.refused(HostError.MOVED),
            started,
            ToolReply.refused(HostError.TOO_MANY_RUNS));
    List<ToolCall> calls = new CopyOnWriteArrayList<>();
    List<String> outcomes = new CopyOnWriteArrayList<>();
    Telemetry telemetry =
        new Telemetry() {
          @Override
          public void measured(Meter meter, double value, List<String> tags) {
            assertThat(meter).isEqualTo(Meter.STARTS);
            assertThat(tags).startsWith("often");
            outcomes.add(tags.get(1));
          }
        };
    Schedule often = Schedule.of("often", "report").every(Duration.ofSeconds(1)).intent("report");
    ActorTestKit kit =
        ActorTestKit.create(
            ConfigFactory.parseString(
                "pekko.persistence.journal.plugin = pekko.persistence.journal.inmem"));
    try {
      kit.spawn(
          ScheduleActor.create(
              often,
              new Rhythm.Every(Duration.ofSeconds(1)),
              call -> {
                calls.add(call);
                return replyOf(replies.get(Math.min(calls.size(), replies.size()) - 1));
              },
              Instant::now,
              Instant.now(),
              telemetry,
              ScheduleObserver.NONE));
      kit.createTestProbe()
          .awaitAssert(Duration.ofMinutes(1), () -> assertThat(outcomes).hasSizeGreaterThan(3));
    } finally {
      kit.shutdownTestKit();
    }
    assertThat(calls.subList(0, 3)).extracting(ToolCall::meta).containsOnly(calls.get(0).meta());
    assertThat(calls.get(3).meta()).isNotEqualTo(calls.get(0).meta());
    assertThat(outcomes).startsWith("delayed", "delayed", "started", "failed");
  }

  private static CompletionStage<SessionState<RunState>> nothing(SessionKey key) {
    return CompletableFuture.completedFuture(SessionState.of(RunState.NONE));
  }
}
