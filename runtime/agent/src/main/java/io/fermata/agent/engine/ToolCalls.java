package io.fermata.agent.engine;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.Agent;
import io.fermata.agent.FlowTool;
import io.fermata.agent.Handoff;
import io.fermata.agent.Offered;
import io.fermata.agent.Prompt;
import io.fermata.agent.SubAgent;
import io.fermata.agent.SubPrompt;
import io.fermata.agent.Tool;
import io.fermata.agent.message.Attachment;
import io.fermata.agent.message.AuthorFailures;
import io.fermata.agent.message.Bounds;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.RequestedCall;
import io.fermata.agent.message.ToolResult;
import io.fermata.agent.model.Usage;
import io.fermata.agent.state.CallState;
import io.fermata.agent.state.ChildThread;
import io.fermata.agent.state.StepFrame;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadInput;
import io.fermata.agent.state.ThreadState;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Violation;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Executes one call of a tool and turns its outcome into changes of the thread. */
public final class ToolCalls {
  static final String NO_TEXT = "Tool executed successfully";
  private static final String NO_REASON = "no reason given";
  static final String ATTACHED = "\nAttachment path: ";

  /** The interval, in milliseconds, at which a flow that continues by itself is polled. */
  private static final long ASK_AGAIN = 2_000;

  /** Until a flow that waits is polled first: its thread is notified when it continues. */
  private static final long FIRST_LOOK = 60_000;

  private static final long LAST_LOOK = 3_600_000;
  private static final int DOUBLINGS = 6;

  private final ChangeRecorder recorder;
  private final RecordingFlowState flow;
  private final StepFrame frame;
  private final CallState call;

  /** How many changes there were before the work of the call began. */
  private int began;

  ToolCalls(ChangeRecorder recorder, StepFrame frame, CallState call) {
    this.recorder = recorder;
    this.frame = frame;
    this.call = call;
    this.flow = new RecordingFlowState(recorder, frame.place());
  }

  static @Nullable Offered offered(
      Agent agent, @Nullable Prompt prompt, String name, boolean anywhere) {
    Offered own = prompt == null ? null : offered(prompt, name);
    return own == null && anywhere ? find(agent.offered(Offered.class), name) : own;
  }

  static @Nullable Offered offered(Prompt prompt, String name) {
    return find(prompt.tools(), name);
  }

  private static @Nullable Offered find(List<? extends Offered> tools, String name) {
    for (Offered offered : tools) {
      if (offered.name().equals(name)) {
        return offered;
      }
    }
    return null;
  }

  /** The arguments of a call; null if they are not a JSON object. */
  public static @Nullable ObjectNode arguments(RequestedCall call) {
    String text = call.function().arguments();
    if (text.isBlank()) {
      return Json.object();
    }
    try {
      return Json.parse(text) instanceof ObjectNode object ? object : null;
    } catch (IllegalArgumentException e) {
      return null;
    }
  }

  static String misfit(String tool, List<Violation> wrong) {
    return wrong.stream()
        .map(violation -> "[" + violation.field() + "] " + violation.message())
        .collect(
            Collectors.joining(
                "; ", "The arguments of " + tool + " are invalid:  ", ". Correct them."));
  }

  /** The error of a call before it is made; null for none. */
  static @Nullable ToolResult refusal(
      @Nullable Prompt prompt, @Nullable Offered offered, RequestedCall call) {
    if (offered == null) {
      List<String> known =
          prompt == null ? List.of() : prompt.tools().stream().map(Offered::name).toList();
      return ToolResult.error(
          "unknown_tool",
          "There is no tool " + call.name() + "; there are " + String.join(", ", known) + ".");
    }
    ObjectNode arguments = arguments(call);
    if (arguments == null) {
      return ToolResult.error(
          "invalid_arguments", "The arguments of " + call.name() + " are not a JSON object.");
    }
    List<Violation> wrong = offered.arguments().check(arguments);
    return wrong.isEmpty()
        ? null
        : ToolResult.error("invalid_arguments", misfit(call.name(), wrong));
  }

