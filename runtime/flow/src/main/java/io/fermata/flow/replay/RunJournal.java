package io.fermata.flow.replay;

import io.fermata.flow.Flow;
import io.fermata.flow.SecretFields;
import io.fermata.flow.Secrets;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.ForkOrigin;
import io.fermata.flow.event.RecordedResult;
import io.fermata.flow.event.RunState;
import io.fermata.flow.observe.AttachedRecorder;
import io.fermata.flow.observe.Recorder;
import io.fermata.flow.picture.Picture;
import io.fermata.flow.record.Because;
import io.fermata.flow.record.Narrative;
import io.fermata.flow.record.Redaction;
import io.fermata.flow.record.RunObserver;
import io.fermata.flow.record.RunPicture;
import io.fermata.flow.record.Trace;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

/**
 * The journal of one run: what happened, in which entries, and who caused them. A value, which
 * calls no code of the flow. Its entries, events and state have the values of the run; its texts
 * and pictures show none of a field that the flow marks as {@link io.fermata.flow.schema.Secret},
 * unless their names say so.
 *
 * <pre>{@code
 * RunJournal journal = host.journals().run("quote", runId).readWithSecrets()
 *     .toCompletableFuture().join();
 * journal.upTo(7).state();                       // the state after entry 7
 * journal.upTo(7).picture(quote).svg();          // the way that the run had taken by then
 * journal.why(quote, "price");                   // why the price is what it is
 * Replay.of(quote, journal).requireSame();       // today's code decides the same
 * }</pre>
 *
 * @param redacted whether {@code [redacted]} stands for what is encrypted with a key that was not
 *     there when it was read; such a journal can be looked at, but not decided again
 * @param cut whether entries that followed were {@linkplain #upTo left out}, so that its end is not
 *     that of the run
 */
