package io.fermata.session.admin;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.MessageUpdate;
import io.fermata.agent.message.RequestedCall;
import io.fermata.agent.message.Side;
import io.fermata.agent.message.ToolResult;
import io.fermata.agent.model.ModelAttempt;
import io.fermata.agent.model.ModelError;
import io.fermata.agent.model.Reasoning;
import io.fermata.agent.model.Usage;
import io.fermata.agent.state.CallState;
import io.fermata.agent.state.ChildThread;
import io.fermata.agent.state.HeldWork;
import io.fermata.agent.state.StepFrame;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadFork;
import io.fermata.agent.state.ThreadMetadata;
import io.fermata.agent.state.ThreadState;
import io.fermata.flow.event.ForkOrigin;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.KindNames;
import io.fermata.session.Golden;
import java.io.IOException;
import java.math.BigDecimal;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** What clients are shown of a thread's events. */
class ThreadJsonTest {
  @Test
  void everyEventIsShownAsItIsWrittenDown() throws IOException {
    List<ThreadEvent> all = events();
    assertThat(all.stream().map(Object::getClass).collect(Collectors.toSet()))
        .as("one of each kind")
        .containsAll(KindNames.of(ThreadEvent.class).values());

    String shown = all.stream().map(ThreadJsonTest::shown).collect(Collectors.joining("\n"));

    if (Golden.writes()) {
      Golden.write("thread-json.txt", shown);
    }
    assertThat(shown).isEqualTo(Golden.read("thread-json.txt"));
  }

  private static String shown(ThreadEvent event) {
    return ThreadJson.notifications(event).stream()
        .map(it -> "\n  " + it.type() + " " + Json.text(it.data()))
        .collect(Collectors.joining("", event.getClass().getSimpleName(), ""));
  }

