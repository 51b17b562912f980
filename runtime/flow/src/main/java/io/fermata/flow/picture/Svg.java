package io.fermata.flow.picture;

import io.fermata.flow.picture.Grid.Cell;
import io.fermata.flow.picture.Grid.Point;
import io.fermata.flow.picture.Grid.Way;
import io.fermata.flow.picture.Layout.Edge;
import io.fermata.flow.picture.Layout.Node;
import io.fermata.flow.picture.Lettering.Line;
import io.fermata.flow.picture.Lettering.Tone;
import io.fermata.flow.picture.Picture.Arrow;
import io.fermata.flow.picture.Picture.Kind;
import io.fermata.flow.picture.Picture.Shape;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/** Draws a picture as SVG. */
final class Svg {
  private static final double MARGIN = 24;
  private static final double CORNER = 8;
  private static final double ROUND = 13;

  /** What a run left on a node gives it a colour, --on, and a ground, --under. */
  private static final String STYLE =
      """
      .fermata{--paper:#ffffff;--ink:#1f2937;--faint:#6b7280;--line:#94a3b8;--card:#ffffff;\
      --edge:#cbd5e1;--box:#f8fafc;--bar:#475569;--bar-ink:#ffffff;--went:#2563eb;\
      --went-card:#eff6ff;--wait:#b45309;--wait-card:#fffbeb;--work:#0f766e;--work-card:#f0fdfa;\
      --sleep:#7c3aed;--sleep-card:#f5f3ff;--halt:#dc2626;--halt-card:#fef2f2;\
      font-family:ui-sans-serif,system-ui,"Segoe UI",Helvetica,Arial,sans-serif}
      @media (prefers-color-scheme:dark){.fermata{--paper:#0f172a;--ink:#e5e7eb;--faint:#9ca3af;\
      --line:#64748b;--card:#1e293b;--edge:#475569;--box:#162033;--bar:#94a3b8;--bar-ink:#0f172a;\
      --went:#60a5fa;--went-card:#172e54;--wait:#fbbf24;--wait-card:#3a2c0c;--work:#2dd4bf;\
      --work-card:#0d3330;--sleep:#a78bfa;--sleep-card:#2b2150;--halt:#f87171;--halt-card:#450f14}}
      .fermata .paper{fill:var(--paper)}
      .fermata text{fill:var(--ink);font-size:11.5px;white-space:pre}
      .fermata .title{font-size:14px;font-weight:600}
      .fermata .heading{font-size:18px;font-weight:700}
      .fermata .detail,.fermata .label,.fermata .condition{fill:var(--faint)}
      .fermata .condition{font-style:italic}
      .fermata .seen{fill:var(--went)}
      .fermata .note{fill:var(--on,var(--went));font-weight:600}
      .fermata .visited{--on:var(--went);--under:var(--went-card)}
      .fermata .visited.flow,.fermata .visited.each{--under:var(--box)}
      .fermata .sleeps{--on:var(--sleep);--under:var(--sleep-card);--width:3}
      .fermata .waits{--on:var(--wait);--under:var(--wait-card);--width:3}
      .fermata .works{--on:var(--work);--under:var(--work-card);--width:3}
      .fermata .halted{--on:var(--halt);--under:var(--halt-card);--width:3}
      .fermata .flow,.fermata .each{--card:var(--box)}
      .fermata .front,.fermata .behind,.fermata .ring{fill:var(--under,var(--card));\
      stroke:var(--on,var(--edge));stroke-width:var(--width,1.5)}
      .fermata .icon{fill:none;stroke:var(--on,var(--faint));stroke-width:1.5;\
      stroke-linecap:round;stroke-linejoin:round}
      .fermata .dot,.fermata .bar{fill:var(--on,var(--bar))}
      .fermata .bar~.detail{fill:var(--bar-ink)}
      .fermata .way{fill:none;stroke:var(--on,var(--line));stroke-width:var(--width,1.5)}
      .fermata .tip{fill:var(--on,var(--line))}
      .fermata .late .way{stroke-dasharray:6 4}
      .fermata .early .way{stroke-dasharray:2 4}
      .fermata .taken{--on:var(--went);--width:2.5}
      .fermata .undone .front{stroke-dasharray:5 3}
      .fermata .undone .note{fill:var(--wait)}
      .fermata .dropped{opacity:.45;filter:grayscale(1)}
      """;

