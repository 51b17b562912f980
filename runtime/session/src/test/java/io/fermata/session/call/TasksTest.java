package io.fermata.session.call;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.session.TestHost.eventually;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.FlowTool;
import io.fermata.flow.Flow;
import io.fermata.flow.FlowBuilder;
import io.fermata.flow.action.StepException;
import io.fermata.flow.event.Verdict;
import io.fermata.flow.json.Json;
import io.fermata.flow.schema.Computed;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import io.fermata.session.TestHost;
import io.fermata.session.admin.Retention;
import io.fermata.session.admin.Settings;
import io.fermata.session.call.TaskView.Status;
import io.fermata.session.journal.SessionState;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Runs that outlast the calls that began them, and are looked after by their names. */
@Timeout(120)
@Tag("slow")
class TasksTest {
  record Report(String topic, String colour, @Computed Boolean researched) {}

  @TempDir Path directory;
  private final Semaphore gate = new Semaphore(0);
  private final AtomicInteger undone = new AtomicInteger();
  private final AtomicLong passed = new AtomicLong();
  private Fermata host;

  @BeforeEach
  void start() {
    start(Settings.DEFAULT, Retention.DEFAULT);
  }

  @AfterEach
  void stop() {
    gate.release(100);
    host.close();
  }

  private void start(Settings settings, Retention retention) {
    host =
        Fermata.host()
            .store(Store.sqlite(directory.resolve("tasks.db")))
            .flow(report("long").longRunning().compile())
            .flow(report("late").compile())
            .flow(glance())
            .job(
                FlowTool.of("job", "Researches.", report("job").longRunning().compile())
                    .arguments(topics()))
            .settings(settings)
            .retention(retention)
            .clock(() -> Instant.ofEpochMilli(System.currentTimeMillis() + passed.get()))
            .start();
  }

  /** Waits until the store has been swept: a run that is kept no longer is gone. */
  private void awaitSweep() throws InterruptedException {
    ToolCall call = call("glance", "another");
    TaskRun run = run(call, got(host.call(call)));
    eventually(() -> !known(run));
  }

  private boolean known(TaskRun run) {
    try {
      return !got(host.journals().run(run.tool(), run.runId()).readWithSecrets())
          .entries()
          .isEmpty();
    } catch (AssertionError unknown) {
      return false;
    }
  }

  private static ObjectNode topics() {
    ObjectNode schema = Json.object().put("type", "object");
    schema.putObject("properties").putObject("topic").put("type", "string");
    return schema.put("additionalProperties", false);
  }

  private static Flow<Report> glance() {
    return Flow.of("glance", Report.class)
        .description("Looks.")
        .act("look", run -> {})
        .edge(START, "look")
        .edge("look", END)
        .compile();
  }

  private FlowBuilder<Report> report(String id) {
    return Flow.of(id, Report.class)
        .description("Reports.")
        .act(
            "research",
            run -> {
              gate.acquire();
              if ("taboo".equals(run.state().topic())) {
                throw new StepException("Nobody writes about that.");
              }
              run.set("researched", true);
            })
        .compensate("research", run -> undone.incrementAndGet())
        .ask(
            "ask_style",
            q ->
                q.question("topic", "About what?")
                    .question("colour", "Which colour?", o -> o.validate(TasksTest::judged)))
        .edge(START, "research")
        .edge("research", "ask_style")
        .edge("ask_style", END)
        .result(state -> state.topic() + " in " + state.colour());
  }

  private static Verdict judged(String colour) {
    return colour.equals("grey") ? Verdict.reject("Too dull.") : Verdict.accept();
  }

  private static <T> T got(CompletionStage<T> stage) {
    try {
      return stage.toCompletableFuture().get(60, TimeUnit.SECONDS);
    } catch (Exception e) {
      throw new AssertionError("Nothing came", e);
    }
  }

  private static ToolCall call(String flow, String session) {
    ObjectNode start = Json.object().put("action", "start").put("intent", "to test");
    ObjectNode meta = Json.object().put("fermata/sessionId", session);
    return new ToolCall(flow, "ann", start, meta, null);
  }

