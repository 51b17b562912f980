package io.fermata.flow;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Lays out boxes and the ways between them from top to bottom: every box in a row below those that
 * lead to it, ways back at the sides. Labels have rows of their own, so that nothing covers them.
 */
final class Layers {
  private static final int SWEEPS = 12;
  private static final int SETTLINGS = 80;
  private static final double APART = 26;
  private static final double WAYS_APART = 16;
  private static final double TRACK = 12;

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
  record Wire(List<List<Point>> lines, @Nullable Box label) {}

  /** The result: places in the order of what was given, with the upper left corner at 0, 0. */
  record Plan(Size size, List<Box> boxes, List<Wire> wires) {}

  /** What takes room in a row: a box, a label, or a way that passes by. */
  private static final class Cell {
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
  private static final class Chain {
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
  }

  private final List<Size> sizes;
  private final List<Link> links;
  private final int[] rowOf;
  private final boolean[] back;
  private final List<Cell> boxes = new ArrayList<>();
  private final List<Chain> chains = new ArrayList<>();
  private final List<List<Cell>> rows = new ArrayList<>();
  private double[] tops = {};
  private double[] bottoms = {};

  private Layers(List<Size> sizes, List<Link> links) {
    this.sizes = sizes;
    this.links = links;
    this.rowOf = new int[sizes.size()];
    this.back = new boolean[links.size()];
  }

  /**
   * Lays out boxes of which the first is to be at the top, and the last, if nothing leads out of
   * it, at the bottom.
   */
  static Plan plan(List<Size> sizes, List<Link> links) {
    Layers layers = new Layers(sizes, links);
    layers.rank();
    layers.fill();
    layers.order();
    layers.settle();
    layers.ports();
    layers.stack();
    return layers.drawn();
  }

  // --- rows -----------------------------------------------------------------------------------

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
        Size size = labelled && link.label() != null ? link.label() : new Size(WAYS_APART / 2, 0);
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

  // --- order within the rows ------------------------------------------------------------------

  private void order() {
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

  // --- across ---------------------------------------------------------------------------------

  /** Moves every row, in turn, as near as may be to what its cells are connected with. */
  private void settle() {
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
    chains.forEach(this::straighten);
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
  private static double[] spread(double[] wanted, double[] offset, double[] weights) {
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

  // --- where ways begin and end ---------------------------------------------------------------

  private void ports() {
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
    Cell from = last(chain);
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
    double[] at = spread(wanted, offset, weights);
    for (int c = 0; c < n; c++) {
      double low = box.x - room + c * apart;
      at[c] = Math.max(low, Math.min(low + 2 * room - (n - 1) * apart, at[c]));
    }
    return at;
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
    return chains.stream().filter(chain -> chain.back && last(chain).row == row).toList();
  }

  /** The ways back that lead to this row. */
  private List<Chain> arriving(int row) {
    return chains.stream()
        .filter(chain -> chain.back && boxes.get(chain.link.to()).row == row)
        .toList();
  }

  private static Cell last(Chain chain) {
    return chain.cells.get(chain.cells.size() - 1);
  }

  // --- drawing --------------------------------------------------------------------------------

  private Plan drawn() {
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
        .sorted(Comparator.comparingInt(Layers.this::span))
        .forEach(
            chain -> {
              double lane = chain.left ? Double.MAX_VALUE : -Double.MAX_VALUE;
              int first = boxes.get(chain.link.to()).row;
              int end = last(chain).row;
              for (int r = first; r <= end; r++) {
                lane = chain.left ? Math.min(lane, left[r]) : Math.max(lane, right[r]);
              }
              lane += chain.left ? -WAYS_APART : WAYS_APART;
              for (int r = first; r <= end; r++) {
                (chain.left ? left : right)[r] = lane;
              }
              chain.lane = lane;
            });
  }

  private int span(Chain chain) {
    return last(chain).row - boxes.get(chain.link.to()).row;
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
    int row = last(chain).row;
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
    List<Wire> moved = wires.stream().map(wire -> moved(wire, -low[0], -low[1])).toList();
    return new Plan(new Size(high[0] - low[0], high[1] - low[1]), places, moved);
  }

  static Wire moved(Wire wire, double dx, double dy) {
    return new Wire(
        wire.lines().stream()
            .map(line -> line.stream().map(point -> point.plus(dx, dy)).toList())
            .toList(),
        wire.label() == null ? null : wire.label().plus(dx, dy));
  }
}
