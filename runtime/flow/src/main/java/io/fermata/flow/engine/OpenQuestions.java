package io.fermata.flow.engine;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.Node;
import io.fermata.flow.event.ErrorCode;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Phase;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.PlaceState;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.StateMemory;
import io.fermata.flow.event.Verdict;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Limits;
import io.fermata.flow.json.Paths;
import io.fermata.flow.json.Texts;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The questions and widgets of a drive: how they are asked, and their answers judged. */
final class OpenQuestions {
  private final Drive drive;

  OpenQuestions(Drive drive) {
    this.drive = drive;
  }

  private RunState state() {
    return drive.state();
  }

  private PlaceState at(Place place) {
    return drive.at(place);
  }

  // --- asking -----------------------------------------------------------------------------------

  <S extends Record> void ask(TypedPlace<S> spot, Node.Ask<S> ask) {
    Place place = spot.place();
    for (Node.Question<S> q = unjudged(spot, ask); q != null; q = unjudged(spot, ask)) {
      if (!judges(spot, q)) {
        return;
      }
    }
    List<Node.Question<S>> open =
        ask.questions().stream()
            .filter(q -> !at(place).accepted().contains(spot.path(q.field())))
            .toList();
    if (open.stream().allMatch(question -> leftOpen(spot, question))) {
      pass(spot, open);
    } else if (!(at(place).phase() instanceof Phase.Asking)) {
      put(spot.now(state()), ask, open);
    } else if (drive.unseen(at(place)) && state().called()) {
      drive.emit(new Event.Asked(place, at(place).open(), at(place).context(), null, drive.at()));
    }
  }

  private <S extends Record> boolean leftOpen(TypedPlace<S> spot, Node.Question<S> question) {
    Place place = spot.place();
    return question.optional()
        && state().memory(place.branch()).leftOpen(spot.path(question.field()), place.node());
  }

  /** Continues without answers to these questions. */
  private <S extends Record> void pass(TypedPlace<S> spot, List<Node.Question<S>> questions) {
    try {
      for (Node.Question<S> question : questions) {
        String path = spot.path(question.field());
        Event passed = new Event.Passed(spot.place(), path, question.byDefault());
        drive.requireKept(passed, spot, "The default of " + path);
        drive.emit(passed);
      }
    } catch (Throwable e) {
      drive.stop(spot.place(), Event.Resume.ENTERING, ErrorCode.QUESTION_FAILED, e);
      return;
    }
    drive.leave(spot.place());
  }

  private <S extends Record> void put(
      TypedPlace<S> spot, Node.Ask<S> ask, List<Node.Question<S>> open) {
    try {
      List<Event.Question> questions = open.stream().map(q -> put(spot, q)).toList();
      String context = text(spot, ask.context());
      boolean again = !at(spot.place()).questions().isEmpty();
      Event.WaitLimits waitLimits = again ? null : drive.waitLimits(spot);
      drive.emit(new Event.Asked(spot.place(), questions, context, waitLimits, drive.at()));
    } catch (Throwable e) {
      drive.stop(spot.place(), Event.Resume.ENTERING, ErrorCode.QUESTION_FAILED, e);
    }
  }

  private static <S extends Record> Event.Question put(
      TypedPlace<S> spot, Node.Question<S> question) {
    List<String> suggestions = List.copyOf(question.suggestions().apply(spot.view()));
    if (suggestions.size() > Limits.SUGGESTIONS) {
      throw new IllegalStateException(
          "Question %s offers more than %s suggestions"
              .formatted(question.field(), Limits.SUGGESTIONS));
    }
    return new Event.Question(
        spot.path(question.field()),
        Objects.requireNonNull(text(spot, question.text()), "The question has no text"),
        question.schema(spot.schema()),
        suggestions.stream().map(Texts::sound).toList(),
        text(spot, question.context()),
        question.optional());
  }

  private static <S extends Record> @Nullable String text(
      TypedPlace<S> spot, @Nullable Function<S, String> text) {
    String given = text == null ? null : text.apply(spot.view());
    return given == null ? null : Texts.sound(given);
  }

  // --- showing ----------------------------------------------------------------------------------

  <S extends Record> void show(TypedPlace<S> spot, Node.Show<S> show) {
    Place place = spot.place();
    String path = show.field() == null ? null : spot.path(show.field());
    if (path != null
        && answered(place, path)
        && !check(spot, Objects.requireNonNull(show.field()), show.check())) {
      return;
    }
    if (path != null && at(place).accepted().contains(path)) {
      drive.leave(place);
    } else if (!(at(place).phase() instanceof Phase.Showing showing)) {
      put(spot.now(state()), show, false);
    } else if (showing.displayOnly()
        && !showing.seen()
        && state().called()
        && place.equals(drive.shown())) {
      put(spot, show, true);
    }
  }

