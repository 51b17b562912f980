package io.fermata.flow;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * How the runs of an earlier version of a flow are carried over to the next: which nodes and fields
 * have another name, where a run continues whose node is gone, and how the state changes. Nodes and
 * fields that are not mentioned keep their names.
 *
 * <pre>{@code
 * .version(2)
 * .migrate(1, m -> m
 *     .node("ask_email", "ask_contact")
 *     .removed("confirm", "pay")
 *     .field("mail", "email")
 *     .state(run -> run.set("segment", Segments.of(run.get("email", String.class)))))
 * }</pre>
 *
 * <p>Nodes of a sub-flow are named by their paths, {@code mount/node}, and so are its fields,
 * {@code mount.field}, or {@code mount.*.field} in each item of a list; a node that mounts a
 * sub-flow takes what lies in it along.
 */
public final class Migration {
  private final Map<String, String> nodes = new LinkedHashMap<>();
  private final Map<String, String> removed = new LinkedHashMap<>();
  private final Map<String, String> fields = new LinkedHashMap<>();
  private final Set<String> secrets = new LinkedHashSet<>();
  private final List<String> defects = new ArrayList<>();
  private @Nullable Consumer<Migrating> state;

  Migration() {}

  /** A node has another name. What is known of it stays known, and a run that is there stays. */
  public Migration node(String old, String now) {
    return put(nodes, old, now);
  }

  /**
   * A node is gone. A run that is there continues by entering another one, and so does one that is
   * in the sub-flow that it mounted, unless it is there in branches or for an item of a list.
   */
  public Migration removed(String old, String target) {
    return put(removed, old, target);
  }

  /** A field has another name. Its value and what the client answered move along. */
  public Migration field(String old, String now) {
    return put(fields, old, now);
  }

  /**
   * A field was secret in the earlier version and is gone, or is made into something else by {@link
   * #state}: what it held stays secret. A field that is renamed to a secret one need not be named.
   */
  public Migration secret(String old) {
    if (old.isBlank()) {
      defects.add("names a secret field without a name");
    }
    secrets.add(old);
    return this;
  }

  /**
   * Changes the state. It is called for what the run knows now, in each of its branches, and for
   * what it may come back to: where corrections lead, and what compensations are given. It must do
   * no more than that: it may also be called for a run that then is not carried over.
   */
  public Migration state(Consumer<Migrating> change) {
    if (state != null) {
      defects.add("changes the state twice; do all in one function");
    }
    state = Objects.requireNonNull(change, "change");
    return this;
  }

  private Migration put(Map<String, String> names, String old, String now) {
    Objects.requireNonNull(old, "old");
    if (names.put(old, Objects.requireNonNull(now, "now")) != null
        || (nodes.containsKey(old) && removed.containsKey(old))) {
      defects.add("says twice what becomes of " + old + "; say it once");
    }
    return this;
  }

  public Map<String, String> nodes() {
    return nodes;
  }

  public Map<String, String> removed() {
    return removed;
  }

  Map<String, String> fields() {
    return fields;
  }

  Set<String> secrets() {
    return secrets;
  }

  public @Nullable Consumer<Migrating> state() {
    return state;
  }

  List<String> defects() {
    return defects;
  }
}
