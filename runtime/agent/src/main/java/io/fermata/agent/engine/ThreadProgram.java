package io.fermata.agent.engine;

import io.fermata.agent.Agent;
import io.fermata.agent.Agents;
import io.fermata.agent.Hook;
import io.fermata.agent.OutcomeUnknownException;
import io.fermata.agent.Participant;
import io.fermata.agent.Prompt;
import io.fermata.agent.ScheduledHandler;
import io.fermata.agent.Tool;
import io.fermata.agent.message.Attachment;
import io.fermata.agent.message.AuthorFailures;
import io.fermata.agent.message.Bounds;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.Role;
import io.fermata.agent.message.Side;
import io.fermata.agent.message.ToolResult;
import io.fermata.agent.model.Usage;
import io.fermata.agent.state.CallState;
import io.fermata.agent.state.HeldWork;
import io.fermata.agent.state.Mailbox;
import io.fermata.agent.state.Relations;
import io.fermata.agent.state.ScheduledEffect;
import io.fermata.agent.state.StepFrame;
import io.fermata.agent.state.StepState;
import io.fermata.agent.state.StopCode;
import io.fermata.agent.state.ThreadEffect;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadInput;
import io.fermata.agent.state.ThreadState;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.event.Policy;
import io.fermata.flow.event.Program;
import io.fermata.flow.json.Failures;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The program that runs the threads of a host's agents.
 *
 * <p>It holds no state of a thread, so one instance serves any number of threads at once.
 */
