package io.fermata.flow;

import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Finds how far back a correction goes. */
final class Corrections<S extends Record> {
  private final Flow<S> flow;
  private final RunState state;

  Corrections(Flow<S> flow, RunState state) {
    this.flow = flow;
    this.state = state;
  }

  /**
   * A new visit to the earliest node that asked for one of the fields. To START for a field that no
   * node asks for, as any node may have read it, and where the way back to the node is no longer
   * known, after a correction within a loop. Null if every field is still to be asked.
   */
  @Nullable Place goBackTo(Set<String> fields) {
    String earliest = null;
    long tick = Long.MAX_VALUE;
    for (String field : fields) {
      String node = askedBy(field);
      RunState.Checkpoint checkpoint = node == null ? null : state.entered().get(node);
      if (node != null && checkpoint != null && checkpoint.tick() < tick) {
        earliest = node;
        tick = checkpoint.tick();
      }
    }
    return earliest == null
        ? null
        : new Place(earliest, state.visits().getOrDefault(earliest, 0) + 1);
  }

  private @Nullable String askedBy(String field) {
    boolean askedAtAll = false;
    boolean passed = false;
    String earliest = null;
    long tick = Long.MAX_VALUE;
    for (Node<S> node : flow.nodes().values()) {
      if (node.fields().stream().noneMatch(asked -> Paths.related(asked, field))) {
        continue;
      }
      askedAtAll = true;
      passed |= state.memory().left().containsKey(node.id());
      RunState.Checkpoint checkpoint = state.entered().get(node.id());
      if (checkpoint != null && checkpoint.tick() < tick) {
        earliest = node.id();
        tick = checkpoint.tick();
      }
    }
    boolean lost = earliest == null && passed;
    return askedAtAll && !lost ? earliest : Flow.START;
  }

  /** A step that may run only once and did or does run since the place was entered, if any. */
  @Nullable String onceAfter(Place back) {
    RunState.Checkpoint checkpoint = state.entered().get(back.node());
    long tick = checkpoint == null ? 0 : checkpoint.tick();
    for (Map.Entry<String, Long> ran : state.committed().entrySet()) {
      if (once(ran.getKey()) && ran.getValue() > tick) {
        return ran.getKey();
      }
    }
    for (Map.Entry<Place, At> entry : state.places().entrySet()) {
      String node = entry.getKey().node();
      if (once(node) && entry.getValue().phase() instanceof Phase.Working) {
        return node;
      }
    }
    return null;
  }

  private boolean once(String node) {
    return flow.nodes().get(node) instanceof Node.Act<S> act && act.policy().once();
  }
}
