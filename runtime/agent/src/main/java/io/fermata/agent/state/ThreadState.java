package io.fermata.agent.state;

import com.fasterxml.jackson.annotation.JsonIgnore;
import io.fermata.agent.message.Attachment;
import io.fermata.agent.message.Bounds;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.RequestedCall;
import io.fermata.agent.model.Usage;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The fold of a thread's events.
 *
 * @param mailbox messages and answers from outside
 * @param history the latest messages of the conversation
 * @param turn whose turn it is, or why the thread rests
 * @param steps the steps in progress
 * @param stored the data that author code stores with the thread
 * @param effects scheduled work, by id
 * @param relations the thread's children, and its pending reports
 * @param usage what it and its children have spent
 */
public record ThreadState(
    Lifecycle lifecycle,
    Mailbox mailbox,
    History history,
    TurnState turn,
    StepState steps,
    ThreadStorage stored,
    Map<String, ScheduledEffect> effects,
    Relations relations,
    Usage usage) {

  public static final ThreadState NONE =
      new ThreadState(
          Lifecycle.NONE,
          Mailbox.EMPTY,
          History.empty(0),
          TurnState.REST,
          StepState.NONE,
          ThreadStorage.EMPTY,
          Map.of(),
          Relations.NONE,
          Usage.ZERO);

  /**
   * What views show of the thread, and what recognises repeated messages: without the texts of
   * messages and without the data of author code.
   */
  public ThreadState outline() {
    return new ThreadState(
        lifecycle.outline(),
        mailbox.outline(),
        history.outline(),
        turn,
        steps.outline(),
        stored.outline(),
        Map.of(),
        relations.outline(),
        usage);
  }

  // --- lifecycle -------------------------------------------------------------------------------

  /** Whether there is such a thread. */
  public boolean exists() {
    return created() != null && !deleted();
  }

  public ThreadEvent.@Nullable Created created() {
    return lifecycle.created();
  }

  public ThreadEvent.Created begun() {
    ThreadEvent.Created created = created();
    if (created == null) {
      throw new IllegalStateException("The thread does not exist yet");
    }
    return created;
  }

  @JsonIgnore
  public String threadId() {
    return begun().threadId();
  }

  /** The name of the agent that acts now. */
  public String agent() {
    return lifecycle.agent();
  }

  public boolean greeted() {
    return lifecycle.greeted();
  }

  public boolean deleted() {
    return lifecycle.deleted();
  }

  /** Where it was forked from; null if it was not. */
  public @Nullable ThreadFork fork() {
    return lifecycle.fork();
  }

  /** Whether it is a fork that performs nothing but calls of models. */
  public boolean sandboxed() {
    ThreadFork fork = fork();
    return fork != null && fork.sandbox();
  }

  /** What it takes from the thread that it was forked from, instead of performing it. */
  @JsonIgnore
  public SourceResults sourceResults() {
    SourceResults results = lifecycle.results();
    return results == null ? SourceResults.NONE : results;
  }

  public ThreadMetadata metadata() {
    ThreadEvent.Created first = begun();
    ThreadEvent.Parent parent = first.parent();
    return new ThreadMetadata(
        first.threadId(),
        agent(),
        first.agent(),
        first.principal(),
        stored.tags(),
        first.at(),
        parent == null ? null : parent.threadId(),
        fork());
  }

  // --- messages --------------------------------------------------------------------------------

  /** The messages that wait for the end of the current step. */
  public List<Message> inbox() {
    return mailbox.inbox();
  }

  /** The ids of the latest messages that have a key, by key. */
  public Map<String, String> keys() {
    return mailbox.keys();
  }

  /** How many messages have been received. */
  public long received() {
    return mailbox.received();
  }

  /** Whether the key belongs to another message. */
  public boolean contradicts(String key, Message message, List<Attachment> attachments) {
    return mailbox.contradicts(key, message, attachments);
  }

  /** One of the latest messages, or one of a step in progress. */
  public @Nullable Message message(String id) {
    Message found = history.message(id);
    for (StepFrame frame : frames().values()) {
      for (Message said : frame.said()) {
        found = said.id().equals(id) ? said : found;
      }
      for (CallState call : frame.calls()) {
        Message result = call.message();
        found = result != null && result.id().equals(id) ? result : found;
      }
    }
    return found;
  }

  // --- steps and calls -------------------------------------------------------------------------

  public Map<String, StepFrame> frames() {
    return steps.frames();
  }

  /** The calls that author code queued outside of a step. */
  public List<RequestedCall> waiting() {
    return steps.waiting();
  }

  public int compacting() {
    return steps.compacting();
  }

  public @Nullable StepFrame top() {
    return steps.top();
  }

  public @Nullable StepFrame frameOf(String call) {
    return steps.frameOf(call);
  }

  public @Nullable CallState call(String key) {
    return steps.call(key);
  }

  /** The calls that wait for a person. */
  public List<CallState> open() {
    return steps.calls(CallState::open);
  }

  /** The calls whose flows wait for a moment, a signal or another person. */
  public List<CallState> paused() {
    return steps.calls(call -> call.phase() == CallState.Phase.PAUSED);
  }

  /**
   * The step that waits for people, moments and signals while nothing else of the turn continues;
   * its first call does. Null if the thread has something else to wait for, or no turn.
   */
  public @Nullable StepFrame waitingStep() {
    return waitingStep(this::pauses);
  }

  private @Nullable StepFrame waitingStep(Predicate<CallState> pauses) {
    StepFrame waiting = null;
    for (StepFrame frame : frames().values()) {
      if (frame.detached()) {
        continue;
      } else if (frame.stage() != StepFrame.Stage.CALLING
          || !frame.calls().stream().allMatch(call -> pauses.test(call) || stands(call))) {
        return null;
      }
      waiting = !frame.calls().isEmpty() && pauses.test(frame.calls().get(0)) ? frame : waiting;
    }
    return waiting;
  }

  /** Whether the step waits on and messages with it, as too many calls have left their steps. */
  public boolean holdsMessages() {
    return waitingStep() != null
        && frames().values().stream().filter(StepFrame::detached).count() >= Bounds.DETACHED;
  }

  /** Whether nothing works for a call, besides what another frame shows of a sub-prompt. */
  private static boolean stands(CallState call) {
    boolean subPrompt = call.phase() == CallState.Phase.DELEGATED && call.child() == null;
    boolean waits = call.phase() == CallState.Phase.WAITING;
    return call.over() || subPrompt || waits;
  }

  /** Whether a call waits for people or its flow, here or in the child that works for it. */
  private boolean pauses(CallState call) {
    ChildThread child = childOf(call);
    return call.open()
        || call.phase() == CallState.Phase.PAUSED
        || (child != null && child.pauses());
  }

  /** The child that works for a call; null for none. */
  private @Nullable ChildThread childOf(CallState call) {
    String child = call.childAtWork();
    return child == null ? null : children().get(child);
  }

  // --- children and parent ---------------------------------------------------------------------

  public Map<String, ChildThread> children() {
    return relations.children();
  }

  /** The reports that the parent has not acknowledged yet. */
  public List<ThreadEvent.ReportPending> reports() {
    return relations.reports();
  }

  /**
   * The latest call of the parent that what the thread has done is of, empty if it is of none. What
   * waits in a thread that a client stopped ends with it.
   */
  public String latestCall() {
    return mailbox.latestCall(turn.held());
  }

  /** How many reports there have been. */
  public long reported() {
    return relations.reported();
  }

  public List<ThreadEvent.CallAbandoned> abandonedCalls() {
    return relations.abandonedCalls();
  }

  /** The call that a child works for; null if it works for none that waits for it. */
  public @Nullable CallState delegatedTo(String child) {
    for (StepFrame frame : frames().values()) {
      for (CallState call : frame.calls()) {
        if (child.equals(call.childAtWork())) {
          return call;
        }
      }
    }
    return null;
  }

  /** The children that calls wait for while they wait for a person. */
  public List<ChildThread> askingIn() {
    List<ChildThread> asking = new ArrayList<>();
    for (StepFrame frame : frames().values()) {
      for (CallState call : frame.calls()) {
        ChildThread child = childOf(call);
        if (child != null && child.status() == ChildThread.Status.ASKING) {
          asking.add(child);
        }
      }
    }
    return List.copyOf(asking);
  }

  /** The calls whose children wait for moments, signals or other people. */
  public List<CallState> waitingIn() {
    return steps.calls(
        call -> {
          ChildThread child = childOf(call);
          return child != null && child.status() == ChildThread.Status.WAITING;
        });
  }

  /**
   * The status of an unfinished thread for its parent. A look at a flow does not change it, as most
   * find that the flow still waits.
   */
  public ChildThread.Status statusForParent() {
    if (asks()) {
      return ChildThread.Status.ASKING;
    }
    StepFrame waiting = waitingStep(call -> pauses(call) || call.looks());
    return waiting == null ? ChildThread.Status.RUNNING : ChildThread.Status.WAITING;
  }

  /** Whether it waits for a person, itself or in a child. */
  public boolean asks() {
    return !open().isEmpty() || !askingIn().isEmpty();
  }

  /** Whether a turn is under way, or a message will begin one. */
  public boolean works() {
    return turn.running() || (!inbox().isEmpty() && !turn.held());
  }

  // --- change ----------------------------------------------------------------------------------

  /**
   * The state after events.
   *
   * @param seq the number of their journal entry
   */
  public ThreadState apply(List<ThreadEvent> events, long seq) {
    ThreadState state = this;
    for (int i = 0; i < events.size(); i++) {
      state = ThreadFold.apply(state, events.get(i), seq, i);
    }
    return state;
  }

  static <T> Map<String, T> put(Map<String, T> map, String key, @Nullable T value) {
    Map<String, T> changed = new LinkedHashMap<>(map);
    if (value == null) {
      changed.remove(key);
    } else {
      changed.put(key, value);
    }
    return changed;
  }

  ThreadState with(Lifecycle value) {
    return new ThreadState(value, mailbox, history, turn, steps, stored, effects, relations, usage);
  }

  ThreadState with(Mailbox value) {
    return new ThreadState(
        lifecycle, value, history, turn, steps, stored, effects, relations, usage);
  }

  ThreadState with(History value) {
    return new ThreadState(
        lifecycle, mailbox, value, turn, steps, stored, effects, relations, usage);
  }

  ThreadState with(TurnState value) {
    return new ThreadState(
        lifecycle, mailbox, history, value, steps, stored, effects, relations, usage);
  }

  ThreadState with(StepState value) {
    return new ThreadState(
        lifecycle, mailbox, history, turn, value, stored, effects, relations, usage);
  }

  ThreadState with(StepFrame frame) {
    return with(steps.with(frame));
  }

  ThreadState with(ThreadStorage value) {
    return new ThreadState(
        lifecycle, mailbox, history, turn, steps, value, effects, relations, usage);
  }

  ThreadState with(Relations value) {
    return new ThreadState(lifecycle, mailbox, history, turn, steps, stored, effects, value, usage);
  }

  ThreadState with(Usage value) {
    return new ThreadState(
        lifecycle, mailbox, history, turn, steps, stored, effects, relations, value);
  }

  ThreadState withEffects(Map<String, ScheduledEffect> value) {
    return new ThreadState(
        lifecycle, mailbox, history, turn, steps, stored, value, relations, usage);
  }
}
