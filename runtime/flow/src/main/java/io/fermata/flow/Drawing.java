package io.fermata.flow;

import java.util.List;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * What a picture shows, before any renderer gives it a form.
 *
 * @param subtitle which version of which flow, and what has become of the run
 */
record Drawing(String title, String subtitle, List<Shape> shapes, List<Arrow> arrows) {
  static final String FORK = ">";
  static final String JOIN = "<";

  /** What a shape stands for. */
  enum Kind {
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
    boolean holds() {
      return this == FLOW || this == EACH;
    }

    /** Whether it marks where a flow begins or ends. */
    boolean bounds() {
      return this == START || this == END;
    }

    boolean branches() {
      return this == FORK || this == JOIN;
    }
  }

  /**
   * A node, or the beginning or end of a flow, or where branches part or join.
   *
   * @param path its path in the whole graph
   * @param box the path of the shape it lies in; "" if it lies in none
   * @param details what there is to know of it, a line each
   */
  record Shape(String path, String box, Kind kind, String label, List<String> details, Mark mark) {
    Shape mark(Mark other) {
      return new Shape(path, box, kind, label, details, other);
    }
  }

  /** What a way is taken for. */
  enum Style {
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
   * @param dropped the branch behind it was given up
   */
  record Arrow(
      String from,
      String to,
      Style style,
      int rule,
      List<String> label,
      List<String> seen,
      int taken,
      boolean dropped) {
    Arrow(String from, String to, Style style, int rule, List<String> label) {
      this(from, to, style, rule, label, List.of(), 0, false);
    }

    Arrow traced(List<String> nowSeen, int times, boolean given) {
      return new Arrow(from, to, style, rule, label, nowSeen, times, given);
    }
  }

  /** What a run is doing at a shape, the gravest last. */
  enum Now {
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
   * @param dropped it belongs to a branch that was given up
   * @param notes what is to be said of it, a line each
   */
  record Mark(int visits, Now now, boolean dropped, List<String> notes) {
    static final Mark NONE = new Mark(0, Now.NOWHERE, false, List.of());
  }

  List<Shape> within(String box) {
    return shapes.stream().filter(shape -> shape.box().equals(box)).toList();
  }

  @Nullable Shape shape(String path) {
    return shapes.stream().filter(shape -> shape.path().equals(path)).findFirst().orElse(null);
  }

  Drawing marked(
      String newSubtitle, UnaryOperator<Shape> shapeMarks, UnaryOperator<Arrow> arrowMarks) {
    return new Drawing(
        title,
        newSubtitle,
        shapes.stream().map(shapeMarks).toList(),
        arrows.stream().map(arrowMarks).toList());
  }
}
