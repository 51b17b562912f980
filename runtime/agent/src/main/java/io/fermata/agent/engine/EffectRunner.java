package io.fermata.agent.engine;

import com.fasterxml.jackson.databind.JsonNode;
import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.data.message.AiMessage;
import io.fermata.agent.Agent;
import io.fermata.agent.Agents;
import io.fermata.agent.BlockedException;
import io.fermata.agent.CancelledException;
import io.fermata.agent.Compaction;
import io.fermata.agent.FlowTool;
import io.fermata.agent.Hook;
import io.fermata.agent.Offered;
import io.fermata.agent.OutcomeUnknownException;
import io.fermata.agent.Participant;
import io.fermata.agent.Prompt;
import io.fermata.agent.ScheduledHandler;
import io.fermata.agent.SubAgent;
import io.fermata.agent.Tool;
import io.fermata.agent.message.AuthorFailures;
import io.fermata.agent.message.Bounds;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.MessageDelta;
import io.fermata.agent.message.RequestedCall;
import io.fermata.agent.message.Side;
import io.fermata.agent.model.ModelAttempt;
import io.fermata.agent.model.ModelException;
import io.fermata.agent.model.ModelListener;
import io.fermata.agent.model.ModelReply;
import io.fermata.agent.model.Reasoning;
import io.fermata.agent.state.CallState;
import io.fermata.agent.state.RequestDigest;
import io.fermata.agent.state.ScheduledEffect;
import io.fermata.agent.state.SourceResult;
import io.fermata.agent.state.StepFrame;
import io.fermata.agent.state.ThreadEffect;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadFold;
import io.fermata.agent.state.ThreadInput;
import io.fermata.agent.state.ThreadState;
import io.fermata.flow.json.Failures;
import io.fermata.flow.json.Json;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Runs one effect of a thread: calls its models, tools and hooks. */
final class EffectRunner {
  /** How many messages one summary covers at most. */
  private static final int MOST_SUMMED = 4_096;

  private final Agents agents;
  private final Agent agent;
  private final ThreadState state;
  private final Outside outside;
  private final Function<Prompt, StepRequest.OfferedTools> tools;

  EffectRunner(
      Agents agents,
      ThreadState state,
      Outside outside,
      Function<Prompt, StepRequest.OfferedTools> tools) {
    this.agents = agents;
    Agent known = agents.find(state.agent());
    // The effects of a thread whose agent was removed need only its name.
    this.agent =
        known == null
            ? Agent.of(state.agent(), Participant.code((flow, message) -> {}), Participant.person())
            : known;
    this.state = state;
    this.outside = outside;
    this.tools = tools;
  }

  /** Blocks no Java thread while it waits; the stage never fails. */
  CompletionStage<ThreadInput.Result> of(ThreadEffect effect) {
    try {
      return switch (effect.kind()) {
        case CALL -> call(effect).exceptionally(EffectRunner::failed);
        case WITHDRAW -> withdraw(effect).exceptionally(EffectRunner::failed);
        case REPORT -> report().exceptionally(EffectRunner::failed);
        case ERASE -> erase().exceptionally(EffectRunner::failed);
        default -> CompletableFuture.completedFuture(at(effect));
      };
    } catch (Throwable e) {
      return CompletableFuture.completedFuture(failed(e));
    }
  }

  private ThreadInput.Result at(ThreadEffect effect) throws Exception {
    return switch (effect.kind()) {
      case GREET -> greet();
      case RECEIVE -> receive(effect);
      case STEP -> step(effect);
      case HANDLE -> handle(effect);
      case STORE -> store(effect);
      case DEFERRED -> deferred(effect);
      case COMPACT -> compact(effect);
      case CALL, LOOK, WITHDRAW, REPORT, EXPIRE, ERASE ->
          throw new IllegalArgumentException(effect + " waits for others");
    };
  }

  /** Fatal errors are results, too: an effect without a result would never end. */
  private static ThreadInput.Result failed(Throwable thrown) {
    Throwable cause = AuthorFailures.cause(thrown);
    if (cause instanceof InterruptedException || cause instanceof CancelledException) {
      Thread.currentThread().interrupt();
      return new ThreadInput.Failed("cancelled", "The work was cancelled", null);
    } else if (cause instanceof OutcomeUnknownException) {
      return new ThreadInput.Failed(
          OutcomeUnknownException.CODE, AuthorFailures.message(cause), Failures.text(cause));
    }
    return new ThreadInput.Failed(
        "failed", AuthorFailures.message(cause), Failures.text(cause), cause);
  }

