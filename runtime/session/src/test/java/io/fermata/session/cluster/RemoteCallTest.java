package io.fermata.session.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.Side;
import io.fermata.agent.message.ToolResult;
import io.fermata.agent.model.Usage;
import io.fermata.agent.replay.ThreadJournal;
import io.fermata.agent.state.ChildThread;
import io.fermata.agent.state.HeldWork;
import io.fermata.agent.state.SourceResult;
import io.fermata.agent.state.SourceResults;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadFork;
import io.fermata.agent.state.ThreadInput;
import io.fermata.agent.state.ThreadState;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.ForkOrigin;
import io.fermata.flow.event.Input;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Violation;
import io.fermata.flow.replay.JournalEntry;
import io.fermata.session.actor.SessionCommand;
import io.fermata.session.admin.Threads;
import io.fermata.session.call.CallAction;
import io.fermata.session.call.QuestionIds;
import io.fermata.session.call.ReplyMode;
import io.fermata.session.call.Request;
import io.fermata.session.call.ToolProgress;
import io.fermata.session.journal.Entry;
import io.fermata.session.journal.RunReply;
import io.fermata.session.journal.SessionReply;
import io.fermata.session.journal.ThreadReply;
import io.fermata.session.key.HostError;
import io.fermata.session.key.TraceContext;
import java.math.BigDecimal;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What crosses hosts arrives as it was sent. */
class RemoteCallTest {
  private static final SessionCommand.ReplyTo NOBODY =
      new SessionCommand.ReplyTo() {
        @Override
        public void reply(long id, SessionReply reply) {}

        @Override
        public void progress(long id, ToolProgress progress) {}
      };

  static Stream<Request> requests() {
    ObjectNode answers = Json.object().put("seats", 3).put("price", new BigDecimal("1.50"));
    Request.Only only = new Request.Only("r", 3L, new QuestionIds("r", Map.of("city", "city@ask")));
    Usage usage = new Usage(1, 2, 3, new BigDecimal("0.25"));
    return Stream.of(
        Request.OfRun.of(CallAction.CONTINUE, answers, only),
        Request.OfRun.of(CallAction.STATUS, Json.object(), null),
        new Request.OfRun(
            CallAction.START, "to book", answers, Input.Resolution.SKIP, null, null, null, null),
        Request.OfRun.refused(HostError.INVALID_ARGUMENTS.failure()),
        Request.OfRun.signal(new Request.Signal("r", "paid", answers)),
        Request.OfRun.fork(
            new Request.Fork(List.of(new Event.Signalled("paid", Json.tree("b"), 5)), 2), answers),
        new Request.View(true),
        new Request.ForkThread(
            new ThreadJournal(
                "desk",
                "t",
                List.of(
                    new JournalEntry<>(1, 5, "caller", "ann", List.of(new ThreadEvent.Greeted())))),
            new ThreadInput.Fork(
                new ThreadFork("s", 1, 5, ForkOrigin.Mode.SANDBOX, "ann"),
                "desk",
                Map.of("k", "v"),
                Message.user("hello"),
                new SourceResults(
                    Map.of(
                        "CALL/s1.0",
                        new SourceResult.Work(
                            7,
                            List.of(new ThreadEvent.Unscheduled("e")),
                            ToolResult.success("done")))),
                5),
            true),
        new Request.OfThread(
            new ThreadInput.Create(
                "t",
                "desk",
                "ann",
                Set.of("a"),
                Map.of("k", "v"),
                new ThreadEvent.Parent("p", "child", "s1.0", 2),
                List.of(Message.user("hello")),
                5)),
        new Request.OfThread(new ThreadInput.Post("key", Message.user("more"), List.of(), 5)),
        new Request.OfThread(new ThreadInput.Stop(5)),
        new Request.OfThread(new ThreadInput.Proceed(Side.A, 5)),
        new Request.OfThread(
            new ThreadInput.Answer("s1.0", "s1.0:1", "x", true, answers, "fine", "ann", 5)),
        new Request.OfThread(new ThreadInput.Change(Set.of("b"), Map.of(), 5)),
        new Request.OfThread(new ThreadInput.Delete(5)),
        new Request.OfThread(new ThreadInput.FlowChanged("s1.0", 5)),
        new Request.OfThread(new ThreadInput.Report("c", 1, false, "done", true, "s1.0", usage, 5)),
        new Request.OfThread(new ThreadInput.ChildSpent("c", usage, 5)),
        new Request.OfThread(
            new ThreadInput.ChildStatusChanged("c", 1, ChildThread.Status.RUNNING, 5)),
        new Request.OfThread(new ThreadInput.ChildDeleted("c", usage, 5)));
  }

  @ParameterizedTest
  @MethodSource("requests")
  void aRequestArrivesAsItWasSent(Request request) {
    SessionCommand.Call call =
        new SessionCommand.Call(
            7,
            Entry.Origin.starting("ann", "s"),
            "id",
            true,
            request,
            ReplyMode.TAKES_A_TASK,
            new TraceContext("parent", "state", null),
            NOBODY);
    assertThat(RemoteCall.read(RemoteCall.of(call, "~7").written()).call(7, NOBODY, false))
        .isEqualTo(call);
  }