  private final StringBuilder out = new StringBuilder();

  private Svg() {}

  static String render(Picture picture) {
    Svg svg = new Svg();
    svg.draw(picture, new Layout(picture, ""));
    return svg.out.toString();
  }

  private void draw(Picture picture, Layout layout) {
    List<Line> head =
        List.of(new Line(picture.title(), Tone.HEADING), new Line(picture.subtitle(), Tone.DETAIL));
    double width = Math.max(Layout.width(head), layout.wiring.width) + 2 * MARGIN;
    double top = MARGIN + Layout.height(head);
    double height = top + layout.wiring.height + MARGIN;
    write("<svg xmlns='http://www.w3.org/2000/svg' class='fermata' role='img'");
    write(" width='%s' height='%s' viewBox='0 0 %s %s'", width, height, width, height);
    write(" style='max-width:100%%;height:auto'>\n");
    write("<title>%s</title><desc>%s</desc>", picture.title(), picture.subtitle());
    out.append("<style>\n").append(STYLE).append("</style>\n");
    write("<rect class='paper' width='100%%' height='100%%'/>\n");
    lines(head, MARGIN, MARGIN, "start");
    inside(layout, (width - layout.wiring.width) / 2, top);
    write("</svg>\n");
  }

  private void inside(Layout layout, double x, double y) {
    write("<g transform='translate(%s %s)'>\n", x, y);
    for (Node node : layout.nodes) {
      shape(node);
      if (node.inner() != null) {
        inside(node.inner(), node.innerLeft(), node.innerTop());
      }
    }
    layout.edges.forEach(this::arrow);
    write("</g>\n");
  }

  // --- shapes ---------------------------------------------------------------------------------

  private void shape(Node node) {
    Shape shape = node.shape();
    Picture.Mark mark = shape.mark();
    String look = mark.visits() > 0 ? " visited" : "";
    look += mark.now() == Picture.Now.NOWHERE ? "" : " " + word(mark.now());
    look += (mark.dropped() ? " dropped" : "") + (mark.undone() ? " undone" : "");
    write("<g class='node %s%s' data-node='%s'>", word(shape.kind()), look, shape.path());
    List<String> title = new ArrayList<>(List.of(shape.label() + Layout.times(mark.visits())));
    title.addAll(shape.details());
    title.addAll(mark.notes());
    write("<title>%s</title>", String.join("\n", title));
    Cell cell = node.cell();
    if (shape.kind().bounds()) {
      double inset = shape.kind() == Kind.END ? cell.width * 0.22 : 0;
      rect("ring", cell, 0, 0, ROUND);
      rect("dot", cell, inset, inset, ROUND);
    } else if (shape.kind().branches()) {
      rect("bar", cell, 0, 0, ROUND);
      lines(node.text(), cell.x, cell.y + 3.5, "middle");
    } else {
      card(node, cell);
    }
    write("</g>\n");
  }

  private void card(Node node, Cell cell) {
    double x = cell.x - cell.width / 2 + Layout.PAD;
    double y = cell.y + Layout.PAD - 2;
    if (node.shape().kind() == Kind.EACH) {
      rect("behind", cell, 4, 0, CORNER);
    }
    rect("front", cell, 0, 0, CORNER);
    write("<path class='icon' transform='translate(%s %s)'", x - 1, y + 1);
    write(" d='%s'/>", icon(node.shape().kind()));
    lines(node.text(), x + Layout.ICON, y, "start");
  }

  /** The outline of a cell, moved, and smaller on all sides. */
  private void rect(String look, Cell cell, double off, double inset, double round) {
    write("<rect class='%s' rx='%s'", look, round);
    write(" x='%s' y='%s'", cell.x - cell.width / 2 + off, cell.y + off);
    write(" width='%s' height='%s'/>", cell.width - 2 * inset, cell.height - 2 * inset);
  }

