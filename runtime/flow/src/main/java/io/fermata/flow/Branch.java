package io.fermata.flow;

import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * One strand of a run: the trunk, or one branch of a fork. Branches do not see one another's writes
 * before they join, so the order in which they happen to go on changes nothing.
 *
 * @param memory what it has learned
 * @param visits how often each node was entered in it
 * @param entered what it knew at the steps that a correction may come back to
 * @param committed when each action last committed, or was taken as done
 * @param touched the fields that it has changed since the fork
 */
public record Branch(
    Memory memory,
    Map<String, Integer> visits,
    Map<String, Checkpoint> entered,
    Map<String, Long> committed,
    Set<String> touched) {

  /** What was known at a moment in the run's count of events. */
  public record Checkpoint(long tick, Memory memory) {}

  static final Branch EMPTY = new Branch(Memory.EMPTY, Map.of(), Map.of(), Map.of(), Set.of());

  /** A branch that begins where this one is. */
  Branch forked() {
    return new Branch(memory, Map.of(), Map.of(), Map.of(), Set.of());
  }

  Branch memory(Memory next) {
    return new Branch(next, visits, entered, committed, touched);
  }

  Branch touch(String path) {
    if (touched.contains(path)) {
      return this;
    }
    Set<String> more = new LinkedHashSet<>(touched);
    more.add(path);
    return new Branch(memory, visits, entered, committed, more);
  }

  Branch visit(String node, int visit) {
    return new Branch(memory, RunState.put(visits, node, visit), entered, committed, touched);
  }

  Branch checkpoint(String step, long tick) {
    Map<String, Checkpoint> more = RunState.put(entered, step, new Checkpoint(tick, memory));
    return new Branch(memory, visits, more, committed, touched);
  }

  Branch commit(String node, long tick) {
    return new Branch(memory, visits, entered, RunState.put(committed, node, tick), touched);
  }

  /** Back to a checkpoint: what came after it is forgotten. */
  Branch backTo(Checkpoint back, Memory restored) {
    Map<String, Checkpoint> earlier = new LinkedHashMap<>(entered);
    earlier.values().removeIf(checkpoint -> checkpoint.tick() > back.tick());
    Map<String, Long> kept =
        committed.entrySet().stream()
            .filter(entry -> entry.getValue() <= back.tick())
            .collect(
                Collectors.toMap(
                    Map.Entry::getKey, Map.Entry::getValue, (a, b) -> a, LinkedHashMap::new));
    return new Branch(restored, visits, earlier, kept, touched);
  }

  /** Takes over from a branch that has joined what is not data: what was answered and done. */
  Branch join(Branch joined) {
    Map<String, Long> done = new LinkedHashMap<>(committed);
    joined.committed.forEach((node, tick) -> done.merge(node, tick, Math::max));
    Set<String> changed = new LinkedHashSet<>(touched);
    changed.addAll(joined.touched);
    return new Branch(memory.join(joined.memory), visits, entered, done, changed);
  }

  int visits(String node) {
    return visits.getOrDefault(node, 0);
  }
}
