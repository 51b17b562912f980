package io.fermata.flow;

import org.jspecify.annotations.Nullable;

/**
 * What clients may assume of a tool, for example to decide whether to ask their user before a call.
 * They are hints: a client that does not trust the server ignores them. What is null is not
 * published, and clients then assume the worst.
 *
 * @param readOnly whether it changes nothing
 * @param destructive whether it may delete or overwrite something, and not only add
 * @param idempotent whether a repeated call with the same arguments has no further effect
 * @param openWorld whether it reaches beyond the author's own systems
 */
public record ToolHints(
    @Nullable Boolean readOnly,
    @Nullable Boolean destructive,
    @Nullable Boolean idempotent,
    @Nullable Boolean openWorld) {
  /** Hints at nothing. */
  public static final ToolHints NONE = new ToolHints(null, null, null, null);

  /** The tool changes something. */
  public static final ToolHints CHANGES = NONE.readOnly(false);

  public ToolHints readOnly(boolean value) {
    return new ToolHints(value, destructive, idempotent, openWorld);
  }

  public ToolHints destructive(boolean value) {
    return new ToolHints(readOnly, value, idempotent, openWorld);
  }

  public ToolHints idempotent(boolean value) {
    return new ToolHints(readOnly, destructive, value, openWorld);
  }

  public ToolHints openWorld(boolean value) {
    return new ToolHints(readOnly, destructive, idempotent, value);
  }
}