  private static TaskRun run(ToolCall call, ToolReply reply) {
    String runId = reply.meta().path("fermata/run").path("runId").asText();
    return new TaskRun(call.principal(), call.tool(), runId);
  }

  /** Begins a run as a task. */
  private TaskRun begin(String flow) {
    ToolCall call = call(flow, "s");
    ToolReply reply = got(host.call(call.takingTask(true), progress -> {}));
    assertThat(reply.task()).as(reply.structured().toString()).isTrue();
    assertThat(reply.meta().path("fermata/run").has("task")).isFalse();
    return run(call, reply);
  }

  private TaskView view(TaskRun run) {
    return got(host.tasks().view(run));
  }

  private TaskView when(TaskRun run, Status status) throws Exception {
    eventually(() -> view(run).status() == status);
    return view(run);
  }

  private static ObjectNode answers(String... updates) {
    ObjectNode answers = Json.object();
    for (int i = 0; i < updates.length; i += 2) {
      answers.put(updates[i], updates[i + 1]);
    }
    return answers;
  }

  private ToolReply answer(TaskRun run, ObjectNode answers) {
    return got(host.tasks().answer(run, answers, view(run).asked()));
  }

  private ToolReply proceed(String flow, String... updates) {
    ToolCall start = call(flow, "s");
    ObjectNode arguments = Json.object().put("action", "continue");
    arguments.set("stateUpdates", answers(updates));
    return got(host.call(new ToolCall(flow, "ann", arguments, start.meta(), null)));
  }

  @Test
  void aRunIsHandedOutWhenItsWorkIsJournaledAndOutlivesTheProcess() throws Exception {
    TaskRun run = begin("long");
    assertThat(view(run).status()).isEqualTo(Status.WORKING);
    assertThat(view(run).keptUntil()).isNull();

    host.crash();
    gate.release(2);
    start();
    TaskView asks = when(run, Status.INPUT_REQUIRED);
    assertThat(asks.reply().structured().path("questions")).hasSize(2);
    assertThat(asks.asked().keySet()).containsExactlyInAnyOrder("topic", "colour");

    host.crash();
    start();
    answer(run, answers("topic", "cats", "colour", "red"));
    TaskView ended = when(run, Status.ENDED);
    assertThat(ended.reply().structured().path("result").asText()).isEqualTo("cats in red");
    assertThat(ended.keptUntil()).isAfter(ended.changedAt());

    host.close();
    start();
    assertThat(view(run).reply().structured().path("result").asText()).isEqualTo("cats in red");
  }

  @Test
  void aCallThatOutlastsItsDeadlineIsHandedOutToWhoTakesIt() throws Exception {
    host.close();
    start(Settings.DEFAULT.callDeadline(Duration.ofMillis(300)), Retention.DEFAULT);
    TaskRun run = begin("late");

    gate.release();
    when(run, Status.INPUT_REQUIRED);
    proceed("late", "topic", "cats", "colour", "red");
    TaskView ended = when(run, Status.ENDED);
    assertThat(ended.reply().structured().path("result").asText()).isEqualTo("cats in red");
  }

  @Test
  void theReplyToAPlainCallerIsKeptForTheTaskAndNotWithoutOne() throws Exception {
    TaskRun run = begin("long");
    gate.release();
    when(run, Status.INPUT_REQUIRED);
    assertThat(TestHost.status(proceed("long", "topic", "cats", "colour", "red")))
        .isEqualTo("complete");
    assertThat(view(run).reply().structured().path("result").asText()).isEqualTo("cats in red");

    gate.release();
    ToolCall plain = call("long", "s");
    TaskRun unkept = run(plain, got(host.call(plain)));
    assertThat(view(run).reply().structured().path("result").asText()).isEqualTo("cats in red");
    proceed("long", "topic", "dogs", "colour", "red");
    assertThat(view(unkept).status()).isEqualTo(Status.UNKNOWN);
  }

