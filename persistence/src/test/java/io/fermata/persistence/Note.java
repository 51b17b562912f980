package io.fermata.persistence;

import java.util.List;

/** What a notebook writes and snapshots. */
sealed interface Note {

  record Line(String text) implements Note {}

  /** Tagged ended: replaces every line before it. */
  record Conclusion(String text) implements Note {}

  /** Tagged working: there is more to come. */
  record Plan(String text) implements Note {}

  /** Tagged with the time when somebody is to look again. */
  record Appointment(long at) implements Note {}

  /** No serializer writes it. */
  record Secret() implements Note {}

  record Page(List<String> lines) {}
}
