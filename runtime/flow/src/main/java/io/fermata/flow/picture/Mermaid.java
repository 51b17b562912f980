package io.fermata.flow.picture;

import io.fermata.flow.picture.Picture.Arrow;
import io.fermata.flow.picture.Picture.Kind;
import io.fermata.flow.picture.Picture.Mark;
import io.fermata.flow.picture.Picture.Now;
import io.fermata.flow.picture.Picture.Shape;
import io.fermata.flow.picture.Picture.Style;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Draws a picture as Mermaid text. Its ids are made up, so that any name may be a node's. */
final class Mermaid {
  private static final int LONGEST = 160;
  private static final String PLAIN = " .,_-+*/()'…×→✓✗=!?·–";

  private static final Map<String, String> LOOKS = new LinkedHashMap<>();

  static {
    LOOKS.put("visited", "fill:#dbeafe,stroke:#2563eb,color:#1f2937,stroke-width:2px");
    LOOKS.put("inside", "fill:#f8fafc,stroke:#2563eb,color:#1f2937,stroke-width:2px");
    LOOKS.put("sleeps", "fill:#ede9fe,stroke:#7c3aed,color:#1f2937,stroke-width:4px");
    LOOKS.put("waits", "fill:#fef3c7,stroke:#b45309,color:#1f2937,stroke-width:4px");
    LOOKS.put("works", "fill:#ccfbf1,stroke:#0f766e,color:#1f2937,stroke-width:4px");
    LOOKS.put("halted", "fill:#fee2e2,stroke:#dc2626,color:#1f2937,stroke-width:4px");
    LOOKS.put("undone", "fill:#dbeafe,stroke:#b45309,color:#1f2937,stroke-dasharray:5 3");
    LOOKS.put("dropped", "fill:#e5e7eb,stroke:#9ca3af,color:#6b7280");
  }

  private final Picture picture;
  private final Map<String, String> ids = new HashMap<>();
  private final Map<String, List<String>> looks = new LinkedHashMap<>();
  private final StringBuilder out = new StringBuilder("flowchart TD\n");

  private Mermaid(Picture picture) {
    this.picture = picture;
    picture.shapes().forEach(shape -> ids.put(shape.path(), "n" + (ids.size() + 1)));
  }

  static String render(Picture picture) {
    Mermaid mermaid = new Mermaid(picture);
    mermaid.shapes("", "  ");
    mermaid.arrows();
    mermaid.looks();
    return mermaid.out.toString();
  }

  // --- shapes ---------------------------------------------------------------------------------

  private void shapes(String box, String indent) {
    for (Shape shape : picture.within(box)) {
      String id = ids.get(shape.path());
      // Mermaid leaves room for one line above what lies in a box.
      String label = "\"" + label(shape, shape.kind().holds() ? " · " : "<br>") + "\"";
      if (shape.kind().holds()) {
        out.append(indent).append("subgraph ").append(id).append('[').append(label).append("]\n");
        out.append(indent).append("  direction TB\n");
        shapes(shape.path(), indent + "  ");
        out.append(indent).append("end\n");
      } else {
        out.append(indent).append(id).append(shape(shape.kind(), label)).append('\n');
      }
      look(shape);
    }
  }

  private static String shape(Kind kind, String label) {
    return switch (kind) {
      case START -> "((" + label + "))";
      case END -> "(((" + label + ")))";
      case ASK -> "[/" + label + "/]";
      case WIDGET -> "[[" + label + "]]";
      case SLEEP -> "([" + label + "])";
      case WAIT -> ">" + label + "]";
      case FORK, JOIN -> "{{" + label + "}}";
      default -> "[" + label + "]";
    };
  }

  private static String label(Shape shape, String between) {
    List<String> lines = new ArrayList<>();
    lines.add(shape.label() + Layout.times(shape.mark().visits()));
    lines.addAll(shape.details());
    lines.addAll(shape.mark().notes());
    return joined(lines, between);
  }

  private void look(Shape shape) {
    Mark mark = shape.mark();
    String visited = shape.kind().holds() ? "inside" : "visited";
    String look =
        mark.now() != Now.NOWHERE
            ? mark.now().name().toLowerCase(Locale.ROOT)
            : mark.dropped()
                ? "dropped"
                : mark.undone() ? "undone" : mark.visits() > 0 ? visited : "";
    if (!look.isEmpty()) {
      looks.computeIfAbsent(look, l -> new ArrayList<>()).add(ids.get(shape.path()));
    }
  }

  private void looks() {
    LOOKS.forEach(
        (name, look) -> {
          List<String> users = looks.get(name);
          if (users != null) {
            out.append("  classDef ").append(name).append(' ').append(look).append('\n');
            out.append("  class ").append(String.join(",", users)).append(' ').append(name);
            out.append('\n');
          }
        });
  }

  // --- ways -----------------------------------------------------------------------------------

  private void arrows() {
    List<String> taken = new ArrayList<>();
    List<String> dropped = new ArrayList<>();
    for (int i = 0; i < picture.arrows().size(); i++) {
      Arrow arrow = picture.arrows().get(i);
      out.append("  ").append(ids.get(arrow.from())).append(' ').append(line(arrow));
      String label = label(arrow);
      if (!label.isEmpty()) {
        out.append("|\"").append(label).append("\"|");
      }
      out.append(' ').append(ids.get(arrow.to())).append('\n');
      if (arrow.dropped()) {
        dropped.add("" + i);
      } else if (arrow.taken() > 0) {
        taken.add("" + i);
      }
    }
    lines(taken, "stroke:#2563eb,stroke-width:3px");
    lines(dropped, "stroke:#d1d5db");
  }

  private void lines(List<String> numbers, String look) {
    if (!numbers.isEmpty()) {
      out.append("  linkStyle ").append(String.join(",", numbers)).append(' ').append(look);
      out.append('\n');
    }
  }

  private static String line(Arrow arrow) {
    return arrow.style() == Style.ONWARD ? "-->" : "-.->";
  }

  private static String label(Arrow arrow) {
    List<String> lines = new ArrayList<>(arrow.label());
    String times = Layout.times(arrow.taken());
    if (lines.isEmpty()) {
      lines.add(times.strip());
    } else {
      lines.set(0, lines.get(0) + times);
    }
    lines.addAll(arrow.seen());
    return joined(lines, "<br>");
  }

  // --- texts ----------------------------------------------------------------------------------

  static String joined(List<String> lines, String between) {
    return String.join(between, lines.stream().map(Mermaid::escaped).toList());
  }

  /** Characters that Mermaid, its Markdown or HTML could interpret are written as numbers. */
  private static String escaped(String text) {
    StringBuilder escaped = new StringBuilder();
    Lettering.sound(text.replaceAll("\\s", " "))
        .codePoints()
        .limit(LONGEST)
        .map(letter -> Character.isWhitespace(letter) ? ' ' : letter)
        .forEach(
            letter -> {
              if (letter > 0x7F
                  || Character.isLetterOrDigit(letter)
                  || PLAIN.indexOf(letter) >= 0) {
                escaped.appendCodePoint(letter);
              } else {
                escaped.append('#').append(letter).append(';');
              }
            });
    return escaped.append(text.codePointCount(0, text.length()) > LONGEST ? "…" : "").toString();
  }
}
