package io.fermata.flow.observe;

import io.fermata.flow.event.Place;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * When and where something happened that a recorder gets: the same for a run that is watched and
 * for one that is read back from its journal.
 *
 * @param session the session as its host names it; nothing is to be read into it
 * @param seq the journal record's number in its session
 * @param index which of the events of that record this is; with the number it is a cursor
 * @param at milliseconds of the epoch
 * @param place where it happened; null for what concerns the whole run
 * @param kind what the node does
 * @param millis how long that took which ends with it: a stage, an attempt, a wait or the run; null
 *     if nothing ends, or if nobody watched it begin
 * @param inherited whether it happened to the run that this one is a fork of, before the fork
 */
public record Occurrence(
    String flow,
    String session,
    String run,
    long seq,
    int index,
    long at,
    @Nullable Place place,
    Observation.Kind kind,
    @Nullable Long millis,
    boolean inherited) {

  /** The same as a moment of the run as a whole. */
  public Occurrence ofRun() {
    return new Occurrence(flow, session, run, seq, index, at, null, kind, millis, inherited);
  }

  /** Where it happened, of what concerns no whole run. */
  public Place here() {
    return Objects.requireNonNull(place);
  }

  /** How long that took which ends with it; 0 if that is not known. */
  public long took() {
    return millis == null ? 0 : millis;
  }

  /** The path of the node, {@code mount/node} in a sub-flow; "" for the whole run. */
  public String node() {
    return place == null ? "" : place.undone().node();
  }

  /** The node's own name. */
  public String name() {
    return place == null ? "" : place.undone().name();
  }

  /** The visit to the node, with its branch, as a text: {@code node#visit}. */
  public String step() {
    return place == null ? "" : place.toString();
  }

  /** The branch; "" for the trunk. */
  public String branch() {
    return place == null ? "" : place.branch();
  }

  /** The labels of the branches around, the outermost first. */
  public List<String> labels() {
    List<String> labels = new ArrayList<>();
    Place.around(branch()).forEach(inside -> labels.add(0, inside.label()));
    return labels;
  }

  /** The path of the node that mounts the sub-flow; "" in the run's own flow. */
  public String subflow() {
    return place == null ? "" : place.undone().mount();
  }

  /** Where the state of the flow at hand lives in the state of the run; "" for the run's own. */
  public String home() {
    if (place == null || subflow().isEmpty()) {
      return "";
    }
    List<String> parts = new ArrayList<>();
    StringBuilder mount = new StringBuilder();
    for (String part : subflow().split("/", -1)) {
      mount.append(mount.isEmpty() ? "" : "/").append(part);
      parts.add(part);
      // Only a list forks at the node that mounts a sub-flow and has its branches inside.
      String item = place.labelAfter(mount.toString());
      if (item != null) {
        parts.add(item);
      }
    }
    return String.join(".", parts);
  }

  /** The path in the state of the run of a field that the flow at hand knows by this name. */
  public String field(String own) {
    String home = home();
    return home.isEmpty() ? own : home + "." + own;
  }
}
