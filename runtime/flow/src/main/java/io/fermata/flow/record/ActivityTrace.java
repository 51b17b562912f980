package io.fermata.flow.record;

import io.fermata.flow.event.ErrorCode;
import io.fermata.flow.event.Place;
import io.fermata.flow.json.Texts;
import io.fermata.flow.observe.Observation;
import io.fermata.flow.picture.Picture.Now;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** What a run is doing at each of its places, and what it has left behind at others. */
final class ActivityTrace {
  private static final int LONGEST = 80;

  private final Map<Place, Doing> now = new LinkedHashMap<>();
  private final Map<Place, Doing> gone = new LinkedHashMap<>();
  private final Map<Place, Doing> left = new LinkedHashMap<>();
  private final Map<Place, ErrorCode> failed = new LinkedHashMap<>();
  private final Set<Place> undone = new HashSet<>();
  private boolean ending;

  /** What it does at a place, a line each; what it waits for by the fields that it asks for. */
  private record Doing(Now now, Map<String, String> lines) {
    static Doing of(Now now, String line) {
      return new Doing(now, Map.of("", line));
    }

    boolean waits() {
      return now == Now.WAITS || now == Now.SLEEPS || now == Now.HALTED;
    }
  }

  // --- what it came to ------------------------------------------------------------------------

  /** The gravest of what it does at a node. */
  Now now(String node) {
    Now gravest = Now.NOWHERE;
    for (Map.Entry<Place, Doing> entry : all().entrySet()) {
      Doing doing = entry.getValue();
      if (isAt(entry.getKey(), node) && doing.now().compareTo(gravest) > 0) {
        gravest = doing.now();
      }
    }
    return gravest;
  }

  /** What is to be said of a node, a line each. */
  List<String> notes(String node) {
    Map<String, Integer> lines = new LinkedHashMap<>();
    all()
        .forEach(
            (place, doing) -> {
              if (isAt(place, node)) {
                doing.lines().values().forEach(line -> lines.merge(line, 1, Integer::sum));
              }
            });
    failed.forEach(
        (place, code) -> {
          if (isAt(place, node)) {
            lines.merge("failed: " + code.wireName(), 1, Integer::sum);
          }
        });
    List<String> notes = new ArrayList<>();
    lines.forEach((line, times) -> notes.add(line + (times > 1 ? " (" + times + "×)" : "")));
    if (isUndone(node)) {
      notes.add("undone");
    }
    return notes;
  }

  boolean isUndone(String node) {
    return undone.stream().anyMatch(place -> isAt(place, node));
  }

  private Map<Place, Doing> all() {
    Map<Place, Doing> all = new LinkedHashMap<>(left);
    all.putAll(now);
    return all;
  }

  private static boolean isAt(Place place, String node) {
    return place.undone().node().equals(node);
  }

  // --- following ------------------------------------------------------------------------------

  void begin() {
    now.clear();
    gone.clear();
    left.clear();
    failed.clear();
    undone.clear();
    ending = false;
  }

  void enter(Place place) {
    now.put(place, Doing.of(Now.WORKS, "goes on"));
    failed.keySet().removeIf(other -> again(other, place));
    undone.removeIf(other -> again(other, place));
  }

  /** Whether two places differ in their visits only. */
  private static boolean again(Place one, Place two) {
    return one.node().equals(two.node()) && timeless(one).equals(timeless(two));
  }

  private static String timeless(Place place) {
    return place.toString().replaceAll("#\\d+", "");
  }

  /**
   * @param done false if it was given up
   */
  void leave(Place place, boolean done) {
    Doing doing = now.remove(place);
    if (!done && doing != null) {
      (ending ? left : gone).put(place, leftBehind(doing));
    }
  }

  /** Of what a run leaves behind only what halted it is still to be seen. */
  private static Doing leftBehind(Doing doing) {
    return doing.now() == Now.HALTED ? doing : Doing.of(Now.NOWHERE, "left here");
  }

  /** It waits for its branches, which say for themselves what they do. */
  void fork(Place place) {
    now.remove(place);
  }

  /** A sub-flow begins, which says for itself what it does. */
  void open(Place place, String subflow) {
    now.keySet()
        .removeIf(other -> other.node().equals(subflow) && other.branch().equals(place.branch()));
  }

  void wait(Place place, Observation.Pause pause) {
    Map<String, String> lines = new LinkedHashMap<>();
    switch (pause.what()) {
      case ANSWER ->
          pause.questions().forEach(q -> lines.put(q.field(), "waits: " + shortened(q.question())));
      case WIDGET -> lines.put("", "waits at the widget");
      case SIGNAL -> lines.put("", "waits for " + pause.signal());
      case REPAIR -> lines.put("", halted(pause));
      case TIME -> lines.put("", "waits");
    }
    if (pause.deadline() != null) {
      lines.put("until", "until " + time(pause.deadline()));
    }
    Now what = pause.what() == Observation.Wait.REPAIR ? Now.HALTED : Now.WAITS;
    now.put(place, new Doing(what, lines));
  }

  private static String halted(Observation.Pause pause) {
    ErrorCode code = pause.code();
    String message = pause.message();
    return "halted"
        + (code == null ? "" : ": " + code.wireName())
        + (message == null ? "" : " – " + shortened(message));
  }

  void answer(Place place, String field) {
    Doing doing = now.get(place);
    if (doing != null && doing.lines().containsKey(field)) {
      Map<String, String> lines = new LinkedHashMap<>(doing.lines());
      lines.remove(field);
      now.put(place, new Doing(doing.now(), lines));
    }
  }

  void sleep(Place place, long until) {
    now.put(place, Doing.of(Now.SLEEPS, "sleeps until " + time(until)));
  }

  /** It waits no longer; what began meanwhile is not forgotten. */
  void resume(Place place) {
    Doing doing = now.get(place);
    if (doing != null && doing.waits()) {
      if (place.declared()) {
        now.put(place, Doing.of(Now.WORKS, "goes on"));
      } else {
        now.remove(place);
      }
    }
  }

  void attempt(Place place, Observation.Attempt event) {
    String what =
        place.undoes() ? "is undone" : event.field() == null ? "works" : "checks an answer";
    String attempt = event.attempt() > 1 ? ", attempt " + event.attempt() : "";
    now.put(place, Doing.of(Now.WORKS, what + attempt));
  }

  void retry(Place place, long at) {
    now.put(place, Doing.of(Now.WORKS, "failed, tries again at " + time(at)));
  }

  void fail(Place place, ErrorCode code) {
    failed.put(place, code);
  }

  void undo(Place place, boolean done) {
    if (done) {
      now.remove(place.undo());
      undone.add(place);
    }
  }

  /** The run is to end; what it gives up from now on is left behind. */
  void ending() {
    ending = true;
  }

  /** The run has ended, and what it has just given up is left behind. */
  void end() {
    left.putAll(gone);
    now.forEach((place, doing) -> left.put(place, leftBehind(doing)));
    now.clear();
  }

  /** The run goes on without what it has just given up. */
  void goOn() {
    gone.clear();
  }

  private static String time(long millis) {
    return Instant.ofEpochMilli(millis).toString();
  }

  private static String shortened(String text) {
    return Texts.shortened(text, LONGEST);
  }
}
