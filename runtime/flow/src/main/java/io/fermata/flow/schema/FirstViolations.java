package io.fermata.flow.schema;

import io.fermata.flow.json.Limits;
import io.fermata.flow.json.Violation;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;

/**
 * The violations that a reply lists, and how many more there are. One short value can be wrong in
 * very many ways, and the words cost more than the check: only what is listed gets them.
 */
final class FirstViolations {
  private final Set<Violation> first = new LinkedHashSet<>();
  private int rest;

  /** Adds a violation unless it is known. Beyond the bound it is counted and not put in words. */
  void add(Supplier<Violation> worded) {
    if (full()) {
      rest++;
    } else {
      first.add(worded.get());
    }
  }

  boolean full() {
    return first.size() >= Limits.VIOLATIONS;
  }

  /**
   * All that get words, and one more that counts the others.
   *
   * @param whole what the others are about
   */
  List<Violation> listed(String whole) {
    List<Violation> listed = new ArrayList<>(first);
    if (rest > 0) {
      listed.add(new Violation(whole, "has " + rest + " more violations"));
    }
    return listed;
  }
}
