package io.fermata.mcp;

import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** API keys and their principals; the keys are kept as hashes only. */
final class Keys {
  private final List<Caller> callers = new ArrayList<>();
  private final List<byte[]> hashes = new ArrayList<>();

  void add(String principal, String key) {
    callers.add(Caller.trusted(principal));
    hashes.add(Digests.sha256(key));
  }

  boolean isEmpty() {
    return hashes.isEmpty();
  }

  /** Who presents this key, or null if that is nobody we know. */
  @Nullable Caller caller(String key) {
    if (isEmpty()) {
      return null;
    }
    byte[] presented = Digests.sha256(key);
    Caller found = null;
    // All are compared, so the time taken tells nothing about which came close.
    for (int i = 0; i < hashes.size(); i++) {
      if (MessageDigest.isEqual(hashes.get(i), presented)) {
        found = callers.get(i);
      }
    }
    return found;
  }
}
