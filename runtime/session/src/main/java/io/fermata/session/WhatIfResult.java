package io.fermata.session;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.flow.picture.Picture;
import io.fermata.flow.replay.Change;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * What a {@link WhatIf} found: counts first, then examples.
 *
 * @param same how many runs would have been decided as they were, and can continue
 * @param skipped how many sessions have only runs of flows, or a thread of an agent, that were not
 *     given, that are swept, or that cannot be read
 * @param changes what would have been otherwise, and in how many runs, the most frequent first
 * @param examples a run for each place where runs part from their journals, the most frequent first
 */
public record WhatIfResult(int same, int skipped, List<Count> changes, List<Example> examples) {

  /**
   * In how many runs the same is otherwise.
   *
   * @param example one of them
   */
  public record Count(String flow, Change change, int runs, String example) {}

  /**
   * Runs that part from their journals at the same place.
   *
   * @param node the node at which another thing would have been decided; empty if at none
   * @param runs how many they are
   * @param run the first of them
   * @param text what was recorded of it, and what would come now; secrets are masked
   * @param recorded its way up to there; null if it never parts
   * @param now its way with the new code, as far as its journal has answers for it
   */
  public record Example(
      String flow,
      String node,
      int runs,
      String run,
      String text,
      @Nullable Picture recorded,
      @Nullable Picture now) {
    Example oneMore() {
      return new Example(flow, node, runs + 1, run, text, recorded, now);
    }
  }

  public WhatIfResult {
    changes = List.copyOf(changes);
    examples = List.copyOf(examples);
  }

  /** How many runs would have been decided otherwise, or could not be carried over. */
  public int otherwise() {
    return examples.stream().mapToInt(Example::runs).sum();
  }

  /** The counts, and the examples. */
  public String text() {
    String counts =
        "%d run(s): %d are decided as they were, %d otherwise%n"
            .formatted(same + otherwise(), same, otherwise());
    return counts
        + (skipped == 0
            ? ""
            : "%d session(s) were skipped: their flow or agent was not given, or their runs are swept or unreadable%n"
                .formatted(skipped))
        + (changes.isEmpty() ? "" : "%n  runs  what would be otherwise%n".formatted())
        + changes.stream().map(WhatIfResult::line).collect(Collectors.joining())
        + examples.stream().map(WhatIfResult::described).collect(Collectors.joining());
  }

  private static String line(Count count) {
    Change change = count.change();
    String where = change.node().isEmpty() ? count.flow() : count.flow() + " " + change.node();
    return "%6d  %s: %s, %s%n".formatted(count.runs(), where, change.kind().title(), change.text());
  }

  private static String described(Example example) {
    String at = example.node().isEmpty() ? "" : " at " + example.node();
    return "%n%d run(s) of %s%s, for example %s:%n%s%n"
        .formatted(example.runs(), example.flow(), at, example.run(), example.text());
  }

  /** The same as JSON, for tools. */
  public ObjectNode json() {
    ObjectNode json = Json.object().put("runs", same + otherwise()).put("same", same);
    json.put("otherwise", otherwise()).put("skipped", skipped);
    ArrayNode counts = json.putArray("changes");
    for (Count count : changes) {
      String kind = count.change().kind().name().toLowerCase(Locale.ROOT);
      counts
          .addObject()
          .put("flow", count.flow())
          .put("node", count.change().node())
          .put("kind", kind)
          .put("text", count.change().text())
          .put("runs", count.runs())
          .put("example", count.example());
    }
    ArrayNode shown = json.putArray("examples");
    for (Example example : examples) {
      shown
          .addObject()
          .put("flow", example.flow())
          .put("node", example.node())
          .put("runs", example.runs())
          .put("run", example.run())
          .put("text", example.text());
    }
    return json;
  }
}