  private ChangeRecorder recorder(@Nullable Prompt prompt, String origin, int attempt) {
    return new ChangeRecorder(
        agents, agent, state, HookRunner.of(agents, agent, prompt), outside, origin, attempt);
  }

  private ThreadInput.Result greet() {
    ChangeRecorder recorder = recorder(null, "greet", 1);
    recorder.hooks().threadCreated(new RecordingFlowState(recorder, StepFrame.TOP));
    return new ThreadInput.Done(recorder.changes());
  }

  private ThreadInput.Result receive(ThreadEffect effect) {
    Message message =
        state.inbox().stream()
            .filter(m -> m.id().equals(effect.id()))
            .findFirst()
            .orElseThrow(() -> new IllegalStateException("The message is no longer there"));
    ChangeRecorder recorder =
        new ChangeRecorder(
            agents,
            agent,
            state,
            TurnLoop.hooks(agents, state, message),
            outside,
            effect.id(),
            effect.attempt());
    RecordingFlowState flow = new RecordingFlowState(recorder, StepFrame.TOP);
    Message changed = recorder.beforeCreate(flow, message);
    recorder.kept(new ThreadEvent.Taken(changed));
    recorder.afterCreate(flow, changed);
    return new ThreadInput.Admitted(changed, recorder.before(), recorder.after());
  }

  // --- steps -----------------------------------------------------------------------------------

  private ThreadInput.Result step(ThreadEffect effect) throws InterruptedException {
    StepFrame frame =
        state.frames().values().stream()
            .filter(f -> effect.id().equals("s" + f.step()))
            .findFirst()
            .orElseThrow(() -> new IllegalStateException("The step is no longer there"));
    Prompt prompt = ChangeRecorder.prompt(agent, frame);
    if (prompt == null) {
      throw new IllegalStateException(
          "The agent %s has no prompt %s any more".formatted(agent.name(), frame.prompt()));
    }
    Optional<String> overspent = overspent();
    if (overspent.isPresent()) {
      return new ThreadInput.Overspent(overspent.get());
    }
    ChangeRecorder recorder = recorder(prompt, effect.id(), effect.attempt());
    RecordingFlowState flow = new RecordingFlowState(recorder, frame.path());
    long began = outside.now();
    try {
      StepRequest request =
          StepRequest.of(prompt, tools.apply(prompt), frame, state, recorder, flow);
      String messageId = Objects.requireNonNull(frame.messageId());
      SourceResult.Reply known = state.sourceResults().reply(effect.id(), request.digest());
      ModelReply reply =
          known == null
              ? outside.ask(prompt.model(), request.chat(), listener(recorder.hooks(), messageId))
              : RecordedEffect.reply(known);
      return replied(frame, recorder, flow, request.digest(), reply, began);
    } catch (BlockedException e) {
      Message said =
          Message.of(frame.side().role(), AuthorFailures.reason(e))
              .placed(
                  String.valueOf(frame.messageId()),
                  outside.now() * 1000,
                  frame.depth(),
                  frame.parentId());
      Message message = recorder.beforeCreate(flow, said);
      recorder.kept(new ThreadEvent.Said(frame.path(), message, null));
      recorder.afterCreate(flow, message);
      return new ThreadInput.Blocked(message, recorder.before(), recorder.after());
    } catch (ModelException e) {
      return new ThreadInput.Unanswered(
          e.code().wireName(), AuthorFailures.reason(e), e.attempts(), e);
    }
  }

  /** Asks before every call of a model, as the thread's ancestors spend, too. */
  private Optional<String> overspent() throws InterruptedException {
    ThreadEvent.Parent parent = state.begun().parent();
    return parent == null
        ? Optional.empty()
        : AuthorFailures.await(outside.spent(parent, state.usage()));
  }

