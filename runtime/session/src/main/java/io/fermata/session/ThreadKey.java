package io.fermata.session;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.Base64;
import org.jspecify.annotations.Nullable;

/**
 * The names of threads: the agent that a thread began with, and what nobody can guess.
 *
 * @param agent the agent that it began with
 */
record ThreadKey(String agent, String secret) {
  private static final SecureRandom RANDOM = new SecureRandom();

  static ThreadKey random(String agent) {
    byte[] random = new byte[18];
    RANDOM.nextBytes(random);
    return new ThreadKey(agent, text(random));
  }

  /** The same for the same words, and nothing that could be told from them. */
  static ThreadKey derived(String agent, byte[] salt, String... words) {
    try {
      MessageDigest digest = MessageDigest.getInstance("SHA-256");
      digest.update(salt);
      for (String word : words) {
        digest.update(word.getBytes(StandardCharsets.UTF_8));
        digest.update((byte) 0);
      }
      return new ThreadKey(agent, text(Arrays.copyOf(digest.digest(), 18)));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("Every JDK has SHA-256", e);
    }
  }

  private static String text(byte[] bytes) {
    return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
  }

  /** The key of a thread id; null if there is no thread of such an id. */
  static @Nullable ThreadKey of(String threadId) {
    int dot = threadId.indexOf('.');
    boolean plausible = dot > 0 && threadId.length() < 256 && threadId.indexOf('|') < 0;
    return plausible
        ? new ThreadKey(threadId.substring(0, dot), threadId.substring(dot + 1))
        : null;
  }

  String threadId() {
    return agent + "." + secret;
  }

  String entityId() {
    return SessionKey.threadOf(agent, secret);
  }
}
