package io.fermata.mcp.access;

import io.fermata.flow.json.Digests;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** API keys and their principals; the keys are kept as hashes only. */
public final class ApiKeys {
  private final List<AuthenticatedCaller> callers = new ArrayList<>();
  private final List<byte[]> hashes = new ArrayList<>();

  /**
   * Adds a key of a principal, who may have it already.
   *
   * @throws IllegalArgumentException if another principal has it
   */
  public void add(String principal, String key) {
    AuthenticatedCaller owner = caller(key);
    if (owner != null && !owner.principal().equals(principal)) {
      throw new IllegalArgumentException(
          "%s and %s have the same API key; give each its own"
              .formatted(owner.principal(), principal));
    }
    callers.add(AuthenticatedCaller.trusted(principal));
    hashes.add(Digests.sha256(key));
  }

  public boolean isEmpty() {
    return hashes.isEmpty();
  }

  /** Whether a principal has a key. */
  public boolean has(String principal) {
    return callers.stream().anyMatch(caller -> caller.principal().equals(principal));
  }

  /** The caller that this key belongs to; null if the key is unknown. */
  @Nullable AuthenticatedCaller caller(String key) {
    if (isEmpty()) {
      return null;
    }
    byte[] presented = Digests.sha256(key);
    AuthenticatedCaller found = null;
    // All keys are compared, so that the time taken reveals nothing about them.
    for (int i = 0; i < hashes.size(); i++) {
      if (MessageDigest.isEqual(hashes.get(i), presented)) {
        found = callers.get(i);
      }
    }
    return found;
  }
}
