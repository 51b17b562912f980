package io.fermata.flow.picture;

import io.fermata.flow.picture.Layers.Box;
import io.fermata.flow.picture.Layers.Point;
import io.fermata.flow.picture.Layout.Line;
import io.fermata.flow.picture.Picture.Arrow;
import io.fermata.flow.picture.Picture.Kind;
import io.fermata.flow.picture.Picture.Now;
import io.fermata.flow.picture.Picture.Shape;
import io.fermata.flow.picture.Picture.Style;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;

/** Draws a picture as SVG. */
final class Svg {
  private static final double MARGIN = 24;
  private static final double HEAD = 46;
  private static final double ROUND = 8;

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
      .fermata .detail{fill:var(--faint)}
      .fermata .condition{fill:var(--faint);font-style:italic}
      .fermata .seen{fill:var(--went)}
      .fermata .note{fill:var(--went);font-weight:600}
      .fermata .node>rect,.fermata .node>circle{fill:var(--card);stroke:var(--edge);\
      stroke-width:1.5}
      .fermata .node.flow>rect,.fermata .node.each>rect{fill:var(--box);stroke-dasharray:none}
      .fermata .icon{fill:none;stroke:var(--faint);stroke-width:1.5;stroke-linecap:round;\
      stroke-linejoin:round}
      .fermata .node>circle.dot{fill:var(--bar);stroke:var(--bar)}
      .fermata .node.fork>rect,.fermata .node.join>rect{fill:var(--bar);stroke:var(--bar)}
      .fermata .node.fork>text,.fermata .node.join>text{fill:var(--bar-ink)}
      .fermata .way{fill:none;stroke:var(--line);stroke-width:1.5}
      .fermata .tip{fill:var(--line)}
      .fermata .late .way{stroke-dasharray:6 4}
      .fermata .early .way{stroke-dasharray:2 4}
      .fermata .taken .way{stroke:var(--went);stroke-width:2.5}
      .fermata .taken .tip{fill:var(--went)}
      .fermata .visited>rect{fill:var(--went-card);stroke:var(--went)}
      .fermata .visited.flow>rect,.fermata .visited.each>rect{fill:var(--box)}
      .fermata .visited>.icon{stroke:var(--went)}
      .fermata .visited>circle{stroke:var(--went)}
      .fermata .visited>circle.dot,.fermata .visited.fork>rect,.fermata .visited.join>rect{\
      fill:var(--went);stroke:var(--went)}
      .fermata .sleeps>rect{fill:var(--sleep-card);stroke:var(--sleep);stroke-width:3}
      .fermata .sleeps>.note{fill:var(--sleep)}
      .fermata .sleeps>.icon{stroke:var(--sleep)}
      .fermata .waits>rect{fill:var(--wait-card);stroke:var(--wait);stroke-width:3}
      .fermata .waits>.note{fill:var(--wait)}
      .fermata .waits>.icon{stroke:var(--wait)}
      .fermata .works>rect{fill:var(--work-card);stroke:var(--work);stroke-width:3}
      .fermata .works>.note{fill:var(--work)}
      .fermata .works>.icon{stroke:var(--work)}
      .fermata .halted>rect{fill:var(--halt-card);stroke:var(--halt);stroke-width:3}
      .fermata .halted>circle{stroke:var(--halt);stroke-width:3}
      .fermata .halted>.note{fill:var(--halt)}
      .fermata .halted>.icon{stroke:var(--halt)}
      .fermata .undone>rect{stroke-dasharray:5 3}
      .fermata .undone>.note{fill:var(--wait)}
      .fermata .dropped{opacity:.45;filter:grayscale(1)}
      """;

  private final Picture picture;
  private final Layout layout;
  private final StringBuilder out = new StringBuilder();

  private Svg(Picture picture) {
    this.picture = picture;
    this.layout = new Layout(picture);
  }

  static String render(Picture picture) {
    Svg svg = new Svg(picture);
    svg.draw();
    return svg.out.toString();
  }

  private void draw() {
    double head =
        Math.max(
            Lettering.width(picture.title(), 18) * 1.05,
            Lettering.width(picture.subtitle(), Layout.SMALL));
    double width = Math.max(head, layout.size().width()) + 2 * MARGIN;
    double height = layout.size().height() + HEAD + 2 * MARGIN;
    out.append("<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"fermata\" role=\"img\" width=\"")
        .append(number(width))
        .append("\" height=\"")
        .append(number(height))
        .append("\" viewBox=\"0 0 ")
        .append(number(width))
        .append(' ')
        .append(number(height))
        .append("\" style=\"max-width:100%;height:auto\">\n");
    element("title", picture.title());
    element("desc", picture.subtitle());
    out.append("<style>\n").append(STYLE).append("</style>\n");
    out.append("<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n");
    text(MARGIN, MARGIN + 14, "heading", picture.title());
    text(MARGIN, MARGIN + 32, "detail", picture.subtitle());
    double left = (width - layout.size().width()) / 2;
    out.append("<g transform=\"translate(")
        .append(number(left))
        .append(' ')
        .append(number(MARGIN + HEAD))
        .append(")\">\n");
    for (Shape shape : picture.shapes()) {
      shape(shape, Objects.requireNonNull(layout.boxes().get(shape.path())));
    }
    layout.wires().forEach(this::wire);
    out.append("</g>\n</svg>\n");
  }

  // --- shapes ---------------------------------------------------------------------------------

  private void shape(Shape shape, Box box) {
    List<String> classes = new ArrayList<>(List.of("node", word(shape.kind())));
    if (shape.mark().visits() > 0) {
      classes.add("visited");
    }
    if (shape.mark().now() != Now.NOWHERE) {
      classes.add(word(shape.mark().now()));
    }
    if (shape.mark().dropped()) {
      classes.add("dropped");
    }
    if (shape.mark().undone()) {
      classes.add("undone");
    }
    out.append("<g class=\"").append(String.join(" ", classes)).append("\" data-node=\"");
    out.append(escaped(shape.path())).append("\">");
    element("title", describe(shape));
    if (shape.kind().bounds()) {
      dot(shape, box);
    } else {
      card(shape, box);
    }
    out.append("</g>\n");
  }

  private static String describe(Shape shape) {
    List<String> told =
        new ArrayList<>(List.of(shape.label() + Layout.times(shape.mark().visits())));
    told.addAll(shape.details());
    told.addAll(shape.mark().notes());
    return String.join("\n", told);
  }

  private void dot(Shape shape, Box box) {
    double y = box.y() + box.height() / 2;
    double radius = box.width() / 2;
    if (shape.kind() == Kind.START) {
      circle("dot", box.middle(), y, radius);
    } else {
      circle("ring", box.middle(), y, radius);
      circle("dot", box.middle(), y, radius * 0.55);
    }
  }

  private void circle(String look, double x, double y, double radius) {
    out.append("<circle class=\"").append(look).append("\" cx=\"").append(number(x));
    out.append("\" cy=\"").append(number(y)).append("\" r=\"").append(number(radius));
    out.append("\"/>");
  }

  private void card(Shape shape, Box box) {
    boolean bar = shape.kind().branches();
    if (shape.kind() == Kind.EACH) {
      rect("behind", box.plus(4, 4), ROUND);
    }
    rect("front", box, bar ? Math.min(11, box.height() / 2) : ROUND);
    List<Line> lines = layout.text(shape);
    double y = box.y() + (bar ? 3.5 : Layout.PAD - 2);
    if (!bar) {
      out.append("<path class=\"icon\" transform=\"translate(");
      out.append(number(box.x() + Layout.PAD - 1)).append(' ').append(number(y + 1));
      out.append(")\" d=\"").append(icon(shape.kind())).append("\"/>");
    }
    for (Line line : lines) {
      double x = bar ? box.middle() : box.x() + Layout.PAD + Layout.ICON;
      String look = word(line.tone()) + (bar ? "\" text-anchor=\"middle" : "");
      text(x, y + line.height() - 4.5, look, line.text());
      y += line.height();
    }
  }

  private void rect(String look, Box box, double round) {
    out.append("<rect class=\"")
        .append(look)
        .append("\" x=\"")
        .append(number(box.x()))
        .append("\" y=\"")
        .append(number(box.y()));
    out.append("\" width=\"").append(number(box.width())).append("\" height=\"");
    out.append(number(box.height())).append("\" rx=\"").append(number(round)).append("\"/>");
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

  // --- ways -----------------------------------------------------------------------------------

  private void wire(Layout.Placed placed) {
    Arrow arrow = placed.arrow();
    List<String> classes = new ArrayList<>(List.of("edge"));
    if (arrow.style() != Style.ONWARD) {
      classes.add(word(arrow.style()));
    }
    if (arrow.taken() > 0) {
      classes.add("taken");
    }
    if (arrow.dropped()) {
      classes.add("dropped");
    }
    out.append("<g class=\"").append(String.join(" ", classes)).append("\" data-from=\"");
    out.append(escaped(arrow.from())).append("\" data-to=\"").append(escaped(arrow.to()));
    out.append("\">");
    describe(arrow);
    List<List<Point>> lines = placed.wire().lines();
    for (int i = 0; i < lines.size(); i++) {
      boolean last = i == lines.size() - 1;
      out.append("<path class=\"way\" d=\"").append(Pen.path(lines.get(i), last)).append("\"/>");
    }
    List<Point> end = lines.get(lines.size() - 1);
    Point tip = end.get(end.size() - 1);
    out.append("<path class=\"tip\" d=\"M").append(number(tip.x())).append(' ');
    out.append(number(tip.y())).append("l-4.5-9h9z\"/>");
    Box label = placed.wire().label();
    if (label != null) {
      double y = label.y() + 2;
      for (Line line : Layout.text(arrow)) {
        String look = word(line.tone()) + "\" text-anchor=\"middle";
        text(label.middle(), y + line.height() - 4, look, line.text());
        y += line.height();
      }
    }
    out.append("</g>\n");
  }

  private void describe(Arrow arrow) {
    List<String> told = new ArrayList<>(arrow.label());
    told.addAll(arrow.seen());
    if (arrow.taken() > 0) {
      told.add("taken " + (arrow.taken() == 1 ? "once" : arrow.taken() + " times"));
    }
    if (!told.isEmpty()) {
      element("title", String.join("\n", told));
    }
  }

  // --- writing --------------------------------------------------------------------------------

  private void text(double x, double y, String look, String text) {
    out.append("<text x=\"").append(number(x)).append("\" y=\"").append(number(y));
    out.append("\" class=\"").append(look).append("\">").append(escaped(text)).append("</text>");
  }

  private void element(String name, String text) {
    out.append('<').append(name).append('>').append(escaped(text));
    out.append("</").append(name).append('>');
  }

  private static String word(Enum<?> value) {
    return value.name().toLowerCase(Locale.ROOT);
  }

  static String number(double value) {
    double rounded = Math.round(value * 10) / 10.0;
    return rounded == Math.rint(rounded) ? "" + (long) rounded : "" + rounded;
  }

  /** Also replaces what XML cannot say. */
  private static String escaped(String text) {
    StringBuilder escaped = new StringBuilder();
    text.codePoints()
        .forEach(
            letter -> {
              switch (letter) {
                case '&' -> escaped.append("&amp;");
                case '<' -> escaped.append("&lt;");
                case '>' -> escaped.append("&gt;");
                case '"' -> escaped.append("&quot;");
                default -> escaped.appendCodePoint(Lettering.sound(letter));
              }
            });
    return escaped.toString();
  }
}