  /** A sign of 16 by 16 for each kind of node. */
  private static String icon(Kind kind) {
    return switch (kind) {
      case ASK -> "M2 3h12v8H7l-3 3v-3H2zM5 6h6M5 8.5h4";
      case WIDGET -> "M1.5 2.5h13v11h-13zM1.5 5.5h13M4 8.5h4v2.5H4z";
      case ACT -> "M9 1 3 9h4.5L7 15l6-8H8.5z";
      case SLEEP -> "M8 1.5a6.5 6.5 0 1 0 .01 0zM8 4.5V8l2.5 2";
      case WAIT -> "M1.5 3.5h13v9h-13zM1.5 4 8 9l6.5-5";
      case FLOW -> "M1.5 1.5h5v4h-5zM9.5 10.5h5v4h-5zM4 5.5v7h5.5";
      case EACH -> "M1.5 4.5h10v10h-10zM4.5 1.5h10v10M4 8h5M4 11h5";
      default -> "";
    };
  }

  // --- arrows ---------------------------------------------------------------------------------

  private void arrow(Edge edge) {
    Arrow arrow = edge.arrow();
    String look = arrow.style() == Picture.Style.ONWARD ? "" : " " + word(arrow.style());
    look += (arrow.taken() > 0 ? " taken" : "") + (arrow.dropped() ? " dropped" : "");
    write("<g class='edge%s' data-from='%s' data-to='%s'>", look, arrow.from(), arrow.to());
    List<String> title = new ArrayList<>(arrow.label());
    title.addAll(arrow.seen());
    if (arrow.taken() > 0) {
      title.add("taken " + (arrow.taken() == 1 ? "once" : arrow.taken() + " times"));
    }
    write(title.isEmpty() ? "" : "<title>%s</title>", String.join("\n", title));
    Way way = edge.way();
    way.lines.forEach(line -> write("<path class='way' d='%s'/>", path(line)));
    write("<path class='tip' d='M%s %sl-4.5-9h9z'/>", way.end, way.to.y);
    if (way.label != null) {
      lines(edge.text(), way.label.x, way.label.y + 2, "middle");
    }
    write("</g>\n");
  }

  /** Slants are curves, corners round. */
  private static String path(List<Point> line) {
    Point from = line.get(0);
    StringBuilder path = new StringBuilder("M" + text(from));
    for (int i = 1; i < line.size(); i++) {
      Point to = line.get(i);
      Point next = line.get(Math.min(i + 1, line.size() - 1));
      double half = (from.y() + to.y()) / 2;
      if (slants(from, to)) {
        path.append("C").append(text(new Point(from.x(), half)));
        path.append(" ").append(text(new Point(to.x(), half))).append(" ").append(text(to));
      } else if (to.equals(next) || slants(to, next)) {
        path.append("L").append(text(to));
      } else {
        path.append("L").append(text(near(to, from))).append("Q").append(text(to));
        path.append(" ").append(text(near(to, next)));
      }
      from = to;
    }
    return path.toString();
  }

  private static boolean slants(Point from, Point to) {
    return from.x() != to.x() && from.y() != to.y();
  }

  /** The point where the rounding of a corner begins, on the way to another point. */
  private static Point near(Point corner, Point other) {
    double dx = other.x() - corner.x();
    double dy = other.y() - corner.y();
    double part = Math.min(0.5, CORNER / Math.hypot(dx, dy));
    return new Point(corner.x() + dx * part, corner.y() + dy * part);
  }

  private static String text(Point point) {
    return number(point.x()) + " " + number(point.y());
  }

  // --- writing --------------------------------------------------------------------------------

  private void lines(List<Line> lines, double x, double top, String anchor) {
    double y = top;
    for (Line line : lines) {
      y += line.tone().height;
      write("<text x='%s' y='%s' class='%s'", x, y - 4.5, word(line.tone()));
      write(" text-anchor='%s'>%s</text>", anchor, line.text());
    }
  }

  /** Writes values into a pattern: numbers rounded, and of texts only what XML can say. */
  private void write(String pattern, Object... values) {
    out.append(
        pattern.replace('\'', '"').formatted(Arrays.stream(values).map(Svg::safe).toArray()));
  }

  private static String safe(Object value) {
    return value instanceof Double number
        ? number(number)
        : Lettering.sound(value.toString())
            .replace("&", "&amp;")
            .replace("<", "&lt;")
            .replace(">", "&gt;")
            .replace("\"", "&quot;");
  }

  private static String number(double value) {
    String number = "" + Math.round(value * 10) / 10.0;
    return number.endsWith(".0") ? number.substring(0, number.length() - 2) : number;
  }

  private static String word(Enum<?> value) {
    return value.name().toLowerCase(Locale.ROOT);
  }
}
