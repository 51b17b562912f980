package io.fermata.session.admin;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * What is invented in a recording, beside the values of secret fields.
 *
 * @param fields further fields: of a run by their paths, as in {@link
 *     io.fermata.flow.record.Redaction#of}; of a thread by their names
 * @param anyway whether a recording that is decided otherwise is written all the same
 */
public record Scrubbing(Set<String> fields, boolean anyway) {
  /** The values of secret fields alone. */
  public static final Scrubbing SECRETS = new Scrubbing(Set.of(), false);

  public Scrubbing {
    fields = Set.copyOf(fields);
  }

  /** Invents the values of further fields. */
  public Scrubbing and(String... more) {
    Set<String> all = new LinkedHashSet<>(fields);
    all.addAll(List.of(more));
    return new Scrubbing(all, anyway);
  }

  /** Writes a recording even if it is decided otherwise, for instance to edit it by hand. */
  public Scrubbing writtenAnyway() {
    return new Scrubbing(fields, true);
  }
}
