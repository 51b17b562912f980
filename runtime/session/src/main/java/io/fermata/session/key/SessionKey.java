package io.fermata.session.key;

import io.fermata.flow.json.Digests;
import java.security.SecureRandom;
import java.util.Base64;
import org.jspecify.annotations.Nullable;

/**
 * The key of a session of runs: principal, flow and conversation. All kinds of sessions share one
 * namespace, and a name contains its kind.
 */
public record SessionKey(String principal, String flow, String session) {
  /** The limit of the directory for a principal and a session. */
  private static final int LONGEST_LOOKUP = 256;

  /** No flow's id has a colon. */
  private static final String AGENT = "agent:";

  /** 96 bits, in characters of 6. */
  public static final int BRIEF = 16;

  /** The prefix of a session name that the client chose, as opposed to a handle. */
  public static final String CHOSEN = "hint\n";

  /** The principal of the runs that are tools of agents. */
  public static final String TOOLS = "fermata/tool";

  private static final SecureRandom RANDOM = new SecureRandom();

  /**
   * The name of the session's journal: the flow, and digests that no client can influence. The
   * first is that of the principal, so that everything of a principal can be found by name; what a
   * thread's call started is found by the thread.
   */
  public String entityId() {
    ThreadKey caller = principal.equals(TOOLS) ? ThreadKey.caller(session) : null;
    return flow + "|" + (caller == null ? ownerOf(principal) : caller.family()) + brief(session);
  }

  /**
   * The prefix, after the flow or the agent, of the names of everything that belongs to a
   * principal.
   */
  public static String ownerOf(String principal) {
    return brief(principal);
  }

  /** The client's name of a session, if it chose one. */
  public static String named(String session) {
    return session.startsWith(CHOSEN) ? session.substring(CHOSEN.length()) : session;
  }

  /** The part of an entity's name after the flow or the agent; it begins with the owner. */
  public static String placeOf(String entityId) {
    return entityId.substring(entityId.indexOf('|') + 1);
  }

  /** A name of 16 characters for a long one. */
  public static String brief(String name) {
    return digest(name).substring(0, BRIEF);
  }

  /** What a directory looks a principal or a session up by: a digest if it does not take it. */
  public static String lookup(String name) {
    boolean taken = name.length() <= LONGEST_LOOKUP && name.indexOf('\0') < 0;
    return taken ? name : digest(name);
  }

  /** A short name for a long one. */
  public static String digest(String name) {
    return Base64.getUrlEncoder().withoutPadding().encodeToString(Digests.sha256(name));
  }

  /**
   * An unguessable id for a new run, which contains its session. The ids of a session sort as its
   * runs, so that a directory finds the latest without reading all.
   *
   * @param seq the number of the session's last entry
   */
  public static String newRunId(String entityId, long seq) {
    byte[] random = new byte[9];
    RANDOM.nextBytes(random);
    return placeOf(entityId)
        + "."
        + sorted(seq)
        + Base64.getUrlEncoder().withoutPadding().encodeToString(random);
  }

  /** The digits of a number behind their count, as 9 would sort behind 10. */
  private static String sorted(long number) {
    String digits = Long.toString(number, Character.MAX_RADIX);
    return Character.forDigit(digits.length(), Character.MAX_RADIX) + digits;
  }

  /** The entity of a run; it need not exist. */
  public static String entityOf(String flow, String runId) {
    int dot = runId.indexOf('.');
    return flow + "|" + (dot < 0 ? runId : runId.substring(0, dot));
  }

  public static String flowOf(String entityId) {
    return entityId.substring(0, entityId.indexOf('|'));
  }

  /** How the entities of an agent's threads begin, as those of a flow begin with its name. */
  public static String ofAgent(String agent) {
    return AGENT + agent;
  }

  /** The entity of a thread; it need not exist. */
  public static String threadOf(String agent, String id) {
    return AGENT + agent + "|" + id;
  }

  /** Whether a journal may be that of a run, and is not of a thread or of a schedule. */
  public static boolean isOfRun(String journal) {
    return journal.indexOf('|') > 0
        && agentOf(journal) == null
        && journal.charAt(0) != '~'
        && journal.chars().noneMatch(Character::isISOControl);
  }

  /** The agent of a thread's entity; null for that of a run. */
  public static @Nullable String agentOf(String entityId) {
    return entityId.startsWith(AGENT)
        ? entityId.substring(AGENT.length(), entityId.indexOf('|'))
        : null;
  }
}
