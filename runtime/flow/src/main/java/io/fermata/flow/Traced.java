package io.fermata.flow;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.picture.Picture;
import io.fermata.flow.picture.Picture.Arrow;
import io.fermata.flow.picture.Picture.Mark;
import io.fermata.flow.picture.Picture.Now;
import io.fermata.flow.picture.Picture.Shape;
import io.fermata.flow.picture.Picture.Style;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Puts a run on the picture of its flow. */
final class Traced {
  private static final int LONGEST_VALUE = 24;
  private static final int LONGEST_TEXT = 80;

  private final Trail trail;
  private final Said said;
  private final RunState state;
  private final Map<Place, At> places;

  Traced(Trail trail, Said said) {
    this.trail = trail;
    this.said = said;
    this.state = trail.state();
    this.places = trail.places();
  }

  Picture on(Picture picture) {
    List<Arrow> arrows = new ArrayList<>();
    picture.arrows().forEach(arrow -> arrows.add(marked(arrow)));
    trail
        .taken()
        .forEach(
            (way, times) -> {
              if (way.style() == Style.EARLY && isDrawn(picture, way.from(), way.to())) {
                arrows.add(early(way, times));
              }
            });
    return new Picture(
        picture.title(),
        picture.subtitle() + " · " + status(),
        picture.shapes().stream().map(this::marked).toList(),
        arrows);
  }

  private static boolean isDrawn(Picture picture, String... paths) {
    List<String> drawn = picture.shapes().stream().map(Shape::path).toList();
    return drawn.containsAll(List.of(paths));
  }

  private String status() {
    String status =
        switch (state.status()) {
          case NONE -> trail.visits().isEmpty() ? "no run" : "abandoned";
          case ABANDONED -> "abandoned";
          case RUNNING -> state.ending() == null ? "running" : "being undone";
          case COMPLETED -> "completed";
          case CANCELLED -> "cancelled";
          case FAILED -> "failed";
        };
    String why = said.outcome();
    return status + (why == null ? "" : ": " + shortened(why));
  }

  // --- ways -----------------------------------------------------------------------------------

  private Arrow early(Trail.Way way, int times) {
    String reason = said.reason(way.from());
    List<String> seen = reason == null ? List.of() : List.of(shortened(reason));
    return new Arrow(way.from(), way.to(), Style.EARLY, -1, List.of("ended early"))
        .marked(seen, times, false);
  }

  private Arrow marked(Arrow arrow) {
    int taken = taken(arrow, "") + taken(arrow, arrow.to());
    boolean dropped = trail.isDropped(arrow.from()) || trail.isDropped(arrow.to());
    return arrow.marked(seen(arrow), taken, dropped);
  }

  private int taken(Arrow arrow, String to) {
    Trail.Way way = new Trail.Way(arrow.from(), to, arrow.style(), arrow.rule());
    return trail.taken().getOrDefault(way, 0);
  }

  private List<String> seen(Arrow arrow) {
    String from = arrow.from();
    String node = from.endsWith(Outline.FORK) ? from.substring(0, from.length() - 1) : from;
    Event.Decided decision = trail.decided().get(node);
    if (decision == null || arrow.rule() < 0 || arrow.rule() >= decision.tried().size()) {
      return List.of();
    }
    boolean threw = decision.targets().isEmpty() && arrow.rule() == decision.tried().size() - 1;
    boolean matched = decision.tried().get(arrow.rule()).matched();
    String verdict = threw ? "failed" : matched ? "✓" : "✗";
    List<Event.Tried> told = said.tried(decision.place().node());
    List<Event.Seen> looks = arrow.rule() < told.size() ? told.get(arrow.rule()).seen() : List.of();
    return looks.isEmpty()
        ? List.of(verdict)
        : looks.stream().map(look -> verdict + " " + text(look)).distinct().toList();
  }

  private static String text(Event.Seen seen) {
    String look = seen.what() + " = " + value(seen.is());
    String op = Objects.requireNonNullElse(seen.op(), "");
    boolean twoFields = op.contains(" ") && !op.equals(Conditions.Operator.NOT_IN.word());
    return twoFields
        ? look + ", " + op.substring(op.indexOf(' ') + 1) + " = " + value(seen.than())
        : look;
  }

  private static String value(@Nullable JsonNode value) {
    return value == null || Conditions.absent(value)
        ? "none"
        : Texts.shortened(Json.text(value), LONGEST_VALUE);
  }

  // --- shapes ---------------------------------------------------------------------------------

