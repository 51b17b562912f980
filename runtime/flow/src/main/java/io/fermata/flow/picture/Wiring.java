package io.fermata.flow.picture;

import io.fermata.flow.picture.Grid.Cell;
import io.fermata.flow.picture.Grid.Point;
import io.fermata.flow.picture.Grid.Row;
import io.fermata.flow.picture.Grid.Way;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.ObjDoubleConsumer;
import java.util.function.ToDoubleFunction;

/** Finds where the cells of a grid are, and the corners of its ways. */
final class Wiring {
  private static final int SWEEPS = 60;
  private static final double APART = 26;
  private static final double WAYS_APART = 16;
  private static final double TRACK = 12;
  private static final double TOP = 16;
  private static final double FAR = 1e6;

  final double width;
  final double height;
  private final List<Row> rows;

  Wiring(Grid grid) {
    this.rows = grid.rows;
    for (int i = 0; i < SWEEPS; i++) {
      rows.forEach(row -> settle(row.cells));
    }
    this.width = lanes(grid.ways);
    grid.boxes.forEach(box -> ports(box, box.out, Wiring::start, (way, x) -> way.start = x));
    grid.boxes.forEach(box -> ports(box, box.in, Wiring::end, (way, x) -> way.end = x));
    this.height = stack();
    grid.ways.forEach(this::draw);
  }

  // --- across ---------------------------------------------------------------------------------

  /** Moves cells next to where they want to be: packed from the left, from the right, halfway. */
  private static void settle(List<Cell> row) {
    int n = row.size();
    double[] right = row.stream().mapToDouble(Wiring::wanted).toArray();
    double[] left = right.clone();
    for (int i = 1; i < n; i++) {
      right[i] = Math.max(right[i], right[i - 1] + apart(row, i));
      left[n - 1 - i] = Math.min(left[n - 1 - i], left[n - i] - apart(row, n - i));
    }
    for (int i = 0; i < n; i++) {
      row.get(i).x = (left[i] + right[i]) / 2;
    }
  }

  /** The least distance between the middles of a cell and the one before it. */
  private static double apart(List<Cell> row, int at) {
    Cell one = row.get(at - 1);
    Cell two = row.get(at);
    return (one.width + two.width) / 2 + (one.box && two.box ? APART : WAYS_APART);
  }

  /** The middle of what a cell is connected with; what is above counts more, a long way most. */
  private static double wanted(Cell cell) {
    double sum = 0;
    double weight = 0;
    for (Cell other : cell.above) {
      double pull = cell.box || other.box ? 4 : 1000;
      sum += pull * other.x;
      weight += pull;
    }
    for (Cell other : cell.below) {
      sum += other.x;
      weight++;
    }
    return weight == 0 ? cell.x : sum / weight;
  }

  /** Finds lanes beside all rows that a way passes, the shorter ones nearer; returns the width. */
  private double lanes(List<Way> ways) {
    for (Row row : rows) {
      Cell last = row.cells.get(row.cells.size() - 1);
      row.left = row.cells.get(0).x - row.cells.get(0).width / 2;
      row.right = last.x + last.width / 2;
    }
    ways.stream()
        .filter(way -> way.aside)
        .sorted(Comparator.comparingInt(way -> Math.abs(way.last().row - way.to.row)))
        .forEach(this::lane);
    double left = rows.stream().mapToDouble(row -> row.left).min().orElse(0);
    rows.forEach(row -> row.cells.forEach(cell -> cell.x -= left));
    ways.forEach(way -> way.lane -= left);
    return rows.stream().mapToDouble(row -> row.right).max().orElse(0) - left;
  }

  private void lane(Way way) {
    int from = way.last().row + 1;
    int to = way.to.row;
    List<Row> passed = rows.subList(Math.min(from, to), Math.max(from, to));
    double left = passed.stream().mapToDouble(row -> row.left).min().orElse(0) - WAYS_APART;
    double right = passed.stream().mapToDouble(row -> row.right).max().orElse(0) + WAYS_APART;
    way.lane = way.last().x + way.to.x < left + right - 1 ? left : right;
    for (Row row : passed) {
      row.left = Math.min(row.left, way.lane);
      row.right = Math.max(row.right, way.lane);
    }
    way.leaving = ++rows.get(from - 1).leaving;
    way.arriving = ++rows.get(to).arriving;
  }

