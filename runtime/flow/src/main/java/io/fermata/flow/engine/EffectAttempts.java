package io.fermata.flow.engine;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Flow;
import io.fermata.flow.Node;
import io.fermata.flow.SecretFields;
import io.fermata.flow.Secrets;
import io.fermata.flow.action.StepException;
import io.fermata.flow.event.ErrorCode;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Input;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.PlaceState;
import io.fermata.flow.event.Policy;
import io.fermata.flow.event.RecordedResult;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.StepEffect;
import io.fermata.flow.event.Tagging;
import io.fermata.flow.json.Failures;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Paths;
import io.fermata.flow.json.Texts;
import org.jspecify.annotations.Nullable;

/**
 * The attempts at the effects of a drive's steps: how they begin, succeed, fail and are retried,
 * and what becomes of those that a crash interrupted.
 */
final class EffectAttempts {
  private static final String CRASHED = "the process ended during attempt ";
  private static final int LONGEST_INPUT = 1_000;
  private static final String DISCARDED = "ran, but its outcome could not be kept";

  /** Begins the detail of a step that stopped because its outcome could not be kept. */
  private static final String NOT_KEPT = "its outcome could not be kept: ";

  /** Begins the detail of a step that stopped at a failure that is not retried. */
  private static final String TERMINAL = "not retried: ";

  private final Drive drive;
  private final Flow<?> flow;

  EffectAttempts(Drive drive, Flow<?> flow) {
    this.drive = drive;
    this.flow = flow;
  }

  private RunState state() {
    return drive.state();
  }

  private PlaceState at(Place place) {
    return drive.at(place);
  }

  /** Begins the next attempt of a place. */
  void begin(Place place, @Nullable String field) {
    begin(place, field, at(place).attempts() + 1);
  }

  /** Begins an effect; in a fork of another run, its result may be known from there. */
  void begin(Place place, @Nullable String field, int number) {
    RunState.Fork fork = state().fork();
    RecordedResult known =
        fork == null || place.undoes()
            ? null
            : fork.result(place, field, state().memory(place.branch()).data());
    drive.emit(new Event.Attempted(place, field, number, drive.at()));
    if (known != null) {
      repeat(working(place), known);
    } else if (fork != null && fork.sandboxed() && !place.undoes()) {
      String message = sandboxed(place, field);
      drive.halt(place, field, Event.Resume.WORKING, ErrorCode.SANDBOXED, message, "");
    }
  }

  void ended(StepEffect effect, Input.Result result) {
    ended(effect, result, true);
  }

  /**
   * @param own whether this run performed the effect, so that it may have to undo it
   */
  private void ended(StepEffect effect, Input.Result result, boolean own) {
    try {
      if (result instanceof Input.Failed failed) {
        failed(effect, failed);
      } else if (effect.kind() == StepEffect.Kind.UNDO) {
        if (result instanceof Input.Wrote wrote) {
          tag(effect, wrote);
        }
        drive.emit(new Event.Undone(effect.place().undone()));
      } else if (result instanceof Input.Wrote wrote) {
        commit(effect, wrote, own);
      } else if (result instanceof Input.Judged judged && effect.field() != null) {
        TypedPlace<?> spot = drive.spot(effect.place());
        drive.emit(drive.questions().judged(spot, effect.field(), judged.verdict()));
      }
    } catch (Throwable e) {
      drive.caught(e);
      ErrorCode code = ErrorCode.ofFailed(effect);
      discarded(
          effect,
          code,
          StepFailures.message(effect.place(), effect.field(), code, e),
          Failures.detail(e));
    }
  }

  private void commit(StepEffect effect, Input.Wrote wrote, boolean own) {
    TypedPlace<?> spot = drive.spot(effect.place());
    Event.Committed event =
        new Event.Committed(
            effect.place(),
            wrote.writes(),
            wrote.reads(),
            wrote.emitted(),
            own && spot.undoable(),
            wrote.ends());
    String tooLarge = drive.tooLarge(event, spot);
    if (tooLarge != null) {
      discarded(effect, ErrorCode.STATE_TOO_LARGE, tooLarge, tooLarge);
      return;
    }
    tag(effect, wrote);
    drive.emit(event);
  }

  /** Branches that know nothing of each other may together give the run more than it can have. */
  void tag(StepEffect effect, Input.Wrote wrote) {
    Tagging tagging = wrote.tagged();
    if (tagging.none()) {
      return;
    }
    if (!tagging.fits(state().tags())) {
      throw new StepException("The run would have more than " + Tagging.MOST + " tags.");
    }
    requireOpenTags(tagging, wrote);
    drive.emit(new Event.Tagged(effect.place(), tagging.added(), tagging.removed()));
  }

  /** Tags are there to be found, so they are stored as they are. */
  private void requireOpenTags(Tagging tagging, Input.Wrote wrote) {
    SecretFields fields = flow.secretFields();
    if (tagging.added().isEmpty() || fields.isEmpty()) {
      return;
    }
    Secrets secrets = new Secrets();
    secrets.learn(fields, state());
    secrets.writes(fields, wrote.writes());
    if (tagging.added().stream().anyMatch(secrets::in)) {
      throw new StepException(
          "A tag of the run has the value of a secret field in it, for everybody to find.");
    }
  }

  /** An effect succeeded, but what came of it cannot be kept. */
  private void discarded(StepEffect effect, ErrorCode code, String message, String why) {
    String detail = NOT_KEPT + why;
    if (effect.policy().once()) {
      drive.emit(outcomeUnknown(effect.place(), DISCARDED, detail));
    } else {
      drive.halt(effect.place(), Event.Resume.WORKING, code, message, detail);
    }
  }