  /** Of each kind one that has everything, and one that lacks what may be absent. */
  private static List<ThreadEvent> events() {
    List<RequestedCall> calls = List.of(RequestedCall.of("c1", "one", "{}"));
    Message said = Message.assistant("Hi").placed("m1", 1, 0, null);
    Message tool =
        Message.result(calls.get(0), Side.A, "done", false, List.of()).placed("m2", 2, 0, null);
    ObjectNode json = Json.object().put("x", 1);
    Usage usage = new Usage(3, 2, 1, new BigDecimal("0.10"));
    ModelAttempt attempt = new ModelAttempt("gpt", 1, ModelError.RATE_LIMITED, "slow");
    ThreadFork fork = new ThreadFork("t0", 4, 5, ForkOrigin.Mode.SANDBOX, "ann");
    ThreadEvent.StepLog log =
        new ThreadEvent.StepLog(
            "s1",
            "gpt",
            "stop",
            usage,
            List.of(attempt),
            1,
            2,
            null,
            new Reasoning("gpt", "Hm.", json));
    ChildThread child =
        new ChildThread("t9", "helper", "desk", ChildThread.Status.RUNNING, "", usage, Side.A);
    return List.of(
        new ThreadEvent.Created(
            "t1", "desk", "ann", Set.of("b", "a"), Map.of("k", "v"), null, 10, 7),
        new ThreadEvent.ForkedFrom(fork, "desk", 10, null, 7),
        new ThreadEvent.Greeted(),
        new ThreadEvent.Widened(10),
        new ThreadEvent.Deleted(7),
        new ThreadEvent.Received("key", said, 7),
        new ThreadEvent.Taken(said),
        new ThreadEvent.Released(),
        new ThreadEvent.Woke("f1", 7),
        new ThreadEvent.TurnBegan(Side.B, "m1", 1, 2, 7),
        new ThreadEvent.StepBegan("", Side.A, "support", 1, 2, "m1", 7),
        new ThreadEvent.StepEnded("", said, calls, log),
        new ThreadEvent.StepEnded(
            "", Message.assistant(" ").placed("m1", 1, 0, null), List.of(), log),
        new ThreadEvent.StepFailed("", "rate_limited", "slow", List.of(attempt), said, 7),
        new ThreadEvent.StepFailed("", "rate_limited", "slow", List.of(), null, 7),
        new ThreadEvent.FrameOpened("f", "sub", Side.A, 1, "m1", "m2", List.of(said)),
        new ThreadEvent.FrameClosed("f"),
        new ThreadEvent.CallBegan("s1.0", 2, 7),
        new ThreadEvent.CallFailed("s1.0", 2, "broken", 8),
        new ThreadEvent.CallWaits("s1.0", 8, "time", true),
        new ThreadEvent.CallAsked("s1.0", true, json, 7),
        new ThreadEvent.CallAnswered("s1.0", "a1", true, json, "why", "bob", 7),
        new ThreadEvent.CallAnswered("s1.0", "a1", null, null, null, null, 7),
        new ThreadEvent.CallDelegated("s1.0", "t9"),
        new ThreadEvent.CallReturned("s1.0", ToolResult.success("done")),
        new ThreadEvent.CallEnded("s1.0", tool, "code", 7),
        new ThreadEvent.CallEnded("s1.0", tool, null, 7),
        new ThreadEvent.CallDetached("s1.0", "desk", tool, 7),
        new ThreadEvent.CallRemoved("s1.0", 7),
        new ThreadEvent.CallAbandoned("s1.0", "order", "t9", "desk"),
        new ThreadEvent.CallWithdrawn("s1.0"),
        new ThreadEvent.SideTurned(Side.A, Side.B, true),
        new ThreadEvent.HandedOver("billing", 10),
        new ThreadEvent.Stopped(Side.A, "stop_tool", "why", true, 7),
        new ThreadEvent.Stopped(null, "stop_tool", null, false, 7),
        new ThreadEvent.Compacting(1, 7),
        new ThreadEvent.Compacted("so far", "m1", "gpt", usage, 7),
        new ThreadEvent.Compacted(null, null, null, usage, 7),
        new ThreadEvent.EffectBegan("e1", 2, 7),
        new ThreadEvent.EffectDelayed("e1", 2, "broken", 8),
        new ThreadEvent.EffectEnded("e1", "broken", 7),
        new ThreadEvent.EffectEnded("e1", null, 7),
        new ThreadEvent.ChildReported("t9", 1, true, "no", false, "s1.0", 7),
        new ThreadEvent.ChildSpent("t9", usage, 7),
        new ThreadEvent.ChildStatusChanged("t9", 1, ChildThread.Status.ASKING, 7),
        new ThreadEvent.ReportPending(1, false, "yes", null, "s1.0"),
        new ThreadEvent.ChildDeleted("t9", 7),
        new ThreadEvent.Reported(1),
        new ThreadEvent.DeliveryFailed("report", 1, "broken", 8),
        new ThreadEvent.DeliveryBegan("report", 1),
        new ThreadEvent.Said("", said, "m0"),
        new ThreadEvent.Said("", said, null),
        new ThreadEvent.Updated("m1", new MessageUpdate("Ho", true, json)),
        new ThreadEvent.Queued("", calls.get(0)),
        new ThreadEvent.Forced(Side.A),
        new ThreadEvent.StopWanted(Side.A, "state_stop_session", "why"),
        new ThreadEvent.ContextSet("k", json),
        new ThreadEvent.Stored("k", json),
        new ThreadEvent.EnvSet("k", "v"),
        new ThreadEvent.Tagged(Set.of("b", "a")),
        new ThreadEvent.StatusSet("busy"),
        new ThreadEvent.FileWritten("a.txt", "text/plain", new byte[3], 7),
        new ThreadEvent.FileRemoved("a.txt"),
        new ThreadEvent.FileMoved("a.txt", "b.txt"),
        new ThreadEvent.Scheduled("e1", "desk", "mail", json, 8),
        new ThreadEvent.Unscheduled("e1"),
        new ThreadEvent.Emitted("progress", json, 7),
        new ThreadEvent.Emitted("progress", null, 7),
        new ThreadEvent.ChildCreated(child),
        new ThreadEvent.ChildResumed("t9", Side.A),
        new ThreadEvent.HookFailed("h", "p", "broken"),
        new ThreadEvent.ModelReplied("Hi"),
        new ThreadEvent.ToolReturned("s1.0", 1, null));
  }

