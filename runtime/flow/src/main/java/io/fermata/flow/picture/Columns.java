package io.fermata.flow.picture;

import io.fermata.flow.picture.Grid.Cell;
import io.fermata.flow.picture.Grid.Chain;
import java.util.List;

/** Finds where the cells of each row are, across, without changing their order. */
final class Columns {
  static final double WAYS_APART = 16;
  private static final double APART = 26;
  private static final int SETTLINGS = 80;

  private final Grid grid;
  private final List<List<Cell>> rows;

  Columns(Grid grid) {
    this.grid = grid;
    this.rows = grid.rows;
  }

  /** Moves every row, in turn, as near as may be to what its cells are connected with. */
  void settle() {
    for (List<Cell> row : rows) {
      place(row, new double[row.size()]);
    }
    for (int i = 0; i < SETTLINGS; i++) {
      boolean down = i % 2 == 0;
      for (int r = 0; r < rows.size(); r++) {
        List<Cell> row = rows.get(down ? r : rows.size() - 1 - r);
        place(row, row.stream().mapToDouble(cell -> wanted(cell)).toArray());
      }
      shift();
    }
    grid.chains.forEach(this::straighten);
  }

  /** Moves all that lies below a row together; row by row it would take long to get there. */
  private void shift() {
    double shift = 0;
    for (int r = 1; r < rows.size(); r++) {
      double sum = 0;
      double weight = 0;
      for (Cell cell : rows.get(r)) {
        for (Cell other : cell.above) {
          double pull = pull(cell, other);
          sum += pull * (other.x - cell.x - shift);
          weight += pull;
        }
      }
      shift += weight == 0 ? 0 : sum / weight;
      for (Cell cell : rows.get(r)) {
        cell.x += shift;
      }
    }
  }

  /** How much two cells want to be one above the other: long ways should be straight. */
  private static double pull(Cell one, Cell two) {
    return !one.box && !two.box ? 8 : one.box && two.box ? 1 : 2;
  }

  /** Gives the parts of a way that pass rows the same place across, if there is one for all. */
  private void straighten(Chain chain) {
    List<Cell> passing = chain.cells.stream().filter(cell -> !cell.box).toList();
    double low = -Double.MAX_VALUE;
    double high = Double.MAX_VALUE;
    for (Cell cell : passing) {
      List<Cell> row = rows.get(cell.row);
      int at = row.indexOf(cell);
      if (at > 0) {
        low = Math.max(low, row.get(at - 1).x + apart(row.get(at - 1), cell));
      }
      if (at + 1 < row.size()) {
        high = Math.min(high, row.get(at + 1).x - apart(cell, row.get(at + 1)));
      }
    }
    if (passing.size() > 1 && low <= high) {
      double mean = passing.stream().mapToDouble(cell -> cell.x).average().orElse(0);
      double x = Math.max(low, Math.min(high, mean));
      passing.forEach(cell -> cell.x = x);
    }
  }

  private static double wanted(Cell cell) {
    double sum = 0;
    double weight = 0;
    for (List<Cell> others : List.of(cell.above, cell.below)) {
      for (Cell other : others) {
        double pull = pull(cell, other);
        sum += pull * other.x;
        weight += pull;
      }
    }
    return weight == 0 ? cell.x : sum / weight;
  }

  /** The least distance between the middles of two neighbours. */
  private static double apart(Cell one, Cell two) {
    double between = one.box && two.box ? APART : WAYS_APART;
    return (one.size.width() + two.size.width()) / 2 + between;
  }

  /** The places nearest to the wanted ones in which the cells keep their order and distance. */
  private static void place(List<Cell> row, double[] wanted) {
    double[] offset = new double[row.size()];
    double[] weights = new double[row.size()];
    for (int c = 0; c < offset.length; c++) {
      weights[c] = row.get(c).box ? 1 : 2;
      if (c > 0) {
        offset[c] = offset[c - 1] + apart(row.get(c - 1), row.get(c));
      }
    }
    double[] at = spread(wanted, offset, weights);
    for (int c = 0; c < at.length; c++) {
      row.get(c).x = at[c];
    }
  }

  /** Least squares under minimal distances: neighbours that come too near are moved as one. */
  static double[] spread(double[] wanted, double[] offset, double[] weights) {
    int n = wanted.length;
    double[] mean = new double[n];
    double[] weight = new double[n];
    int[] size = new int[n];
    int blocks = 0;
    for (int i = 0; i < n; i++) {
      mean[blocks] = wanted[i] - offset[i];
      weight[blocks] = weights[i];
      size[blocks++] = 1;
      while (blocks > 1 && mean[blocks - 2] > mean[blocks - 1]) {
        double sum = weight[blocks - 2] + weight[blocks - 1];
        mean[blocks - 2] =
            (mean[blocks - 2] * weight[blocks - 2] + mean[blocks - 1] * weight[blocks - 1]) / sum;
        weight[blocks - 2] = sum;
        size[blocks - 2] += size[blocks - 1];
        blocks--;
      }
    }
    double[] at = new double[n];
    int i = 0;
    for (int b = 0; b < blocks; b++) {
      for (int k = 0; k < size[b]; k++, i++) {
        at[i] = mean[b] + offset[i];
      }
    }
    return at;
  }
}
