package io.fermata.flow;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.json.Fixed;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Texts;
import io.fermata.flow.picture.Picture;
import io.fermata.flow.picture.Picture.Arrow;
import io.fermata.flow.picture.Picture.Kind;
import io.fermata.flow.picture.Picture.Shape;
import io.fermata.flow.picture.Picture.Style;
import io.fermata.flow.route.Joining;
import io.fermata.flow.route.Route;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Finds the shapes and arrows of a flow, with those of the flows within it. */
final class GraphShapes {
  private static final int LONGEST_DEFAULT = 20;

  private final List<Shape> shapes = new ArrayList<>();
  private final List<Arrow> arrows = new ArrayList<>();

  private GraphShapes() {}

  static Picture of(Flow<?> flow) {
    GraphShapes outline = new GraphShapes();
    outline.new Inside<>(flow, "").add();
    String subtitle = flow.id() + " · version " + flow.version();
    return new Picture(flow.title(), subtitle, outline.shapes, outline.arrows);
  }

  /** One flow, in the box that mounts it. */
  private final class Inside<S extends Record> {
    private final Flow<S> flow;
    private final String box;
    private final Map<String, Map<String, String>> sides;

    Inside(Flow<S> flow, String box) {
      this.flow = flow;
      this.box = box;
      this.sides = new Graph.Regions(flow).sides();
    }

    private String path(String node) {
      return box.isEmpty() ? node : box + "/" + node;
    }

    void add() {
      shape(Flow.START, Kind.START, "Start", List.of());
      ways(Flow.START);
      for (Node<S> node : flow.nodes().values()) {
        shape(node.id(), kind(node), node.id(), details(node));
        if (node instanceof Node.Nested<S> nested) {
          new Inside<>(nested.flow(), path(node.id())).add();
        }
        ways(node.id());
      }
      shape(Flow.END, Kind.END, "End", List.of());
    }

    private void shape(String node, Kind kind, String label, List<String> details) {
      shapes.add(new Shape(path(node), box, kind, label, details));
    }

    // --- nodes --------------------------------------------------------------------------------

    private Kind kind(Node<S> node) {
      return switch (node.kind()) {
        case ASK -> Kind.ASK;
        case WIDGET -> Kind.WIDGET;
        case ACT -> Kind.ACT;
        case SLEEP -> Kind.SLEEP;
        case SIGNAL -> Kind.WAIT;
        case LIST -> Kind.EACH;
        case SUBFLOW -> Kind.FLOW;
        case UNKNOWN -> throw new IllegalStateException("Node " + node.id() + " is of no kind");
      };
    }

    private List<String> details(Node<S> node) {
      List<String> details = new ArrayList<>();
      if (node instanceof Node.Ask<S> ask) {
        details.add(
            "asks "
                + ask.questions().stream()
                    .map(GraphShapes::asked)
                    .collect(Collectors.joining(", ")));
      } else if (node instanceof Node.Show<S> show) {
        details.add("shows " + show.tool() + into(show.field()));
      } else if (node instanceof Node.Act<S> act) {
        act(act, details);
      } else if (node instanceof Node.Compute) {
        details.add("computes");
      } else if (node instanceof Node.Sleep<S> sleep) {
        details.add("sleeps" + fixed(" ", sleep.time()));
      } else if (node instanceof Node.Await<S> await) {
        details.add("waits for " + await.signal() + into(await.field()));
      } else if (node instanceof Node.Each<S, ?> each) {
        details.add("for each, at most " + each.atMost() + into(each.into()));
        details.add(joining(each.joining()));
      } else if (node instanceof Node.Mount<S, ?> mount) {
        details.add("flow " + mount.flow().id() + into(mount.into()));
      }
      Node.Waiting<S> waiting = flow.waiting(node.id());
      if (waiting.every() != null) {
        String times = waiting.reminders() == 1 ? "once, after " : waiting.reminders() + "× every ";
        details.add("reminds " + times + text(waiting.every()));
      }
      return List.copyOf(details);
    }

    private void act(Node.Act<S> act, List<String> details) {
      List<String> words = new ArrayList<>();
      if (act.policy().once()) {
        words.add("once");
      }
      if (flow.compensations().containsKey(act.id())) {
        words.add("can be undone");
      }
      if (!words.isEmpty()) {
        details.add(String.join(" · ", words));
      }
    }

