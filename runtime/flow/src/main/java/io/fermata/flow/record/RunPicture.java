package io.fermata.flow.record;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.Flow;
import io.fermata.flow.event.Event;
import io.fermata.flow.json.Texts;
import io.fermata.flow.observe.Observation;
import io.fermata.flow.observe.Occurrence;
import io.fermata.flow.observe.Recorder;
import io.fermata.flow.picture.Picture;
import io.fermata.flow.picture.Picture.Arrow;
import io.fermata.flow.picture.Picture.Mark;
import io.fermata.flow.picture.Picture.Shape;
import io.fermata.flow.route.Evidence;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Draws a run on the picture of its flow: where it went and how often, where it waits and for what,
 * what its decisions saw, what was dropped, failed or was undone. Of several runs it draws the one
 * that began last. Safe to read while it listens.
 *
 * <pre>{@code
 * RunPicture run = new RunPicture(flow);
 * host.journals().run("quote", runId).replay(Redaction.of("email").over(run));
 * Files.writeString(file, run.picture().svg());
 * }</pre>
 */
public final class RunPicture implements Recorder {
  private static final int LONGEST_VALUE = 24;
  private static final int LONGEST_TEXT = 80;

  private final Picture picture;
  private PathTrace trail;
  private ActivityTrace doings = new ActivityTrace();
  private @Nullable String run;
  private String status = "no run";

  /** Draws on the picture of this flow; of a run on another version that which still fits. */
  public RunPicture(Flow<?> flow) {
    this.picture = flow.picture();
    this.trail = new PathTrace(picture);
  }

  /** The picture of the latest run in a journal. */
  public static Picture of(Flow<?> flow, List<Event> journal) {
    return RunObserver.replayed(flow, new RunPicture(flow), journal).picture();
  }

  // --- listening ------------------------------------------------------------------------------

  @Override
  public synchronized void onEvent(Observation event) {
    String name = event.moment().run();
    boolean begins = event.fact() instanceof Observation.RunStart;
    if (begins) {
      trail = new PathTrace(picture);
      doings = new ActivityTrace();
    }
    if (begins || run == null) {
      run = name;
    }
    if (name.equals(run)) {
      trail.onEvent(event);
      doings.onEvent(event);
      event.to(this);
    }
  }

  @Override
  public void onRunStart(Occurrence at, Observation.RunStart event) {
    status = "running";
  }

  @Override
  public void onMigrated(Occurrence at, Event.Migrated event) {
    status = "running, carried over from version " + event.from();
  }

  @Override
  public void onForkedFrom(Occurrence at, Observation.Fork event) {
    status = "running, forked from " + event.origin().runId();
  }

  @Override
  public void onRunEnding(Occurrence at, Event.Ending event) {
    status = "being undone" + because(event.message());
  }

  @Override
  public void onRunEnd(Occurrence at, Observation.RunEnd event) {
    status = event.status().name().toLowerCase(Locale.ROOT) + because(event.reason());
  }

  @Override
  public void onRunFailed(Occurrence at, Event.Failed event) {
    status = "failed: " + event.code().wireName() + because(event.message());
  }

  private static String because(@Nullable String reason) {
    return reason == null ? "" : ": " + shortened(reason);
  }

  static String shortened(String text) {
    return Texts.shortened(text, LONGEST_TEXT);
  }

  // --- drawing --------------------------------------------------------------------------------

  /** The picture, as far as the run is known by now. */
  public synchronized Picture picture() {
    List<Arrow> arrows = new ArrayList<>();
    picture.arrows().forEach(arrow -> arrows.add(marked(arrow)));
    trail.early().forEach(arrow -> arrows.add(arrow.marked(List.of(), trail.taken(arrow), false)));
    return new Picture(
        picture.title(),
        picture.subtitle() + " · " + status,
        picture.shapes().stream().map(this::marked).toList(),
        arrows);
  }

  private Arrow marked(Arrow arrow) {
    return arrow.marked(seen(arrow), trail.taken(arrow), trail.isDropped(arrow));
  }

  private List<String> seen(Arrow arrow) {
    Event.Decided choice = trail.choice(arrow);
    if (choice == null || arrow.rule() < 0 || arrow.rule() >= choice.tried().size()) {
      return List.of();
    }
    Event.Tried tried = choice.tried().get(arrow.rule());
    boolean failed = choice.chosen() == null && arrow.rule() == choice.tried().size() - 1;
    String verdict = failed ? "failed" : tried.matched() ? "✓" : "✗";
    return tried.seen().isEmpty()
        ? List.of(verdict)
        : tried.seen().stream().map(look -> verdict + " " + text(look)).distinct().toList();
  }

  private static String text(Event.Seen seen) {
    String look = seen.what() + " = " + value(seen.is());
    String other = seen.otherField();
    return other == null ? look : look + ", " + other + " = " + value(seen.than());
  }

  private static String value(@Nullable JsonNode value) {
    return value == null || value.isNull() || value.isMissingNode()
        ? "none"
        : Texts.shortened(Evidence.text(value), LONGEST_VALUE);
  }

  private Shape marked(Shape shape) {
    String path = shape.path();
    List<String> notes = new ArrayList<>();
    trail.items(path).forEach(items -> notes.add(text(items)));
    notes.addAll(doings.notes(path));
    return shape.marked(
        new Mark(
            trail.visits(shape),
            doings.now(path),
            trail.isDropped(path),
            doings.isUndone(path),
            notes));
  }

  /** How many of a list's items are done. */
  private static String text(PathTrace.Items items) {
    int done = items.done().size();
    int failed = items.failed().size();
    int rest = items.all() - done - failed;
    return items.all()
        + (items.all() == 1 ? " item: " : " items: ")
        + done
        + " done"
        + (failed == 0 ? "" : ", " + failed + " failed")
        + (rest == 0 ? "" : ", " + rest + (items.open() ? " open" : " dropped"));
  }
}
