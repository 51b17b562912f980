package io.fermata.testkit;

import io.fermata.agent.replay.ThreadJournal;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.flow.event.Event;
import io.fermata.flow.json.Texts;
import io.fermata.flow.replay.JournalEntry;
import io.fermata.persistence.pekko.SerializedEntry;
import io.fermata.session.journal.Entry;
import io.fermata.session.journal.JournalSerializer;
import io.fermata.session.journal.UnreadableEntry;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A write of the sessions that began since, at which the process is killed; and what the store has
 * acknowledged until then.
 */
final class CrashPoint {
  /** When the process is killed. */
  enum Timing {
    NONE,
    /** Before the write: nothing of it happened. */
    BEFORE,
    /** After it, and before any reply. */
    AFTER
  }

  static final CrashPoint NEVER = new CrashPoint(0, Timing.NONE);

  private static final JournalSerializer SERIALIZER = new JournalSerializer();

  /** The moment at the end of what a call waits for. */
  private static final Pattern UNTIL = Pattern.compile("\\buntil (\\S+Z)$");

  private final int number;
  private final Timing timing;
  private final Set<String> sessions = new HashSet<>();
  private final Map<String, String> runs = new HashMap<>();
  private final Map<String, Long> completed = new HashMap<>();
  private final Map<String, String> names = new HashMap<>();
  private int writes;
  private @Nullable List<SerializedEntry> reached;

  CrashPoint(int number, Timing timing) {
    this.number = number;
    this.timing = timing;
  }

  Timing timing() {
    return timing;
  }

  /** What happens at a write. */
  synchronized Timing at(String journal, List<SerializedEntry> write) {
    if (this == NEVER) {
      return Timing.NONE;
    }
    if (write.get(0).sequenceNr() == 1) {
      sessions.add(journal);
    }
    if (reached != null || !sessions.contains(journal) || ++writes != number) {
      return Timing.NONE;
    }
    reached = write;
    return timing;
  }

  /** The store has acknowledged a write. */
  synchronized void written(List<SerializedEntry> write) {
    if (this == NEVER) {
      return;
    }
    for (SerializedEntry entry : write) {
      for (Object event : events(entry)) {
        if (event instanceof Event.Started started) {
          runs.put(entry.persistenceId(), started.runId());
          names.put(started.runId(), "<run>");
        } else if (event instanceof Event.Committed || event instanceof Event.Undone) {
          String run = runs.get(entry.persistenceId());
          completed.put(run + "/" + ((Event) event).place(), entry.sequenceNr());
        } else if (event instanceof ThreadEvent.Created created) {
          runs.put(entry.persistenceId(), created.threadId());
          names.put(created.threadId(), "<thread of " + created.agent() + ">");
        } else if (event instanceof ThreadEvent.CallWaits waits && waits.waitsFor() != null) {
          Matcher until = UNTIL.matcher(waits.waitsFor());
          if (until.find()) {
            names.put(until.group(1), "<moment>");
          }
        } else if (event instanceof ThreadEvent.CallReturned
            || event instanceof ThreadEvent.CallEnded) {
          String thread = runs.get(entry.persistenceId());
          completed.put(thread + "/" + ((ThreadEvent.OfCall) event).call(), entry.sequenceNr());
        }
      }
    }
  }

  /**
   * The entry that says that a step of a run, or a call of a thread, has completed; null if there
   * is none.
   */
  synchronized @Nullable Long completed(String session, Object step) {
    return completed.get(session + "/" + step);
  }

  /**
   * A text without what differs each time: the ids of the threads and runs that began since, and
   * the moments that their calls wait for.
   */
  synchronized String unnamed(String text) {
    String unnamed = text;
    for (Map.Entry<String, String> name : names.entrySet()) {
      unnamed = unnamed.replace(name.getKey(), name.getValue());
    }
    return unnamed;
  }

  synchronized boolean wasReached() {
    return reached != null;
  }

  /** For example "after entry 3 was stored (ask_city accepted city, → END)". */
  synchronized String described() {
    List<SerializedEntry> at = reached == null ? List.of() : reached;
    if (at.isEmpty()) {
      return "at write " + number;
    }
    String what =
        at.stream()
            .flatMap(entry -> events(entry).stream().map(event -> described(entry, event)))
            .collect(Collectors.joining(", "));
    return "%s entry %s was stored (%s)"
        .formatted(
            timing == Timing.BEFORE ? "before" : "after",
            at.get(0).sequenceNr(),
            Texts.shortened(what, 400));
  }

  private static String described(SerializedEntry entry, Object event) {
    if (event instanceof ThreadEvent ofThread) {
      JournalEntry<ThreadEvent> alone =
          new JournalEntry<>(entry.sequenceNr(), 0, "", null, List.of(ofThread));
      String narrative = new ThreadJournal("", "", List.of(alone)).narrativeWithSecrets();
      return narrative.substring(narrative.indexOf('\n') + 1).strip();
    }
    return event instanceof Event ofRun ? Story.of(ofRun) : event.toString();
  }

  private static List<?> events(SerializedEntry entry) {
    try {
      Object read = SERIALIZER.fromBinary(entry.event().bytes(), entry.event().manifest());
      return read instanceof Entry<?> plain ? plain.events() : List.of();
    } catch (UnreadableEntry e) {
      throw new IllegalStateException("Entry " + entry.sequenceNr() + " cannot be read", e);
    }
  }
}
