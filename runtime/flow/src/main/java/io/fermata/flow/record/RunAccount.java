package io.fermata.flow.record;

import io.fermata.flow.event.Place;
import io.fermata.flow.json.Texts;
import io.fermata.flow.observe.Occurrence;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The lines of one run's account. Of a long loop it keeps the first two passes and the latest, and
 * of what is longer than anybody reads, the beginning and the end.
 */
final class RunAccount {
  private static final int KEPT_PASSES = 2;
  private static final int MOST_LINES = 2_000;

  /**
   * @param branch where it happened; "" in the trunk
   * @param notable it is reported even where the rest of a pass is not
   */
  private record Line(String text, String branch, boolean notable) {}

  /** A loop in progress: where the lines of its present pass begin, and how many were left out. */
  private static final class Loop {
    int start;
    int passes = 1;
    int leftOut;
  }

  private final List<Line> lines = new ArrayList<>();
  private final Map<String, Loop> loops = new LinkedHashMap<>();
  private int leftOut;

  /** Adds a sentence, which is one line whatever it quotes: no words of others are a sentence. */
  void add(Occurrence moment, String text, boolean notable) {
    List<String> labels = moment.labels();
    int depth = labels.size() + depth(moment.subflow());
    String where = labels.isEmpty() ? "" : "[" + String.join(" / ", labels) + "] ";
    lines.add(new Line("  ".repeat(depth) + Texts.visible(where + text), moment.branch(), notable));
    if (lines.size() > MOST_LINES) {
      int middle = MOST_LINES / 2;
      lines.remove(middle);
      leftOut++;
      loops.values().removeIf(loop -> loop.start > middle);
    }
  }

  private static int depth(String subflow) {
    return subflow.isEmpty() ? 0 : subflow.split("/", -1).length;
  }

  /** A pass of a loop begins; one in the middle that is over is left out from now on. */
  void pass(String branch, String node) {
    String key = branch + "|" + node;
    Loop loop = loops.computeIfAbsent(key, k -> new Loop());
    if (loop.passes > KEPT_PASSES) {
      forget(loop, branch, key);
    }
    loop.passes++;
    loop.start = lines.size();
  }

  private void forget(Loop loop, String branch, String key) {
    List<Line> kept = new ArrayList<>();
    for (Line line : lines.subList(loop.start, lines.size())) {
      boolean inside = Place.within(line.branch(), branch);
      if (!inside || line.notable()) {
        kept.add(line);
      }
    }
    lines.subList(loop.start, lines.size()).clear();
    if (loop.leftOut > 0) {
      lines.remove(loop.start - 1);
      loop.start--;
    }
    loop.leftOut++;
    String passes = loop.leftOut == 1 ? "one more pass" : loop.leftOut + " more passes";
    lines.addAll(kept);
    lines.add(new Line("… " + passes, branch, true));
    loops.entrySet().removeIf(e -> !e.getKey().equals(key) && e.getValue().start > loop.start);
  }

  String text() {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < lines.size(); i++) {
      if (leftOut > 0 && i == MOST_LINES / 2) {
        text.append("… ").append(leftOut).append(" lines left out\n");
      }
      text.append(lines.get(i).text()).append('\n');
    }
    return text.toString();
  }
}