  @Test
  void aQuestionThatIsPutAgainHasAnotherNameAndTheOthersKeepTheirs() throws Exception {
    TaskRun run = begin("long");
    gate.release();
    TaskView first = when(run, Status.INPUT_REQUIRED);

    answer(run, answers("colour", "grey"));
    TaskView again = view(run);
    assertThat(again.reply().structured().path("violations").findValuesAsText("message"))
        .containsExactly("Too dull.");
    assertThat(again.asked().get("topic")).isEqualTo(first.asked().get("topic"));
    assertThat(Set.copyOf(again.asked().values())).doesNotContain(first.asked().get("colour"));

    answer(run, answers("colour", "red"));
    assertThat(view(run).asked()).containsOnlyKeys("topic");
  }

  @Test
  void anAnswerIsForTheVeryQuestionThatItWasGivenTo() throws Exception {
    TaskRun run = begin("long");
    gate.release();
    TaskView first = when(run, Status.INPUT_REQUIRED);
    answer(run, answers("colour", "grey"));

    ToolReply late = got(host.tasks().answer(run, answers("colour", "red"), first.asked()));
    assertThat(late.structured().path("code").asText()).isEqualTo("stale_call");
    ToolReply both =
        got(host.tasks().answer(run, answers("topic", "cats", "colour", "red"), first.asked()));
    assertThat(both.structured().path("code").asText()).isEqualTo("stale_call");
    assertThat(view(run).asked()).containsOnlyKeys("topic", "colour");
    got(host.tasks().answer(run, answers("topic", "cats"), first.asked()));
    assertThat(view(run).asked()).containsOnlyKeys("colour");
    got(host.tasks().answer(run, answers("colour", "red"), Map.of()));
    assertThat(view(run).asked()).containsOnlyKeys("colour");
    answer(run, answers("colour", "red"));
    when(run, Status.ENDED);
  }

  @Test
  void aTaskThatIsCancelledIsUndone() throws Exception {
    TaskRun run = begin("long");
    gate.release();
    when(run, Status.INPUT_REQUIRED);

    got(host.tasks().cancel(run));
    when(run, Status.CANCELLED);
    assertThat(undone).hasValue(1);
    got(host.tasks().cancel(run));
    answer(run, answers("topic", "cats"));
    assertThat(view(run).status()).isEqualTo(Status.CANCELLED);
  }

  @Test
  void aTaskWhoseRunGivesWayToAnotherIsCancelled() throws Exception {
    TaskRun run = begin("long");
    gate.release();
    when(run, Status.INPUT_REQUIRED);
    AtomicInteger changes = new AtomicInteger();
    host.tasks().watch(run, changes::incrementAndGet);

    TaskRun next = begin("long");

    TaskView cancelled = view(run);
    assertThat(cancelled.status()).isEqualTo(Status.CANCELLED);
    assertThat(cancelled.keptUntil()).isAfter(cancelled.changedAt());
    assertThat(changes).hasPositiveValue();
    assertThat(view(next).status()).isEqualTo(Status.WORKING);
    host.crash();
    start();
    assertThat(view(run).status()).isEqualTo(Status.CANCELLED);
  }

  @Test
  void theResultOfATaskIsServedForItsTimeWhateverRunsFollowInItsSession() throws Exception {
    Retention none = new Retention(Duration.ZERO, Duration.ZERO);
    host.close();
    start(Settings.DEFAULT, none);
    gate.release(100);
    TaskRun first = begin("long");
    when(first, Status.INPUT_REQUIRED);
    proceed("long", "topic", "cats", "colour", "red");
    TaskRun second = begin("long");
    when(second, Status.INPUT_REQUIRED);
    answer(second, answers("topic", "dogs", "colour", "red"));
    when(second, Status.ENDED);
    for (int i = 0; i < 3; i++) {
      got(host.call(call("long", "s")));
      assertThat(TestHost.status(proceed("long", "topic", "birds", "colour", "red")))
          .isEqualTo("complete");
    }

    awaitSweep();
    host.close();
    start(Settings.DEFAULT, none);
    assertThat(view(first).reply().structured().path("result").asText()).isEqualTo("cats in red");
    assertThat(view(second).reply().structured().path("result").asText()).isEqualTo("dogs in red");
    assertThat(view(second).keptUntil()).isAfter(view(first).changedAt());

    passed.addAndGet(Duration.ofHours(2).toMillis());
    assertThat(view(first).status()).isEqualTo(Status.UNKNOWN);
    when(second, Status.UNKNOWN);
  }

