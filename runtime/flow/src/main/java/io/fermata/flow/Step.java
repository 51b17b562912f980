package io.fermata.flow;

import io.fermata.flow.route.Route;
import org.jspecify.annotations.Nullable;

/**
 * A node of the whole graph of a run, sub-flows included, or the beginning or end of one of them.
 *
 * @param scope the flow that its functions and its way out belong to
 * @param node null at the beginning and at the end of a flow
 * @param route the way out; null at the end of the run, and of an item's sub-flow
 * @param closes the flow that ends here
 */
public record Step<S extends Record>(
    String path,
    FieldScope<S> scope,
    @Nullable Node<S> node,
    @Nullable Route route,
    @Nullable FieldScope<?> closes) {

  public boolean asks() {
    return node != null && node.asks();
  }

  /** How it is undone. What undoes the beginning of a run is its flow's hook for its expiry. */
  public Node.@Nullable Compensation<S> compensation() {
    String id = path.substring(path.lastIndexOf('/') + 1);
    return scope.flow().compensations().get(id);
  }
}
