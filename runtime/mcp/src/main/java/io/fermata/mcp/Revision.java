package io.fermata.mcp;

import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A revision of the protocol, oldest first, and what sets it apart from the others. */
enum Revision {
  V2025_03_26("2025-03-26"),
  V2025_06_18("2025-06-18"),
  V2025_11_25("2025-11-25"),
  V2026_07_28("2026-07-28");

  static final Revision LATEST_LEGACY = V2025_11_25;

  /** What a client speaks that sends no version header: the revision before the header existed. */
  static final Revision WITHOUT_HEADER = V2025_03_26;

  final String text;

  Revision(String text) {
    this.text = text;
  }

  static @Nullable Revision of(@Nullable String text) {
    for (Revision revision : values()) {
      if (revision.text.equals(text)) {
        return revision;
      }
    }
    return null;
  }

  static List<String> all() {
    return Arrays.stream(values()).map(revision -> revision.text).toList();
  }

  static List<String> allModern() {
    return Arrays.stream(values()).filter(Revision::modern).map(revision -> revision.text).toList();
  }

  /** Whether every request describes itself and there is no session. */
  boolean modern() {
    return this == V2026_07_28;
  }

  /** Whether tools have titles, output schemas and structured results. */
  boolean structured() {
    return this != V2025_03_26;
  }

  boolean batches() {
    return this == V2025_03_26;
  }
}
