package io.fermata.flow.replay;

import io.fermata.flow.Flow;
import io.fermata.flow.SecretFields;
import io.fermata.flow.Secrets;
import io.fermata.flow.engine.Redecision;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.JournalCheck;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.RunState;
import io.fermata.flow.observe.AttachedRecorder;
import io.fermata.flow.observe.Recorder;
import io.fermata.flow.picture.Picture;
import io.fermata.flow.record.Narrative;
import io.fermata.flow.record.Redaction;
import io.fermata.flow.record.RunObserver;
import io.fermata.flow.record.RunPicture;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The first event that the present code of a flow decides otherwise than its journal. */
public final class Divergence {
  private static final int LINES = 3;

  private final Flow<?> flow;
  private final RunJournal journal;
  private final JournalEntry<Event> entry;
  private final Redecision again;
  private final JournalCheck.Difference<RunState, Event> difference;
  private Redecision.@Nullable Onward sequel;
  private Changes.@Nullable Found found;

  Divergence(
      Flow<?> flow,
      RunJournal journal,
      JournalEntry<Event> entry,
      Redecision again,
      JournalCheck.Difference<RunState, Event> difference) {
    this.flow = flow;
    this.journal = journal;
    this.entry = entry;
    this.again = again;
    this.difference = difference;
  }

  /** The entry of the journal that would be another one. */
  public JournalEntry<Event> entry() {
    return entry;
  }

  /** Which event of the entry it is; their number if the entry has too few. */
  public int index() {
    return entry.events().size() - difference.recorded().size();
  }

  /** The state of the run just before. */
  public RunState before() {
    return difference.before();
  }

  /** The event that the journal has there; null if it has none. */
  public @Nullable Event recorded() {
    return first(difference.recorded());
  }

  /** The event that comes of it now; null if none does. */
  public @Nullable Event now() {
    return first(difference.now());
  }

  /** Why the present code refuses what came in; null if it does not. */
  public Outcome.@Nullable Failure refused() {
    return difference.refused();
  }

  private static @Nullable Event first(List<Event> events) {
    return events.isEmpty() ? null : events.get(0);
  }

  /** The node where the run parts from its journal; empty if that is at its start. */
  public String node() {
    String node = node(recorded());
    return node.isEmpty() ? node(now()) : node;
  }

  private static String node(@Nullable Event event) {
    Place place = event == null ? null : event.place();
    return place == null || !place.declared() ? "" : place.node();
  }

  /**
   * What would have been otherwise, not only here but in all that follows: the run is continued on
   * its new way with the answers, signals, results of steps and moments that the journal has. Where
   * it has none, the comparison ends; nothing is performed.
   */
  public List<Change> changes() {
    return compared().changes();
  }

  /**
   * The decisions among the changes, each where it first leads another way: the rules of the
   * journal and of the present code, and what they looked at, without the values of secret fields.
   */
  public List<OtherDecision> decisions() {
    List<OtherDecision> decisions = compared().decisions();
    if (decisions.isEmpty()) {
      return decisions;
    }
    SecretFields fields = flow.secretFields();
    Secrets secrets = journal.secrets(fields);
    sequel().events().forEach(event -> secrets.learn(fields, event));
    return decisions.stream()
        .map(
            each ->
                new OtherDecision(
                    each.change(),
                    (Event.Decided) Redaction.masked(each.recorded(), fields, secrets),
                    (Event.Decided) Redaction.masked(each.now(), fields, secrets)))
        .toList();
  }

  private Changes.Found compared() {
    Changes.Found known = found;
    if (known == null) {
      List<Event> was = new ArrayList<>(difference.recorded());
      was.addAll(later());
      known = Changes.of(flow.graph(), before(), was, sequel(), refused(), node());
      found = known;
    }
    return known;
  }

  /** The way of the run up to here, on the picture of the flow. */
  public Picture picture() {
    return drawn(earlier());
  }

  /** The way that the run would have taken, as far as its journal has answers for it. */
  public Picture pictureNow() {
    List<Event> events = earlier();
    events.addAll(sequel().events());
    return drawn(events);
  }

  private Picture drawn(List<Event> events) {
    RunPicture picture = new RunPicture(flow);
    Recorder secretly = Redaction.ofSecrets(List.of(flow)).over(picture);
    RunObserver.from(RunState.NONE, flow, "", List.of(AttachedRecorder.everywhere(secretly)))
        .record(0, 0, events);
    return picture.picture();
  }

  /** The events on which both agree. */
  private List<Event> earlier() {
    List<Event> events = new ArrayList<>();
    for (JournalEntry<Event> each : journal.entries()) {
      if (each.seq() < entry.seq()) {
        events.addAll(each.events());
      }
    }
    events.addAll(entry.events().subList(0, index()));
    return events;
  }

  private List<Event> later() {
    List<Event> events = new ArrayList<>();
    for (JournalEntry<Event> each : journal.entries()) {
      if (each.seq() > entry.seq()) {
        events.addAll(each.events());
      }
    }
    return events;
  }

  private Redecision.Onward sequel() {
    Redecision.Onward onward = sequel;
    if (onward == null) {
      onward = again.sequel(difference, entry.at(), later());
      sequel = onward;
    }
    return onward;
  }

  /** What was recorded and what comes now, without the values of secret fields. */
  public String text() {
    SecretFields fields = flow.secretFields();
    Secrets secrets = journal.secrets(flow.secretFields());
    difference.now().forEach(event -> secrets.learn(fields, event));
    Sight redacted =
        new Sight(
            Redaction.ofSecrets(List.of(flow))::over,
            event -> Redaction.masked(event, fields, secrets));
    return secrets.masked(text(redacted));
  }

  /** As {@link #text}, with the values of secret fields. */
  public String textWithSecrets() {
    return text(new Sight(UnaryOperator.identity(), UnaryOperator.identity()));
  }

  /** What may be seen by a recorder, and of an event. */
  private record Sight(UnaryOperator<Recorder> over, UnaryOperator<Event> of) {}

  private String text(Sight seen) {
    Outcome.Failure refused = difference.refused();
    return """
        The present code of %s decides %s otherwise than it was recorded.
        Recorded: %s
        Now:      %s"""
        .formatted(
            flow,
            entry.title(),
            account(difference.recorded(), seen),
            refused == null
                ? account(difference.now(), seen)
                : "refused, " + refused.code() + ": " + refused.message());
  }

  @Override
  public String toString() {
    return text();
  }

  private String account(List<Event> events, Sight seen) {
    if (events.isEmpty()) {
      return "nothing";
    }
    Narrative narrative = new Narrative();
    Recorder recorder = seen.over().apply(narrative);
    RunObserver.from(before(), flow, "", List.of(AttachedRecorder.everywhere(recorder)))
        .record(entry.seq(), entry.at(), events);
    String text =
        narrative
            .text()
            .lines()
            .map(String::strip)
            .limit(LINES)
            .collect(Collectors.joining("\n          "));
    return text.isEmpty() ? seen.of().apply(events.get(0)).toString() : text;
  }
}
