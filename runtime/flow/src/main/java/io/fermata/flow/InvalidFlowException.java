package io.fermata.flow;

import java.util.List;

/** A flow that cannot be compiled, with everything that is wrong with it. */
public final class InvalidFlowException extends IllegalArgumentException {
  private static final long serialVersionUID = 1L;

  private final transient List<String> defects;

  InvalidFlowException(String flow, List<String> defects) {
    super(
        "Flow "
            + flow
            + " has "
            + (defects.size() == 1 ? "a defect" : defects.size() + " defects")
            + ":\n  - "
            + String.join("\n  - ", defects));
    this.defects = List.copyOf(defects);
  }

  public List<String> defects() {
    return defects;
  }
}