  /** What a hook may change is published when it is a message, not before. */
  private ModelListener listener(HookRunner hooks, String messageId) {
    if (hooks.has(Hook.BeforeCreateMessage.class)) {
      // Not NONE: without a stream, no stall of the model would be noticed.
      return new ModelListener() {};
    }
    return new ModelListener() {
      @Override
      public void text(String delta) {
        outside.publish(new MessageDelta(messageId, "text", delta));
      }

      @Override
      public void thinking(String delta) {
        outside.publish(new MessageDelta(messageId, "thinking", delta));
      }

      @Override
      public void attempt(ModelAttempt failed) {
        outside.publish(new MessageDelta(messageId, "void", failed.code().wireName()));
      }
    };
  }

  private ThreadInput.Result replied(
      StepFrame frame,
      ChangeRecorder recorder,
      RecordingFlowState flow,
      RequestDigest asked,
      ModelReply reply,
      long began) {
    List<RequestedCall> calls = calls(reply.message(), frame, recorder.state());
    boolean cutOff = ModelReply.cutOff(reply.finish());
    String content = content(reply.message(), frame, cutOff ? withoutLast(calls) : calls);
    Message said =
        Message.of(frame.side().role(), Bounds.shortened(content))
            .withToolCalls(calls)
            .from("s" + frame.step())
            .placed(
                String.valueOf(frame.messageId()),
                outside.now() * 1000,
                frame.depth(),
                frame.parentId());
    if (cutOff) {
      said = said.withMetadata(Json.object().put("finish", reply.finish()));
    }
    boolean nothing = calls.isEmpty() && ThreadFold.blank(content);
    int before = recorder.count();
    Message message = nothing ? said : recorder.beforeCreate(flow, said);
    String text = Bounds.shortened(reply.message().text());
    if (!Objects.equals(message.content(), text)) {
      recorder.insert(before, new ThreadEvent.ModelReplied(text));
    }
    ThreadEvent.StepLog log =
        new ThreadEvent.StepLog(
            "s" + frame.step(),
            reply.model(),
            reply.finish(),
            reply.usage(),
            reply.attempts(),
            began,
            outside.now(),
            asked,
            calls.isEmpty() || !frame.top() ? null : Reasoning.of(reply.model(), reply.message()));
    recorder.kept(new ThreadEvent.StepEnded(frame.path(), message, calls, log));
    if (!nothing) {
      recorder.afterCreate(flow, message);
    }
    return new ThreadInput.Replied(message, calls, log, recorder.before(), recorder.after());
  }

  /** The calls that the model requests, with unique ids: many models reuse ids in every reply. */
  private static List<RequestedCall> calls(AiMessage message, StepFrame frame, ThreadState state) {
    List<RequestedCall> calls = new ArrayList<>();
    Set<String> ids = new HashSet<>();
    Stream.concat(state.history().messages().stream(), frame.said().stream())
        .forEach(earlier -> earlier.toolCalls().forEach(call -> ids.add(call.id())));
    if (!message.hasToolExecutionRequests()) {
      return calls;
    }
    for (ToolExecutionRequest request : message.toolExecutionRequests()) {
      if (calls.size() == Bounds.CALLS) {
        break;
      }
      String given = request.id();
      boolean usable = given != null && !given.isBlank() && ids.add(given);
      String id = usable ? given : "s" + frame.step() + "." + calls.size();
      while (!usable && !ids.add(id)) {
        id += "x";
      }
      String arguments = request.arguments() == null ? "" : request.arguments();
      String name = request.name() == null ? "" : request.name();
      calls.add(RequestedCall.of(id, name, arguments));
    }
    return calls;
  }

  private static List<RequestedCall> withoutLast(List<RequestedCall> calls) {
    return calls.subList(0, Math.max(0, calls.size() - 1));
  }

  /** The text of the side: the model's, or an argument of the tool that ends its turn. */
  private @Nullable String content(AiMessage message, StepFrame frame, List<RequestedCall> calls) {
    if (frame.top()
        && agent.side(frame.side()) instanceof Participant.Speaker speaker
        && speaker.stopToolResponseProperty() != null) {
      for (RequestedCall call : calls) {
        JsonNode said =
            ChangeRecorder.object(ToolCalls.arguments(call))
                .get(speaker.stopToolResponseProperty());
        if (call.name().equals(speaker.stopTool()) && said != null && said.isTextual()) {
          return said.textValue();
        }
      }
    }
    return message.text();
  }