  private void failed(StepEffect effect, Input.Failed failed) {
    Policy policy = effect.policy();
    String detail = failed.detail() == null ? "" : failed.detail();
    int tries = effect.attempt() - at(effect.place()).base();
    if (policy.once() && failed.code() == ErrorCode.STEP_TIMEOUT) {
      drive.emit(interrupted(effect.place(), detail));
    } else if (failed.terminal()) {
      drive.halt(
          effect.place(), Event.Resume.WORKING, failed.code(), failed.message(), TERMINAL + detail);
    } else if (tries < policy.retry().attempts()) {
      long due = drive.at() + policy.retry().after(tries).toMillis();
      drive.emit(
          new Event.AttemptFailed(
              effect.place(), effect.attempt(), failed.code(), failed.message(), detail, due));
    } else {
      drive.halt(effect.place(), Event.Resume.WORKING, failed.code(), failed.message(), detail);
    }
  }

  // --- after a crash ----------------------------------------------------------------------------

  /** Attempts that were running when the process ended are lost, or their outcome is unknown. */
  void recover(StepEffect effect) {
    Place place = effect.place();
    PlaceState.Reminder reminder = at(place).reminder();
    if (effect.kind() == StepEffect.Kind.REMIND && reminder != null) {
      drive.emit(new Event.Reminding(place, reminder.number(), reminder.attempt() + 1, drive.at()));
    } else if (effect.policy().once()) {
      drive.emit(interrupted(place, CRASHED + effect.attempt()));
    } else {
      drive.emit(new Event.Attempted(place, effect.field(), effect.attempt() + 1, drive.at()));
    }
  }

  /** Whether a once step stopped because a crash interrupted it. */
  static boolean ofCrash(Event.Stopped stopped) {
    return stopped.code() == ErrorCode.OUTCOME_UNKNOWN && stopped.detail().startsWith(CRASHED);
  }

  /** Whether a step stopped because its outcome could not be kept. */
  static boolean ofDiscarded(Event.Stopped stopped) {
    return stopped.resume() == Event.Resume.WORKING && stopped.detail().startsWith(NOT_KEPT);
  }

  /** The failure that a step stopped with. */
  static Input.Failed ofStopped(Event.Stopped stopped) {
    boolean terminal = stopped.detail().startsWith(TERMINAL);
    String detail = terminal ? stopped.detail().substring(TERMINAL.length()) : stopped.detail();
    boolean unknown = stopped.code() == ErrorCode.OUTCOME_UNKNOWN;
    ErrorCode code = unknown ? ErrorCode.STEP_TIMEOUT : stopped.code();
    return new Input.Failed(code, stopped.message(), detail, null, terminal);
  }

  private Event.Stopped interrupted(Place place, String detail) {
    return outcomeUnknown(place, "was interrupted; whether it happened is not known", detail);
  }

  private Event.Stopped outcomeUnknown(Place place, String what, String detail) {
    return new Event.Stopped(
        place,
        Event.Resume.WORKING,
        ErrorCode.OUTCOME_UNKNOWN,
        "The step " + place.undone().node() + " may run only once and " + what + ".",
        detail,
        drive.at());
  }

  // --- in a fork of another run -----------------------------------------------------------------

  private StepEffect working(Place place) {
    return new PendingEffects(drive.graph())
        .of(state()).stream()
            .filter(effect -> effect.place().equals(place) && ofStep(effect))
            .findFirst()
            .orElseThrow();
  }

  private static boolean ofStep(StepEffect effect) {
    return effect.kind() == StepEffect.Kind.ACT || effect.kind() == StepEffect.Kind.CHECK;
  }

  /** The effect and its input, for the one who forked the run. */
  private String sandboxed(Place place, @Nullable String field) {
    TypedPlace<?> spot = drive.spot(place);
    ObjectNode input = Json.object();
    if (field != null) {
      input.set(field, Paths.get(state().memory(place.branch()).data(), field));
    } else if (spot.step().node() instanceof Node.Act<?> act && !act.reads().isEmpty()) {
      act.reads().forEach(read -> input.set(read, Paths.get(spot.data(), read)));
    } else {
      input.setAll(spot.data());
    }
    SecretFields fields = flow.secretFields();
    Secrets secrets = new Secrets();
    secrets.learn(fields, state());
    String home = field == null ? spot.step().scope().home(place) : "";
    JsonNode masked = secrets.masked(fields.masked(home, input));
    return "The fork asked for "
        + (field == null ? "the step " : "the check of an answer in ")
        + place.node()
        + " with "
        + Texts.shortened(Json.text(masked), LONGEST_INPUT)
        + ", which was not performed: the run is in a sandbox, and its source has no result of it.";
  }

  /** Repeats the result of an effect. What happened elsewhere is not undone by this run. */
  private void repeat(StepEffect effect, RecordedResult known) {
    Place place = effect.place();
    Tagging tagging = Tagging.NONE;
    for (Event event : known.events()) {
      if (event instanceof Event.Tagged e) {
        tagging = e.tagging();
      } else if (event instanceof Event.Committed e) {
        ended(effect, Input.Wrote.of(e, tagging), false);
      } else if (event instanceof Event.Accepted e) {
        drive.emit(new Event.Accepted(place, e.field(), e.value(), e.sets()));
      } else if (event instanceof Event.Rejected e) {
        drive.emit(new Event.Rejected(place, e.field(), e.message()));
      } else if (event instanceof Event.AttemptFailed e) {
        ended(effect, new Input.Failed(e.code(), e.message(), e.detail(), null), false);
      } else if (event instanceof Event.Stopped e) {
        drive.halt(place, e.field(), e.resume(), e.code(), e.message(), e.detail());
      }
    }
  }
}
