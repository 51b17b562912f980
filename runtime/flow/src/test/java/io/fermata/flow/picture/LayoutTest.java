package io.fermata.flow.picture;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.flow.Pictured;
import io.fermata.flow.picture.Grid.Cell;
import io.fermata.flow.picture.Grid.Point;
import io.fermata.flow.picture.Picture.Arrow;
import io.fermata.flow.picture.Picture.Kind;
import io.fermata.flow.picture.Picture.Shape;
import io.fermata.flow.picture.Picture.Style;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
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

  @Test
  @Tag("slow")
  void aWayThatPassesThousandsOfRowsTakesNoRoomInEach() {
    List<Shape> shapes = new ArrayList<>();
    List<Arrow> arrows = new ArrayList<>();
    for (int i = 0; i < 4_000; i++) {
      shapes.add(new Shape("n" + i, "", Kind.ACT, "n" + i, List.of()));
      arrows.add(new Arrow("n" + i, "n" + (i + 1), Style.ONWARD, -1, List.of()));
      arrows.add(new Arrow("n" + i, "n4000", Style.LATE, -1, List.of("late")));
      arrows.add(new Arrow("n" + i, "n" + i / 2, Style.ONWARD, -1, List.of("again")));
    }
    shapes.add(new Shape("n4000", "", Kind.END, "End", List.of()));
    Layout layout = new Layout(new Picture("Long", "", shapes, arrows), "");
    assertThat(layout.edges).hasSameSizeAs(arrows);
    assertThat(layout.edges.stream().mapToInt(edge -> edge.way().cells.size()).sum())
        .isLessThan(10 * arrows.size());
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

  private record Box(double x, double y, double width, double height) {
    double right() {
      return x + width;
    }

    double bottom() {
      return y + height;
    }

    Box plus(double dx, double dy) {
      return new Box(x + dx, y + dy, width, height);
    }
  }

  /** An arrow, its label if it has one, and the parts of its way. */
  private record Placed(Arrow arrow, @Nullable Box label, List<Box> parts) {}

  /** Where everything is on the whole paper. */
  private static final class Paper {
    final Map<String, Box> boxes = new LinkedHashMap<>();
    final List<Layout.Node> nodes = new ArrayList<>();
    final List<Placed> ways = new ArrayList<>();
    final Box paper;

    Paper(Layout layout) {
      paper = new Box(0, 0, layout.wiring.width, layout.wiring.height);
      add(layout, 0, 0);
    }

    private void add(Layout layout, double dx, double dy) {
      for (Layout.Node node : layout.nodes) {
        nodes.add(node);
        boxes.put(node.shape().path(), box(node.cell()).plus(dx, dy));
        if (node.inner() != null) {
          add(node.inner(), dx + node.innerLeft(), dy + node.innerTop());
        }
      }
      for (Layout.Edge edge : layout.edges) {
        List<Box> parts = new ArrayList<>();
        for (List<Point> line : edge.way().lines) {
          for (int i = 1; i < line.size(); i++) {
            parts.add(around(line.get(i - 1), line.get(i)).plus(dx, dy));
          }
        }
        Cell label = edge.way().label;
        ways.add(new Placed(edge.arrow(), label == null ? null : box(label).plus(dx, dy), parts));
      }
    }

    private static Box box(Cell cell) {
      return new Box(cell.x - cell.width / 2, cell.y, cell.width, cell.height);
    }
  }

  private static void check(String name, Picture picture) {
    Paper paper = new Paper(new Layout(picture, ""));
    assertThat(paper.boxes).as(name).hasSameSizeAs(picture.shapes());
    assertThat(paper.ways).as(name).hasSameSizeAs(picture.arrows());
    paper.boxes.forEach(
        (path, box) -> {
          assertThat(within(box, paper.paper)).as(name + ": " + path + " is on it").isTrue();
          paper.boxes.forEach((other, there) -> separate(name, path, box, other, there));
        });
    for (Placed placed : paper.ways) {
      way(name, placed, paper);
    }
    paper.nodes.forEach(node -> assertThat(fits(node)).as(name + node.shape()).isTrue());
  }

  private static boolean fits(Layout.Node node) {
    double left = node.shape().kind().branches() ? 0 : Layout.PAD + Layout.ICON;
    return node.text().isEmpty()
        || (left + Layout.width(node.text()) <= node.cell().width
            && Layout.height(node.text()) <= node.cell().height);
  }

  private static boolean within(Box box, Box paper) {
    return box.x() > -0.5
        && box.y() > -0.5
        && box.right() < paper.right() + 0.5
        && box.bottom() < paper.bottom() + 0.5;
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

  private static void way(String name, Placed placed, Paper paper) {
    Arrow arrow = placed.arrow();
    String way = name + ": the way from " + arrow.from() + " to " + arrow.to() + " on ";
    String box = arrow.from().substring(0, Math.max(0, arrow.from().lastIndexOf('/')));
    List<Box> parts = new ArrayList<>(placed.parts());
    if (placed.label() != null) {
      parts.add(placed.label());
    }
    parts.forEach(part -> assertThat(within(part, paper.paper)).as(way + "paper").isTrue());
    paper.boxes.forEach(
        (path, there) -> {
          if (!path.equals(box) && !box.startsWith(path + "/")) {
            parts.forEach(part -> assertThat(meet(part, there)).as(way + path).isFalse());
          }
        });
    for (Placed other : paper.ways) {
      Box label = other.label();
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
