package io.fermata.flow;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;

import io.fermata.flow.schema.Computed;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Small flows for one question each. */
public final class Flows {
  public record Address(String street, String city) {}

  /** A state with a field of each sort that a conversation fills. */
  public record Talk(
      String a,
      String b,
      String c,
      Integer number,
      Boolean flag,
      List<String> list,
      Address address,
      Map<String, String> notes,
      @Computed String computed,
      @Computed List<String> log,
      @Computed List<Map<String, String>> failures) {}

  private Flows() {}

  public static FlowBuilder<Talk> talk() {
    return Flow.of("talk", Talk.class).description("Talks.").neverExpire().result(talk -> talk);
  }

  /** Values of which one lies in another, in one of two orders. */
  static Map<String, Object> overlapping(boolean reversed) {
    List<String> paths = Arrays.asList("driver", "name", "driver.age");
    List<Object> values = Arrays.asList(Map.of("age", 30, "name", "Bo"), "Ann", 31);
    if (reversed) {
      Collections.reverse(paths);
      Collections.reverse(values);
    }
    Map<String, Object> all = new LinkedHashMap<>();
    for (int i = 0; i < paths.size(); i++) {
      all.put(paths.get(i), values.get(i));
    }
    return all;
  }

  /** A chain from START through the given nodes to END. */
  public static Driver drive(FlowBuilder<Talk> flow, String... nodes) {
    return new Driver(chain(flow, nodes).compile());
  }

  public static <S extends Record> FlowBuilder<S> chain(FlowBuilder<S> flow, String... nodes) {
    String from = START;
    for (String node : nodes) {
      flow.edge(from, node);
      from = node;
    }
    return flow.edge(from, END);
  }

  /** Asks for the fields in one node that is named after the first. */
  public static FlowBuilder<Talk> ask(FlowBuilder<Talk> flow, String... fields) {
    return flow.ask(
        "ask_" + fields[0].replace('.', '_'),
        q -> Arrays.stream(fields).forEach(field -> q.question(field, field + "?")));
  }
}