  private ThreadInput.Result handle(ThreadEffect effect) throws Exception {
    StepFrame frame = Objects.requireNonNull(state.top());
    if (!(agent.side(frame.side()) instanceof Participant.Code code)) {
      throw new IllegalStateException("No code is on side " + frame.side() + " any more");
    }
    Message message = state.history().message(String.valueOf(frame.messageId()));
    SourceResult.Work known =
        state.sourceResults().work(effect, () -> SourceJournal.wanted(message));
    if (known != null) {
      return new ThreadInput.Done(known.changes());
    }
    ChangeRecorder recorder = recorder(null, effect.id(), effect.attempt());
    code.handler()
        .handle(
            new RecordingFlowState(recorder, StepFrame.TOP),
            message == null ? Message.of(frame.side().other().role(), null) : message);
    return new ThreadInput.Done(recorder.changes());
  }

  // --- calls -----------------------------------------------------------------------------------

  private CompletionStage<ThreadInput.Result> call(ThreadEffect effect) throws Exception {
    StepFrame frame = frameOf(effect);
    CallState call = Objects.requireNonNull(frame.call(effect.id()));
    CallSite site = CallSite.of(agents, state, frame);
    Offered offered =
        Objects.requireNonNull(site.offered(call), () -> "There is no tool " + call.call().name());
    ToolCalls calling = new ToolCalls(recorder(site, call, effect.attempt()), frame, call);
    SourceResult.Work known =
        offered instanceof Tool || offered instanceof FlowTool || offered instanceof SubAgent
            ? state.sourceResults().work(effect, () -> SourceJournal.wanted(call.call()))
            : null;
    return known == null || known.returned() == null
        ? calling.make(offered)
        : CompletableFuture.completedFuture(calling.repeated(known.changes(), known.returned()));
  }

  private ThreadInput.Result store(ThreadEffect effect) {
    StepFrame frame = frameOf(effect);
    CallState call = Objects.requireNonNull(frame.call(effect.id()));
    CallSite site = CallSite.of(agents, state, frame);
    return new ToolCalls(recorder(site, call, effect.attempt()), frame, call)
        .ended(Objects.requireNonNull(call.result()));
  }

  private ChangeRecorder recorder(CallSite site, CallState call, int attempt) {
    return new ChangeRecorder(
        agents, site.agent(), state, site.hooks(agents), outside, call.key(), attempt);
  }

  private StepFrame frameOf(ThreadEffect effect) {
    StepFrame frame = state.frameOf(effect.id());
    if (frame == null) {
      throw new IllegalStateException("The call is no longer there");
    }
    return frame;
  }

  // --- the rest --------------------------------------------------------------------------------

  private ThreadInput.Result deferred(ThreadEffect effect) throws Exception {
    ScheduledEffect scheduled = Objects.requireNonNull(state.effects().get(effect.id()));
    SourceResult.Work known =
        state
            .sourceResults()
            .work(effect, () -> SourceJournal.wanted(scheduled.effect(), scheduled.arguments()));
    if (known != null) {
      return new ThreadInput.Done(known.changes());
    }
    ScheduledHandler deferred = agents.find(scheduled);
    if (deferred == null) {
      throw new IllegalStateException(
          "The agent %s has no effect %s any more"
              .formatted(scheduled.agent(), scheduled.effect()));
    }
    ChangeRecorder recorder =
        new ChangeRecorder(
            agents,
            agents.get(scheduled.agent()),
            state,
            HookRunner.of(agents, agent, null),
            outside,
            effect.id(),
            effect.attempt());
    deferred
        .work()
        .run(
            new RecordingFlowState(recorder, StepFrame.TOP),
            ChangeRecorder.object(scheduled.arguments()));
    return new ThreadInput.Done(recorder.changes());
  }

