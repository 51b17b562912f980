package io.fermata.persistence.directory;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A part of a list. A search that examined many entries without filling a page ends early: its page
 * may be short or even empty, and another follows.
 *
 * @param next the cursor of the page that follows, null if this is the last
 */
public record DirectoryPage(List<DirectoryEntry> entries, @Nullable String next) {

  public DirectoryPage {
    entries = List.copyOf(entries);
  }
}