  /** Where a way would best begin. */
  private static double start(Way way) {
    return way.cells.size() == 1 ? beside(way) : way.cells.get(1).x;
  }

  /** Where a way would best end. */
  private static double end(Way way) {
    int n = way.cells.size();
    return way.aside ? beside(way) : n == 2 ? way.start : way.cells.get(n - 2).x;
  }

  /** Far out; the nearer a lane, the farther, so that ways to several lanes do not cross. */
  private static double beside(Way way) {
    return (way.lane < way.to.x ? -FAR : FAR) - way.lane;
  }

  /** Gives ways places along a box, as near as may be to the best ones. */
  private static void ports(
      Cell box, List<Way> ways, ToDoubleFunction<Way> best, ObjDoubleConsumer<Way> port) {
    double room = Math.max(0, Math.min(box.width / 2 - 20, 60));
    double apart = Math.min(22, 2 * room / Math.max(1, ways.size() - 1));
    double low = box.x - room;
    double high = box.x + room - apart * (ways.size() - 1);
    ways.sort(Comparator.comparingDouble(best));
    for (Way way : ways) {
      double x = Math.max(low, Math.min(best.applyAsDouble(way), high));
      port.accept(way, x);
      low = x + apart;
      high += apart;
    }
  }

  // --- down -----------------------------------------------------------------------------------

  /** Puts the rows below each other, and returns the height of all. */
  private double stack() {
    double y = -TOP;
    for (Row row : rows) {
      y += gap(row.cells) + TRACK * row.arriving;
      row.top = y;
      y += row.cells.stream().mapToDouble(cell -> cell.height).max().orElse(0);
      row.bottom = y;
      row.cells.forEach(cell -> cell.y = (row.top + row.bottom - cell.height) / 2);
      y += TRACK * row.leaving;
    }
    return y;
  }

  /** The room above a row: the farther ways lead across it, the higher. */
  private static double gap(List<Cell> row) {
    double gap = row.stream().anyMatch(cell -> cell.box) ? 28 : 12;
    for (Cell cell : row) {
      for (Cell other : cell.above) {
        gap = Math.max(gap, Math.min(56, 0.2 * Math.abs(cell.x - other.x)));
      }
    }
    return gap;
  }

  // --- drawing --------------------------------------------------------------------------------

  private void draw(Way way) {
    Cell from = way.cells.get(0);
    Row target = rows.get(way.to.row);
    List<Point> line = new ArrayList<>();
    add(line, way.start, from.bottom());
    add(line, way.start, rows.get(from.row).bottom);
    for (Cell cell : way.cells.subList(1, way.cells.size() - (way.aside ? 0 : 1))) {
      add(line, cell.x, rows.get(cell.row).top);
      if (cell.equals(way.label)) {
        add(line, cell.x, cell.y);
        way.lines.add(line);
        line = new ArrayList<>();
        add(line, cell.x, cell.bottom());
      }
      add(line, cell.x, rows.get(cell.row).bottom);
    }
    if (way.aside) {
      double low = rows.get(way.last().row).bottom + TRACK * way.leaving;
      double high = target.top - TRACK * (way.arriving + 0.7);
      add(line, line.get(line.size() - 1).x(), low);
      add(line, way.lane, low);
      add(line, way.lane, high);
      add(line, way.end, high);
    }
    add(line, way.end, target.top);
    add(line, way.end, way.to.y);
    way.lines.add(line);
  }

  /** Adds a corner; one on a straight way down is none. */
  private static void add(List<Point> line, double x, double y) {
    int n = line.size();
    Point point = new Point(x, y);
    if (n > 1 && line.get(n - 1).x() == x && line.get(n - 2).x() == x) {
      line.set(n - 1, point);
    } else if (n == 0 || !line.get(n - 1).equals(point)) {
      line.add(point);
    }
  }
}
