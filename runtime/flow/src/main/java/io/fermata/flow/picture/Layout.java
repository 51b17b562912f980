package io.fermata.flow.picture;

import io.fermata.flow.picture.Grid.Cell;
import io.fermata.flow.picture.Grid.Way;
import io.fermata.flow.picture.Lettering.Line;
import io.fermata.flow.picture.Lettering.Tone;
import io.fermata.flow.picture.Picture.Arrow;
import io.fermata.flow.picture.Picture.Shape;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Where all that lies in a box is, and how its texts are broken. A box within is laid out first,
 * and then is one shape among others.
 */
final class Layout {
  static final double PAD = 11;
  static final double ICON = 24;
  private static final double INNER = 18;

  final List<Node> nodes = new ArrayList<>();
  final List<Edge> edges = new ArrayList<>();
  final Wiring wiring;

  /** A shape, where it is, and what lies in it. */
  record Node(Shape shape, List<Line> text, Cell cell, @Nullable Layout inner) {
    double innerLeft() {
      return inner == null ? cell.x : cell.x - inner.wiring.width / 2;
    }

    double innerTop() {
      return cell.y + head(text) + 2;
    }
  }

  /** An arrow and its way. */
  record Edge(Arrow arrow, List<Line> text, Way way) {}

  /** Lays out what lies in the box of this path; "" is the paper. */
  Layout(Picture picture, String box) {
    Grid grid = new Grid();
    Map<String, Cell> cells = new HashMap<>();
    for (Shape shape : picture.within(box)) {
      Layout inner = shape.kind().holds() ? new Layout(picture, shape.path()) : null;
      List<Line> text = text(shape);
      Cell cell = cell(shape, text, inner);
      grid.boxes.add(cell);
      cells.put(shape.path(), cell);
      nodes.add(new Node(shape, text, cell, inner));
    }
    for (Arrow arrow : picture.arrows()) {
      Cell from = cells.get(arrow.from());
      Cell to = cells.get(arrow.to());
      if (from != null && to != null) {
        List<Line> text = text(arrow);
        Cell label = text.isEmpty() ? null : new Cell(width(text) + 10, height(text) + 4, false);
        Way way = new Way(from, to, label);
        grid.ways.add(way);
        edges.add(new Edge(arrow, text, way));
      }
    }
    grid.arrange();
    this.wiring = new Wiring(grid);
  }

  private static Cell cell(Shape shape, List<Line> text, @Nullable Layout inner) {
    double width = width(text) + 2 * PAD;
    if (shape.kind().bounds()) {
      double size = shape.box().isEmpty() ? 26 : 18;
      return new Cell(size, size, true);
    } else if (shape.kind().branches()) {
      return new Cell(Math.max(90, width + 6), height(text) + 7, true);
    }
    double least = inner == null ? 110 : Math.max(110, inner.wiring.width + 2 * INNER);
    double more = inner == null ? 0 : inner.wiring.height + INNER + 4;
    return new Cell(Math.max(least, width + ICON), head(text) + more, true);
  }

  /** How high the part of a shape is that its text is in. */
  static double head(List<Line> text) {
    return height(text) + 2 * PAD - 4;
  }

  static double width(List<Line> lines) {
    return lines.stream().mapToDouble(Line::width).max().orElse(0);
  }

  static double height(List<Line> lines) {
    return lines.stream().mapToDouble(line -> line.tone().height).sum();
  }

  private static List<Line> text(Shape shape) {
    List<Line> lines = new ArrayList<>();
    if (!shape.kind().bounds()) {
      String label = shape.label() + times(shape.mark().visits());
      Lettering.add(lines, label, shape.kind().branches() ? Tone.DETAIL : Tone.TITLE);
      shape.details().forEach(detail -> Lettering.add(lines, detail, Tone.DETAIL));
      shape.mark().notes().forEach(note -> Lettering.add(lines, note, Tone.NOTE));
    }
    return lines;
  }

  private static List<Line> text(Arrow arrow) {
    List<Line> lines = new ArrayList<>();
    String label = arrow.label().stream().findFirst().orElse("");
    Lettering.add(lines, label + times(arrow.taken()), Tone.LABEL);
    arrow.label().stream().skip(1).forEach(more -> Lettering.add(lines, more, Tone.CONDITION));
    arrow.seen().forEach(seen -> Lettering.add(lines, seen, Tone.SEEN));
    return lines;
  }

  /** How often, if more than once. */
  static String times(int times) {
    return times > 1 ? " ×" + times : "";
  }
}