public record RunJournal(
    String flow, String runId, List<JournalEntry<Event>> entries, boolean redacted, boolean cut) {
  public RunJournal {
    entries = List.copyOf(entries);
  }

  public RunJournal(String flow, String runId, List<JournalEntry<Event>> entries) {
    this(flow, runId, entries, false);
  }

  public RunJournal(
      String flow, String runId, List<JournalEntry<Event>> entries, boolean redacted) {
    this(flow, runId, entries, redacted, false);
  }

  /** The run in the journal of a session, which may have other runs before and after it. */
  public static RunJournal of(String flow, String runId, List<JournalEntry<Event>> session) {
    List<JournalEntry<Event>> own = new ArrayList<>();
    RunEvents run = RunEvents.of(runId);
    for (JournalEntry<Event> entry : session) {
      List<Event> events = run.in(entry.events());
      if (!events.isEmpty()) {
        own.add(entry.with(events));
      }
    }
    return new RunJournal(flow, runId, own);
  }

  /** A run of which only the events are known, as a probe has them. */
  public static RunJournal of(String flow, List<Event> events) {
    String runId = "";
    List<JournalEntry<Event>> entries = new ArrayList<>();
    int from = 0;
    for (int i = 0; i < events.size(); i++) {
      runId = events.get(i) instanceof Event.Started started ? started.runId() : runId;
      boolean carriedOver = events.get(i) instanceof Event.Migrated;
      if (carriedOver && i > from && !(events.get(i - 1) instanceof Event.Migrated)) {
        entries.add(probed(entries.size() + 1L, events.subList(from, i)));
        from = i;
      }
    }
    entries.add(probed(entries.size() + 1L, events.subList(from, events.size())));
    return of(flow, runId, entries);
  }

  private static JournalEntry<Event> probed(long seq, List<Event> events) {
    return new JournalEntry<>(seq, 0, "host", null, events);
  }

  /** The journal as it was when an entry had been written; {@link #cut} if others followed. */
  public RunJournal upTo(long seq) {
    List<JournalEntry<Event>> kept = entries.stream().filter(entry -> entry.seq() <= seq).toList();
    return new RunJournal(flow, runId, kept, redacted, cut || kept.size() < entries.size());
  }

  public List<Event> events() {
    return entries.stream().flatMap(entry -> entry.events().stream()).toList();
  }

  /**
   * This journal, if nothing of it is redacted.
   *
   * @throws IllegalStateException if something is
   */
  public RunJournal whole() {
    if (redacted) {
      throw new IllegalStateException(unreadable());
    }
    return this;
  }

  private String unreadable() {
    return "The journal of run %s of %s was read without the key that encrypts parts of it: it can be looked at, but neither decided again nor continued. Configure that key, or record the run where the key is"
        .formatted(runId, flow);
  }

  /** The state of the run at its end. */
  public RunState state() {
    return RunState.NONE.apply(events());
  }

  /**
   * The events with which a fork of this run begins: what happened up to an entry, under the fork's
   * own id, and where it comes from.
   *
   * @param runId the id of the fork
   * @param options of which the mode and who forks are used
   * @throws ForkException if parts of it are redacted, there is no such entry, or the run had ended
   *     or was being undone then
   */
  public List<Event> fork(long entry, String runId, ForkOptions options, long now) {
    if (redacted) {
      throw new ForkException("key_missing", unreadable());
    }
    JournalEntry<Event> last = null;
    Long possible = null;
    RunState state = RunState.NONE;
    for (JournalEntry<Event> one : entries) {
      if (one.seq() <= entry) {
        state = state.apply(one.events());
        last = one;
        possible = state.running() && !undoes(state) ? Long.valueOf(one.seq()) : possible;
      }
    }
    if (last == null || last.seq() != entry) {
      throw new ForkException(
          "unknown_entry",
          "Run %s of %s has no entry %s; its entries are %s"
              .formatted(this.runId, flow, entry, numbers()));
    }
    String earlier =
        possible == null
            ? "start a new one instead"
            : "fork it at entry " + possible + " or before";
    if (!state.running()) {
      throw new ForkException(
          "run_ended",
          "Run %s of %s had ended by entry %s: %s".formatted(this.runId, flow, entry, earlier));
    } else if (undoes(state)) {
      throw new ForkException(
          "run_ending",
          "Run %s of %s was undoing its steps at entry %s, and a fork must not undo them again: %s"
              .formatted(this.runId, flow, entry, earlier));
    }
    List<Event> first = new ArrayList<>();
    upTo(entry).events().forEach(event -> first.add(under(runId, event)));
    first.add(
        new Event.ForkedFrom(
            new ForkOrigin(
                flow,
                this.runId,
                entry,
                last.at(),
                options.mode(),
                options.by() == null ? "" : options.by()),
            options.mode() == ForkOrigin.Mode.LIVE ? List.of() : recorded(entry, state),
            now));
    return first;
  }

  private List<RecordedResult> recorded(long entry, RunState at) {
    List<Event> before = upTo(entry).events();
    return RecordedResult.Known.around(
        at, before, events().subList(before.size(), events().size()));
  }

  private static Event under(String runId, Event event) {
    if (event instanceof Event.Started e) {
      return new Event.Started(runId, e.version(), e.fingerprint(), e.intent(), e.at());
    } else if (event instanceof Event.ForkedFrom e) {
      return new Event.ForkedFrom(e.origin(), List.of(), e.at());
    }
    return event;
  }

  private static boolean undoes(RunState state) {
    return state.ending() != null || !state.undoing().isEmpty();
  }

  private String numbers() {
    return entries.isEmpty()
        ? "no longer there"
        : entries.get(0).seq() + " to " + entries.get(entries.size() - 1).seq();
  }

  /** The run as an account in English. */
  public String narrative(Flow<?> by) {
    Narrative narrative = new Narrative();
    publish(by, narrative);
    return secrets(by.secretFields()).masked(narrative.text()) + encrypted();
  }

  /** As {@link #narrative}, with the values of secret fields. */
  public String narrativeWithSecrets(Flow<?> by) {
    Narrative narrative = new Narrative();
    publishWithSecrets(by, narrative);
    return narrative.text() + encrypted();
  }

  private String encrypted() {
    List<String> numbers =
        entries.stream()
            .filter(entry -> entry.by().equals(JournalEntry.ENCRYPTED))
            .map(entry -> String.valueOf(entry.seq()))
            .toList();
    return numbers.isEmpty()
        ? ""
        : "Entry %s: encrypted with a key that is not there.%n"
            .formatted(String.join(", ", numbers));
  }

  /** The way that the run took, on the picture of its flow. */
  public Picture picture(Flow<?> by) {
    RunPicture picture = new RunPicture(by);
    publish(by, picture);
    return picture.picture();
  }

  /** As {@link #picture}, with the values of secret fields. */
  public Picture pictureWithSecrets(Flow<?> by) {
    RunPicture picture = new RunPicture(by);
    publishWithSecrets(by, picture);
    return picture.picture();
  }

  /** Why a field has its value. */
  public Because why(Flow<?> by, String field) {
    Trace trace = new Trace(by);
    publish(by, trace);
    return trace.why(field);
  }

  /** As {@link #why}, with the values of secret fields. */
  public Because whyWithSecrets(Flow<?> by, String field) {
    return Trace.of(by, events()).why(field);
  }

  /** Publishes the run to recorders, as it was published while it happened, without its secrets. */
  public void publish(Flow<?> by, Recorder... recorders) {
    Redaction redaction = Redaction.ofSecrets(List.of(by));
    publish(by, Arrays.stream(recorders).map(redaction::over));
  }

  /** As {@link #publish}, with the values of secret fields. */
  public void publishWithSecrets(Flow<?> by, Recorder... recorders) {
    publish(by, Arrays.stream(recorders));
  }

  private void publish(Flow<?> by, Stream<Recorder> recorders) {
    RunObserver observer =
        RunObserver.from(
            RunState.NONE, by, "", recorders.map(AttachedRecorder::everywhere).toList());
    entries.forEach(entry -> observer.record(entry.seq(), entry.at(), entry.events()));
  }

  /** The values of its secret fields, whenever they came. */
  public Secrets secrets(SecretFields fields) {
    Secrets secrets = new Secrets();
    events().forEach(event -> secrets.learn(fields, event));
    return secrets;
  }

  /** For logs, without what the run knows. */
  @Override
  public String toString() {
    return "run %s of %s with %s entries%s"
        .formatted(runId, flow, entries.size(), cut ? ", cut there" : "");
  }
}
