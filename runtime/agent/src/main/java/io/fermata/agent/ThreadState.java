package io.fermata.agent;

import com.fasterxml.jackson.annotation.JsonIgnore;
import io.fermata.agent.model.Usage;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The fold of a thread's events.
 *
 * @param created how the thread began; null as long as there is none
 * @param agent the agent that acts now
 * @param greeted whether the hooks for a new thread have been called
 * @param frames the steps under way: at top level, and of sub-prompts
 * @param inbox messages that wait for the end of the step under way
 * @param keys the latest messages that their senders named, and what became of them
 * @param contents digests of what those messages said; null, or without some, where an earlier
 *     release did not keep them
 * @param received how many messages have come from outside
 * @param answers the latest answers of people, and the calls that they were about
 * @param steps how often models or code were asked
 * @param waiting calls that authors' code wants made, until the step under way is over
 * @param compacting the attempt at a summary that is under way; 0 if none is
 * @param reports what the parent has yet to be told
 * @param reported how many reports there have been
 * @param leftBehind what works for calls that were ended, and does not know yet
 * @param tellings who could not be reached, and when that is tried again
 */
public record ThreadState(
    ThreadEvent.@Nullable Created created,
    String agent,
    boolean greeted,
    History history,
    Course course,
    Map<String, Frame> frames,
    List<Message> inbox,
    Map<String, String> keys,
    @Nullable Map<String, String> contents,
    Map<String, String> answers,
    long received,
    long steps,
    List<ToolCall> waiting,
    int compacting,
    Shelf shelf,
    Map<String, ScheduledEffect> effects,
    Map<String, ChildThread> children,
    Usage usage,
    List<ThreadEvent.ReportOwed> reports,
    long reported,
    List<ThreadEvent.LeftBehind> leftBehind,
    Map<String, Telling> tellings,
    boolean deleted) {

  public static final ThreadState NONE =
      new ThreadState(
          null,
          "",
          false,
          History.empty(0),
          Course.REST,
          Map.of(),
          List.of(),
          Map.of(),
          Map.of(),
          Map.of(),
          0,
          0,
          List.of(),
          0,
          Shelf.EMPTY,
          Map.of(),
          Map.of(),
          Usage.ZERO,
          List.of(),
          0,
          List.of(),
          Map.of(),
          false);

  /**
   * An attempt at telling somebody something.
   *
   * @param due when the next one begins; null if it is under way
   */
  public record Telling(int attempt, @Nullable Long due) {}

  /** Whether there is such a thread. */
  public boolean exists() {
    return created != null && !deleted;
  }

  ThreadEvent.Created begun() {
    if (created == null) {
      throw new IllegalStateException("There is no thread yet");
    }
    return created;
  }

  @JsonIgnore
  public String threadId() {
    return begun().threadId();
  }

  @Nullable Frame top() {
    return frames.get(Frame.TOP);
  }

  /** The frame that a call belongs to. */
  @Nullable Frame frameOf(String call) {
    for (Frame frame : frames.values()) {
      if (frame.call(call) != null) {
        return frame;
      }
    }
    return null;
  }

  /** A message that is at hand, in the conversation or in a step under way. */
  @Nullable Message message(String id) {
    Message told = history.message(id);
    for (Frame frame : frames.values()) {
      for (Message said : frame.said()) {
        told = said.id().equals(id) ? said : told;
      }
      for (CallState call : frame.calls()) {
        Message result = call.message();
        told = result != null && result.id().equals(id) ? result : told;
      }
    }
    return told;
  }

  @Nullable CallState call(String key) {
    Frame frame = frameOf(key);
    return frame == null ? null : frame.call(key);
  }

  /** The calls that a person is asked about. */
  public List<CallState> open() {
    return frames.values().stream()
        .map(Frame::calls)
        .flatMap(Collection::stream)
        .filter(CallState::open)
        .toList();
  }

  /** The children that calls wait for while a person is asked there. */
  public List<ChildThread> askingIn() {
    return frames.values().stream()
        .map(Frame::calls)
        .flatMap(Collection::stream)
        .filter(call -> call.phase() == CallState.Phase.DELEGATED && call.child() != null)
        .map(call -> children.get(call.child()))
        .filter(child -> child != null && child.status() == ChildThread.Status.ASKING)
        .toList();
  }

  /** Whether it needs a person before it can go on, in itself or in a child. */
  boolean asks() {
    return !open().isEmpty() || !askingIn().isEmpty();
  }

  public ThreadMetadata metadata() {
    ThreadEvent.Created first = begun();
    ThreadEvent.Parent parent = first.parent();
    return new ThreadMetadata(
        first.threadId(),
        agent,
        first.agent(),
        first.principal(),
        shelf.tags(),
        first.at(),
        parent == null ? null : parent.threadId());
  }

  /**
   * The state after events.
   *
   * @param seq the number of the journal's record that has them
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

  ThreadState with(Frame frame) {
    return with(draft -> draft.frames = put(frames, frame.path(), frame));
  }

  ThreadState with(History value) {
    return with(draft -> draft.history = value);
  }

  ThreadState with(Course value) {
    return with(draft -> draft.course = value);
  }

  ThreadState with(Shelf value) {
    return with(draft -> draft.shelf = value);
  }

  /**
   * Whether a message says something else than the one that its sender gave the same name; false
   * where that is not known.
   */
  public boolean contradicts(String key, Message message, List<Attachment> attachments) {
    String id = keys.get(key);
    String content = contents == null ? null : contents.get(key);
    return id != null
        && content != null
        && !content.equals(message.attached(id, attachments).digest());
  }

  ThreadState with(Consumer<Draft> change) {
    Draft draft = new Draft(this);
    change.accept(draft);
    return draft.state();
  }

  static final class Draft {
    ThreadEvent.@Nullable Created created;
    String agent;
    boolean greeted;
    History history;
    Course course;
    Map<String, Frame> frames;
    List<Message> inbox;
    Map<String, String> keys;
    @Nullable Map<String, String> contents;
    Map<String, String> answers;
    long received;
    long steps;
    List<ToolCall> waiting;
    int compacting;
    Shelf shelf;
    Map<String, ScheduledEffect> effects;
    Map<String, ChildThread> children;
    Usage usage;
    List<ThreadEvent.ReportOwed> reports;
    long reported;
    List<ThreadEvent.LeftBehind> leftBehind;
    Map<String, Telling> tellings;
    boolean deleted;

    private Draft(ThreadState from) {
      created = from.created;
      agent = from.agent;
      greeted = from.greeted;
      history = from.history;
      course = from.course;
      frames = from.frames;
      inbox = from.inbox;
      keys = from.keys;
      contents = from.contents;
      answers = from.answers;
      received = from.received;
      steps = from.steps;
      waiting = from.waiting;
      compacting = from.compacting;
      shelf = from.shelf;
      effects = from.effects;
      children = from.children;
      usage = from.usage;
      reports = from.reports;
      reported = from.reported;
      leftBehind = from.leftBehind;
      tellings = from.tellings;
      deleted = from.deleted;
    }

    private ThreadState state() {
      return new ThreadState(
          created,
          agent,
          greeted,
          history,
          course,
          frames,
          inbox,
          keys,
          contents,
          answers,
          received,
          steps,
          waiting,
          compacting,
          shelf,
          effects,
          children,
          usage,
          reports,
          reported,
          leftBehind,
          tellings,
          deleted);
    }
  }
}