  /** However often a host sends a request, it must have its effect once. */
  @ParameterizedTest
  @MethodSource("requests")
  void whatWouldHaveAnotherEffectWhenItIsSentAgainHasAnId(Request request) {
    SessionCommand.Call call =
        new SessionCommand.Call(
            7,
            Entry.Origin.caller("ann"),
            null,
            false,
            request,
            ReplyMode.WAITS,
            TraceContext.NONE,
            NOBODY);
    SessionCommand.Call sent =
        RemoteCall.read(RemoteCall.of(call, "~7").written()).call(7, NOBODY, false);
    ThreadInput input = sent.request() instanceof Request.OfThread thread ? thread.input() : null;
    boolean hasKey =
        (input instanceof ThreadInput.Post post && post.key() != null)
            || input instanceof ThreadInput.Answer;
    boolean hasNumber =
        input instanceof ThreadInput.Report
            || input instanceof ThreadInput.ChildStatusChanged
            || input instanceof ThreadInput.ChildSpent;
    boolean happensOnce =
        request instanceof Request.ForkThread
            || input instanceof ThreadInput.Create
            || input instanceof ThreadInput.Delete
            || input instanceof ThreadInput.ChildDeleted;
    boolean changesNothing =
        request.readsOnly()
            || (request instanceof Request.OfRun run && run.action() == CallAction.STATUS);

    assertThat(sent.callId() != null)
        .isNotEqualTo(hasKey || hasNumber || happensOnce || changesNothing);
  }

  @Test
  void aSessionWhoseCallIsSentAgainMayHaveAJournal() {
    SessionCommand.Call call =
        new SessionCommand.Call(
            7,
            Entry.Origin.caller("ann"),
            "id",
            true,
            new Request.View(true),
            ReplyMode.WAITS,
            TraceContext.NONE,
            NOBODY);
    RemoteCall sent = RemoteCall.read(RemoteCall.of(call, "~7").written());
    assertThat(sent.call(7, NOBODY, false).fresh()).isTrue();
    assertThat(sent.call(7, NOBODY, true).fresh()).isFalse();
  }

  /** A new input must be able to reach threads on other hosts, or be the host's own. */
  @Test
  void everyInputThatIsNotAThreadsOwnCanBeSent() {
    Set<Class<?>> own =
        Set.of(
            ThreadInput.EffectEnded.class,
            ThreadInput.EffectDue.class,
            ThreadInput.Recovered.class);
    Set<Class<?>> sent = new HashSet<>(Set.of(ThreadInput.Fork.class));
    requests()
        .filter(Request.OfThread.class::isInstance)
        .forEach(request -> sent.add(((Request.OfThread) request).input().getClass()));
    assertThat(ThreadInput.class.getPermittedSubclasses())
        .filteredOn(type -> !own.contains(type))
        .containsExactlyInAnyOrderElementsOf(sent);
    assertThat(Arrays.asList(Request.class.getPermittedSubclasses()))
        .containsExactlyInAnyOrder(
            Request.OfRun.class,
            Request.OfThread.class,
            Request.ForkThread.class,
            Request.View.class);
  }

  @Test
  void aCallThatFitsIntoNoMessageIsRefusedWithItsSize() {
    assertThat(RemoteCall.tooLarge(new byte[RemoteCall.LARGEST])).isNull();
    Outcome.Failure failure =
        Objects.requireNonNull(RemoteCall.tooLarge(new byte[RemoteCall.LARGEST + 1]));
    assertThat(failure.code()).isEqualTo("call_too_large");
    assertThat(failure.message()).contains("3145729", "3145728", "nothing was done", "Send less");
  }

  @Test
  void aReplyThatFitsIntoNoMessageIsReplacedByAnErrorThatSaysSo() {
    RunReply large =
        new RunReply(Json.object().put("status", "x".repeat(RemoteCall.LARGEST)), Json.object());
    RunReply sent = (RunReply) RemoteCall.readReply(RemoteCall.written(large, "trip|s", false));
    assertThat(sent.body().path("code").asText()).isEqualTo("reply_too_large");
    assertThat(sent.body().path("error").asText()).contains("was handled", "at most 3145728");
  }

  static Stream<SessionReply> replies() {
    return Stream.of(
        new RunReply(Json.object().put("status", "complete"), Json.object().put("seq", 4), true),
        ThreadReply.refused(
            new Outcome.Failure(
                "invalid_arguments",
                "No.",
                "city",
                List.of(new Violation("city", "is missing")),
                null)),
        new ThreadReply(
            ThreadState.NONE,
            Threads.Status.RESTING,
            List.of(
                HeldWork.thread("desk"), new HeldWork(HeldWork.What.CALL, "s1.0", "desk", "pay")),
            4,
            true,
            null));
  }

  @ParameterizedTest
  @MethodSource("replies")
  void aReplyArrivesAsItWasSent(SessionReply reply) {
    assertThat(RemoteCall.readReply(RemoteCall.written(reply))).isEqualTo(reply);
  }
}
