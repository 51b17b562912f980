package io.fermata.mcp.access;

import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** API keys and their principals; the keys are kept as hashes only. */
public final class ApiKeys {
  private final List<AuthenticatedCaller> callers = new ArrayList<>();
  private final List<byte[]> hashes = new ArrayList<>();

  public void add(String principal, String key) {
    callers.add(AuthenticatedCaller.trusted(principal));
    hashes.add(Digests.sha256(key));
  }

  public boolean isEmpty() {
    return hashes.isEmpty();
  }

  /** Who presents this key, or null if that is nobody we know. */
  @Nullable AuthenticatedCaller caller(String key) {
    if (isEmpty()) {
      return null;
    }
    byte[] presented = Digests.sha256(key);
    AuthenticatedCaller found = null;
    // All are compared, so the time taken tells nothing about which came close.
    for (int i = 0; i < hashes.size(); i++) {
      if (MessageDigest.isEqual(hashes.get(i), presented)) {
        found = callers.get(i);
      }
    }
    return found;
  }
}
