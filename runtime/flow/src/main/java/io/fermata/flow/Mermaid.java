package io.fermata.flow;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Draws a flow as Mermaid text. */
final class Mermaid {
  private Mermaid() {}

  static <S extends Record> String render(Flow<S> flow) {
    StringBuilder out = new StringBuilder("flowchart TD\n");
    out.append("  ").append(Flow.START).append("((Start))\n");
    flow.nodes().values().forEach(node -> out.append("  ").append(shape(node)).append('\n'));
    out.append("  ").append(Flow.END).append("((End))\n");
    for (Map.Entry<String, Route> entry : flow.routes().entrySet()) {
      arrows(entry.getKey(), entry.getValue())
          .forEach(a -> out.append("  ").append(a).append('\n'));
    }
    return out.toString();
  }

  private static <S extends Record> String shape(Node<S> node) {
    String label = "\"" + node.id() + "\"";
    if (node instanceof Node.Ask) {
      return node.id() + "[/" + label + "/]";
    } else if (node instanceof Node.Show) {
      return node.id() + "[[" + label + "]]";
    }
    return node.id() + "[" + label + "]";
  }

  private static List<String> arrows(String from, Route route) {
    if (!(route instanceof Route.Choice choice)) {
      return List.of(from + " --> " + route.targets().get(0));
    }
    List<String> arrows =
        new ArrayList<>(
            choice.rules().stream()
                .map(r -> from + " -. \"" + text(r.label()) + "\" .-> " + r.target())
                .toList());
    arrows.add(from + " -. otherwise .-> " + choice.otherwise());
    return arrows;
  }

  private static String text(String label) {
    return label.replace("\"", "#quot;").replace("\n", " ");
  }
}