public final class ThreadProgram
    implements Program<
        ThreadState, ThreadInput, ThreadEvent, ThreadEffect, ThreadInput.Result, Outside> {
  private final Agents agents;
  private final WantedEffects wanted;
  private final Map<Prompt, StepRequest.OfferedTools> tools = new ConcurrentHashMap<>();

  public ThreadProgram(Agents agents) {
    this.agents = agents;
    wanted = new WantedEffects(agents);
  }

  public Agents agents() {
    return agents;
  }

  @Override
  public ThreadState initial() {
    return ThreadState.NONE;
  }

  @Override
  public ThreadState apply(ThreadState state, List<ThreadEvent> events, long seq) {
    return state.apply(events, seq);
  }

  // --- inputs ----------------------------------------------------------------------------------

  @Override
  public Acceptance<ThreadState, ThreadEvent> accept(ThreadState state, ThreadInput input) {
    if (input instanceof ThreadInput.Create create) {
      return create(state, create);
    } else if (input instanceof ThreadInput.Fork fork) {
      return fork(state, fork);
    }
    if (!state.exists()) {
      return absent(state, input);
    }
    if (lacksAgent(state) && needsAgent(input)) {
      return refused(
          "unknown_agent",
          "The thread's agent %s is not registered; register it to continue"
              .formatted(state.agent()));
    }
    TurnLoop loop = new TurnLoop(agents, state, input.at());
    Outcome.Failure refusal;
    try {
      refusal = take(loop, state, input);
    } catch (RuntimeException e) {
      return broken(state, input, e);
    }
    if (refusal != null) {
      return new Refused<>(refusal);
    }
    loop.reportStatus(state);
    return new Accepted<>(loop.events(), loop.thrown());
  }

  /** A thread counts what its children spend also while its agent is missing. */
  private static boolean needsAgent(ThreadInput input) {
    return !(input instanceof ThreadInput.Delete || input instanceof ThreadInput.ChildSpent);
  }

  /**
   * An effect whose result cannot be applied has failed, and ends the turn; else it would repeat.
   */
  private Acceptance<ThreadState, ThreadEvent> broken(
      ThreadState state, ThreadInput input, Throwable thrown) {
    String reason = AuthorFailures.reason(thrown);
    boolean own =
        input instanceof ThreadInput.EffectEnded
            || input instanceof ThreadInput.EffectDue
            || input instanceof ThreadInput.Recovered;
    if (!own) {
      return refused(StopCode.STEP_ERROR, "The thread rejected the input: " + reason);
    }
    TurnLoop loop = new TurnLoop(agents, state, input.at());
    if (input instanceof ThreadInput.EffectEnded ended) {
      new EffectResults(agents, loop)
          .take(ended.effect(), new ThreadInput.Failed("failed", reason, null), ended.at());
    }
    if (loop.state().turn().running() || !loop.state().frames().isEmpty()) {
      ToolResult result = ToolResult.error(StopCode.STEP_ERROR, reason);
      loop.calls().end(result);
      loop.stop(null, StopCode.STEP_ERROR, reason, false);
    }
    return new Accepted<>(loop.events(), List.of(thrown));
  }

  private static Acceptance<ThreadState, ThreadEvent> absent(ThreadState state, ThreadInput input) {
    boolean late =
        input instanceof ThreadInput.EffectEnded || input instanceof ThreadInput.EffectDue;
    if (input instanceof ThreadInput.Recovered || (late && state.deleted())) {
      return new Accepted<>(List.of());
    }
    return refused(
        "unknown_thread", "There is no such thread; it was never created, or it was deleted");
  }

  private static Acceptance<ThreadState, ThreadEvent> refused(String code, String message) {
    return new Refused<>(failure(code, message));
  }

  static Outcome.Failure failure(String code, String message) {
    return new Outcome.Failure(code, message, null, List.of(), null);
  }

  /** Applies an input; a failure rejects it without a change. */
  private Outcome.@Nullable Failure take(TurnLoop loop, ThreadState state, ThreadInput input) {
    if (input instanceof ThreadInput.Post post) {
      return post(loop, state, post);
    } else if (input instanceof ThreadInput.Stop stop) {
      stop(loop, state, stop.at());
      return null;
    } else if (input instanceof ThreadInput.Proceed proceed) {
      if (!state.turn().running()) {
        loop.proceed(proceed.side());
        loop.advance();
      }
      return null;
    } else if (input instanceof ThreadInput.Answer answer) {
      return answer(loop, state, answer);
    } else if (input instanceof ThreadInput.Change change) {
      return change(loop, change);
    } else if (input instanceof ThreadInput.Delete delete) {
      delete(loop, state, delete.at());
      return null;
    } else if (input instanceof ThreadInput.FlowChanged changed) {
      flowChanged(loop, state, changed);
      return null;
    } else if (input instanceof ThreadInput.OfChild child) {
      return new ChildReports(agents, loop).take(child);
    } else if (input instanceof ThreadInput.EffectEnded ended) {
      new EffectResults(agents, loop).take(ended.effect(), ended.result(), ended.at());
      loop.advance();
      return null;
    } else if (input instanceof ThreadInput.EffectDue due) {
      due(loop, state, due);
      return null;
    }
    recovered(loop, state, (ThreadInput.Recovered) input);
    loop.advance();
    return null;
  }

  private Acceptance<ThreadState, ThreadEvent> unknownAgent(String name) {
    return refused("unknown_agent", agents.unknown(name));
  }

  private Acceptance<ThreadState, ThreadEvent> create(
      ThreadState state, ThreadInput.Create create) {
    Outcome.Failure unfit = unfit(create.tags(), create.env());
    if (state.deleted()) {
      return refused("unknown_thread", "The thread was deleted; choose another id");
    } else if (state.created() != null) {
      return unfit == null ? createdBefore(state, create) : new Refused<>(unfit);
    }
    Agent agent = agents.find(create.agent());
    if (agent == null) {
      return unknownAgent(create.agent());
    }
    for (Message message : create.messages()) {
      unfit = unfit == null ? invalid(message) : unfit;
    }
    if (unfit != null) {
      return new Refused<>(unfit);
    }
    TurnLoop loop = new TurnLoop(agents, state, create.at());
    loop.emit(
        new ThreadEvent.Created(
            create.threadId(),
            create.agent(),
            create.principal(),
            Bounds.tags(create.tags()),
            create.env(),
            create.parent(),
            agents.window(agent),
            create.at()));
    for (Message message : create.placed()) {
      loop.emit(new ThreadEvent.Said(StepFrame.TOP, message, null));
    }
    if (!HookRunner.of(agents, agent, null).has(Hook.AfterThreadCreated.class)) {
      loop.emit(new ThreadEvent.Greeted());
    }
    return new Accepted<>(loop.events());
  }

  /** A parent, which creates its child again after a crash, may have other variables by then. */
  private static Acceptance<ThreadState, ThreadEvent> createdBefore(
      ThreadState state, ThreadInput.Create create) {
    return create.parent() != null || state.lifecycle().repeats(create)
        ? new Accepted<>(List.of())
        : refused(
            "key_used",
            "The key was used to create a thread with other tags, variables or messages; nothing was done. Create this one with a new key");
  }

  /** A fork continues where its source was, as a thread of its own. */
  private Acceptance<ThreadState, ThreadEvent> fork(ThreadState source, ThreadInput.Fork fork) {
    if (!source.exists()) {
      return absent(source, fork);
    }
    String name = fork.agent() == null ? source.agent() : fork.agent();
    Agent agent = agents.find(name);
    if (agent == null) {
      return unknownAgent(name);
    }
    for (StepFrame frame : source.frames().values()) {
      if (!frame.detached() && frame.prompt() != null && agent.prompt(frame.prompt()) == null) {
        return refused(
            "unknown_prompt",
            "A step of the prompt %s was in progress at entry %s, and the agent %s has no such prompt; fork at an entry where the thread rests"
                .formatted(frame.prompt(), fork.fork().entry(), name));
      }
    }
    TurnLoop loop = new TurnLoop(agents, source, fork.at());
    loop.emit(
        new ThreadEvent.ForkedFrom(
            fork.fork(), fork.agent(), agents.window(agent), fork.results(), fork.at()));
    Message message = fork.message();
    Outcome.Failure refusal = change(loop, new ThreadInput.Change(null, fork.env(), fork.at()));
    loop.stopCodeInSandbox();
    loop.calls().asksAgain();
    if (refusal == null && message != null) {
      refusal = post(loop, loop.state(), new ThreadInput.Post(null, message, List.of(), fork.at()));
    }
    if (refusal != null) {
      return new Refused<>(refusal);
    }
    loop.advance();
    return new Accepted<>(loop.events(), loop.thrown());
  }

  private Outcome.@Nullable Failure post(TurnLoop loop, ThreadState state, ThreadInput.Post post) {
    boolean releases = state.turn().held() && releases(loop.agent(), post.message().role());
    Outcome.Failure unnamed = unnamed(post.key());
    if (unnamed != null) {
      return unnamed;
    } else if (post.key() != null && state.keys().containsKey(post.key())) {
      return null;
    } else if (state.inbox().size() >= Bounds.INBOX && !releases) {
      return failure(
          "busy",
          "%s messages wait for the end of the current step; send this one later"
              .formatted(state.inbox().size()));
    } else if (state.holdsMessages()) {
      return failure(
          "busy",
          "%s earlier calls wait for people, moments or signals, and so does the current step; send this message when one of these calls has ended, or stop the thread first"
              .formatted(Bounds.DETACHED));
    }
    Outcome.Failure invalid = invalid(post.message());
    if (invalid != null) {
      return invalid;
    }
    String id = "m-u" + (state.received() + 1);
    Message message =
        post.message().attached(id, post.attachments()).placed(id, post.at() * 1000, 0, null);
    Outcome.Failure attached = attach(loop, state, post, message.attachments());
    if (attached != null) {
      return attached;
    }
    if (releases) {
      loop.emit(new ThreadEvent.Released());
    }
    loop.emit(new ThreadEvent.Received(post.key(), message, post.at()));
    loop.advance();
    return null;
  }

  /** Whether a message of this role lets a stopped thread continue: a user's, or a person's. */
  private static boolean releases(Agent agent, Role role) {
    return role == Role.USER
        || (role == Role.ASSISTANT && agent.side(Side.A) instanceof Participant.Person);
  }

  private static Outcome.@Nullable Failure unnamed(@Nullable String key) {
    return key == null || key.length() <= Bounds.KEY
        ? null
        : failure(
            "invalid_key",
            "A key has at most %s characters; this one has %s".formatted(Bounds.KEY, key.length()));
  }

  /** The error of a message that no thread keeps; null for none. */
  private static Outcome.@Nullable Failure invalid(Message message) {
    String content = message.content();
    if (message.role() == Role.TOOL) {
      return failure("invalid_message", "A message of the role tool belongs to a call");
    } else if (content != null && content.length() > Bounds.TEXT) {
      return failure(
          "message_too_long",
          "A message has at most %s characters; this one has %s"
              .formatted(Bounds.TEXT, content.length()));
    }
    return Bounds.fits(message.metadata())
        ? null
        : failure(
            "message_too_long",
            "The metadata of a message has at most %s characters of JSON; attach large data as a file"
                .formatted(Bounds.DATA));
  }

  private static Outcome.@Nullable Failure attach(
      TurnLoop loop, ThreadState state, ThreadInput.Post post, List<String> paths) {
    int files = state.stored().files().size() + post.attachments().size();
    if (files > Bounds.FILES) {
      return failure("too_many_files", "A thread keeps at most %s files".formatted(Bounds.FILES));
    }
    for (Attachment attachment : post.attachments()) {
      if (attachment.data().length > Bounds.FILE) {
        return failure(
            "file_too_large",
            "%s has %s bytes; a file has at most %s"
                .formatted(attachment.name(), attachment.data().length, Bounds.FILE));
      }
    }
    for (int i = 0; i < paths.size(); i++) {
      Attachment attachment = post.attachments().get(i);
      loop.emit(
          new ThreadEvent.FileWritten(
              paths.get(i), attachment.mimeType(), attachment.data(), post.at()));
    }
    return null;
  }

  /** Ends everything in progress: unfinished calls fail as stopped. */
  private void stop(TurnLoop loop, ThreadState state, long at) {
    if (!state.turn().running() && state.frames().isEmpty()) {
      if (!StopCode.ABORTED_BY_USER.equals(state.turn().code()) && !state.inbox().isEmpty()) {
        loop.stop(null, StopCode.ABORTED_BY_USER, null, false);
      }
      return;
    }
    loop.calls().end(ToolResult.error(CallState.STOPPED, "Execution stopped by user"));
    String withdrawn =
        state.frames().values().stream()
            .filter(StepFrame::detached)
            .flatMap(frame -> frame.calls().stream())
            .map(call -> call.call().name() + " (" + call.call().id() + ")")
            .collect(Collectors.joining(", "));
    Message message =
        Message.system(
                withdrawn.isEmpty()
                    ? "Execution stopped by user"
                    : "Execution stopped by user; nothing is waited for any more in these calls: "
                        + withdrawn)
            .placed("m-stop" + state.history().count(), at * 1000, 0, null);
    loop.emit(new ThreadEvent.Said(StepFrame.TOP, message, null));
    loop.stop(null, StopCode.ABORTED_BY_USER, null, false);
  }

  private static void abandon(TurnLoop loop, StepFrame frame) {
    frame.calls().stream()
        .filter(call -> !call.over())
        .forEach(call -> loop.calls().abandon(frame, call));
  }

  private static String open(ThreadState state) {
    List<String> open = state.open().stream().map(CallState::key).toList();
    return open.isEmpty() ? "no call waits for an answer" : "open are " + String.join(", ", open);
  }

  private Outcome.@Nullable Failure answer(
      TurnLoop loop, ThreadState state, ThreadInput.Answer answer) {
    CallState call = find(state, answer.call());
    Outcome.Failure unnamed = unnamed(answer.answerId());
    if (unnamed != null) {
      return unnamed;
    }
    Mailbox.Answered known = state.mailbox().answers().get(answer.answerId());
    if (known != null) {
      return known.repeats(answer, call)
          ? null
          : failure(
              "key_used",
              "The key %s was used for another answer, about the call %s; nothing was answered. Send this one with a new key"
                  .formatted(answer.answerId(), known.call()));
    }
    if (call == null || !call.open()) {
      return failure(
          "no_open_question",
          "There is no open question about the call %s; %s".formatted(answer.call(), open(state)));
    } else if (answer.question() != null && !answer.question().equals(call.questionId())) {
      return failure(
          "no_open_question",
          "The question %s is not open, so nothing was answered; the call %s asks %s now. Read that question before you answer it"
              .formatted(answer.question(), call.key(), call.questionId()));
    }
    boolean approval = call.phase() == CallState.Phase.APPROVING;
    StepFrame asking = state.frameOf(call.key());
    if (asking != null
        && !Boolean.FALSE.equals(answer.approved())
        && CallSite.of(agents, state, asking).lacks(call)) {
      return failure(
          "tool_missing",
          "The tool %s is not registered any more, so the question stays open; register it again, or deny the call"
              .formatted(call.call().name()));
    } else if (approval && answer.approved() == null) {
      return failure("missing_approval", "The answer needs approved: true or false");
    } else if (!approval && answer.answers() == null) {
      return failure("missing_answers", "The question needs answers, by field");
    }
    loop.emit(
        new ThreadEvent.CallAnswered(
            call.key(),
            answer.answerId(),
            approval ? answer.approved() : null,
            approval ? null : answer.answers(),
            answer.reason(),
            answer.by(),
            answer.at()));
    if (approval && !Boolean.TRUE.equals(answer.approved())) {
      StepFrame frame = loop.state().frameOf(call.key());
      if (frame != null) {
        loop.calls()
            .returned(frame, call, ToolResult.error(CallState.DENIED, denied(answer.reason())));
      }
    }
    loop.advance();
    return null;
  }

  private static String denied(@Nullable String reason) {
    return reason == null || reason.isBlank()
        ? "The person did not approve the call"
        : "The person did not approve the call: " + reason;
  }

  /** A call by its key, or by the id that the model gave it while it is open. */
  private static @Nullable CallState find(ThreadState state, String call) {
    CallState known = state.call(call);
    return known != null
        ? known
        : state.open().stream()
            .filter(open -> open.call().id().equals(call))
            .findFirst()
            .orElse(null);
  }

  private static Outcome.@Nullable Failure unfit(
      @Nullable Collection<String> tags, Map<String, String> env) {
    try {
      Bounds.tags(tags == null ? List.of() : tags);
    } catch (IllegalArgumentException e) {
      return failure("invalid_tags", String.valueOf(e.getMessage()));
    }
    try {
      Bounds.requireEnv(env);
    } catch (IllegalArgumentException e) {
      return failure("invalid_env", String.valueOf(e.getMessage()));
    }
    return null;
  }

  private static Outcome.@Nullable Failure change(TurnLoop loop, ThreadInput.Change change) {
    Map<String, String> env = new HashMap<>(loop.state().stored().env());
    env.putAll(change.env());
    Outcome.Failure unfit = unfit(change.tags(), env);
    if (unfit != null) {
      return unfit;
    }
    if (change.tags() != null) {
      loop.emit(new ThreadEvent.Tagged(Bounds.tags(change.tags())));
    }
    change
        .env()
        .forEach(
            (property, value) ->
                loop.emit(new ThreadEvent.EnvSet(property, value.isEmpty() ? null : value)));
    return null;
  }

  private static void delete(TurnLoop loop, ThreadState state, long at) {
    state.frames().values().forEach(frame -> abandon(loop, frame));
    loop.emit(new ThreadEvent.Deleted(at));
  }

  /** A look, which comes by itself only at a flow that asks nobody. */
  private void flowChanged(TurnLoop loop, ThreadState state, ThreadInput.FlowChanged changed) {
    StepFrame frame = state.frameOf(changed.call());
    CallState call = state.call(changed.call());
    if (frame != null
        && call != null
        && call.waitsForFlow()
        && !CallSite.of(agents, state, frame).lacks(call)) {
      loop.emit(new ThreadEvent.CallBegan(call.key(), call.attempt() + 1, changed.at()));
    }
  }

  private void due(TurnLoop loop, ThreadState state, ThreadInput.EffectDue due) {
    ThreadEffect effect = due.effect();
    if (effect.kind() == ThreadEffect.Kind.EXPIRE) {
      if (next(state) instanceof Pause<ThreadEffect> pause && pause.timers().contains(effect)) {
        delete(loop, state, due.at());
      }
      return;
    }
    if (effect.kind() == ThreadEffect.Kind.DEFERRED) {
      ScheduledEffect waiting = state.effects().get(effect.id());
      if (waiting != null && waiting.status() == ScheduledEffect.Status.PENDING) {
        loop.emit(new ThreadEvent.EffectBegan(waiting.id(), waiting.attempt() + 1, due.at()));
      }
      return;
    }
    Relations.Delivery delivery = state.relations().deliveries().get(effect.delivery());
    if (delivery != null && delivery.due() != null) {
      loop.emit(new ThreadEvent.DeliveryBegan(effect.delivery(), delivery.attempt() + 1));
    }
    boolean ofCall =
        effect.kind() == ThreadEffect.Kind.CALL || effect.kind() == ThreadEffect.Kind.LOOK;
    CallState call = ofCall ? state.call(effect.id()) : null;
    if (call != null && call.scheduled()) {
      loop.emit(new ThreadEvent.CallBegan(call.key(), call.attempt() + 1, due.at()));
    }
  }

  // --- after a crash ---------------------------------------------------------------------------

  private void recovered(TurnLoop loop, ThreadState state, ThreadInput.Recovered recovered) {
    long at = recovered.at();
    Set<String> running = recovered.running();
    loop.widen();
    for (StepFrame frame : state.frames().values()) {
      ThreadEffect turn = WantedEffects.turn(frame);
      boolean lost = turn != null && !running.contains(turn.key());
      if (lost && frame.attempt() >= StepState.CUT_OFFS) {
        failCutOff(loop, frame);
      } else if (lost && frame.stage() == StepFrame.Stage.THINKING) {
        loop.emit(
            new ThreadEvent.StepBegan(
                frame.path(),
                frame.side(),
                String.valueOf(frame.prompt()),
                frame.step(),
                frame.attempt() + 1,
                String.valueOf(frame.messageId()),
                at));
      } else if (lost) {
        loop.emit(
            new ThreadEvent.TurnBegan(
                frame.side(),
                String.valueOf(frame.messageId()),
                frame.step(),
                frame.attempt() + 1,
                at));
      }
      CallSite site = CallSite.of(agents, state, frame);
      for (CallState call : frame.calls()) {
        if (call.phase() == CallState.Phase.RUNNING
            && !site.lacks(call)
            && !running.contains(
                WantedEffects.key(ThreadEffect.Kind.CALL, call.key(), call.attempt()))) {
          resume(loop, site, call, at);
        }
      }
    }
    ThreadEffect summary = WantedEffects.summary(state);
    if (summary != null && !running.contains(summary.key())) {
      loop.emit(
          state.steps().compactingIsCutOff()
              ? new ThreadEvent.Compacted(null, null, null, Usage.ZERO, at)
              : new ThreadEvent.Compacting(summary.attempt() + 1, at));
    }
    for (ScheduledEffect effect : state.effects().values()) {
      if (effect.status() == ScheduledEffect.Status.RUNNING
          && agents.find(effect) != null
          && !running.contains(
              WantedEffects.key(ThreadEffect.Kind.DEFERRED, effect.id(), effect.attempt()))) {
        resume(loop, effect, at);
      }
    }
  }

  private static void resume(TurnLoop loop, CallSite site, CallState call, long at) {
    Policy policy = site.policy(call);
    boolean tool = site.offered(call) instanceof Tool;
    if (policy.once() || (tool && repeatedlyCutOff(policy, call.attempt()))) {
      loop.calls().returned(site.frame(), call, unknown());
    } else {
      loop.emit(new ThreadEvent.CallBegan(call.key(), call.attempt() + 1, at));
    }
  }

  private static boolean repeatedlyCutOff(Policy policy, int attempt) {
    return attempt >= policy.retry().attempts() - 1 + StepState.CUT_OFFS;
  }

  /** Fails a step, or a turn of code, after repeated interruptions. */
  private static void failCutOff(TurnLoop loop, StepFrame frame) {
    String reason = "It was interrupted %s times in a row".formatted(frame.attempt());
    if (frame.stage() == StepFrame.Stage.THINKING) {
      loop.failStep(frame, "cut_off", reason, List.of());
    }
    if (frame.top()) {
      loop.stop(frame.side(), StopCode.STEP_ERROR, reason, false);
    } else {
      loop.failSubPrompt(frame, reason);
    }
  }

  static ToolResult unknown() {
    return ToolResult.error(
        OutcomeUnknownException.CODE,
        "The call was interrupted and may or may not have taken effect. It is not retried"
            + " automatically: find out before you call again.");
  }

  private void resume(TurnLoop loop, ScheduledEffect effect, long at) {
    ScheduledHandler deferred = agents.find(effect);
    if (deferred != null
        && (deferred.policy().once() || repeatedlyCutOff(deferred.policy(), effect.attempt()))) {
      loop.emit(new ThreadEvent.EffectEnded(effect.id(), EffectResults.UNKNOWN, at));
    } else {
      loop.emit(new ThreadEvent.EffectBegan(effect.id(), effect.attempt() + 1, at));
    }
  }

  // --- effects ---------------------------------------------------------------------------------

  @Override
  public Next<ThreadEffect> next(ThreadState state) {
    return wanted.next(state);
  }

  // --- what a release lacks --------------------------------------------------------------------

  /** Whether all of a thread waits for a release that has its agent. */
  public boolean lacksAgent(ThreadState state) {
    return state.exists() && agents.find(state.agent()) == null;
  }

  /** What of a thread waits for a release that has what these agents lack. */
  public List<HeldWork> held(ThreadState state) {
    if (!state.exists()) {
      return List.of();
    } else if (lacksAgent(state)) {
      return List.of(HeldWork.thread(state.agent()));
    }
    List<HeldWork> held = new ArrayList<>();
    for (ScheduledEffect effect : state.effects().values()) {
      if (!effect.over() && agents.find(effect) == null) {
        held.add(HeldWork.effect(effect));
      }
    }
    for (StepFrame frame : state.frames().values()) {
      CallSite site = CallSite.of(agents, state, frame);
      for (CallState call : frame.calls()) {
        if (!call.over() && site.lacks(call)) {
          held.add(HeldWork.call(call, site.agent().name()));
        }
      }
    }
    return List.copyOf(held);
  }

  // --- performing ------------------------------------------------------------------------------

  /** The name of the agent whose effect it is: after a handoff not always the one that acts. */
  public String agentOf(ThreadState state, ThreadEffect effect) {
    StepFrame frame = state.frameOf(effect.id());
    ScheduledEffect scheduled = state.effects().get(effect.id());
    return switch (effect.kind()) {
      case CALL, LOOK, STORE -> frame == null ? state.agent() : agents.of(state, frame).name();
      case DEFERRED -> scheduled == null ? state.agent() : scheduled.agent();
      default -> state.agent();
    };
  }

  @Override
  public CompletionStage<ThreadInput.Result> perform(
      ThreadState state, ThreadEffect effect, Outside outside) {
    return new EffectRunner(agents, state, outside, this::tools).of(effect);
  }

  private StepRequest.OfferedTools tools(Prompt prompt) {
    return tools.computeIfAbsent(prompt, StepRequest.OfferedTools::of);
  }

  @Override
  public ThreadInput.Failed failed(ThreadEffect effect, Throwable thrown) {
    Throwable cause = AuthorFailures.cause(thrown);
    return new ThreadInput.Failed(
        "failed", AuthorFailures.message(cause), Failures.text(cause), cause);
  }

  @Override
  public ThreadInput.Failed timedOut(ThreadEffect effect) {
    return new ThreadInput.Failed("timeout", "no result within " + effect.policy().timeout(), null);
  }

  @Override
  public ThreadInput completed(ThreadEffect effect, ThreadInput.Result result, long at) {
    return new ThreadInput.EffectEnded(effect, result, at);
  }

  @Override
  public ThreadInput due(ThreadEffect timer, long at) {
    return new ThreadInput.EffectDue(timer, at);
  }
}