  private <S extends Record> void put(TypedPlace<S> spot, Node.Show<S> show, boolean again) {
    try {
      JsonNode data = show.data() == null ? null : Json.tree(show.data().apply(spot.view()));
      String path = show.field() == null ? null : spot.path(show.field());
      JsonNode schema = show.field() == null ? null : spot.schema().fieldSchema(show.field());
      Event.Widget widget = new Event.Widget(show.tool(), data, show.interactive(), path, schema);
      drive.emit(
          new Event.Shown(spot.place(), widget, again ? null : drive.waitLimits(spot), drive.at()));
    } catch (Throwable e) {
      drive.stop(spot.place(), Event.Resume.ENTERING, ErrorCode.QUESTION_FAILED, e);
    }
  }

  // --- judging ----------------------------------------------------------------------------------

  /** The next question to judge; a verdict may answer questions before it, too. */
  private <S extends Record> Node.@Nullable Question<S> unjudged(
      TypedPlace<S> spot, Node.Ask<S> ask) {
    for (Node.Question<S> question : ask.questions()) {
      if (answered(spot.place(), spot.path(question.field()))) {
        return question;
      }
    }
    return null;
  }

  /** Whether a question has an answer since it was asked last that nobody has judged yet. */
  private boolean answered(Place place, String path) {
    PlaceState here = at(place);
    StateMemory memory = state().memory(place.branch());
    Long since = memory.since(path, place.node());
    return since != null
        && since >= here.again().getOrDefault(path, 0L)
        && !here.accepted().contains(path)
        && memory.fresh(path, place.node());
  }

  /** Judges an answer, or begins to; true if the verdict is there already. */
  private boolean judges(TypedPlace<?> spot, Node.Question<?> question) {
    if (!(question.check() instanceof Node.Async)) {
      return check(spot, question.field(), question.check());
    }
    drive.attempts().begin(spot.place(), spot.path(question.field()));
    Phase phase = at(spot.place()).phase();
    return !(phase instanceof Phase.Working) && !(phase instanceof Phase.Halted);
  }

  /** Judges an answer within the step; false if the place had to stop. */
  private boolean check(TypedPlace<?> spot, String field, Node.@Nullable Check check) {
    String path = spot.path(field);
    if (check == null || check instanceof Node.Async) {
      drive.emit(new Event.Accepted(spot.place(), path, null, Map.of()));
      return true;
    }
    try {
      JsonNode answer = Paths.get(state().memory(spot.place().branch()).data(), path);
      Object typed = Objects.requireNonNull(spot.schema().value(field, answer));
      drive.emit(judged(spot, path, verdict(spot.now(state()), typed, check)));
      return true;
    } catch (Throwable e) {
      drive.stop(spot.place(), path, Event.Resume.ENTERING, ErrorCode.VALIDATOR_FAILED, e);
      return false;
    }
  }

  /** The verdict of a check that is no effect. */
  static Verdict verdict(TypedPlace<?> spot, Object answer, Node.@Nullable Check check) {
    if (check instanceof Node.Quick quick) {
      return quick.validator().check(answer);
    }
    return check instanceof Node.Cross cross
        ? cross.validator().check(spot.view(), answer)
        : Verdict.accept();
  }

  /** The event of a verdict on an answer. */
  Event judged(TypedPlace<?> spot, String path, @Nullable Verdict verdict) {
    if (verdict == null) {
      throw new IllegalStateException(
          "The validator of %s at %s returned null; return accept() or reject(…) of Verdict"
              .formatted(path, spot.place()));
    }
    if (verdict instanceof Verdict.Rejected rejected) {
      return new Event.Rejected(spot.place(), path, rejected.message());
    }
    Verdict.Accepted accepted = (Verdict.Accepted) verdict;
    String field = path;
    try {
      JsonNode value = accepted.normalised() == null ? null : Json.tree(accepted.normalised());
      Map<String, JsonNode> sets = new LinkedHashMap<>();
      for (Map.Entry<String, Object> set : accepted.sets().entrySet()) {
        field = spot.path(set.getKey());
        spot.schema().requireWritable(set.getKey());
        sets.put(field, Json.tree(set.getValue()));
      }
      Event.Accepted event = new Event.Accepted(spot.place(), path, value, sets);
      drive.requireKept(event, spot, "The verdict on " + path);
      return event;
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(
          "The verdict on %s at %s, which gives %s a value: %s"
              .formatted(path, spot.place(), field, e.getMessage()),
          e);
    }
  }
}
