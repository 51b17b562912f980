package io.fermata.flow.picture;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.flow.Pictured;
import io.fermata.flow.picture.Layers.Box;
import io.fermata.flow.picture.Layers.Point;
import io.fermata.flow.picture.Picture.Arrow;
import io.fermata.flow.picture.Picture.Kind;
import io.fermata.flow.picture.Picture.Shape;
import io.fermata.flow.picture.Picture.Style;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** In a picture nothing covers anything else. */
class LayoutTest {
  private static final List<Kind> KINDS = List.of(Kind.values());

  @Test
  void noBoxNoLabelAndNoWayCoversAnotherBox() {
    Pictured.all().forEach((name, flow) -> check(name, flow.picture()));
    for (int seed = 0; seed < 150; seed++) {
      check("seed " + seed, random(new Random(seed)));
    }
  }

  /** Any graph at all, ways to itself and to a beginning included, with boxes in boxes. */
  private static Picture random(Random random) {
    List<Shape> shapes = new ArrayList<>();
    List<Arrow> arrows = new ArrayList<>();
    fill(random, "", 0, shapes, arrows);
    return new Picture("Random", "", shapes, arrows);
  }

  private static void fill(
      Random random, String box, int depth, List<Shape> shapes, List<Arrow> arrows) {
    List<String> here = new ArrayList<>();
    int size = 2 + random.nextInt(9);
    for (int i = 0; i < size; i++) {
      Kind kind = KINDS.get(random.nextInt(KINDS.size()));
      boolean flat = depth > 1 && kind.holds();
      String path = box + "/" + i;
      here.add(path);
      List<String> details = random.nextBoolean() ? List.of() : List.of("x".repeat(size * 5));
      shapes.add(new Shape(path, box, flat ? Kind.ASK : kind, path, details));
      if (kind.holds() && !flat) {
        fill(random, path, depth + 1, shapes, arrows);
      }
    }
    for (int i = 0; i < size * 2; i++) {
      List<String> label = random.nextBoolean() ? List.of() : List.of("label ".repeat(1 + i % 9));
      String from = here.get(random.nextInt(size));
      String to = here.get(random.nextInt(size));
      arrows.add(new Arrow(from, to, Style.ONWARD, -1, label));
    }
  }

  private static void check(String name, Picture picture) {
    Layout layout = new Layout(picture);
    assertThat(layout.boxes()).as(name).hasSameSizeAs(picture.shapes());
    assertThat(layout.wires()).as(name).hasSameSizeAs(picture.arrows());
    Map<String, Box> boxes = layout.boxes();
    boxes.forEach(
        (path, box) -> {
          assertThat(within(box, layout)).as(name + ": " + path + " is on the paper").isTrue();
          boxes.forEach((other, there) -> separate(name, path, box, other, there));
        });
    for (Layout.Placed placed : layout.wires()) {
      way(name, placed, layout);
    }
    picture.shapes().forEach(shape -> assertThat(fits(shape, layout)).as(name + shape).isTrue());
  }

  private static boolean fits(Shape shape, Layout layout) {
    Box box = Objects.requireNonNull(layout.boxes().get(shape.path()));
    double width = layout.text(shape).stream().mapToDouble(Layout.Line::width).max().orElse(0);
    double height = layout.text(shape).stream().mapToDouble(Layout.Line::height).sum();
    if (layout.text(shape).isEmpty()) {
      return true;
    }
    double left = shape.kind().branches() ? 0 : Layout.PAD + Layout.ICON;
    return left + width <= box.width() && height <= box.height();
  }

  private static boolean within(Box box, Layout layout) {
    return box.x() > -0.5
        && box.y() > -0.5
        && box.right() < layout.size().width() + 0.5
        && box.bottom() < layout.size().height() + 0.5;
  }

  private static void separate(String name, String path, Box box, String other, Box there) {
    if (path.startsWith(other + "/")) {
      boolean inside =
          box.x() >= there.x()
              && box.y() >= there.y()
              && box.right() <= there.right()
              && box.bottom() <= there.bottom();
      assertThat(inside).as(name + ": " + path + " in " + other).isTrue();
    } else if (!path.equals(other) && !other.startsWith(path + "/")) {
      assertThat(meet(box, there)).as(name + ": " + path + " on " + other).isFalse();
    }
  }

  private static void way(String name, Layout.Placed placed, Layout layout) {
    Arrow arrow = placed.arrow();
    String way = name + ": the way from " + arrow.from() + " to " + arrow.to() + " on ";
    String box = arrow.from().substring(0, Math.max(0, arrow.from().lastIndexOf('/')));
    List<Box> parts = new ArrayList<>();
    if (placed.wire().label() != null) {
      parts.add(placed.wire().label());
    }
    for (List<Point> line : placed.wire().lines()) {
      for (int i = 1; i < line.size(); i++) {
        parts.add(around(line.get(i - 1), line.get(i)));
      }
    }
    layout
        .boxes()
        .forEach(
            (path, there) -> {
              if (!path.equals(box) && !box.startsWith(path + "/")) {
                parts.forEach(part -> assertThat(meet(part, there)).as(way + path).isFalse());
              }
            });
    for (Layout.Placed other : layout.wires()) {
      Box label = other.wire().label();
      if (label != null && !other.equals(placed)) {
        parts.forEach(part -> assertThat(meet(part, label)).as(way + "a label").isFalse());
      }
    }
  }

  private static Box around(Point one, Point two) {
    double x = Math.min(one.x(), two.x());
    double y = Math.min(one.y(), two.y());
    return new Box(x, y, Math.abs(one.x() - two.x()), Math.abs(one.y() - two.y()));
  }

  private static boolean meet(Box one, Box two) {
    double touching = 0.5;
    return one.x() + touching < two.right()
        && two.x() + touching < one.right()
        && one.y() + touching < two.bottom()
        && two.y() + touching < one.bottom();
  }
}