  /** Lets a model summarize the messages before the latest ones. */
  private ThreadInput.Result compact(ThreadEffect effect) throws InterruptedException {
    SourceResult.Summary known = state.sourceResults().summary(effect.id());
    if (known != null) {
      return new ThreadInput.Summed(known.summary(), known.upTo(), known.model(), known.usage());
    }
    Compaction compaction = Objects.requireNonNull(agent.compaction());
    Optional<String> overspent = overspent();
    if (overspent.isPresent()) {
      throw new IllegalStateException(overspent.get());
    }
    List<Message> all = state.history().tail(Integer.MAX_VALUE);
    int kept = state.history().old(compaction.keep());
    if (kept == 0) {
      throw new IllegalStateException("There is nothing to summarize");
    }
    List<Message> old =
        state.history().hasGap() ? unsummed(all.get(kept).id()) : all.subList(0, kept);
    SummaryRequest request =
        SummaryRequest.of(compaction, ModelRequest.summary(state.history()), old, this::label);
    ModelReply reply = compaction.model().call(request.chat(), ModelListener.NONE);
    String summary = reply.message().text();
    // What a summary that was cut off had not reached would be lost.
    return ThreadFold.blank(summary) || ModelReply.cutOff(reply.finish())
        ? new ThreadInput.Summed(null, null, reply.model(), reply.usage())
        : new ThreadInput.Summed(
            Bounds.shortened(summary), request.upTo(), reply.model(), reply.usage());
  }

  /** The oldest messages before another that no summary covers, from the journal. */
  private List<Message> unsummed(String before) throws InterruptedException {
    String upTo = state.history().upTo();
    for (int limit = 256; ; limit = limit < MOST_SUMMED ? limit * 4 : Integer.MAX_VALUE) {
      List<Message> read = AuthorFailures.await(outside.history(before, limit, 0));
      List<Message> old =
          new ArrayList<>(read.stream().takeWhile(m -> !m.id().equals(upTo)).toList());
      if (old.size() < read.size() || read.size() < limit) {
        Collections.reverse(old);
        return old.subList(0, Math.min(MOST_SUMMED, old.size()));
      }
    }
  }

  private String label(Message message) {
    return switch (message.role()) {
      case ASSISTANT -> agent.side(Side.A).label();
      case USER -> agent.side(Side.B).label();
      case TOOL -> "tool " + message.name();
      case SYSTEM -> "system";
    };
  }

  /** Whether the thread works on is decided by each attempt: it may have got more to do. */
  private CompletionStage<ThreadInput.Result> report() {
    ThreadEvent.Parent parent = Objects.requireNonNull(state.begun().parent());
    return outside
        .report(parent, state.reports().get(0), state.works(), state.usage())
        .thenApply(nothing -> new ThreadInput.Done(List.of()));
  }

  private CompletionStage<ThreadInput.Result> withdraw(ThreadEffect effect) {
    CompletionStage<Optional<String>> sent = CompletableFuture.completedFuture(Optional.empty());
    for (ThreadEvent.CallAbandoned left : state.abandonedCalls()) {
      if (left.call().equals(effect.id())) {
        sent = sent.thenCombine(outside.withdraw(left), (first, stays) -> first.or(() -> stays));
      }
    }
    return sent.thenApply(
        stays ->
            stays.isEmpty()
                ? new ThreadInput.Done(List.of())
                : new ThreadInput.Failed("failed", stays.get(), null));
  }

  /**
   * Notifies the parent, and withdraws work elsewhere, before the thread is erased. What stays as
   * it is until another release is there is erased with it, as that may never come.
   */
  private CompletionStage<ThreadInput.Result> erase() {
    ThreadEvent.Parent parent = state.begun().parent();
    CompletionStage<Void> sent = CompletableFuture.completedFuture(null);
    if (parent != null) {
      for (ThreadEvent.ReportPending pending : state.reports()) {
        if (pending.status() == null) {
          sent =
              sent.thenCompose(
                  nothing -> outside.report(parent, pending, state.works(), state.usage()));
        }
      }
      sent = sent.thenCompose(nothing -> outside.reportDeleted(parent, state.usage()));
    }
    for (ThreadEvent.CallAbandoned left : state.abandonedCalls()) {
      boolean erased = left.child() != null && state.children().containsKey(left.child());
      if (!erased) {
        sent = sent.thenCompose(nothing -> outside.withdraw(left)).thenAccept(stays -> {});
      }
    }
    List<String> children = List.copyOf(state.children().keySet());
    return sent.thenCompose(nothing -> outside.erase(children, state.abandonedCalls()))
        .thenApply(nothing -> new ThreadInput.Done(List.of()));
  }
}
