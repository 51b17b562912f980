package io.fermata.mcp.rpc;

import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The revisions of the protocol, oldest first, and how they differ. */
public enum Revision {
  V2025_03_26("2025-03-26"),
  V2025_06_18("2025-06-18"),
  V2025_11_25("2025-11-25"),
  V2026_07_28("2026-07-28");

  public static final Revision LATEST_LEGACY = V2025_11_25;

  /** The first one whose forms have lists of choices. */
  public static final Revision WITH_LISTS = V2025_11_25;

  /** The revision of a client without a version header: the last one before that header existed. */
  public static final Revision WITHOUT_HEADER = V2025_03_26;

  public final String text;

  Revision(String text) {
    this.text = text;
  }

  public static @Nullable Revision of(@Nullable String text) {
    for (Revision revision : values()) {
      if (revision.text.equals(text)) {
        return revision;
      }
    }
    return null;
  }

  public static List<String> all() {
    return Arrays.stream(values()).map(revision -> revision.text).toList();
  }

  public static List<String> allModern() {
    return Arrays.stream(values()).filter(Revision::modern).map(revision -> revision.text).toList();
  }

  /** Whether every request describes itself and there is no session. */
  public boolean modern() {
    return this == V2026_07_28;
  }

  /** Whether tools have titles, output schemas and structured results, and contents links. */
  public boolean structured() {
    return this != V2025_03_26;
  }

  /** Whether forms may have lists of choices. */
  public boolean listsInForms() {
    return compareTo(WITH_LISTS) >= 0;
  }

  public boolean batches() {
    return this == V2025_03_26;
  }
}
