package io.fermata.flow.picture;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Who sent what to whom, in order.
 *
 * @param lifelines from left to right; only those are drawn that something happens at
 */
public record SequenceDiagram(String title, List<Lifeline> lifelines, List<Row> rows) {
  public SequenceDiagram {
    lifelines = List.copyOf(lifelines);
    rows = List.copyOf(rows);
  }

  /** Somebody or something that sends and receives; its id is any text. */
  public record Lifeline(String id, String label, boolean person) {}

  /** What happens next. */
  public sealed interface Row {
    String from();

    String to();

    String text();
  }

  /** How an arrow looks. */
  public enum Line {
    REQUEST("->>"),
    REPLY("-->>"),
    FAILURE("--x");

    private final String mermaid;

    Line(String mermaid) {
      this.mermaid = mermaid;
    }
  }

  /** An arrow from one lifeline to another. */
  public record Sent(String from, String to, Line line, String text) implements Row {}

  /**
   * A note across two lifelines, or at one.
   *
   * @param stressed whether it is about a failure, or where two diagrams differ
   */
  public record Remark(String from, String to, String text, boolean stressed) implements Row {}

  /**
   * As a Mermaid sequence diagram. Ids are made up, and characters that Mermaid could interpret are
   * written as numbers, so that no text can change the diagram.
   */
  public String mermaid() {
    StringBuilder out = new StringBuilder("sequenceDiagram\n");
    out.append("  title ").append(text(title)).append('\n');
    Map<String, String> ids = new HashMap<>();
    Set<String> used = new HashSet<>();
    rows.forEach(row -> used.addAll(List.of(row.from(), row.to())));
    for (Lifeline one : lifelines) {
      if (used.contains(one.id()) && ids.putIfAbsent(one.id(), "p" + (ids.size() + 1)) == null) {
        out.append(one.person() ? "  actor " : "  participant ").append(ids.get(one.id()));
        out.append(" as ").append(text(one.label())).append('\n');
      }
    }
    for (Row row : rows) {
      out.append(line(row, ids)).append('\n');
    }
    return out.toString();
  }

  private static String line(Row row, Map<String, String> ids) {
    String from = id(ids, row.from());
    String to = id(ids, row.to());
    if (row instanceof Sent sent) {
      return "  " + from + sent.line().mermaid + to + ": " + text(sent.text());
    }
    String over = from.equals(to) ? from : from + "," + to;
    String note = "Note over " + over + ": " + text(row.text());
    return ((Remark) row).stressed()
        ? "  rect rgb(254, 226, 226)\n    " + note + "\n  end"
        : "  " + note;
  }

  private static String id(Map<String, String> ids, String of) {
    String id = ids.get(of);
    if (id == null) {
      throw new IllegalArgumentException("The diagram has no lifeline " + of);
    }
    return id;
  }

  private static String text(String text) {
    List<Lettering.Line> lines = new ArrayList<>();
    Lettering.add(lines, text, Lettering.Tone.MESSAGE);
    String joined = Mermaid.joined(lines.stream().map(Lettering.Line::text).toList(), "<br>");
    return joined.isEmpty() ? "–" : joined;
  }
}
