package io.fermata.session;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.event.Event;
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
 *     given or that are swept
 * @param unread the sessions that could not be read, of which nothing is known
 * @param uncompared the runs that were compared only up to some entry, and were the same up to it
 * @param changes what would have been otherwise, and in how many runs, the most frequent first
 * @param examples a run for each place where runs part from their journals, the most frequent first
 */
public record WhatIfResult(
    int same,
    int skipped,
    List<Unread> unread,
    List<Uncompared> uncompared,
    List<Count> changes,
    List<Example> examples) {

  /**
   * Sessions that could not be read for a like reason.
   *
   * @param reason why the first of them could not be
   * @param example the journal of that one
   */
  public record Unread(String reason, int sessions, String example) {
    Unread oneMore() {
      return new Unread(reason, sessions + 1, example);
    }
  }

  /**
   * Runs whose rest was not compared for a like reason.
   *
   * @param reason why the code that was tried cannot continue the first of them; secrets are masked
   * @param example the first of them
   * @param entry the entry from which on that one was not compared
   */
  public record Uncompared(String flow, String reason, int runs, String example, long entry) {
    Uncompared oneMore() {
      return new Uncompared(flow, reason, runs + 1, example, entry);
    }
  }

  /**
   * In how many runs the same is otherwise.
   *
   * @param example one of them
   * @param decisions if it is another decision of a flow, that of the first runs
   */
  public record Count(
      String flow, Change change, int runs, String example, List<DecidedOtherwise> decisions) {
    public Count {
      decisions = List.copyOf(decisions);
    }
  }

  /**
   * A decision of a run: its rules, its targets, and what it looked at; secrets are masked.
   *
   * @param recorded as it was taken
   * @param now as it would be
   */
  public record DecidedOtherwise(String run, Event.Decided recorded, Event.Decided now) {
    private String text() {
      return "        in %s it looked at %s; now at %s%n"
          .formatted(run, looked(recorded), looked(now));
    }

    private static String looked(Event.Decided decision) {
      return decision.evidence().isEmpty() ? "nothing" : String.join(", ", decision.evidence());
    }

    private ObjectNode json() {
      ObjectNode json = Json.object().put("run", run);
      json.set("recorded", json(recorded));
      json.set("now", json(now));
      return json;
    }

    private static ObjectNode json(Event.Decided decision) {
      ObjectNode json = Json.object();
      decision.rules().forEach(json.putArray("rules")::add);
      decision.targets().forEach(json.putArray("targets")::add);
      decision.evidence().forEach(json.putArray("lookedAt")::add);
      return json;
    }
  }

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
  @JsonIgnoreProperties({"recorded", "now"})
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
    unread = List.copyOf(unread);
    uncompared = List.copyOf(uncompared);
    changes = List.copyOf(changes);
    examples = List.copyOf(examples);
  }

  /** How many runs would have been decided otherwise, or could not be carried over. */
  public int otherwise() {
    return examples.stream().mapToInt(Example::runs).sum();
  }

  /** Whether all sessions of what was tried were read, and all their runs compared as a whole. */
  public boolean complete() {
    return unread.isEmpty() && uncompared.isEmpty();
  }

  private int inPart() {
    return uncompared.stream().mapToInt(Uncompared::runs).sum();
  }

  private int unreadSessions() {
    return unread.stream().mapToInt(Unread::sessions).sum();
  }

  private int runs() {
    return same + otherwise() + inPart();
  }

  /** The counts, and the examples. */
  public String text() {
    StringBuilder text = new StringBuilder();
    text.append("%s run(s): %s are decided as they were".formatted(runs(), same));
    text.append(", %s otherwise".formatted(otherwise()));
    text.append(inPart() == 0 ? "" : ", %s are not compared to their end".formatted(inPart()));
    text.append("%n".formatted());
    for (Unread each : unread) {
      text.append(
          "%s session(s) could not be read, so nothing is known of them, for example %s: %s%n"
              .formatted(each.sessions(), each.example(), each.reason()));
    }
    if (skipped > 0) {
      text.append(
          "%s session(s) were skipped: their flow or agent was not given, or their runs are swept%n"
              .formatted(skipped));
    }
    text.append(uncompared.isEmpty() ? "" : "%n  runs  what is not compared%n".formatted());
    uncompared.forEach(each -> text.append(line(each)));
    text.append(changes.isEmpty() ? "" : "%n  runs  what would be otherwise%n".formatted());
    changes.forEach(each -> text.append(line(each)));
    examples.forEach(each -> text.append(described(each)));
    return text.toString();
  }

  private static String line(Uncompared rest) {
    return "%6s  %s: the rest of a run, because %s; for example of %s from entry %s on%n"
        .formatted(rest.runs(), rest.flow(), rest.reason(), rest.example(), rest.entry());
  }

  private static String line(Count count) {
    Change change = count.change();
    String where = change.node().isEmpty() ? count.flow() : count.flow() + " " + change.node();
    String title = change.kind().title();
    return "%6s  %s: %s, %s%n".formatted(count.runs(), where, title, change.text())
        + count.decisions().stream().map(DecidedOtherwise::text).collect(Collectors.joining());
  }

  private static String described(Example example) {
    String at = example.node().isEmpty() ? "" : " at " + example.node();
    return "%n%s run(s) of %s%s, for example %s:%n%s%n"
        .formatted(example.runs(), example.flow(), at, example.run(), example.text());
  }

  /** The same as JSON, for tools. */
  public ObjectNode json() {
    ObjectNode json = Json.object().put("runs", runs()).put("same", same);
    json.put("otherwise", otherwise()).put("inPart", inPart());
    json.put("skipped", skipped).put("unread", unreadSessions());
    json.set("unreadable", Json.tree(unread));
    json.set("uncompared", Json.tree(uncompared));
    ArrayNode counts = json.putArray("changes");
    for (Count count : changes) {
      String kind = count.change().kind().name().toLowerCase(Locale.ROOT);
      ObjectNode counted = counts.addObject();
      counted
          .put("flow", count.flow())
          .put("node", count.change().node())
          .put("kind", kind)
          .put("text", count.change().text())
          .put("runs", count.runs())
          .put("example", count.example());
      if (!count.decisions().isEmpty()) {
        ArrayNode decisions = counted.putArray("decisions");
        count.decisions().forEach(each -> decisions.add(each.json()));
      }
    }
    return json.set("examples", Json.tree(examples));
  }
}
