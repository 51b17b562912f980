package io.fermata.flow.replay;

import io.fermata.flow.Flow;
import io.fermata.flow.engine.Redecision;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.event.RunState;
import io.fermata.flow.observe.AttachedRecorder;
import io.fermata.flow.picture.Picture;
import io.fermata.flow.record.Narrative;
import io.fermata.flow.record.RunObserver;
import io.fermata.flow.record.RunPicture;
import java.time.Instant;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The first event that the present code of a flow decides otherwise than its journal. */
public final class Divergence {
  private static final int LINES = 3;

  private final Flow<?> flow;
  private final RunJournal.Entry entry;
  private final Redecision.Difference difference;

  Divergence(Flow<?> flow, RunJournal.Entry entry, Redecision.Difference difference) {
    this.flow = flow;
    this.entry = entry;
    this.difference = difference;
  }

  /** The entry of the journal that would be another one. */
  public RunJournal.Entry entry() {
    return entry;
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

  /** The way of the run up to here, on the picture of the flow. */
  public Picture picture(RunJournal journal) {
    List<Event> before = journal.upTo(entry.seq() - 1).events();
    return RunPicture.of(flow, before);
  }

  /** What was recorded and what comes now. */
  public String text() {
    Outcome.Failure refused = difference.refused();
    return """
        The present code of %s decides entry %d (%s, %s) otherwise than it was recorded.
        Recorded: %s
        Now:      %s"""
        .formatted(
            flow,
            entry.seq(),
            entry.principal() == null ? entry.by() : entry.by() + " " + entry.principal(),
            Instant.ofEpochMilli(entry.at()),
            account(difference.recorded()),
            refused == null
                ? account(difference.now())
                : "refused, " + refused.code() + ": " + refused.message());
  }

  @Override
  public String toString() {
    return text();
  }

  private String account(List<Event> events) {
    if (events.isEmpty()) {
      return "nothing";
    }
    Narrative narrative = new Narrative();
    RunObserver.from(before(), flow, "", List.of(AttachedRecorder.everywhere(narrative)))
        .record(entry.seq(), entry.at(), events);
    String text =
        narrative
            .text()
            .lines()
            .map(String::strip)
            .limit(LINES)
            .collect(Collectors.joining("\n          "));
    return text.isEmpty() ? events.get(0).toString() : text;
  }
}