  @Test
  void theEndOfATaskHasTheHandleOfItsSession() throws Exception {
    gate.release(100);
    ToolCall call = new ToolCall("long", "ann", call("long", "s").arguments(), Json.object(), null);
    ToolReply begun = got(host.call(call.takingTask(true), progress -> {}));
    String handle = begun.structured().path("sessionId").asText();
    TaskRun run = run(call, begun);
    when(run, Status.INPUT_REQUIRED);
    answer(run, answers("topic", "cats", "colour", "red"));
    assertThat(sessionId(when(run, Status.ENDED))).isEqualTo(handle);
    call.arguments().put("sessionId", handle).put("action", "continue");
    got(host.call(call));
    assertThat(sessionId(view(run))).as("when its outcome was fetched").isEqualTo(handle);

    call.arguments().put("action", "start");
    TaskRun next = run(call, got(host.call(call.takingTask(true), progress -> {})));
    assertThat(sessionId(view(run))).as("beside another run").isEqualTo(handle);
    got(host.call(call));
    host.crash();
    start();
    assertThat(view(next).status()).isEqualTo(Status.CANCELLED);
    assertThat(sessionId(view(next))).as("once replaced").isEqualTo(handle);
  }

  private static String sessionId(TaskView view) {
    return view.reply().structured().path("sessionId").asText();
  }

  @Test
  void theLatestTasksOfASessionAreKnown() throws Exception {
    gate.release(100);
    List<TaskRun> runs = new ArrayList<>();
    for (int i = 0; i <= SessionState.REMEMBERED_TASKS; i++) {
      runs.add(begin("long"));
    }
    begin("long");

    assertThat(view(runs.get(0)).status()).isEqualTo(Status.UNKNOWN);
    runs.subList(1, runs.size())
        .forEach(run -> assertThat(view(run).status()).isEqualTo(Status.CANCELLED));
  }

  @Test
  void anotherPrincipalFindsNothing() {
    TaskRun run = begin("long");
    TaskRun stolen = new TaskRun("bob", run.tool(), run.runId());

    assertThat(view(stolen).status()).isEqualTo(Status.UNKNOWN);
    got(host.tasks().cancel(stolen));
    assertThat(view(run).status()).isEqualTo(Status.WORKING);
    assertThat(view(new TaskRun("ann", "late", run.runId())).status()).isEqualTo(Status.UNKNOWN);
  }

  @Test
  void aCallThatIsSentAgainIsHandedTheSameRun() throws Exception {
    ToolCall call = call("long", "s");
    call.meta().put("fermata/callId", "once");
    TaskRun run = run(call, got(host.call(call.takingTask(true), progress -> {})));
    ToolReply again = got(host.call(call.takingTask(true), progress -> {}));

    assertThat(again.task()).isTrue();
    assertThat(run(call, again)).isEqualTo(run);
    // The reply does not wait for the handler to get its thread.
    eventually(() -> gate.getQueueLength() > 0);
    assertThat(gate.getQueueLength()).isEqualTo(1);

    ToolCall job = new ToolCall("job", "ann", answers("topic", "x"), call.meta(), null);
    TaskRun begun = run(job, got(host.call(job.takingTask(true), progress -> {})));
    assertThat(run(job, got(host.call(job.takingTask(true), progress -> {})))).isEqualTo(begun);
  }

