package io.fermata.session.key;

import io.fermata.flow.json.Digests;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.Base64;
import java.util.Objects;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The name of a thread: the agent that it began with, and an unguessable part.
 *
 * @param agent the agent that it began with
 * @param secret the digest of its owner, or of its parent for a child, and a part of its own
 */
public record ThreadKey(String agent, String secret) {
  private static final SecureRandom RANDOM = new SecureRandom();

  /** A store need not take any others. */
  private static final Pattern ID = Pattern.compile("[A-Za-z0-9_-]{1,64}\\.[A-Za-z0-9_.-]{1,128}");

  public static ThreadKey random(String agent, String principal) {
    byte[] random = new byte[18];
    RANDOM.nextBytes(random);
    return new ThreadKey(agent, SessionKey.ownerOf(principal) + text(random));
  }

  /** The thread of a name that a principal chose; deterministic. */
  public static ThreadKey named(String agent, String principal, String name, byte[] salt) {
    return new ThreadKey(
        agent, SessionKey.ownerOf(principal) + derived(salt, "create", principal, agent, name));
  }

  /** The thread that a call of another thread creates; deterministic. */
  public static ThreadKey child(ThreadKey parent, String agent, String callKey, byte[] salt) {
    return new ThreadKey(
        agent, parent.family() + derived(salt, "child", parent.threadId(), callKey));
  }

  /** A deterministic digest that reveals nothing about the words. */
  private static String derived(byte[] salt, String... words) {
    MessageDigest digest = Digests.sha256();
    digest.update(salt);
    for (String word : words) {
      digest.update(word.getBytes(StandardCharsets.UTF_8));
      digest.update((byte) 0);
    }
    return text(Arrays.copyOf(digest.digest(), 18));
  }

  /**
   * The prefix, after the agent or the flow, of the names of the threads that it creates and the
   * runs that it calls.
   */
  public String family() {
    String owner = secret.substring(0, Math.min(SessionKey.BRIEF, secret.length()));
    return owner + SessionKey.brief(threadId());
  }

  /** The family that a session belongs to, if a thread has created it. */
  public static String familyOf(String entityId) {
    String place = SessionKey.placeOf(entityId);
    return place.substring(0, Math.min(2 * SessionKey.BRIEF, place.length()));
  }

  private static String text(byte[] bytes) {
    return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
  }

  /** The key of a thread's entity. */
  public static ThreadKey ofEntity(String entityId) {
    return new ThreadKey(
        Objects.requireNonNull(SessionKey.agentOf(entityId)), SessionKey.placeOf(entityId));
  }

  /** The key of a thread id; null if the id is malformed. */
  public static @Nullable ThreadKey of(String threadId) {
    int dot = threadId.indexOf('.');
    return ID.matcher(threadId).matches()
        ? new ThreadKey(threadId.substring(0, dot), threadId.substring(dot + 1))
        : null;
  }

  /** The key of an id that a thread has. */
  public static ThreadKey require(String threadId) {
    return Objects.requireNonNull(of(threadId), threadId);
  }

  /** The thread that started a session by calling a tool; null if no thread did. */
  public static @Nullable ThreadKey caller(String session) {
    String named = SessionKey.named(session);
    int end = named.indexOf('\n');
    return end < 0 ? null : of(named.substring(0, end));
  }

  public String threadId() {
    return agent + "." + secret;
  }

  public String entityId() {
    return SessionKey.threadOf(agent, secret);
  }
}
