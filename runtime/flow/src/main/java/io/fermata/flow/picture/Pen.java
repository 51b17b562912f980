package io.fermata.flow.picture;

import io.fermata.flow.picture.Layers.Point;
import java.util.List;

/** Turns the corners of a way into the path that SVG draws: corners round, slants as curves. */
final class Pen {
  private static final double ROUND = 7;
  private static final double TIP = 5;

  private Pen() {}

  /**
   * @param tip an arrowhead follows, which hides the end
   */
  static String path(List<Point> line, boolean tip) {
    StringBuilder path = new StringBuilder("M").append(text(line.get(0)));
    for (int i = 1; i < line.size(); i++) {
      Point before = line.get(i - 1);
      boolean last = i == line.size() - 1;
      Point here = last && tip ? line.get(i).plus(0, -TIP) : line.get(i);
      if (slants(before, here)) {
        double half = (before.y() + here.y()) / 2;
        path.append('C').append(text(new Point(before.x(), half)));
        path.append(' ').append(text(new Point(here.x(), half)));
        path.append(' ').append(text(here));
      } else if (!last && turns(before, here, line.get(i + 1))) {
        Point next = line.get(i + 1);
        path.append('L').append(text(near(here, before)));
        path.append('Q').append(text(here)).append(' ').append(text(near(here, next)));
      } else {
        path.append('L').append(text(here));
      }
    }
    return path.toString();
  }

  private static boolean slants(Point from, Point to) {
    return Math.abs(from.x() - to.x()) > 0.01 && Math.abs(from.y() - to.y()) > 0.01;
  }

  private static boolean turns(Point before, Point here, Point next) {
    return !slants(here, next)
        && (Math.abs(before.x() - here.x()) > 0.01) != (Math.abs(here.x() - next.x()) > 0.01);
  }

  /** The point where the rounding of a corner begins, on the way to another point. */
  private static Point near(Point corner, Point other) {
    double dx = other.x() - corner.x();
    double dy = other.y() - corner.y();
    double length = Math.hypot(dx, dy);
    double round = Math.min(ROUND, length / 2);
    return corner.plus(dx / length * round, dy / length * round);
  }

  private static String text(Point point) {
    return Svg.number(point.x()) + " " + Svg.number(point.y());
  }
}
