package io.fermata.flow.picture;

import io.fermata.flow.picture.Layers.Box;
import io.fermata.flow.picture.Layers.Link;
import io.fermata.flow.picture.Layers.Plan;
import io.fermata.flow.picture.Layers.Size;
import io.fermata.flow.picture.Layers.Wire;
import io.fermata.flow.picture.Picture.Arrow;
import io.fermata.flow.picture.Picture.Shape;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Where everything in a picture lies, and how its texts are broken. What lies in a box is laid out
 * first, and the box then is one shape among others.
 */
final class Layout {
  static final double TITLE = 14;
  static final double SMALL = 11.5;
  static final double TITLE_LINE = 19;
  static final double SMALL_LINE = 15;
  static final double PAD = 11;
  static final double ICON = 24;
  private static final double WIDEST = 210;
  private static final double WIDEST_LABEL = 150;
  private static final double INNER = 18;

  private final Picture picture;
  private final Map<String, List<Line>> texts = new HashMap<>();
  private final Map<String, Box> boxes = new LinkedHashMap<>();
  private final List<Placed> wires = new ArrayList<>();
  private final Map<String, Plan> plans = new HashMap<>();
  private final Size size;

  /** How a line of text looks. Bold letters are wider than others. */
  enum Tone {
    TITLE(1.13),
    DETAIL(1),
    CONDITION(1),
    NOTE(1.13),
    SEEN(1);

    private final double breadth;

    Tone(double breadth) {
      this.breadth = breadth;
    }
  }

  /** A line of text. */
  record Line(String text, Tone tone) {
    double size() {
      return tone == Tone.TITLE ? Layout.TITLE : SMALL;
    }

    double height() {
      return tone == Tone.TITLE ? TITLE_LINE : SMALL_LINE;
    }

    double width() {
      return Lettering.width(text, size()) * tone.breadth;
    }
  }

  /** An arrow and its way. */
  record Placed(Arrow arrow, Wire wire) {}

  Layout(Picture picture) {
    this.picture = picture;
    this.size = inner("");
    place("", 0, 0);
  }

  Size size() {
    return size;
  }

  /** Where the shapes lie, by their paths. */
  Map<String, Box> boxes() {
    return boxes;
  }

  List<Placed> wires() {
    return wires;
  }

  List<Line> text(Shape shape) {
    return texts.computeIfAbsent(shape.path(), path -> lines(shape));
  }

  // --- texts ----------------------------------------------------------------------------------

  private static List<Line> lines(Shape shape) {
    List<Line> lines = new ArrayList<>();
    if (shape.kind().branches()) {
      add(lines, shape.label() + times(shape.mark().visits()), Tone.DETAIL, WIDEST);
      shape.mark().notes().forEach(note -> add(lines, note, Tone.NOTE, WIDEST));
    } else if (!shape.kind().bounds()) {
      add(lines, shape.label() + times(shape.mark().visits()), Tone.TITLE, WIDEST);
      shape.details().forEach(detail -> add(lines, detail, Tone.DETAIL, WIDEST));
      shape.mark().notes().forEach(note -> add(lines, note, Tone.NOTE, WIDEST));
    }
    return lines;
  }

  static List<Line> text(Arrow arrow) {
    List<Line> lines = new ArrayList<>();
    for (int i = 0; i < arrow.label().size(); i++) {
      Tone tone = i == 0 ? Tone.DETAIL : Tone.CONDITION;
      String times = i == 0 ? times(arrow.taken()) : "";
      add(lines, arrow.label().get(i) + times, tone, WIDEST_LABEL);
    }
    if (lines.isEmpty() && arrow.taken() > 1) {
      lines.add(new Line(times(arrow.taken()).strip(), Tone.DETAIL));
    }
    arrow.seen().forEach(seen -> add(lines, seen, Tone.SEEN, WIDEST_LABEL));
    return lines;
  }

  /** How often, if more than once. */
  static String times(int times) {
    return times > 1 ? " ×" + times : "";
  }

  private static void add(List<Line> lines, String text, Tone tone, double widest) {
    double fontSize = new Line(text, tone).size();
    Lettering.wrap(text, fontSize, widest / tone.breadth)
        .forEach(line -> lines.add(new Line(line, tone)));
  }

  private static Size extent(List<Line> lines) {
    return new Size(
        lines.stream().mapToDouble(Line::width).max().orElse(0),
        lines.stream().mapToDouble(Line::height).sum());
  }

  // --- sizes ----------------------------------------------------------------------------------

  private Size size(Shape shape) {
    if (shape.kind().bounds()) {
      return shape.box().isEmpty() ? new Size(26, 26) : new Size(18, 18);
    }
    Size text = extent(text(shape));
    if (shape.kind().branches()) {
      return new Size(Math.max(90, text.width() + 2 * PAD + 6), text.height() + 7);
    }
    double width = Math.max(110, text.width() + 2 * PAD + ICON);
    double height = text.height() + 2 * PAD - 4;
    if (!shape.kind().holds()) {
      return new Size(width, height);
    }
    Size inner = inner(shape.path());
    return new Size(
        Math.max(width, inner.width() + 2 * INNER), height + inner.height() + INNER + 4);
  }

  /** Lays out what lies in a box. */
  private Size inner(String box) {
    List<Shape> shapes = picture.within(box);
    Map<String, Integer> numbers = new HashMap<>();
    List<Size> sizes = new ArrayList<>();
    for (Shape shape : shapes) {
      numbers.put(shape.path(), sizes.size());
      sizes.add(size(shape));
    }
    List<Link> links = new ArrayList<>();
    for (Arrow arrow : arrows(numbers)) {
      links.add(new Link(at(numbers, arrow.from()), at(numbers, arrow.to()), label(arrow)));
    }
    Plan plan = Layers.plan(sizes, links);
    plans.put(box, plan);
    return plan.size();
  }

  private static int at(Map<String, Integer> numbers, String path) {
    return numbers.getOrDefault(path, 0);
  }

  private List<Arrow> arrows(Map<String, ?> among) {
    return picture.arrows().stream()
        .filter(arrow -> among.containsKey(arrow.from()) && among.containsKey(arrow.to()))
        .toList();
  }

  private static @Nullable Size label(Arrow arrow) {
    List<Line> lines = text(arrow);
    if (lines.isEmpty()) {
      return null;
    }
    Size text = extent(lines);
    return new Size(text.width() + 10, text.height() + 4);
  }

  // --- places ---------------------------------------------------------------------------------

  private void place(String box, double dx, double dy) {
    Plan plan = plans.get(box);
    List<Shape> shapes = picture.within(box);
    if (plan == null) {
      return;
    }
    Map<String, Box> here = new LinkedHashMap<>();
    for (int i = 0; i < shapes.size(); i++) {
      here.put(shapes.get(i).path(), plan.boxes().get(i).plus(dx, dy));
    }
    boxes.putAll(here);
    List<Arrow> arrows = arrows(here);
    for (int i = 0; i < arrows.size(); i++) {
      wires.add(new Placed(arrows.get(i), plan.wires().get(i).plus(dx, dy)));
    }
    for (Shape shape : shapes) {
      Box outer = here.get(shape.path());
      Plan inner = plans.get(shape.path());
      if (outer != null && inner != null && shape.kind().holds()) {
        double head = extent(text(shape)).height() + 2 * PAD - 4;
        double x = outer.middle() - inner.size().width() / 2;
        place(shape.path(), x, outer.y() + head + 2);
      }
    }
  }
}
