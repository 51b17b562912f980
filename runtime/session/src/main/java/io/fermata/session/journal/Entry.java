package io.fermata.session.journal;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.databind.EnumNamingStrategies;
import com.fasterxml.jackson.databind.annotation.EnumNaming;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.flow.event.Event;
import io.fermata.flow.replay.JournalEntry;
import io.fermata.persistence.spi.JournalTags;
import io.fermata.session.admin.ArchiveException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * One entry of a session's journal, written atomically: the events of one step, or the end of a
 * run.
 *
 * @param seq its number in the journal
 * @param origin who caused it
 * @param callIds the ids of the calls that its reply answers or, without a reply, of calls that are
 *     driven from here on
 * @param wake when the session resumes by itself; null if it waits for a call
 * @param events what happened
 * @param end what remains of a run once its earlier entries are swept; null unless one has ended
 * @param task whether the run is a task from here on
 * @param <E> the events of the session's program
 */
public record Entry<E>(
    long seq,
    long at,
    Origin origin,
    @JsonInclude(JsonInclude.Include.NON_EMPTY) List<String> callIds,
    @Nullable RunReply reply,
    @Nullable Wake wake,
    List<E> events,
    @Nullable RunEnd end,
    @JsonInclude(JsonInclude.Include.NON_DEFAULT) boolean task)
    implements Journaled {

  public Entry {
    callIds = Objects.requireNonNullElse(callIds, List.of());
  }

  /**
   * Who caused an entry.
   *
   * @param principal the caller; null for other causes
   * @param session the session's name as its callers know it; only in the first entry of a run
   * @param startedFor whose session it starts; null for the caller's own
   */
  public record Origin(
      By by, @Nullable String principal, @Nullable String session, @Nullable String startedFor) {
    public static final Origin EFFECT = new Origin(By.EFFECT, null, null, null);
    public static final Origin TIMER = new Origin(By.TIMER, null, null, null);
    public static final Origin HOST = new Origin(By.HOST, null, null, null);
    public static final Origin SIGNAL = new Origin(By.SIGNAL, null, null, null);

    public static Origin caller(String principal) {
      return new Origin(By.CALLER, principal, null, null);
    }

    /** A call that may start a session of its own caller. */
    public static Origin starting(String principal, String session) {
      return new Origin(By.CALLER, principal, session, null);
    }

    /** A call that starts a session of another one, who need not be its caller. */
    public static Origin startingFor(Owner owner, String caller) {
      String other = owner.principal().equals(caller) ? null : owner.principal();
      return new Origin(By.CALLER, caller, owner.session(), other);
    }

    /** The owner of the session that it starts; null if it starts none. */
    public @Nullable Owner owner() {
      String whose = startedFor == null ? principal : startedFor;
      return whose == null || session == null ? null : new Owner(whose, session);
    }

    /** The same without the session's name. */
    public Origin withoutSession() {
      return session == null ? this : new Origin(by, principal, null, null);
    }
  }

  /** The owner of a session, and its name as its callers know it. */
  public record Owner(String principal, String session) {}

  /** The cause of an entry. */
  @EnumNaming(EnumNamingStrategies.SnakeCaseStrategy.class)
  public enum By {
    /** A principal's call. */
    CALLER,
    /** A signal from outside. */
    SIGNAL,
    /** An effect of the session that has ended. */
    EFFECT,
    /** A timer of the session. */
    TIMER,
    /** The host: recovery, migration, or another session. */
    HOST
  }

  /**
   * When a session resumes by itself.
   *
   * @param at the time; null for at once
   */
  public record Wake(@Nullable Long at) {
    public static final Wake NOW = new Wake(null);

    public static @Nullable Wake at(@Nullable Long moment) {
      return moment == null ? null : new Wake(moment);
    }
  }

  /** An entry of events alone. */
  public static <E> Entry<E> of(long seq, long at, Origin origin, List<E> events) {
    return new Entry<>(seq, at, origin, List.of(), null, null, events, null, false);
  }

  /** An entry of a journal that was read, as it is written again. */
  public static <E> Entry<E> of(JournalEntry<E> read) {
    By by = By.valueOf(read.by().toUpperCase(Locale.ROOT));
    return of(read.seq(), read.at(), new Origin(by, read.principal(), null, null), read.events());
  }

  public Entry<E> belongingTo(List<String> calls, @Nullable RunReply theirReply) {
    return new Entry<>(seq, at, origin, calls, theirReply, wake, events, end, task);
  }

  public Entry<E> waking(@Nullable Wake next) {
    return new Entry<>(seq, at, origin, callIds, reply, next, events, end, task);
  }

  public Entry<E> ending(RunEnd ended) {
    return new Entry<>(seq, at, origin, callIds, reply, wake, events, ended, task);
  }

  public Entry<E> asTask() {
    return new Entry<>(seq, at, origin, callIds, reply, wake, events, end, true);
  }

  /** The same in the journal of a run. */
  public JournalEntry<Event> ofRun() {
    return with(events.stream().filter(Event.class::isInstance).map(Event.class::cast).toList());
  }

  /**
   * The same in the journal of a thread.
   *
   * @throws ArchiveException if there is an event of a run
   */
  public JournalEntry<ThreadEvent> ofThread() {
    List<ThreadEvent> ofThread = new ArrayList<>();
    for (Object happened : events) {
      if (!(happened instanceof ThreadEvent event)) {
        throw new ArchiveException(
            "The journal of a thread has an event of a run; nothing of it was used");
      }
      ofThread.add(event);
    }
    return with(ofThread);
  }

  private <T> JournalEntry<T> with(List<T> theirs) {
    String by = origin.by().name().toLowerCase(Locale.ROOT);
    return new JournalEntry<>(seq, at, by, origin.principal(), theirs);
  }

  /** Whether effects are outstanding after it. */
  boolean working() {
    return wake != null && wake.at() == null;
  }

  /** The tags by which the store finds its session. */
  public Set<String> tags() {
    if (end != null) {
      String sweep = JournalTags.sweep(end.keptUntil());
      Long known = end.knownUntil();
      return known == null ? Set.of(sweep) : Set.of(sweep, JournalTags.forget(known));
    } else if (wake == null) {
      return Set.of();
    }
    return Set.of(wake.at() == null ? JournalTags.UNFINISHED : JournalTags.due(wake.at()));
  }

  /** For logs, without the content of the session. */
  @Override
  public String toString() {
    String what = end == null ? "with " + events.size() + " events" : "end of " + end.runId();
    return "entry " + seq + " at " + at + ", " + what;
  }
}
