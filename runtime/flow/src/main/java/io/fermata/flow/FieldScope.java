package io.fermata.flow;

import io.fermata.flow.event.Place;
import io.fermata.flow.json.Paths;
import io.fermata.flow.schema.StateSchema;
import org.jspecify.annotations.Nullable;

/**
 * A flow where it is mounted: the one that a run is of, or a sub-flow within it.
 *
 * @param path the path of the node that mounts it; "" for the run's own flow
 * @param each it runs for the items of a list, in a branch for each
 */
public record FieldScope<S extends Record>(
    String path, Flow<S> flow, @Nullable FieldScope<?> parent, boolean each) {

  /** The path of one of its nodes. */
  public String node(String id) {
    return path.isEmpty() ? id : path + "/" + id;
  }

  public StateSchema<S> schema() {
    return flow.schema();
  }

  /**
   * What stands before the names of its fields in the state of the run; {@code *} for the item of a
   * list that the place does not lie in.
   */
  public String prefix(Place place) {
    if (parent == null) {
      return "";
    }
    String label = each ? place.labelAfter(path) : null;
    String index = each ? (label == null ? Paths.ANY : label) + "." : "";
    return parent.prefix(place) + id() + "." + index;
  }

  /** Where its state lives in the state of the run. */
  public String home(Place place) {
    String prefix = prefix(place);
    return prefix.isEmpty() ? "" : prefix.substring(0, prefix.length() - 1);
  }

  /** The same for every item: {@code drivers.*.}. */
  String template() {
    if (parent == null) {
      return "";
    }
    return parent.template() + id() + "." + (each ? "*." : "");
  }

  /** The name of the node that mounts it. */
  public String id() {
    return path.substring(path.lastIndexOf('/') + 1);
  }
}