    private static String into(@Nullable String field) {
      return field == null ? "" : " → " + field;
    }

    // --- ways ---------------------------------------------------------------------------------

    private void ways(String from) {
      Route route = flow.routes().get(from);
      if (route instanceof Route.Edge edge) {
        arrow(path(from), to(from, edge.to()), -1, List.of());
      } else if (route instanceof Route.Choice choice) {
        for (int i = 0; i < choice.rules().size(); i++) {
          Route.Rule rule = choice.rules().get(i);
          arrow(path(from), to(from, rule.target()), i, label(rule));
        }
        arrow(path(from), to(from, choice.otherwise()), -1, List.of("otherwise"));
      } else if (route instanceof Route.Fork fork) {
        fork(from, fork);
      }
      String late = flow.waiting(from).target();
      if (late != null) {
        String label = "late" + fixed(", after ", flow.waiting(from).deadline());
        arrows.add(new Arrow(path(from), to(from, late), Style.LATE, -1, List.of(label)));
      }
    }

    private void fork(String from, Route.Fork fork) {
      String parts = Picture.fork(path(from));
      String joins = Picture.join(path(from));
      boolean always = fork.arms().stream().anyMatch(arm -> arm.rule() == null);
      shape(Picture.fork(from), Kind.FORK, always ? "at once" : "all that match", List.of());
      arrow(path(from), parts, -1, List.of());
      int rules = 0;
      for (Route.Arm arm : fork.arms()) {
        Route.Rule rule = arm.rule();
        List<String> label = rule == null ? List.of() : label(rule);
        arrow(parts, path(arm.head()), rule == null ? -1 : rules++, label);
      }
      if (fork.otherwise() != null) {
        arrow(parts, path(fork.otherwise()), -1, List.of("otherwise"));
      } else if (!always) {
        arrow(parts, joins, -1, List.of("none matches"));
      }
      shape(Picture.join(from), Kind.JOIN, joining(fork.joining()), List.of());
      arrow(joins, to(from, fork.join()), -1, List.of());
    }

    private void arrow(String from, String to, int rule, List<String> label) {
      arrows.add(new Arrow(from, to, Style.ONWARD, rule, label));
    }

    /** A way to where branches come together leads to the join of the innermost fork. */
    private String to(String from, String target) {
      return sides.getOrDefault(from, Map.of()).keySet().stream()
          .findFirst()
          .filter(
              fork -> flow.routes().get(fork) instanceof Route.Fork f && f.join().equals(target))
          .map(fork -> Picture.join(path(fork)))
          .orElse(path(target));
    }

    private static List<String> label(Route.Rule rule) {
      if (!(rule.test() instanceof Route.Test.Holds holds)) {
        return List.of(rule.label());
      }
      String condition = holds.condition().text();
      return condition.equals(rule.label()) ? List.of(condition) : List.of(rule.label(), condition);
    }
  }

  private static String asked(Node.Question<?> question) {
    JsonNode value = question.byDefault();
    if (value != null) {
      return question.field() + " = " + Texts.shortened(Json.text(value), LONGEST_DEFAULT);
    }
    return question.optional() ? question.field() + "?" : question.field();
  }

  static String joining(Joining joining) {
    String who =
        switch (joining.needed()) {
          case 0 -> "joins all";
          case 1 -> "joins the first";
          default -> "joins the first " + joining.needed();
        };
    return switch (joining.failure()) {
      case HALT -> who;
      case FAIL_FAST -> who + " · fails fast";
      case COLLECT -> who + " · failures → " + joining.into();
    };
  }

  /** A time that no state has a say in. */
  private static String fixed(String before, @Nullable Function<?, Duration> time) {
    return time instanceof Fixed<?, Duration> fixed ? before + text(fixed.value()) : "";
  }

  /** As people write it: {@code 1 h 30 min}. */
  private static String text(Duration time) {
    StringBuilder text = new StringBuilder();
    part(text, time.toDays(), "d");
    part(text, time.toHoursPart(), "h");
    part(text, time.toMinutesPart(), "min");
    part(text, time.toSecondsPart(), "s");
    part(text, time.toMillisPart(), "ms");
    return text.isEmpty() ? "0 s" : text.toString();
  }

  private static void part(StringBuilder text, long number, String unit) {
    if (number > 0) {
      text.append(text.isEmpty() ? "" : " ").append(number).append(' ').append(unit);
    }
  }
}