  private Shape marked(Shape shape) {
    String path = shape.path();
    Now now = Now.NOWHERE;
    Map<String, Integer> doing = new LinkedHashMap<>();
    for (Map.Entry<Place, At> entry : places.entrySet()) {
      if (entry.getKey().undone().node().equals(path)) {
        boolean still = state.places().containsKey(entry.getKey());
        Now here = now(entry.getValue().phase(), still);
        now = here.compareTo(now) > 0 ? here : now;
        doing(entry.getKey(), entry.getValue(), still)
            .forEach(what -> doing.merge(what, 1, Integer::sum));
      }
    }
    trail
        .failed()
        .forEach(
            (place, code) -> {
              if (place.node().equals(path)) {
                doing.merge("failed: " + code.wireName(), 1, Integer::sum);
              }
            });
    boolean undone = trail.undone().stream().anyMatch(place -> place.node().equals(path));
    List<String> notes = new ArrayList<>(items(path));
    doing.forEach((what, times) -> notes.add(what + (times > 1 ? " (" + times + "×)" : "")));
    if (undone) {
      notes.add("undone");
    }
    return shape.marked(new Mark(visits(shape), now, trail.isDropped(path), undone, notes));
  }

  private int visits(Shape shape) {
    String path = shape.path();
    return shape.kind().branches()
        ? trail.taken().entrySet().stream()
            .filter(entry -> entry.getKey().from().equals(path))
            .mapToInt(Map.Entry::getValue)
            .max()
            .orElse(0)
        : trail.visits().getOrDefault(path, 0);
  }

  /** Of a run that has ended only what halted it is still there. */
  private static Now now(Phase phase, boolean still) {
    if (phase instanceof Phase.Halted) {
      return Now.HALTED;
    } else if (!still || phase instanceof Phase.Forked) {
      return Now.NOWHERE;
    } else if (phase instanceof Phase.Sleeping) {
      return Now.SLEEPS;
    }
    boolean waits =
        phase instanceof Phase.Asking
            || phase instanceof Phase.Showing
            || phase instanceof Phase.Awaiting;
    return waits ? Now.WAITS : Now.WORKS;
  }

  private List<String> doing(Place place, At at, boolean still) {
    Phase phase = at.phase();
    if (phase instanceof Phase.Halted halted) {
      String why = said.trouble(place);
      return List.of(
          "halted: " + halted.code().wireName() + (why == null ? "" : " – " + shortened(why)));
    } else if (phase instanceof Phase.Forked) {
      return List.of();
    } else if (!still) {
      return List.of("left here");
    }
    List<String> doing = new ArrayList<>();
    if (phase instanceof Phase.Asking) {
      at.open().forEach(question -> doing.add("waits: " + question(place, question.field())));
    } else if (phase instanceof Phase.Showing) {
      doing.add("waits at the widget");
    } else if (phase instanceof Phase.Awaiting awaiting) {
      doing.add("waits for " + awaiting.signal());
    } else if (phase instanceof Phase.Sleeping sleeping) {
      doing.add("sleeps until " + time(sleeping.until()));
    } else if (phase instanceof Phase.Working working) {
      doing.add(working(place, working));
    } else {
      doing.add("goes on");
    }
    if (at.deadline() != null) {
      doing.add("until " + time(at.deadline()));
    }
    return doing;
  }

  private String question(Place place, String field) {
    return shortened(Objects.requireNonNullElse(said.question(place, field), field));
  }

  private static String working(Place place, Phase.Working working) {
    String what =
        place.undoes() ? "is undone" : working.field() == null ? "works" : "checks an answer";
    String attempt = working.attempt() > 1 ? ", attempt " + working.attempt() : "";
    Long retry = working.retryAt();
    return retry == null ? what + attempt : "failed, tries again at " + time(retry);
  }

  private static String time(long millis) {
    return Instant.ofEpochMilli(millis).toString();
  }

  /** How many of a list's items are done. */
  private List<String> items(String path) {
    int all = 0;
    int done = 0;
    int failed = 0;
    for (Phase.Forked forked : trail.items(path)) {
      int arrived = (int) forked.ended().values().stream().filter(Phase.End::arrived).count();
      all += forked.labels().size();
      done += arrived;
      failed += forked.ended().size() - arrived;
    }
    if (all == 0) {
      return List.of();
    }
    boolean open = state.places().keySet().stream().anyMatch(place -> place.node().equals(path));
    int rest = all - done - failed;
    return List.of(
        all
            + (all == 1 ? " item: " : " items: ")
            + done
            + " done"
            + (failed == 0 ? "" : ", " + failed + " failed")
            + (rest == 0 ? "" : ", " + rest + (open ? " open" : " dropped")));
  }

  private static String shortened(String text) {
    return Texts.shortened(text, LONGEST_TEXT);
  }
}
