package io.fermata.session.key;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.SecureRandom;
import java.util.Base64;
import org.jspecify.annotations.Nullable;

/**
 * Who talks about what in which conversation: a run belongs to exactly one key. The sessions of all
 * programs share one space of names, which tell the kind of a session.
 */
public record SessionKey(String principal, String flow, String session) {
  /** No flow's id has a colon. */
  private static final String AGENT = "agent:";

  /** 96 bits, in characters of 6. */
  static final int BRIEF = 16;

  /** Begins the name of a session that its client chose, as opposed to a handle. */
  public static final String CHOSEN = "hint\n";

  /** The principal of the runs that are tools of agents. */
  public static final String TOOLS = "fermata/tool";

  private static final SecureRandom RANDOM = new SecureRandom();

  /**
   * The key's name in the journal: the flow, and digests that no client can steer. The first is
   * that of the principal, so that all that belongs to one can be found by its name; what the call
   * of a thread has begun is found by the thread.
   */
  public String entityId() {
    ThreadKey caller = principal.equals(TOOLS) ? ThreadKey.caller(session) : null;
    return flow + "|" + (caller == null ? ownerOf(principal) : caller.family()) + brief(session);
  }

  /**
   * What the names of all begin with, behind the flow or the agent, that belongs to a principal.
   */
  public static String ownerOf(String principal) {
    return brief(principal);
  }

  /** What the client called a session, if it did. */
  public static String named(String session) {
    return session.startsWith(CHOSEN) ? session.substring(CHOSEN.length()) : session;
  }

  /** The part of an entity's name behind the flow or the agent, which begins with the owner. */
  public static String placeOf(String entityId) {
    return entityId.substring(entityId.indexOf('|') + 1);
  }

  /** A name of 16 characters for a long one. */
  public static String brief(String name) {
    return digest(name).substring(0, BRIEF);
  }

  /** A short name for a long one. */
  public static String digest(String name) {
    try {
      MessageDigest digest = MessageDigest.getInstance("SHA-256");
      byte[] hash = digest.digest(name.getBytes(StandardCharsets.UTF_8));
      return Base64.getUrlEncoder().withoutPadding().encodeToString(hash);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("Every JDK has SHA-256", e);
    }
  }

  /** A name for a new run, which tells where the run lives, and nobody can guess. */
  public static String newRunId(String entityId) {
    byte[] random = new byte[9];
    RANDOM.nextBytes(random);
    return placeOf(entityId) + "." + Base64.getUrlEncoder().withoutPadding().encodeToString(random);
  }

  /** The entity that a run of a flow lives in; it need not exist. */
  public static String entityOf(String flow, String runId) {
    int dot = runId.indexOf('.');
    return flow + "|" + (dot < 0 ? runId : runId.substring(0, dot));
  }

  public static String flowOf(String entityId) {
    return entityId.substring(0, entityId.indexOf('|'));
  }

  /** The entity that a thread of an agent lives in; it need not exist. */
  static String threadOf(String agent, String id) {
    return AGENT + agent + "|" + id;
  }

  /** Whether a journal is that of a run, and not of a thread or of a schedule. */
  public static boolean isOfRun(String journal) {
    return journal.indexOf('|') > 0 && agentOf(journal) == null && journal.charAt(0) != '~';
  }

  /** The agent whose thread lives in an entity; null if that is a run's. */
  public static @Nullable String agentOf(String entityId) {
    return entityId.startsWith(AGENT)
        ? entityId.substring(AGENT.length(), entityId.indexOf('|'))
        : null;
  }
}
