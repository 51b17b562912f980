package io.fermata.agent.replay;

import io.fermata.agent.state.StepFrame;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadState;
import io.fermata.flow.event.JournalCheck;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.json.Json;
import io.fermata.flow.picture.SequenceDiagram;
import io.fermata.flow.replay.Change;
import io.fermata.flow.replay.JournalEntry;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The first event that the present code of a thread's agents decides otherwise, or the first step
 * in which it asks a model otherwise.
 */
public final class ThreadDivergence {
  private static final int LINES = 3;

  private final JournalEntry<ThreadEvent> entry;
  private final JournalCheck.Difference<ThreadState, ThreadEvent> difference;
  private final ThreadSecrets secrets;
  private final @Nullable OtherRequest request;

  /**
   * @param request what a model is asked otherwise; null for another decision
   */
  ThreadDivergence(
      JournalEntry<ThreadEvent> entry,
      JournalCheck.Difference<ThreadState, ThreadEvent> difference,
      @Nullable OtherRequest request,
      ThreadSecrets secrets) {
    this.entry = entry;
    this.difference = difference;
    this.request = request;
    this.secrets = secrets;
  }

  /** The entry of the journal that would be another one. */
  public JournalEntry<ThreadEvent> entry() {
    return entry;
  }

  /** Which event of the entry it is; their number if the entry has too few. */
  public int index() {
    return entry.events().size() - difference.recorded().size();
  }

  /** The state of the thread just before. */
  public ThreadState before() {
    return difference.before();
  }

  /** The event that the journal has there; null if it has none. */
  public @Nullable ThreadEvent recorded() {
    return first(difference.recorded());
  }

  /** The event that comes of it now; null if none does. */
  public @Nullable ThreadEvent now() {
    return first(difference.now());
  }

  /** Why the present code refuses what came in; null if it does not. */
  public Outcome.@Nullable Failure refused() {
    return difference.refused();
  }

  private static @Nullable ThreadEvent first(List<ThreadEvent> events) {
    return events.isEmpty() ? null : events.get(0);
  }

  /**
   * Whether it is not a decision: the model of the step is asked something else, and is taken to
   * reply what it did.
   */
  public boolean ofRequest() {
    return request != null;
  }

  private @Nullable StepFrame frame() {
    return request == null ? before().top() : request.frame();
  }

  /** The agent that had the thread, and the side and step that it was in. */
  public String where() {
    ThreadState before = before();
    if (!before.exists()) {
      return "before the thread exists";
    }
    StepFrame frame = frame();
    long steps = before.steps().count();
    return frame == null
        ? "agent %s, %s"
            .formatted(before.agent(), steps == 0 ? "before its first step" : "after step " + steps)
        : "agent %s, step %s of side %s%s"
            .formatted(
                before.agent(),
                frame.step(),
                frame.side(),
                frame.prompt() == null ? "" : ", prompt " + frame.prompt());
  }

  /** What is otherwise, in words that are the same for all threads, at the prompt that speaks. */
  public Change change() {
    StepFrame frame = frame();
    String prompt = frame == null || frame.prompt() == null ? "" : frame.prompt();
    if (request != null) {
      return new Change(Change.Kind.REQUEST, prompt, request.parts());
    }
    ThreadEvent was = recorded();
    ThreadEvent is = now();
    String text =
        refused() == null
            ? "%s instead of %s".formatted(named(is), named(was))
            : "refused instead of %s".formatted(named(was));
    return new Change(kind(was, is), prompt, text);
  }

  private Change.Kind kind(@Nullable ThreadEvent was, @Nullable ThreadEvent is) {
    if (refused() != null) {
      return Change.Kind.CALL;
    } else if (either(was, is, ThreadEvent.Stopped.class)) {
      return Change.Kind.OUTCOME;
    } else if (is instanceof ThreadEvent.CallAsked) {
      return was instanceof ThreadEvent.CallAsked
          ? Change.Kind.QUESTION_CHANGED
          : Change.Kind.QUESTION_ADDED;
    } else if (was instanceof ThreadEvent.CallAsked) {
      return Change.Kind.QUESTION_DROPPED;
    }
    return either(was, is, ThreadEvent.SideTurned.class, ThreadEvent.HandedOver.class)
        ? Change.Kind.DECISION
        : Change.Kind.OTHER;
  }

  private static String named(@Nullable ThreadEvent event) {
    if (event == null) {
      return "nothing";
    } else if (event instanceof ThreadEvent.Stopped stopped) {
      return stopped.code();
    }
    return Json.MAPPER.valueToTree(event).path("e").asText().replace('_', ' ');
  }

  /** What was recorded, what comes now, and what to do about it, without secret values. */
  public String text() {
    return secrets.masked(text(ThreadAccount.without(secrets)));
  }

  /** As {@link #text}, with the values of secret arguments and answers. */
  public String textWithSecrets() {
    return text(ThreadAccount.withSecrets());
  }

  /**
   * The thread up to here, with what was recorded and what comes now, without secret values.
   *
   * @param journal the one that was decided again
   */
  public SequenceDiagram picture(ThreadJournal journal) {
    ThreadAccount account = ThreadAccount.without(secrets);
    return request == null
        ? ThreadPicture.of(
            journal, account, this, "recorded: " + was(account), "now: " + is(account))
        : ThreadPicture.of(journal, account, this, request.text());
  }

  private String was(ThreadAccount account) {
    return account(account, difference.recorded());
  }

  private String is(ThreadAccount account) {
    Outcome.Failure refused = difference.refused();
    return refused == null
        ? account(account, difference.now())
        : "refused, " + refused.code() + ": " + refused.message();
  }

  private String text(ThreadAccount account) {
    if (request != null) {
      return """
          The present code asks a model otherwise than it was recorded, in %s, at %s.
          %s
          If the change is wanted, export the thread again, or accept it where it is a test. If not: %s."""
          .formatted(entry.title(), where(), request.text(), request.advice());
    }
    return """
        The present code decides %s otherwise than it was recorded, at %s.
        Recorded: %s
        Now:      %s
        If the change is wanted, export the thread again. If not: %s."""
        .formatted(entry.title(), where(), was(account), is(account), advice());
  }

  @Override
  public String toString() {
    return text();
  }

  private static String account(ThreadAccount account, List<ThreadEvent> events) {
    return events.isEmpty()
        ? "nothing"
        : events.stream().limit(LINES).map(account::of).collect(Collectors.joining("\n          "));
  }

  /** Where the reason is likely to be found. */
  private String advice() {
    ThreadEvent one = recorded();
    ThreadEvent other = now();
    if (either(one, other, ThreadEvent.Stopped.class, ThreadEvent.Compacting.class)) {
      return "look at the bounds, the budget, the compaction and the stop conditions of the agent";
    } else if (either(one, other, ThreadEvent.CallAsked.class, ThreadEvent.CallFailed.class)) {
      return "look at the approval and the retries of the tool";
    } else if (either(one, other, ThreadEvent.SideTurned.class, ThreadEvent.HandedOver.class)) {
      return "look at the sides of the agent and at its hand-overs";
    } else if (difference.refused() != null) {
      return "register the agent and the tools that the thread needs, or look at hooks that block";
    }
    return "look at the hooks of the agent and of its prompts, and at its tools";
  }

  @SafeVarargs
  private static boolean either(
      @Nullable ThreadEvent one,
      @Nullable ThreadEvent other,
      Class<? extends ThreadEvent>... kinds) {
    for (Class<? extends ThreadEvent> kind : kinds) {
      if (kind.isInstance(one) || kind.isInstance(other)) {
        return true;
      }
    }
    return false;
  }
}