  /** The work of a tool. */
  interface Work {
    @Nullable Object on(ObjectNode arguments) throws Exception;
  }

  /** Runs a tool, unless its arguments are invalid. */
  static ToolResult run(Tool tool, ObjectNode arguments, Work work) throws Exception {
    List<Violation> wrong = tool.arguments().check(arguments);
    if (!wrong.isEmpty()) {
      return ToolResult.error("invalid_arguments", misfit(tool.name(), wrong));
    }
    Object result = work.on(tool.arguments().meant(arguments));
    return result instanceof ToolResult ready ? ready : success(result);
  }

  /** The work is done, even if the model cannot be shown what it returned. */
  private static ToolResult success(@Nullable Object result) {
    try {
      return ToolResult.success(result);
    } catch (Throwable e) {
      return noting(ToolResult.success(null), "Its result is left out: ", e);
    }
  }

  private static ToolResult noting(ToolResult result, String what, Throwable why) {
    return result.withText(words(result) + "\n" + what + AuthorFailures.message(why));
  }

  private static String words(ToolResult result) {
    String text = result.text();
    return text == null ? result.failed() ? NO_REASON : NO_TEXT : text;
  }

  /**
   * Executes the call. It blocks no Java thread while a flow runs, as the flow needs threads, too.
   */
  CompletionStage<ThreadInput.Result> make(Offered offered) throws Exception {
    ObjectNode arguments = ChangeRecorder.object(arguments(call.call()));
    if (!call.begun()) {
      recorder.hooks().callStarted(flow, call.call(), arguments);
    }
    began = recorder.count();
    return offered instanceof FlowTool flowCall
        ? asked(flowCall, arguments).thenApply(this::cameTo)
        : CompletableFuture.completedFuture(made(offered, arguments));
  }

  /** Ends the call with what its work did and returned elsewhere; nothing is performed. */
  ThreadInput.Result repeated(List<ThreadEvent.Change> work, ToolResult result) {
    if (!call.begun()) {
      recorder
          .hooks()
          .callStarted(flow, call.call(), ChangeRecorder.object(arguments(call.call())));
    }
    began = recorder.count();
    work.forEach(recorder::write);
    return returned(result);
  }

  private ThreadInput.Result made(Offered offered, ObjectNode arguments) throws Exception {
    if (offered instanceof Tool tool) {
      return returned(run(tool, arguments, args -> recorder.outside().run(tool, flow, args)));
    } else if (offered instanceof SubAgent relation) {
      return delegated(relation, arguments);
    } else if (offered instanceof SubPrompt) {
      return new ThreadInput.Delegated(null, recorder.changes());
    } else if (offered instanceof Handoff handoff && !recorder.outside().allHave(handoff.agent())) {
      return returned(
          ToolResult.error(
              "not_handed_over",
              "The thread was not handed over: not all hosts have the agent %s yet. Try it later"
                  .formatted(handoff.agent())));
    }
    return ended(ToolResult.success("Handoff complete"));
  }

  private CompletionStage<Outside.FlowOutcome> asked(FlowTool called, ObjectNode arguments) {
    CallState.Answer answer = call.answer();
    Outside outside = recorder.outside();
    return answer == null || answer.answers() == null
        ? outside.callFlow(called.name(), call.key(), arguments, attempt())
        : outside.answerFlow(
            called.name(), call.key(), answer.id(), ChangeRecorder.object(answer.answers()));
  }

  private Outside.FlowAttempt attempt() {
    if (call.flowSeen()) {
      return Outside.FlowAttempt.LOOK;
    }
    return call.attempt() > 1 ? Outside.FlowAttempt.REPEATED : Outside.FlowAttempt.FIRST;
  }

