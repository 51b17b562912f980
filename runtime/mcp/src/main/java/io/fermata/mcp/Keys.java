package io.fermata.mcp;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Static API keys, kept as hashes only. Without any key, everybody is the same local principal. */
final class Keys {
  private static final String LOCAL = "local";
  private static final String SCHEME = "Bearer ";

  private final List<String> principals = new ArrayList<>();
  private final List<byte[]> hashes = new ArrayList<>();

  void add(String principal, String key) {
    principals.add(principal);
    hashes.add(hash(key));
  }

  boolean required() {
    return !hashes.isEmpty();
  }

  /** Who presents this header, or null if that is nobody we know. */
  @Nullable String principal(@Nullable String authorization) {
    if (!required()) {
      return LOCAL;
    }
    if (authorization == null
        || !authorization.regionMatches(true, 0, SCHEME, 0, SCHEME.length())) {
      return null;
    }
    byte[] presented = hash(authorization.substring(SCHEME.length()).strip());
    String found = null;
    // All are compared, so the time taken tells nothing about which came close.
    for (int i = 0; i < hashes.size(); i++) {
      if (MessageDigest.isEqual(hashes.get(i), presented)) {
        found = principals.get(i);
      }
    }
    return found;
  }

  private static byte[] hash(String key) {
    try {
      return MessageDigest.getInstance("SHA-256").digest(key.getBytes(StandardCharsets.UTF_8));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("Every JDK has SHA-256", e);
    }
  }
}