  @Test
  void aJobThatAskedBeforeItEndedUnseenReturnsItsResultToTheSameCall() throws Exception {
    ToolCall job = new ToolCall("job", "ann", answers("topic", "cats"), Json.object(), null);
    job.meta().put("fermata/callId", "once");
    gate.release();
    ToolReply asks = got(host.call(job));
    assertThat(asks.structured().path("status").asText()).isEqualTo("interrupt");
    TaskRun run = run(job, asks);

    answer(run, answers("colour", "red"));
    when(run, Status.ENDED);

    for (int times = 0; times < 2; times++) {
      ToolReply result = got(host.call(job));
      assertThat(result.error()).as(result.structured().toString()).isFalse();
      assertThat(result.structured().at("/result/text").asText()).contains("cats in red");
      assertThat(run(job, result)).isEqualTo(run);
    }
  }

  @Test
  void theEndOfATaskCanBeFetchedForAWhileWhateverTheHostForgets() throws Exception {
    host.close();
    start(Settings.DEFAULT, new Retention(Duration.ZERO, Duration.ZERO));
    TaskRun run = begin("long");
    gate.release();
    when(run, Status.INPUT_REQUIRED);
    answer(run, answers("topic", "cats", "colour", "red"));
    when(run, Status.ENDED);

    awaitSweep();
    host.close();
    start(Settings.DEFAULT, new Retention(Duration.ZERO, Duration.ZERO));
    TaskView kept = view(run);
    assertThat(kept.status()).isEqualTo(Status.ENDED);
    assertThat(Duration.between(kept.changedAt(), kept.keptUntil())).isEqualTo(Duration.ofHours(1));

    passed.addAndGet(Duration.ofHours(2).toMillis());
    when(run, Status.UNKNOWN);
  }

  @Test
  void aJobTakesPlainArgumentsAndEndsWhereAStepFails() throws Exception {
    ToolContract contract =
        host.tools().stream()
            .filter(tool -> tool.kind() == ToolContract.Kind.JOB)
            .findFirst()
            .orElseThrow();
    assertThat(contract.inputSchema().path("properties").has("topic")).isTrue();

    ToolCall wrong = new ToolCall("job", "ann", answers("tpoic", "x"), Json.object(), null);
    assertThat(got(host.call(wrong)).structured().path("error").asText()).contains("tpoic");

    ToolCall call = new ToolCall("job", "ann", answers("topic", "taboo"), Json.object(), null);
    TaskRun run = run(call, got(host.call(call.takingTask(true), progress -> {})));
    gate.release();
    TaskView failed = when(run, Status.ENDED);
    assertThat(failed.reply().error()).isTrue();
    assertThat(failed.reply().structured().path("error").asText())
        .startsWith("Nobody writes about that.");
  }

  @Test
  void subscribersAreNotifiedWhenARunChanges() throws Exception {
    TaskRun run = begin("long");
    AtomicInteger changes = new AtomicInteger();
    Runnable unwatch = host.tasks().watch(run, changes::incrementAndGet);

    gate.release();
    when(run, Status.INPUT_REQUIRED);
    eventually(() -> changes.get() > 0);
    unwatch.run();
    int notified = changes.get();
    answer(run, answers("topic", "cats", "colour", "red"));
    when(run, Status.ENDED);
    assertThat(changes).hasValue(notified);
  }

  @Test
  void aSubscriberThatThrowsStopsNeitherTheRunNorWhatOthersAreNotifiedOf() throws Exception {
    TaskRun run = begin("long");
    gate.release();
    when(run, Status.INPUT_REQUIRED);
    AtomicInteger changes = new AtomicInteger();
    host.tasks()
        .watch(
            run,
            () -> {
              throw new IllegalStateException("a subscriber's mistake");
            });
    host.tasks().watch(run, changes::incrementAndGet);

    ToolReply reply = proceed("long", "topic", "cats", "colour", "red");

    assertThat(TestHost.status(reply)).isEqualTo("complete");
    assertThat(changes).hasPositiveValue();
  }
}