  private ThreadInput.Result cameTo(Outside.FlowOutcome outcome) {
    if (outcome instanceof Outside.FlowOutcome.Asking asking) {
      return new ThreadInput.Asks(asking.question(), recorder.changes());
    } else if (outcome instanceof Outside.FlowOutcome.Unfinished later) {
      return new ThreadInput.Later(
          recorder.now() + ASK_AGAIN, null, later.begun(), recorder.changes());
    } else if (outcome instanceof Outside.FlowOutcome.Waiting waiting) {
      return new ThreadInput.Later(next(waiting), waiting.waitsFor(), true, recorder.changes());
    }
    Outside.FlowOutcome.Result result = (Outside.FlowOutcome.Result) outcome;
    result.changes().forEach(recorder::write);
    return returned(
        result.failed() ? ToolResult.error(result.text()) : ToolResult.success(result.text()));
  }

  /** Ever later, as each poll is journaled, but not after the moment that is waited for. */
  private long next(Outside.FlowOutcome.Waiting waiting) {
    long poll = Math.min(LAST_LOOK, FIRST_LOOK << Math.min(call.attempt() - 1, DOUBLINGS));
    Long until = waiting.until();
    long now = recorder.now();
    return until == null ? now + poll : Math.max(now + ASK_AGAIN, Math.min(until, now + poll));
  }

  private static List<ChildThread> of(SubAgent relation, Collection<ChildThread> children) {
    return children.stream().filter(c -> c.relation().equals(relation.name())).toList();
  }

  /** The child that a call names; null if it names none. */
  static @Nullable String reference(CallState call) {
    return ChangeRecorder.object(arguments(call.call())).path("reference").textValue();
  }

  /** The child that a call continues with; null if it needs a new one. */
  static @Nullable String reference(SubAgent relation, CallState call, ThreadState state) {
    ObjectNode arguments = ChangeRecorder.object(arguments(call.call()));
    return reference(relation, arguments, state.children().values());
  }

  private static @Nullable String reference(
      SubAgent relation, ObjectNode arguments, Collection<ChildThread> children) {
    String reference = arguments.path("reference").textValue();
    boolean continues = reference == null && relation.blocking() && relation.maxInstances() == 1;
    List<ChildThread> mine = continues ? of(relation, children) : List.of();
    return mine.isEmpty() ? reference : mine.get(0).threadId();
  }

  private ThreadInput.Result delegated(SubAgent relation, ObjectNode arguments)
      throws InterruptedException {
    List<ChildThread> mine = of(relation, flow.children());
    String child = reference(relation, arguments, mine);
    if (child != null && mine.stream().noneMatch(c -> c.threadId().equals(child))) {
      return returned(
          ToolResult.error(
              "unknown_reference",
              "There is no " + relation.name() + " with the reference " + child));
    }
    if (child == null && relation.maxInstances() > 0 && mine.size() >= relation.maxInstances()) {
      return returned(
          ToolResult.error(
              "too_many_instances",
              "There are already %s of %s; pass the reference of one of them: %s"
                  .formatted(
                      mine.size(),
                      relation.name(),
                      mine.stream().map(ChildThread::threadId).toList())));
    }
    if (child == null && flow.children().size() >= Bounds.CHILDREN) {
      return returned(
          ToolResult.error(
              "too_many_children",
              "The thread has created %s others and cannot create more; pass the reference of one of them"
                  .formatted(Bounds.CHILDREN)));
    }
    ThreadEvent.Created self = recorder.state().begun();
    if (child == null && self.depth() >= Bounds.DEPTH) {
      return returned(
          ToolResult.error(
              "too_deep",
              "Agents put each other to work at most %s levels deep".formatted(Bounds.DEPTH)));
    }
    String message = arguments.path("message").asText();
    ThreadEvent.Parent parent = self.parentFor(relation.name(), call.key());
    String threadId =
        AuthorFailures.await(
            recorder.outside().delegate(relation, self.principal(), parent, child, message));
    if (child == null) {
      ChildThread born =
          new ChildThread(
              threadId,
              relation.name(),
              relation.agent(),
              ChildThread.Status.RUNNING,
              "",
              Usage.ZERO,
              frame.side());
      recorder.write(new ThreadEvent.ChildCreated(born));
      recorder.hooks().subagentCreated(flow, born);
    } else {
      recorder.write(new ThreadEvent.ChildResumed(child, frame.side()));
    }
    return relation.blocking()
        ? new ThreadInput.Delegated(threadId, recorder.changes())
        : returned(ToolResult.success("Reference: " + threadId));
  }

