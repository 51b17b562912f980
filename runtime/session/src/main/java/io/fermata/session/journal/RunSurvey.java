package io.fermata.session.journal;

import io.fermata.flow.Flow;
import io.fermata.flow.SecretFields;
import io.fermata.flow.Secrets;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.RunState;
import io.fermata.flow.observe.AttachedRecorder;
import io.fermata.flow.observe.Recorder;
import io.fermata.flow.record.Redaction;
import io.fermata.flow.record.RunObserver;
import io.fermata.flow.replay.JournalEntry;
import io.fermata.flow.replay.RunEvents;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.StoredEntry;
import java.util.List;
import java.util.function.Predicate;
import java.util.function.Supplier;

/**
 * Reads a run in the journal of its session twice: first for its state and its secrets, as one may
 * come after what it must not be in, and then for recorders. However long the run is, few of its
 * entries are in memory at a time. Blocks.
 */
public final class RunSurvey {
  private final OpenStore store;
  private final Encryption encryption;
  private final String journal;
  private final SecretFields fields;
  private final Supplier<RunEvents> which;
  private final RunEvents run;
  private Secrets secrets = new Secrets();
  private RunState state = RunState.NONE;
  private long first;
  private long last;
  private long bytes;
  private int found;

  /**
   * @param fields what is secret in any version
   * @param which the run among those of the session
   */
  public RunSurvey(
      OpenStore store,
      Encryption encryption,
      String journal,
      SecretFields fields,
      Supplier<RunEvents> which) {
    this.store = store;
    this.encryption = encryption;
    this.journal = journal;
    this.fields = fields;
    this.which = which;
    this.run = which.get();
  }

  /** Reads all of the run. */
  public RunSurvey look() {
    return look(0, Integer.MAX_VALUE);
  }

  /** Reads as far as so many entries after one need it: all of it if it may have secrets. */
  public RunSurvey look(long after, int most) {
    JournalPages.fold(
        store,
        journal,
        1,
        this,
        (same, next) -> fields.isEmpty() && found == most,
        (same, stored) -> add(stored, after));
    secrets.learn(fields, state);
    return this;
  }

  private RunSurvey add(StoredEntry stored, long after) {
    JournalEntry<Event> entry = own(run, stored);
    List<Event> events = entry.events();
    if (events.isEmpty()) {
      return this;
    }
    if (events.get(0) instanceof Event.Started) {
      secrets = new Secrets();
      state = RunState.NONE;
      first = entry.seq();
      bytes = 0;
    }
    last = entry.seq();
    bytes += stored.payload().length;
    found += entry.seq() > after ? 1 : 0;
    state = state.apply(events);
    events.forEach(event -> secrets.learn(fields, event));
    return this;
  }

  private JournalEntry<Event> own(RunEvents events, StoredEntry stored) {
    JournalEntry<Event> entry = encryption.read(journal, stored).ofRun();
    return entry.with(events.in(entry.events()));
  }

  /**
   * Gives what was looked at to a recorder that must not get secrets. What is written meanwhile is
   * left out: it may have secrets that are not known.
   *
   * @param each is given each entry after the recorder got it, and says whether more is needed
   */
  public void publish(Flow<?> flow, Recorder recorder, Predicate<JournalEntry<Event>> each) {
    if (first == 0) {
      return;
    }
    Recorder secretly = Redaction.ofSecrets(List.of(flow)).over(recorder);
    RunObserver observer =
        RunObserver.from(RunState.NONE, flow, "", List.of(AttachedRecorder.everywhere(secretly)));
    RunEvents again = which.get();
    JournalPages.fold(
        store,
        journal,
        first,
        true,
        (more, next) -> !more || next.seq() > last,
        (more, stored) -> {
          JournalEntry<Event> entry = own(again, stored);
          if (entry.events().isEmpty()) {
            return true;
          }
          observer.record(entry.seq(), entry.at(), entry.events());
          return each.test(entry);
        });
  }

  /**
   * Whether the run has any entry here; of a swept one only the end is left, which says nothing.
   */
  public boolean found() {
    return first > 0;
  }

  public RunState state() {
    return state;
  }

  /** The size of its entries. */
  public long bytes() {
    return bytes;
  }

  /** A text without the secrets of the run. */
  public String masked(String text) {
    return secrets.masked(text);
  }
}