  @Test
  void aViewAndAListShowWhatIsWrittenDownHereAndNothingElse() {
    Usage usage = new Usage(3, 2, 1, new BigDecimal("0.10"));
    Set<String> tags = Set.of("b", "a");
    ThreadFork fork = new ThreadFork("t0", 4, 5, ForkOrigin.Mode.REPLAY_EFFECTS, "bob");
    Threads.View view =
        new Threads.View(
            new ThreadMetadata("t1", "desk", "front", "ann", tags, 7, "t2", fork),
            new Threads.Progress(Threads.Status.ASKING, Side.A, Side.B, "stop_tool", "why", "busy"),
            List.of(new Threads.Question("q1", "s1.0", "refund", true, Json.object().put("x", 1))),
            List.of(new Threads.Wait("s1.1", "order", "for signal paid")),
            List.of(new HeldWork(HeldWork.What.CALL, "s1.2", "desk", "mail")),
            List.of("m3", "m4"),
            9,
            usage,
            List.of(
                new ChildThread(
                    "t9", "helper", "aide", ChildThread.Status.IDLE, "4", usage, Side.A)),
            12);
    String used =
        """
        {"inputTokens":3,"cachedTokens":2,"outputTokens":1,"cost":0.1}""";
    assertShown(
        ThreadJson.view(view),
        """
        {"threadId":"t1","agent":"desk","origin":"front","tags":["a","b"],"createdAt":7,
         "parent":"t2",
         "fork":{"threadId":"t0","entry":4,"entryAt":5,"mode":"replay_effects","by":"bob"},
         "status":"asking","side":"a","stoppedBy":"b","code":"stop_tool","detail":"why",
         "statusText":"busy",
         "questions":[{"id":"q1","call":"s1.0","tool":"refund","approval":true,"question":{"x":1}}],
         "waits":[{"call":"s1.1","tool":"order","waitsFor":"for signal paid"}],
         "held":[{"what":"call","id":"s1.2","agent":"desk","name":"mail",
           "why":"the agent desk has no tool mail, whose call s1.2 is open"}],
         "waiting":2,"messages":9,"usage":%s,
         "children":[{"threadId":"t9","relation":"helper","agent":"aide","status":"idle","usage":%s}],
         "offset":12}"""
            .formatted(used, used));
    assertShown(
        ThreadJson.view(
            new Threads.View(
                new ThreadMetadata("t1", "desk", "desk", "ann", Set.of(), 7, null, null),
                new Threads.Progress(Threads.Status.RESTING, Side.B, null, null, null, null),
                List.of(),
                List.of(),
                List.of(HeldWork.thread("desk")),
                List.of(),
                0,
                Usage.ZERO,
                List.of(),
                1)),
        """
        {"threadId":"t1","agent":"desk","origin":"desk","tags":[],"createdAt":7,"parent":null,
         "status":"resting","side":"b","stoppedBy":null,"code":null,"detail":null,
         "statusText":null,"questions":[],"waits":[],
         "held":[{"what":"thread","id":null,"agent":"desk","name":null,
           "why":"no agent desk is registered"}],
         "waiting":0,"messages":0,
         "usage":{"inputTokens":0,"cachedTokens":0,"outputTokens":0,"cost":0},
         "children":[],"offset":1}""");
    assertShown(
        ThreadJson.listed(new Threads.Listed("t1", "desk", tags, 7, 8, "asking")),
        """
        {"threadId":"t1","agent":"desk","tags":["a","b"],"createdAt":7,"activeAt":8,
         "status":"asking"}""");
  }

  @Test
  void dataThatIsTheValueNullIsShownAndDataThatIsMissingIsNot() {
    assertShown(
        ThreadJson.notifications(new ThreadEvent.Emitted("done", Json.parse("null"), 7))
            .get(0)
            .data(),
        """
        {"type":"done","data":null,"at":7}""");
    assertShown(
        ThreadJson.notifications(new ThreadEvent.Emitted("done", null, 7)).get(0).data(),
        """
        {"type":"done","at":7}""");
  }

  /** Whatever the order of the members. */
  private static void assertShown(JsonNode shown, String expected) {
    assertThat(Json.parse(Json.text(shown))).isEqualTo(Json.parse(expected));
  }

  @Test
  void theEndOfAStepNamesItsCallsAsTheEventsAndAnswersAboutThemDo() {
    List<RequestedCall> calls =
        List.of(RequestedCall.of("c1", "one", "{}"), RequestedCall.of("c2", "two", "{}"));
    ThreadEvent.StepEnded ended =
        new ThreadEvent.StepEnded(
            StepFrame.TOP,
            Message.assistant("Let me see.").withToolCalls(calls).placed("m-s1", 1, 0, null),
            calls,
            new ThreadEvent.StepLog("s1", "m", "stop", Usage.ZERO, List.of(), 1, 2, null, null));
    ThreadState state =
        ThreadState.NONE.apply(
            List.of(
                new ThreadEvent.Created("t1", "desk", "ann", Set.of(), Map.of(), null, 10, 1),
                new ThreadEvent.StepBegan(StepFrame.TOP, Side.A, "desk", 1, 1, "m-s1", 1),
                ended),
            1);

    JsonNode shown =
        ThreadJson.notifications(ended).stream()
            .filter(it -> it.type().equals("step.ended"))
            .findFirst()
            .orElseThrow()
            .data();

    assertThat(shown.path("calls"))
        .extracting(call -> call.path("call").textValue())
        .containsExactly("s1.0", "s1.1")
        .containsExactlyElementsOf(
            Objects.requireNonNull(state.frames().get(StepFrame.TOP)).calls().stream()
                .map(CallState::key)
                .toList());
  }
}
