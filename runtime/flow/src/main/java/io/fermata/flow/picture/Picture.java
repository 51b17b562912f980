package io.fermata.flow.picture;

import java.util.List;

/**
 * What a picture of a flow shows, and of a run on it: shapes, and the ways between them.
 *
 * <pre>{@code
 * System.out.println(flow.picture().mermaid());
 * Files.writeString(file, flow.picture().svg());
 * }</pre>
 *
 * @param subtitle which version of which flow, and what has become of the run
 */
public record Picture(String title, String subtitle, List<Shape> shapes, List<Arrow> arrows) {
  public Picture {
    shapes = List.copyOf(shapes);
    arrows = List.copyOf(arrows);
  }

  /** The path of the shape where the branches of a node part. */
  public static String fork(String node) {
    return node + ">";
  }

  /** The path of the shape where the branches of a node come together. */
  public static String join(String node) {
    return node + "<";
  }

  /** As a Mermaid flowchart. */
  public String mermaid() {
    return Mermaid.render(this);
  }

  /** As an image that needs nothing else and fits light and dark pages. */
  public String svg() {
    return Svg.render(this);
  }

  /** What a shape stands for. */
  public enum Kind {
    START,
    END,
    ASK,
    WIDGET,
    ACT,
    SLEEP,
    WAIT,
    FLOW,
    EACH,
    FORK,
    JOIN;

    /** Whether it is a box that other shapes lie in. */
    public boolean holds() {
      return this == FLOW || this == EACH;
    }

    /** Whether it marks where a flow begins or ends. */
    public boolean bounds() {
      return this == START || this == END;
    }

    /** Whether branches part or come together there. */
    public boolean branches() {
      return this == FORK || this == JOIN;
    }
  }

  /**
   * A node, or the beginning or end of a flow, or where branches part or come together.
   *
   * @param path its path in the whole graph
   * @param box the path of the shape it lies in; "" if it lies in none
   * @param details what there is to know of it, a line each
   */
  public record Shape(
      String path, String box, Kind kind, String label, List<String> details, Mark mark) {
    public Shape {
      details = List.copyOf(details);
    }

    /** A shape that no run has a mark on. */
    public Shape(String path, String box, Kind kind, String label, List<String> details) {
      this(path, box, kind, label, details, Mark.NONE);
    }

    /** The same with a run's mark on it. */
    public Shape marked(Mark other) {
      return new Shape(path, box, kind, label, details, other);
    }
  }

  /** What a way is taken for. */
  public enum Style {
    /** The ordinary way. */
    ONWARD,
    /** The way out of a wait that has lasted too long. */
    LATE,
    /** The way of a run that left its flow early; no author declared it. */
    EARLY
  }

  /**
   * A way from one shape to another of the same box.
   *
   * @param rule which of the rules at its beginning leads this way; -1 if none does
   * @param label a line each
   * @param seen what the last decision found, a line each
   * @param taken how often the run went this way
   * @param dropped the branch behind it was dropped
   */
  public record Arrow(
      String from,
      String to,
      Style style,
      int rule,
      List<String> label,
      List<String> seen,
      int taken,
      boolean dropped) {
    public Arrow {
      label = List.copyOf(label);
      seen = List.copyOf(seen);
    }

    /** A way that no run has a mark on. */
    public Arrow(String from, String to, Style style, int rule, List<String> label) {
      this(from, to, style, rule, label, List.of(), 0, false);
    }

    /** The same with a run's mark on it. */
    public Arrow marked(List<String> nowSeen, int nowTaken, boolean nowDropped) {
      return new Arrow(from, to, style, rule, label, nowSeen, nowTaken, nowDropped);
    }
  }

  /** What a run is doing at a shape, the gravest last. */
  public enum Now {
    NOWHERE,
    SLEEPS,
    WAITS,
    WORKS,
    HALTED
  }

  /**
   * What a run has left on a shape.
   *
   * @param visits how often it was entered
   * @param dropped it belongs to a branch that was dropped
   * @param undone what it did was undone
   * @param notes what is to be said of it, a line each
   */
  public record Mark(int visits, Now now, boolean dropped, boolean undone, List<String> notes) {
    private static final Mark NONE = new Mark(0, Now.NOWHERE, false, false, List.of());

    public Mark {
      notes = List.copyOf(notes);
    }
  }

  List<Shape> within(String box) {
    return shapes.stream().filter(shape -> shape.box().equals(box)).toList();
  }
}
