package io.fermata.flow.picture;

import io.fermata.flow.picture.Grid.Cell;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** Puts the cells of each row into an order in which few ways cross. */
final class Crossings {
  private static final int SWEEPS = 12;

  private final List<List<Cell>> rows;

  Crossings(Grid grid) {
    this.rows = grid.rows;
  }

  void reduce() {
    number();
    List<List<Cell>> best = copy();
    long fewest = crossings();
    for (int sweep = 0; sweep < SWEEPS && fewest > 0; sweep++) {
      boolean down = sweep % 2 == 0;
      for (int i = 0; i < rows.size(); i++) {
        List<Cell> row = rows.get(down ? i : rows.size() - 1 - i);
        row.sort(Comparator.comparingDouble(cell -> centre(cell, down)));
        for (int c = 0; c < row.size(); c++) {
          row.get(c).order = c;
        }
      }
      swap();
      long now = crossings();
      if (now < fewest) {
        fewest = now;
        best = copy();
      }
    }
    for (int i = 0; i < rows.size(); i++) {
      rows.set(i, best.get(i));
    }
    number();
  }

  private void number() {
    for (List<Cell> row : rows) {
      for (int c = 0; c < row.size(); c++) {
        row.get(c).order = c;
      }
    }
  }

  private List<List<Cell>> copy() {
    List<List<Cell>> copy = new ArrayList<>();
    rows.forEach(row -> copy.add(new ArrayList<>(row)));
    return copy;
  }

  private static double centre(Cell cell, boolean down) {
    List<Cell> others = down ? cell.above : cell.below;
    return others.stream().mapToInt(other -> other.order).average().orElse(cell.order);
  }

  /** Swaps neighbours as long as that saves crossings. */
  private void swap() {
    for (List<Cell> row : rows) {
      for (int c = 0; c + 1 < row.size(); c++) {
        Cell one = row.get(c);
        Cell two = row.get(c + 1);
        if (crossings(one, two) > crossings(two, one)) {
          row.set(c, two);
          row.set(c + 1, one);
          two.order = c;
          one.order = c + 1;
        }
      }
    }
  }

  private static long crossings(Cell left, Cell right) {
    return crossings(left.above, right.above) + crossings(left.below, right.below);
  }

  private static long crossings(List<Cell> left, List<Cell> right) {
    long crossings = 0;
    for (Cell one : left) {
      for (Cell two : right) {
        crossings += one.order > two.order ? 1 : 0;
      }
    }
    return crossings;
  }

  private long crossings() {
    long crossings = 0;
    for (List<Cell> row : rows) {
      for (int c = 0; c < row.size(); c++) {
        for (int d = c + 1; d < row.size(); d++) {
          crossings += crossings(row.get(c).below, row.get(d).below);
        }
      }
    }
    return crossings;
  }
}
