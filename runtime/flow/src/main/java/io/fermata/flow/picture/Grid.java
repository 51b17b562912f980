package io.fermata.flow.picture;

import io.fermata.flow.picture.Layers.Box;
import io.fermata.flow.picture.Layers.Link;
import io.fermata.flow.picture.Layers.Size;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** Boxes, labels and passing ways in rows: every box in a row below those that lead to it. */
final class Grid {
  /** What takes room in a row: a box, a label, or a way that passes by. */
  static final class Cell {
    final Size size;
    final boolean box;
    int row;
    int order;
    double x;
    double y;
    final List<Cell> above = new ArrayList<>();
    final List<Cell> below = new ArrayList<>();

    Cell(Size size, boolean box, int row) {
      this.size = size;
      this.box = box;
      this.row = row;
    }

    double left() {
      return x - size.width() / 2;
    }

    double right() {
      return x + size.width() / 2;
    }

    double top() {
      return y - size.height() / 2;
    }

    double bottom() {
      return y + size.height() / 2;
    }

    Box place() {
      return new Box(left(), top(), size.width(), size.height());
    }
  }

  /** A link on its way through the rows. */
  static final class Chain {
    final Link link;
    final boolean back;
    final List<Cell> cells = new ArrayList<>();
    @Nullable Cell label;
    double out;
    double in;
    boolean left;
    double lane;

    Chain(Link link, boolean back) {
      this.link = link;
      this.back = back;
    }

    Cell last() {
      return cells.get(cells.size() - 1);
    }
  }

  /** The boxes, in the order in which they were given. */
  final List<Cell> boxes = new ArrayList<>();

  /** The links, in the order in which they were given. */
  final List<Chain> chains = new ArrayList<>();

  final List<List<Cell>> rows = new ArrayList<>();

  private final List<Size> sizes;
  private final List<Link> links;
  private final int[] rowOf;
  private final boolean[] back;

  Grid(List<Size> sizes, List<Link> links) {
    this.sizes = sizes;
    this.links = links;
    this.rowOf = new int[sizes.size()];
    this.back = new boolean[links.size()];
    rank();
    fill();
  }

  /** Boxes get the even rows, as far down as the longest way to them; the odd ones are labels'. */
  private void rank() {
    List<Integer> order = sorted();
    for (int box : order) {
      for (int i = 0; i < links.size(); i++) {
        Link link = links.get(i);
        if (link.from() == box && !back[i]) {
          rowOf[link.to()] = Math.max(rowOf[link.to()], rowOf[box] + 2);
        }
      }
    }
    int last = rowOf.length - 1;
    if (links.stream().noneMatch(link -> link.from() == last)) {
      rowOf[last] = Math.max(rowOf[last], Arrays.stream(rowOf).max().orElse(0));
    }
    TreeSet<Integer> used = new TreeSet<>();
    Arrays.stream(rowOf).forEach(used::add);
    for (Link link : links) {
      if (link.label() != null) {
        used.add(rowOf[link.from()] + 1);
      }
    }
    List<Integer> dense = new ArrayList<>(used);
    for (int i = 0; i < rowOf.length; i++) {
      rowOf[i] = dense.indexOf(rowOf[i]);
    }
    dense.forEach(row -> rows.add(new ArrayList<>()));
  }

  /** The boxes in an order in which no link but the ways back leads up; finds those. */
  private List<Integer> sorted() {
    int[] state = new int[sizes.size()];
    List<Integer> order = new ArrayList<>();
    for (int box = 0; box < state.length; box++) {
      if (state[box] == 0) {
        visit(box, state, order);
      }
    }
    Collections.reverse(order);
    return order;
  }

  private void visit(int first, int[] state, List<Integer> order) {
    int[] next = new int[sizes.size()];
    Deque<Integer> open = new ArrayDeque<>(List.of(first));
    state[first] = 1;
    while (!open.isEmpty()) {
      int box = open.peek();
      int i = next[box]++;
      if (i == links.size()) {
        state[box] = 2;
        order.add(open.pop());
      } else if (links.get(i).from() == box) {
        int to = links.get(i).to();
        back[i] = state[to] == 1;
        if (state[to] == 0) {
          state[to] = 1;
          open.push(to);
        }
      }
    }
  }

  private void fill() {
    for (int i = 0; i < sizes.size(); i++) {
      boxes.add(cell(sizes.get(i), true, rowOf[i]));
    }
    for (int i = 0; i < links.size(); i++) {
      Link link = links.get(i);
      Chain chain = new Chain(link, back[i]);
      chains.add(chain);
      int first = rowOf[link.from()] + 1;
      int end = back[i] ? (link.label() == null ? first : first + 1) : rowOf[link.to()];
      chain.cells.add(boxes.get(link.from()));
      for (int row = first; row < end; row++) {
        boolean labelled = row == first && link.label() != null;
        Size size =
            labelled && link.label() != null ? link.label() : new Size(Columns.WAYS_APART / 2, 0);
        Cell cell = cell(size, false, row);
        chain.cells.add(cell);
        if (labelled) {
          chain.label = cell;
        }
      }
      if (!back[i]) {
        chain.cells.add(boxes.get(link.to()));
      }
      for (int c = 1; c < chain.cells.size(); c++) {
        chain.cells.get(c - 1).below.add(chain.cells.get(c));
        chain.cells.get(c).above.add(chain.cells.get(c - 1));
      }
    }
  }

  private Cell cell(Size size, boolean box, int row) {
    Cell cell = new Cell(size, box, row);
    rows.get(row).add(cell);
    return cell;
  }
}