  /**
   * Completes the call with what its work returned, which is kept if the outcome does not determine
   * it. An error never does: a call whose work threw ends alike.
   */
  ThreadInput.Result returned(ToolResult result) {
    int worked = recorder.count();
    ThreadInput.Called ended = ended(result);
    boolean determined =
        began == 0 && OriginalResults.determines(ended, call.key(), worked, result);
    if (determined && !result.failed()) {
      return ended;
    }
    ToolResult kept =
        OriginalResults.small(result)
            ? result
            : determined ? OriginalResults.withoutData(result) : null;
    recorder.insert(worked, new ThreadEvent.ToolReturned(call.key(), worked - began, kept));
    return ended.message() == null
        ? new ThreadInput.Called(null, null, recorder.changes(), List.of())
        : new ThreadInput.Called(
            ended.message(), ended.code(), recorder.before(), recorder.after());
  }

  /** Completes the call with a result. The ids of the start and of the end of a call differ. */
  ThreadInput.Called ended(ToolResult result) {
    recorder.naming(call.key() + ".e");
    if (call.started()) {
      recorder.hooks().callDone(flow, call.call(), result);
    }
    ToolResult kept = recorder.hooks().callEnded(flow, call.call(), result);
    if (kept == null) {
      return new ThreadInput.Called(null, null, recorder.changes(), List.of());
    }
    List<String> paths = new ArrayList<>();
    ToolResult shown = attached(kept, paths);
    Message message =
        recorder.beforeCreate(flow, result(frame, call, shown, paths, recorder.now()));
    recorder.kept(new ThreadEvent.CallEnded(call.key(), message, kept.code(), recorder.now()));
    recorder.afterCreate(flow, message);
    return new ThreadInput.Called(message, kept.code(), recorder.before(), recorder.after());
  }

  /** Keeps the files of a result; one that the thread cannot keep is left out of it. */
  private ToolResult attached(ToolResult result, List<String> paths) {
    ToolResult shown = result;
    for (Attachment file : result.attachments()) {
      String path = OriginalResults.folder(call.key()) + file.name();
      try {
        paths.add(flow.files().write(path, file.mimeType(), file.data()).path());
      } catch (RuntimeException e) {
        shown = noting(shown, "An attachment is left out: ", e);
      }
    }
    return shown;
  }

  /** The end of a call that no hook concerns. */
  static ThreadEvent.CallEnded over(StepFrame frame, CallState call, ToolResult result, long at) {
    Message message = result(frame, call, result, List.of(), at);
    return new ThreadEvent.CallEnded(call.key(), message, result.code(), at);
  }

  /** The message with the result of a call. */
  static Message result(
      StepFrame frame, CallState call, ToolResult result, List<String> paths, long at) {
    StringBuilder text =
        new StringBuilder(result.failed() ? ToolResult.FAILED : "").append(words(result));
    for (String path : paths) {
      text.append(ATTACHED).append(path);
    }
    String content = String.valueOf(Bounds.shortened(text.toString()));
    Message message =
        Message.result(call.call(), frame.side(), content, result.failed(), paths)
            .placed(frame.resultId(call), at * 1000, frame.depth(), frame.parentId());
    return result.code() == null && result.data() == null
        ? message
        : message.withMetadata(details(result));
  }

  private static ObjectNode details(ToolResult result) {
    ObjectNode details = Json.object();
    if (result.code() != null) {
      details.put("code", result.code());
    }
    if (!Bounds.fits(result.data())) {
      details.put("data_left_out", "longer than " + Bounds.DATA + " characters");
    } else if (result.data() != null) {
      details.set("data", result.data());
    }
    return details;
  }
}
