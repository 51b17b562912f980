package io.fermata.flow.picture;

import io.fermata.flow.picture.Grid.Cell;
import io.fermata.flow.picture.Grid.Chain;
import java.util.Comparator;
import java.util.List;

/** Finds where ways begin and end at their boxes, and on which side ways back go. */
final class Ports {
  private final List<Cell> boxes;
  private final List<Chain> chains;
  private final List<List<Cell>> rows;

  Ports(Grid grid) {
    this.boxes = grid.boxes;
    this.chains = grid.chains;
    this.rows = grid.rows;
  }

  void choose() {
    chains.stream().filter(chain -> chain.back).forEach(this::chooseSide);
    for (int i = 0; i < boxes.size(); i++) {
      int box = i;
      List<Chain> out = chains.stream().filter(chain -> chain.link.from() == box).toList();
      double[] starts = ports(boxes.get(box), out, true);
      List<Chain> sortedOut = sorted(out, boxes.get(box), true);
      for (int c = 0; c < starts.length; c++) {
        sortedOut.get(c).out = starts[c];
      }
      List<Chain> in = chains.stream().filter(chain -> chain.link.to() == box).toList();
      double[] ends = ports(boxes.get(box), in, false);
      List<Chain> sortedIn = sorted(in, boxes.get(box), false);
      for (int c = 0; c < ends.length; c++) {
        sortedIn.get(c).in = ends[c];
      }
    }
  }

  /** A way back goes along the nearer side of what it passes. */
  private void chooseSide(Chain chain) {
    Cell from = chain.last();
    Cell to = boxes.get(chain.link.to());
    List<Cell> passed = rows.subList(to.row, from.row + 1).stream().flatMap(List::stream).toList();
    double left = passed.stream().mapToDouble(Cell::left).min().orElse(0);
    double right = passed.stream().mapToDouble(Cell::right).max().orElse(0);
    chain.left = from.x - left + to.x - left < right - from.x + right - to.x - 1;
  }

  private static List<Chain> sorted(List<Chain> chains, Cell box, boolean out) {
    return chains.stream()
        .sorted(Comparator.comparingDouble(chain -> towards(chain, box, out)))
        .toList();
  }

  /** Where a way comes from or goes to, across. */
  private static double towards(Chain chain, Cell box, boolean out) {
    if (chain.back && (!out || chain.cells.size() == 1)) {
      return chain.left ? box.left() - 1e6 : box.right() + 1e6;
    }
    int n = chain.cells.size();
    Cell other = out ? chain.cells.get(1) : chain.cells.get(n - 2);
    double reach = room(box);
    double otherReach = other.box ? room(other) : 0;
    double low = Math.max(box.x - reach, other.x - otherReach);
    double high = Math.min(box.x + reach, other.x + otherReach);
    return low <= high ? Math.min(high, Math.max(low, (box.x + other.x) / 2)) : other.x;
  }

  private static double room(Cell box) {
    return Math.max(0, Math.min(box.size.width() / 2 - 14, 60));
  }

  private static double[] ports(Cell box, List<Chain> unsorted, boolean out) {
    List<Chain> chains = sorted(unsorted, box, out);
    int n = chains.size();
    double room = room(box);
    double apart = n < 2 ? 0 : Math.min(22, 2 * room / (n - 1));
    double[] wanted = new double[n];
    double[] offset = new double[n];
    double[] weights = new double[n];
    for (int c = 0; c < n; c++) {
      double towards = towards(chains.get(c), box, out);
      boolean straight = Math.abs(towards - box.x) <= room;
      double near = Math.signum(towards - box.x) * Math.min(room, (n - 1) * apart / 2);
      wanted[c] = straight ? towards : box.x + near;
      offset[c] = c * apart;
      weights[c] = straight ? 10_000 : 1;
    }
    double[] at = Columns.spread(wanted, offset, weights);
    for (int c = 0; c < n; c++) {
      double low = box.x - room + c * apart;
      at[c] = Math.max(low, Math.min(low + 2 * room - (n - 1) * apart, at[c]));
    }
    return at;
  }
}
