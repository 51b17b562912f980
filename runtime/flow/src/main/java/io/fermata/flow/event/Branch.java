package io.fermata.flow.event;

import io.fermata.flow.json.PersistentMap;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;

/**
 * One strand of a run: the trunk, or one branch of a fork. Branches do not see one another's writes
 * before they join, so the order in which they advance changes nothing.
 *
 * @param memory what it has learned
 * @param visits how often each node was entered in it, which makes its places different
 * @param passes how often each node was entered since its flow began; a correction takes back what
 *     it forgets
 * @param entered what it knew at the steps that a correction may come back to
 * @param committed when each action last committed, or was taken as done
 * @param touched the fields that it has changed since the fork
 */
public record Branch(
    StateMemory memory,
    Map<String, Integer> visits,
    Map<String, Integer> passes,
    Map<String, Checkpoint> entered,
    Map<String, Long> committed,
    Set<String> touched) {

  public Branch {
    visits = PersistentMap.copyOf(visits);
    passes = PersistentMap.copyOf(passes);
    entered = PersistentMap.copyOf(entered);
    committed = PersistentMap.copyOf(committed);
  }

  /** What was known at a moment in the run's count of events. */
  public record Checkpoint(long tick, StateMemory memory, Map<String, Integer> passes) {
    public Checkpoint {
      passes = PersistentMap.copyOf(passes);
    }
  }

  public static final Branch EMPTY =
      new Branch(StateMemory.EMPTY, Map.of(), Map.of(), Map.of(), Map.of(), Set.of());

  /** A branch that begins where this one is. */
  Branch forked() {
    return EMPTY.memory(memory);
  }

  Branch memory(StateMemory next) {
    return new Branch(next, visits, passes, entered, committed, touched);
  }

  Branch touch(Collection<String> paths) {
    if (touched.containsAll(paths)) {
      return this;
    }
    Set<String> more = new LinkedHashSet<>(touched);
    more.addAll(paths);
    return new Branch(memory, visits, passes, entered, committed, more);
  }

  /**
   * The run comes to a node.
   *
   * @param asks whether a correction may come back to it
   */
  Branch enter(Place place, boolean asks, long tick) {
    String node = place.node();
    Map<String, Integer> numbered = PersistentMap.with(visits, node, place.visit());
    Map<String, Integer> counted = PersistentMap.with(passes, node, passes(node) + 1);
    Branch here = new Branch(memory, numbered, counted, entered, committed, touched);
    return asks ? here.checkpoint(node, tick) : here;
  }

  /** The run leaves a node. */
  Branch leave(String node, long tick) {
    return memory(memory.leave(node, tick));
  }

  /** A sub-flow starts again, and counts from zero. */
  Branch begin(String flow) {
    String within = flow + "/";
    Map<String, Integer> others =
        PersistentMap.filtered(passes, (node, times) -> !node.startsWith(within));
    return new Branch(memory, visits, others, entered, committed, touched);
  }

  Branch checkpoint(String step, long tick) {
    Checkpoint here = new Checkpoint(tick, memory, passes);
    return new Branch(
        memory, visits, passes, PersistentMap.with(entered, step, here), committed, touched);
  }

  Branch commit(String node, long tick) {
    return new Branch(
        memory, visits, passes, entered, PersistentMap.with(committed, node, tick), touched);
  }

  /** Back to a checkpoint, as a new visit: what came after it is forgotten. */
  Branch backTo(Checkpoint back, StateMemory restored, String node, int visit) {
    Map<String, Checkpoint> earlier =
        PersistentMap.filtered(entered, (step, checkpoint) -> checkpoint.tick() <= back.tick());
    Map<String, Long> kept =
        PersistentMap.filtered(committed, (action, tick) -> tick <= back.tick());
    Map<String, Integer> numbered = PersistentMap.with(visits, node, visit);
    return new Branch(restored, numbered, back.passes(), earlier, kept, touched);
  }

  /** Takes over from a branch that has joined what is neither data nor answers. */
  Branch join(Branch joined, String fork) {
    Set<String> changed = new LinkedHashSet<>(touched);
    changed.addAll(joined.touched);
    return new Branch(memory.join(joined.memory), visits, passes, entered, committed, changed)
        .over(joined, fork);
  }

  /**
   * Takes over from a branch that was dropped what must not come again: an answer that was used up
   * in it, and a step that may run only once.
   */
  Branch drop(Branch dropped, String fork) {
    StateMemory merged = memory;
    for (Map.Entry<String, Long> left : dropped.memory.left().entrySet()) {
      if (left.getValue() > merged.left().getOrDefault(left.getKey(), 0L)) {
        merged = merged.leave(left.getKey(), left.getValue());
      }
    }
    for (Map.Entry<String, Long> accepted : dropped.memory.accepted().entrySet()) {
      if (accepted.getValue() > merged.accepted().getOrDefault(accepted.getKey(), 0L)) {
        merged = merged.accept(accepted.getKey(), accepted.getValue());
      }
    }
    return memory(merged).over(dropped, fork);
  }

  /** What was done in another branch of the same flow counts here, too. */
  private Branch over(Branch other, String fork) {
    String flow = fork.substring(0, fork.lastIndexOf('/') + 1);
    Map<String, Integer> counted = passes;
    for (Map.Entry<String, Integer> its : other.passes.entrySet()) {
      String node = its.getKey();
      if (node.startsWith(flow) && node.indexOf('/', flow.length()) < 0) {
        counted = PersistentMap.with(counted, node, passes(node) + its.getValue());
      }
    }
    Map<String, Long> done = StateMemory.latest(committed, other.committed);
    return new Branch(memory, visits, counted, entered, done, touched);
  }

  public int visits(String node) {
    return visits.getOrDefault(node, 0);
  }

  int passes(String node) {
    return passes.getOrDefault(node, 0);
  }
}
