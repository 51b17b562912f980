package io.fermata.flow.picture;

import io.fermata.flow.picture.Grid.Cell;
import io.fermata.flow.picture.Grid.Chain;
import io.fermata.flow.picture.Layers.Box;
import io.fermata.flow.picture.Layers.Plan;
import io.fermata.flow.picture.Layers.Point;
import io.fermata.flow.picture.Layers.Size;
import io.fermata.flow.picture.Layers.Wire;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** Finds how high the rows are, and the corners of all ways. */
final class Wiring {
  private static final double TRACK = 12;

  private final List<Cell> boxes;
  private final List<Chain> chains;
  private final List<List<Cell>> rows;
  private double[] tops = {};
  private double[] bottoms = {};

  Wiring(Grid grid) {
    this.boxes = grid.boxes;
    this.chains = grid.chains;
    this.rows = grid.rows;
  }

  // --- down -----------------------------------------------------------------------------------

  private void stack() {
    int n = rows.size();
    tops = new double[n + 1];
    bottoms = new double[n + 1];
    double y = 0;
    for (int r = 0; r < n; r++) {
      double height = rows.get(r).stream().mapToDouble(cell -> cell.size.height()).max().orElse(0);
      tops[r] = y;
      bottoms[r] = y + height;
      for (Cell cell : rows.get(r)) {
        cell.y = y + height / 2;
      }
      y = bottoms[r] + gap(r);
    }
    tops[n] = y;
    bottoms[n] = y;
  }

  /** The room under a row: the farther ways lead across it, the higher. */
  private double gap(int row) {
    boolean labels = hasLabels(row);
    boolean toLabels = row + 1 < rows.size() && hasLabels(row + 1);
    double across = 0;
    for (Chain chain : chains) {
      for (int c = 0; c + 1 < chain.cells.size(); c++) {
        if (chain.cells.get(c).row == row) {
          double from = c == 0 ? chain.out : chain.cells.get(c).x;
          boolean ends = c + 2 == chain.cells.size() && !chain.back;
          double to = ends ? chain.in : chain.cells.get(c + 1).x;
          across = Math.max(across, Math.abs(from - to));
        }
      }
    }
    double slope = Math.min(56, across * 0.2);
    double least = toLabels ? 12 : labels ? 24 : 32;
    double tracks = TRACK * (leaving(row).size() + arriving(row + 1).size());
    boolean last = row + 1 == rows.size();
    return last ? tracks : Math.max(least, slope) + tracks;
  }

  private boolean hasLabels(int row) {
    return rows.get(row).stream().noneMatch(cell -> cell.box);
  }

  /** The ways back that turn under this row. */
  private List<Chain> leaving(int row) {
    return chains.stream().filter(chain -> chain.back && chain.last().row == row).toList();
  }

  /** The ways back that lead to this row. */
  private List<Chain> arriving(int row) {
    return chains.stream()
        .filter(chain -> chain.back && boxes.get(chain.link.to()).row == row)
        .toList();
  }

  // --- drawing --------------------------------------------------------------------------------

  Plan plan() {
    stack();
    lanes();
    List<Wire> wires = new ArrayList<>();
    for (Chain chain : chains) {
      wires.add(wire(chain));
    }
    List<Box> places = boxes.stream().map(Cell::place).toList();
    return moved(places, wires);
  }

  /** Ways back run beside all the rows that they pass, the shorter ones nearer. */
  private void lanes() {
    double[] left = new double[rows.size()];
    double[] right = new double[rows.size()];
    for (int r = 0; r < rows.size(); r++) {
      left[r] = rows.get(r).stream().mapToDouble(Cell::left).min().orElse(0);
      right[r] = rows.get(r).stream().mapToDouble(Cell::right).max().orElse(0);
    }
    chains.stream()
        .filter(chain -> chain.back)
        .sorted(Comparator.comparingInt(this::span))
        .forEach(
            chain -> {
              double lane = chain.left ? Double.MAX_VALUE : -Double.MAX_VALUE;
              int first = boxes.get(chain.link.to()).row;
              int end = chain.last().row;
              for (int r = first; r <= end; r++) {
                lane = chain.left ? Math.min(lane, left[r]) : Math.max(lane, right[r]);
              }
              lane += chain.left ? -Columns.WAYS_APART : Columns.WAYS_APART;
              for (int r = first; r <= end; r++) {
                (chain.left ? left : right)[r] = lane;
              }
              chain.lane = lane;
            });
  }

  private int span(Chain chain) {
    return chain.last().row - boxes.get(chain.link.to()).row;
  }

  private Wire wire(Chain chain) {
    List<List<Point>> lines = new ArrayList<>();
    List<Point> line = new ArrayList<>();
    Cell from = chain.cells.get(0);
    line.add(new Point(chain.out, from.bottom()));
    add(line, new Point(chain.out, bottoms[from.row]));
    for (Cell cell : chain.cells.subList(1, chain.cells.size())) {
      if (cell.box) {
        add(line, new Point(chain.in, tops[cell.row]));
        add(line, new Point(chain.in, cell.top()));
      } else if (chain.label != null && chain.label.equals(cell)) {
        add(line, new Point(cell.x, tops[cell.row]));
        add(line, new Point(cell.x, cell.top()));
        lines.add(line);
        line = new ArrayList<>(List.of(new Point(cell.x, cell.bottom())));
        add(line, new Point(cell.x, bottoms[cell.row]));
      } else {
        add(line, new Point(cell.x, tops[cell.row]));
        add(line, new Point(cell.x, bottoms[cell.row]));
      }
    }
    if (chain.back) {
      goBack(chain, line);
    }
    lines.add(line);
    return new Wire(lines, chain.label == null ? null : chain.label.place());
  }

  private void goBack(Chain chain, List<Point> line) {
    Cell to = boxes.get(chain.link.to());
    int row = chain.last().row;
    double low = bottoms[row] + TRACK * (1 + leaving(row).indexOf(chain)) - 2;
    double high = tops[to.row] - 8 - TRACK * (1 + arriving(to.row).indexOf(chain));
    Point end = line.get(line.size() - 1);
    add(line, new Point(end.x(), low));
    add(line, new Point(chain.lane, low));
    add(line, new Point(chain.lane, high));
    add(line, new Point(chain.in, high));
    add(line, new Point(chain.in, to.top()));
  }

  private static void add(List<Point> line, Point point) {
    Point last = line.get(line.size() - 1);
    if (Math.abs(last.x() - point.x()) > 0.01 || Math.abs(last.y() - point.y()) > 0.01) {
      line.add(point);
    }
  }

  private static Plan moved(List<Box> boxes, List<Wire> wires) {
    double[] low = {Double.MAX_VALUE, Double.MAX_VALUE};
    double[] high = {-Double.MAX_VALUE, -Double.MAX_VALUE};
    List<Box> all = new ArrayList<>(boxes);
    for (Wire wire : wires) {
      if (wire.label() != null) {
        all.add(wire.label());
      }
      wire.lines().forEach(line -> line.forEach(p -> all.add(new Box(p.x(), p.y(), 0, 0))));
    }
    for (Box box : all) {
      low[0] = Math.min(low[0], box.x());
      low[1] = Math.min(low[1], box.y());
      high[0] = Math.max(high[0], box.right());
      high[1] = Math.max(high[1], box.bottom());
    }
    List<Box> places = boxes.stream().map(box -> box.plus(-low[0], -low[1])).toList();
    List<Wire> moved = wires.stream().map(wire -> wire.plus(-low[0], -low[1])).toList();
    return new Plan(new Size(high[0] - low[0], high[1] - low[1]), places, moved);
  }
}
