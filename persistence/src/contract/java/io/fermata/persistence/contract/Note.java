package io.fermata.persistence.contract;

import java.util.List;

/** What a notebook writes and snapshots. */
public sealed interface Note {

  record Line(String text) implements Note {}

  /**
   * Replaces every line before it.
   *
   * @param sweepAt from when on nothing before it is wanted
   * @param forgetAt from when on it is not wanted either
   */
  record Conclusion(String text, long sweepAt, long forgetAt) implements Note {
    public Conclusion(String text) {
      this(text, 0, Long.MAX_VALUE);
    }
  }

  /** Tagged working: there is more to come. */
  record Plan(String text) implements Note {}

  /** Tagged with the time when somebody is to look again. */
  record Appointment(long at) implements Note {}

  /** No serializer writes it. */
  record Secret() implements Note {}

  record Page(List<String> lines) {}
}
