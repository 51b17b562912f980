package io.fermata.flow.record;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.Flow;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.RunState;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Texts;
import io.fermata.flow.observe.Observation;
import io.fermata.flow.observe.Recorder;
import io.fermata.flow.picture.Picture;
import io.fermata.flow.picture.Picture.Arrow;
import io.fermata.flow.picture.Picture.Mark;
import io.fermata.flow.picture.Picture.Shape;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Draws a run on the picture of its flow: where it went and how often, where it waits and for what,
 * what its decisions saw, what was given up, failed or was undone. Of several runs it draws the one
 * that began last. Safe to read while it listens.
 *
 * <pre>{@code
 * RunPicture run = new RunPicture(flow);
 * host.replay("quote", runId, Redaction.of("email").over(run));
 * Files.writeString(file, run.picture().svg());
 * }</pre>
 */
public final class RunPicture implements Recorder {
  private static final int LONGEST_VALUE = 24;
  private static final int LONGEST_TEXT = 80;

  private final Picture picture;
  private final PathTrace trail;
  private final ActivityTrace doings = new ActivityTrace();
  private @Nullable String run;
  private String status = "no run";

  /** Draws on the picture of this flow; of a run on another version that which still fits. */
  public RunPicture(Flow<?> flow) {
    this.picture = flow.picture();
    this.trail = new PathTrace(picture);
  }

  /** The picture of the latest run in a journal. */
  public static Picture of(Flow<?> flow, List<Event> journal) {
    RunPicture run = new RunPicture(flow);
    RunObserver.of(flow.id(), "", run).record(0, 0, journal);
    return run.picture();
  }

  // --- listening ------------------------------------------------------------------------------

  @Override
  public synchronized void onEvent(Observation event) {
    String name = event.moment().run();
    if (event instanceof Observation.RunStart || run == null) {
      run = name;
    }
    if (name.equals(run)) {
      event.to(this);
      if (!(event instanceof Observation.StageEnd) && !(event instanceof Observation.Resume)) {
        doings.goOn();
      }
    }
  }

  @Override
  public void onRunStart(Observation.RunStart event) {
    trail.begin();
    doings.begin();
    status = "running";
  }

  @Override
  public void onRunEnding(Observation.RunEnding event) {
    status = "being undone" + because(event.message());
    doings.ending();
  }

  @Override
  public void onRunEnd(Observation.RunEnd event) {
    status = event.status().name().toLowerCase(Locale.ROOT) + because(event.reason());
    if (event.status() != RunState.Status.COMPLETED) {
      doings.end();
    }
  }

  @Override
  public void onRunFailed(Observation.RunFailed event) {
    status = "failed: " + event.code().wireName() + because(event.message());
    doings.end();
  }

  private static String because(@Nullable String reason) {
    return reason == null ? "" : ": " + Texts.shortened(reason, LONGEST_TEXT);
  }

  @Override
  public void onNext(Observation.Next event) {
    trail.move(place(event), event.to());
  }

  @Override
  public void onLoop(Observation.Loop event) {
    trail.move(place(event), event.to());
  }

  @Override
  public void onReset(Observation.Reset event) {
    event.to().forEach(place -> trail.visit(place.node()));
  }

  @Override
  public void onMigrated(Observation.Migrated event) {
    trail.rename(event.nodes());
    status = "running, carried over from version " + event.from();
  }

  @Override
  public void onDecision(Observation.Decision event) {
    trail.decide(place(event), new PathTrace.Choice(event.tried(), event.chosen() == null));
  }

  @Override
  public void onSelected(Observation.Selected event) {
    trail.decide(place(event), new PathTrace.Choice(event.tried(), false));
  }

  @Override
  public void onFork(Observation.Fork event) {
    trail.fork(place(event), event);
    doings.fork(place(event));
  }

  @Override
  public void onSubflowEntry(Observation.SubflowEntry event) {
    doings.open(place(event), event.subflow());
  }

  @Override
  public void onArrival(Observation.Arrival event) {
    trail.arrive(place(event));
  }

  @Override
  public void onBranchFailed(Observation.BranchFailed event) {
    trail.fail(place(event));
    doings.fail(place(event), event.code());
  }

  @Override
  public void onJoin(Observation.Join event) {
    trail.join(place(event), event);
  }

  @Override
  public void onBreak(Observation.Break event) {
    trail.end(place(event), Texts.shortened(event.reason(), LONGEST_TEXT));
  }

  @Override
  public void onStageStart(Observation.StageStart event) {
    doings.enter(place(event));
  }

  @Override
  public void onStageEnd(Observation.StageEnd event) {
    doings.leave(place(event), event.done());
  }

  @Override
  public void onPause(Observation.Pause event) {
    doings.wait(place(event), event);
  }

  @Override
  public void onAnswer(Observation.Answer event) {
    if (event.refusal() == null) {
      doings.answer(place(event), event.field());
    }
  }

  @Override
  public void onSleep(Observation.Sleep event) {
    doings.sleep(place(event), event.until());
  }

  @Override
  public void onResume(Observation.Resume event) {
    if (event.cause() == Observation.Cause.OVERDUE) {
      trail.late(place(event));
    }
    doings.resume(place(event));
  }

  @Override
  public void onAttempt(Observation.Attempt event) {
    doings.attempt(place(event), event);
  }

  @Override
  public void onStageRetry(Observation.StageRetry event) {
    doings.retry(place(event), event.moment().at() + event.delay());
  }

  @Override
  public void onCompensation(Observation.Compensation event) {
    if (!place(event).declared()) {
      return;
    }
    boolean done = event.progression() == Observation.Progression.DONE;
    doings.undo(place(event).undone(), done);
  }

  private static Place place(Observation event) {
    return Objects.requireNonNull(event.moment().place());
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
    PathTrace.Choice choice = trail.choice(arrow);
    if (choice == null || arrow.rule() < 0 || arrow.rule() >= choice.tried().size()) {
      return List.of();
    }
    Event.Tried tried = choice.tried().get(arrow.rule());
    boolean failed = choice.failed() && arrow.rule() == choice.tried().size() - 1;
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
        : Texts.shortened(Json.text(value), LONGEST_VALUE);
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
