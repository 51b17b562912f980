package io.fermata.flow.picture;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Boxes and the ways between them in rows from top to bottom, after Sugiyama: every box below those
 * that lead to it, in an order in which few ways cross. Labels have rows of their own, so that
 * nothing covers them.
 */
final class Grid {
  /** A longer way runs at the side, as ways back do: it would need a cell in every row. */
  private static final int LONGEST = 60;

  private static final int SWEEPS = 9;

  final List<Cell> boxes = new ArrayList<>();
  final List<Way> ways = new ArrayList<>();
  final List<Row> rows = new ArrayList<>();

  /** What takes room in a row: a box, a label, or a passing way. */
  static final class Cell {
    final double width;
    final double height;
    final boolean box;
    int row;
    int order;

    /** The middle, across. */
    double x;

    /** The top. */
    double y;

    final List<Cell> above = new ArrayList<>();
    final List<Cell> below = new ArrayList<>();
    final List<Way> out = new ArrayList<>();
    final List<Way> in = new ArrayList<>();

    Cell(double width, double height, boolean box) {
      this.width = width;
      this.height = height;
      this.box = box;
    }

    double bottom() {
      return y + height;
    }
  }

  /** Cells side by side, from left to right. */
  static final class Row {
    final List<Cell> cells = new ArrayList<>();
    double left;
    double right;
    double top;
    double bottom;

    /** How many ways turn to the side below it, and how many come from there above it. */
    int leaving;

    int arriving;
  }

  /** A way to a box, and the cells it leads through; one at the side leaves them before the end. */
  static final class Way {
    final Cell to;
    final @Nullable Cell label;
    final List<Cell> cells = new ArrayList<>();
    boolean aside;
    double lane;
    double start;
    double end;
    int leaving;
    int arriving;

    /** What to draw, in pieces that the label interrupts; slanting parts are to be curved. */
    final List<List<Point>> lines = new ArrayList<>();

    Way(Cell from, Cell to, @Nullable Cell label) {
      this.to = to;
      this.label = label;
      cells.add(from);
      from.out.add(this);
      to.in.add(this);
    }

    Cell last() {
      return cells.get(cells.size() - 1);
    }
  }

  record Point(double x, double y) {}

  /** Puts the first box at the top and the last, if nothing leads out of it, at the bottom. */
  void arrange() {
    rank();
    boxes.forEach(this::enter);
    ways.forEach(this::enter);
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
      boolean down = sweep % 2 == 0;
      for (int r = 0; r < rows.size(); r++) {
        order(rows.get(down ? r : rows.size() - 1 - r).cells, down);
      }
    }
  }

  /** As far down as the longest way to a box, in which a label takes a row as a box does. */
  private void rank() {
    Set<Cell> placed = new HashSet<>();
    int deepest = 0;
    for (Cell box : sorted()) {
      placed.add(box);
      deepest = Math.max(deepest, box.row);
      for (Way way : box.out) {
        int row = box.row + (way.label == null ? 1 : 2);
        way.to.row = placed.contains(way.to) ? way.to.row : Math.max(way.to.row, row);
      }
    }
    Cell last = boxes.get(boxes.size() - 1);
    last.row = last.out.isEmpty() ? deepest : last.row;
  }

  /** The boxes in an order in which only ways back lead up: a search in depth, reversed. */
  private Deque<Cell> sorted() {
    Deque<Cell> sorted = new ArrayDeque<>();
    Deque<Cell> path = new ArrayDeque<>(boxes);
    Set<Cell> seen = new HashSet<>();
    Set<Cell> done = new HashSet<>();
    while (!path.isEmpty()) {
      Cell box = path.element();
      if (seen.add(box)) {
        box.out.stream().map(way -> way.to).filter(to -> !seen.contains(to)).forEach(path::push);
      } else if (done.add(path.pop())) {
        sorted.push(box);
      }
    }
    return sorted;
  }

  private void enter(Cell cell) {
    while (rows.size() <= cell.row) {
      rows.add(new Row());
    }
    List<Cell> row = rows.get(cell.row).cells;
    cell.order = row.size();
    row.add(cell);
  }

  private void enter(Way way) {
    int from = way.last().row;
    way.aside = way.to.row <= from || way.to.row > from + LONGEST;
    int end = !way.aside ? way.to.row : way.label == null ? from + 1 : from + 2;
    for (int row = from + 1; row < end; row++) {
      Cell cell = row == from + 1 && way.label != null ? way.label : new Cell(8, 0, false);
      cell.row = row;
      enter(cell);
      connect(way, cell);
    }
    if (!way.aside) {
      connect(way, way.to);
    }
  }

  private static void connect(Way way, Cell next) {
    way.last().below.add(next);
    next.above.add(way.last());
    way.cells.add(next);
  }

  /** Sorts a row by where that stands which its cells are connected with. */
  private static void order(List<Cell> row, boolean down) {
    row.sort(Comparator.comparingDouble(cell -> middle(cell, down ? cell.above : cell.below)));
    for (int c = 0; c < row.size(); c++) {
      row.get(c).order = c;
    }
  }

  private static double middle(Cell cell, List<Cell> others) {
    return others.stream().mapToInt(other -> other.order).average().orElse(cell.order);
  }
}
