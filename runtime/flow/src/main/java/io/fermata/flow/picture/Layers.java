package io.fermata.flow.picture;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Lays out boxes and the ways between them from top to bottom: every box in a row below those that
 * lead to it, ways back at the sides. Labels have rows of their own, so that nothing covers them.
 */
final class Layers {
  private Layers() {}

  /** A width and a height. */
  record Size(double width, double height) {}

  /**
   * A way from one box to another, by their numbers.
   *
   * @param label null if there is none
   */
  record Link(int from, int to, @Nullable Size label) {}

  record Point(double x, double y) {
    Point plus(double dx, double dy) {
      return new Point(x + dx, y + dy);
    }
  }

  /** A place for something, by its upper left corner. */
  record Box(double x, double y, double width, double height) {
    double right() {
      return x + width;
    }

    double bottom() {
      return y + height;
    }

    double middle() {
      return x + width / 2;
    }

    Box plus(double dx, double dy) {
      return new Box(x + dx, y + dy, width, height);
    }
  }

  /**
   * The way of a link.
   *
   * @param lines what to draw, in pieces that a label interrupts; slanting parts are to be curved
   */
  record Wire(List<List<Point>> lines, @Nullable Box label) {
    Wire plus(double dx, double dy) {
      List<List<Point>> moved = new ArrayList<>();
      lines.forEach(line -> moved.add(line.stream().map(point -> point.plus(dx, dy)).toList()));
      return new Wire(moved, label == null ? null : label.plus(dx, dy));
    }
  }

  /** The result: places in the order of what was given, with the upper left corner at 0, 0. */
  record Plan(Size size, List<Box> boxes, List<Wire> wires) {}

  /**
   * Lays out boxes of which the first is to be at the top, and the last, if nothing leads out of
   * it, at the bottom.
   */
  static Plan plan(List<Size> sizes, List<Link> links) {
    Grid grid = new Grid(sizes, links);
    new Crossings(grid).reduce();
    new Columns(grid).settle();
    new Ports(grid).choose();
    return new Wiring(grid).plan();
  }
}
