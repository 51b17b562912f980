package io.fermata.flow.event;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonValue;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Where a run is: a branch, a node, and the how-manieth visit to it. The visit keeps an answer
 * given in one pass of a loop from being taken for the next.
 *
 * <p>Written {@code node#visit} in the trunk, and {@code fork#visit:label|node#visit} in a branch.
 * A node of a sub-flow has the path {@code mount/node}.
 *
 * @param branch the branch, or "" for the trunk
 */
public record Place(String branch, String node, int visit) {
  /** The node where every flow begins. */
  public static final String START = "__start__";

  /** The node where every flow ends. */
  public static final String END = "__end__";

  private static final String UNDO = "~undo";

  public Place(String node, int visit) {
    this("", node, visit);
  }

  @JsonCreator
  public static Place parse(String text) {
    int hash = text.lastIndexOf('#');
    int bar = text.lastIndexOf('|', hash);
    String branch = bar < 0 ? "" : text.substring(0, bar);
    return new Place(
        branch, text.substring(bar + 1, hash), Integer.parseInt(text.substring(hash + 1)));
  }

  /** The name of the branch that a fork at this place opens under a label. */
  public String branch(String label) {
    return this + ":" + label;
  }

  /** The place that forked into a branch; null for the trunk. */
  public static @Nullable Place forkOf(String branch) {
    return branch.isEmpty() ? null : parse(branch.substring(0, branch.lastIndexOf(':')));
  }

  /** A branch's label within its fork. */
  public static String labelOf(String branch) {
    return branch.substring(branch.lastIndexOf(':') + 1);
  }

  /** Whether a branch is this one or lies within it. */
  public static boolean within(String branch, String outer) {
    return outer.isEmpty() || branch.equals(outer) || branch.startsWith(outer + "|");
  }

  /** A branch lies within a fork, on the side of a label. */
  public record Inside(Place fork, String label) {
    private boolean alike(Inside other) {
      return label.equals(other.label) && fork.node().equals(other.fork.node());
    }
  }

  /** The forks around a branch, the innermost first; none around the trunk. */
  public static List<Inside> around(String branch) {
    if (branch.isEmpty()) {
      return List.of();
    }
    List<Inside> around = new ArrayList<>(2);
    String at = branch;
    for (Place fork = forkOf(at); fork != null; fork = forkOf(at)) {
      around.add(new Inside(fork, labelOf(at)));
      at = fork.branch();
    }
    return around;
  }

  /** Whether two branches lie on the same side of the same forks, in any visits of these. */
  static boolean alike(String branch, String other) {
    Iterator<Inside> others = around(other).iterator();
    for (Inside inside : around(branch)) {
      if (!others.hasNext() || !inside.alike(others.next())) {
        return false;
      }
    }
    return !others.hasNext();
  }

  /** The label under which a fork at the given node led here; null if none did. */
  public @Nullable String labelAfter(String forkNode) {
    for (Inside inside : around(branch)) {
      if (inside.fork().node().equals(forkNode)) {
        return inside.label();
      }
    }
    return null;
  }

  /** The node's own name, without the path of the sub-flow that it lies in. */
  public String name() {
    return node.substring(node.lastIndexOf('/') + 1);
  }

  /** The path of the node that mounts the sub-flow it lies in; "" in the run's own flow. */
  public String mount() {
    return node.substring(0, Math.max(0, node.lastIndexOf('/')));
  }

  /** Where the compensation of this place's action happens. */
  public Place undo() {
    return new Place(branch, node + UNDO, visit);
  }

  /** Whether an author declared its node: what begins and ends a flow is not worth a mention. */
  @JsonIgnore
  public boolean declared() {
    return !name().equals(START) && !name().equals(END);
  }

  /** Whether it is a compensation. */
  @JsonIgnore
  public boolean undoes() {
    return node.endsWith(UNDO);
  }

  /** The place that forked into its branch; null in the trunk. */
  @JsonIgnore
  public @Nullable Place fork() {
    return forkOf(branch);
  }

  /** The label of its branch within the fork; "" in the trunk. */
  @JsonIgnore
  public String label() {
    return branch.isEmpty() ? "" : labelOf(branch);
  }

  /** The place that a compensation undoes. */
  public Place undone() {
    return undoes()
        ? new Place(branch, node.substring(0, node.length() - UNDO.length()), visit)
        : this;
  }

  @Override
  @JsonValue
  public String toString() {
    String here = node + "#" + visit;
    return branch.isEmpty() ? here : branch + "|" + here;
  }
}
