package io.fermata.flow.record;

import io.fermata.flow.event.ErrorCode;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.RunState;
import io.fermata.flow.observe.Observation;
import io.fermata.flow.observe.Observation.Wait;
import io.fermata.flow.observe.Occurrence;
import io.fermata.flow.observe.Recorder;
import io.fermata.flow.picture.Picture.Now;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** What a run is doing at each of its places, and what it has left behind at others. */
final class ActivityTrace implements Recorder {
  private final Map<Place, Doing> now = new LinkedHashMap<>();
  private final Map<Place, Doing> gone = new LinkedHashMap<>();
  private final Map<Place, Doing> left = new LinkedHashMap<>();
  private final Map<Place, ErrorCode> failed = new LinkedHashMap<>();
  private final Map<Place, Integer> retries = new LinkedHashMap<>();
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

  // --- the result ------------------------------------------------------------------------

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
    retries.forEach(
        (place, times) -> {
          if (isAt(place, node)) {
            lines.merge("retried", times, Integer::sum);
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

  /** What it has just dropped is left behind if it ends with that, and else forgotten. */
  @Override
  public void onEvent(Observation event) {
    event.to(this);
    boolean leaves =
        event.fact() instanceof Observation.StageEnd || event.fact() instanceof Observation.Resume;
    if (!leaves) {
      gone.clear();
    }
  }

  @Override
  public void onStageStart(Occurrence at) {
    Place place = at.here();
    now.put(place, Doing.of(Now.WORKS, "runs"));
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

  @Override
  public void onStageEnd(Occurrence at, boolean done) {
    Place place = at.here();
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
  @Override
  public void onFork(Occurrence at, Event.Forked event) {
    now.remove(at.here());
  }

  /** A sub-flow begins, which says for itself what it does. */
  @Override
  public void onSubflowEntry(Occurrence at, Event.Opened event) {
    now.keySet()
        .removeIf(
            other -> other.node().equals(event.subflow()) && other.branch().equals(at.branch()));
  }

  @Override
  public void onPause(Occurrence at, Observation.Pause pause) {
    Map<String, String> lines = new LinkedHashMap<>();
    switch (pause.what()) {
      case ANSWER ->
          pause
              .questions()
              .forEach(q -> lines.put(q.field(), "waits: " + RunPicture.shortened(q.question())));
      case WIDGET -> lines.put("", "waits at the widget");
      case SIGNAL -> lines.put("", "waits for " + pause.signal());
      case REPAIR -> lines.put("", halted(pause));
      case TIME -> {}
    }
    boolean sleeps = pause.what() == Wait.TIME;
    if (pause.until() != null) {
      lines.put("until", (sleeps ? "sleeps until " : "until ") + time(pause.until()));
    }
    Now what = sleeps ? Now.SLEEPS : pause.what() == Wait.REPAIR ? Now.HALTED : Now.WAITS;
    now.put(at.here(), new Doing(what, lines));
  }

  private static String halted(Observation.Pause pause) {
    String message = pause.message();
    return "halted"
        + (pause.code() == null ? "" : ": " + pause.code().wireName())
        + (message == null ? "" : " – " + RunPicture.shortened(message));
  }

  @Override
  public void onAnswer(Occurrence at, Observation.Answer event) {
    Place place = at.here();
    Doing doing = now.get(place);
    if (event.refusal() == null && doing != null && doing.lines().containsKey(event.field())) {
      Map<String, String> lines = new LinkedHashMap<>(doing.lines());
      lines.remove(event.field());
      now.put(place, new Doing(doing.now(), lines));
    }
  }

  /** It waits no longer; what began meanwhile is not forgotten. */
  @Override
  public void onResume(Occurrence at, Observation.Resume event) {
    Place place = at.here();
    Doing doing = now.get(place);
    if (doing != null && doing.waits()) {
      if (place.declared()) {
        now.put(place, Doing.of(Now.WORKS, "continues"));
      } else {
        now.remove(place);
      }
    }
  }

  @Override
  public void onAttempt(Occurrence at, Event.Attempted event) {
    Place place = at.here();
    String what =
        place.undoes() ? "is undone" : event.field() == null ? "works" : "checks an answer";
    String attempt = event.attempt() > 1 ? ", attempt " + event.attempt() : "";
    now.put(place, Doing.of(Now.WORKS, what + attempt));
  }

  @Override
  public void onStageRetry(Occurrence at, Event.AttemptFailed event) {
    String again = "failed, tries again at " + time(event.retryAt());
    now.put(at.here(), Doing.of(Now.WORKS, again));
    retries.merge(at.here(), 1, Integer::sum);
  }

  @Override
  public void onBranchFailed(Occurrence at, Event.BranchFailed event) {
    failed.put(at.here(), event.code());
  }

  @Override
  public void onCompensation(Occurrence at, Observation.Compensation event) {
    Place place = at.here().undone();
    if (event.progression() != Observation.Progression.BEGUN) {
      now.remove(place.undo());
      if (place.declared()) {
        undone.add(place);
      }
    }
  }

  /** What the run abandons from now on is left behind. */
  @Override
  public void onRunEnding(Occurrence at, Event.Ending event) {
    ending = true;
  }

  @Override
  public void onRunEnd(Occurrence at, Observation.RunEnd event) {
    if (event.status() != RunState.Status.COMPLETED) {
      end();
    }
  }

  @Override
  public void onRunFailed(Occurrence at, Event.Failed event) {
    end();
  }

  private void end() {
    left.putAll(gone);
    now.forEach((place, doing) -> left.put(place, leftBehind(doing)));
    now.clear();
  }

  private static String time(long millis) {
    return Instant.ofEpochMilli(millis).toString();
  }
}
