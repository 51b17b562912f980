package io.fermata.session.journal;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.SecretFields;
import io.fermata.flow.json.Json;
import io.fermata.session.call.Request;
import io.fermata.session.key.SessionKey;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The calls that a session remembers, so that a repeated one gets the recorded reply and has no
 * effect.
 *
 * <p>A call has an id: a digest of its request, and its caller's name for it. A repeated call has
 * the same one. Another request under the same name has another id with the same name, and is
 * refused.
 *
 * <p>What is secret is not in a digest, as guesses could be tried at it: a key of the store would
 * lie beside it. So a digest also says which fields are marked as secret, and those of releases
 * that mark other fields are not compared.
 *
 * @param replies the replies to the latest calls with a call id
 * @param past the ids of earlier calls, whose replies are deleted, of calls that are driven beside
 *     too many others, and of calls of a thread, whose replies are not kept; a host that is cut off
 *     may send a call again long after others have followed it
 * @param open the ids of calls that are still being driven
 * @param ended which of them are calls of a run that has ended; null if there are none, or none
 *     expires
 */
public record CallLog(
    Map<String, RunReply> replies, List<String> past, List<String> open, @Nullable OfEnded ended) {
  static final CallLog EMPTY = new CallLog(Map.of(), List.of(), List.of(), null);

  private static final int DIGEST = 16;

  /** The part of a digest that is about the secret fields. */
  private static final int MARKS = 4;

  /** Begins the id of a call whose reply is not kept. */
  private static final String UNREPLIED = "+".repeat(DIGEST);

  /** Begins the id of a call that its sender did not name. */
  private static final String GIVEN = "-".repeat(DIGEST);

  private static final int REPLIES = 16;
  private static final int PAST = 256;

  /**
   * Calls of a run that has ended.
   *
   * @param until until when the end is known, so that they are forgotten with it, also by the next
   *     run of the session
   */
  public record OfEnded(List<String> calls, long until) {}

  /** Those that are remembered at a time. */
  public CallLog at(long now) {
    if (ended == null || ended.until() > now) {
      return this;
    }
    Map<String, RunReply> left = new LinkedHashMap<>(replies);
    left.keySet().removeAll(ended.calls());
    List<String> names = new ArrayList<>(past);
    names.removeAll(ended.calls());
    return new CallLog(left, names, open, null);
  }

  /** After an entry. */
  CallLog after(Entry<?> entry) {
    CallLog log = at(entry.at());
    for (String callId : entry.callIds()) {
      log = log.after(callId, entry.reply());
    }
    return log;
  }

  private CallLog after(String callId, @Nullable RunReply reply) {
    if (isUnreplied(callId)) {
      return new CallLog(replies, latest(with(past, callId), PAST), open, ended);
    } else if (reply == null) {
      return isOpen(callId) || isPast(callId) ? this : driven(callId);
    }
    List<String> others = open.stream().filter(each -> !same(callId, each)).toList();
    Map<String, RunReply> more = new LinkedHashMap<>(replies);
    more.put(callId, reply);
    if (more.size() <= REPLIES) {
      return new CallLog(more, past, others, ended);
    }
    String oldest = more.keySet().iterator().next();
    more.remove(oldest);
    return new CallLog(more, latest(with(past, oldest), PAST), others, ended);
  }

  /** The first of those that are driven fetch the outcome if repeated; others are refused then. */
  private CallLog driven(String callId) {
    return open.size() == REPLIES
        ? new CallLog(replies, latest(with(past, callId), PAST), open, ended)
        : new CallLog(replies, past, with(open, callId), ended);
  }

  private static List<String> with(List<String> ids, String callId) {
    List<String> more = new ArrayList<>(ids);
    more.add(callId);
    return more;
  }

  private static List<String> latest(List<String> ids, int most) {
    return List.copyOf(ids.subList(Math.max(0, ids.size() - most), ids.size()));
  }

  /** After the end of a run, only its last calls keep their reply. */
  static CallLog afterEnd(Entry<?> entry, RunEnd end) {
    CallLog log = new CallLog(Map.of(), end.calls(), List.of(), null).after(entry);
    Long until = end.knownUntil();
    return until == null ? log : log.endedUntil(until);
  }

  private CallLog endedUntil(long until) {
    List<String> calls = new ArrayList<>(past);
    calls.addAll(replies.keySet());
    return new CallLog(replies, past, open, new OfEnded(List.copyOf(calls), until));
  }

  /** The reply to a call, if it is remembered. */
  public @Nullable RunReply recorded(@Nullable String callId) {
    return replies.entrySet().stream()
        .filter(each -> same(callId, each.getKey()))
        .map(Map.Entry::getValue)
        .findFirst()
        .orElse(null);
  }

  /** Whether the name of a call was used for another request. */
  public boolean contradicts(@Nullable String callId) {
    return callId != null
        && (open.stream().anyMatch(other -> contradict(callId, other))
            || replies.keySet().stream().anyMatch(other -> contradict(callId, other))
            || past.stream().anyMatch(other -> contradict(callId, other)));
  }

  /** Whether it is a call whose reply is deleted, or was not kept. */
  public boolean isPast(@Nullable String callId) {
    return has(past, callId);
  }

  /** Whether it is a call whose work continues, or was cut off, without a reply so far. */
  public boolean isOpen(@Nullable String callId) {
    return has(open, callId);
  }

  /** Whether a call needs no entry of its own to have no effect if it is repeated. */
  public boolean knows(String callId) {
    return isOpen(callId) || recorded(callId) != null || isPast(callId);
  }

  /** The ids of the latest calls, without some. */
  public List<String> namesExcept(List<String> callIds) {
    List<String> names = new ArrayList<>(past);
    names.addAll(replies.keySet());
    names.addAll(open);
    names.removeIf(name -> has(callIds, name));
    return latest(names, REPLIES);
  }

  // --- ids --------------------------------------------------------------------------------------

  /**
   * The name of a call that does not come from a client of the session, so that it is none of the
   * names that clients give.
   *
   * @param parts what sends it, of which run, and the sender's name for it
   */
  public static String nameOf(String... parts) {
    return SessionKey.digest(Json.text(Json.tree(List.of(parts))));
  }

  /**
   * The id of a call; null without a name.
   *
   * @param secrets fields whose values are not part of the digest, which could be guessed from it
   */
  public static @Nullable String id(
      @Nullable String name, Request.OfRun request, SecretFields secrets) {
    if (name == null) {
      return null;
    }
    ObjectNode content = Json.object();
    content.put("action", request.action().toString()).put("intent", request.intent());
    content.set("updates", secrets.masked("", request.updates()));
    Request.Signal signal = request.signal();
    if (signal != null) {
      content.put("signal", signal.name());
      JsonNode payload = signal.payload();
      boolean[] secret = {false};
      if (payload != null) {
        secrets.findInSignal(signal.name(), payload, found -> secret[0] = true);
        content.set("payload", secret[0] ? null : payload);
      }
    }
    if (request.resolution() != null) {
      content.put("resolution", request.resolution().name());
    }
    return SessionKey.digest(secrets.marks()).substring(0, MARKS)
        + SessionKey.digest(Json.sortedText(content)).substring(0, DIGEST - MARKS)
        + name;
  }

  /** The id of a call without a name, under one that a host gave it. */
  public static String givenId(String name) {
    return GIVEN + name;
  }

  /** Whether the sender of a call named it, so that it is not another one that looks alike. */
  public static boolean isNamed(@Nullable String callId) {
    return callId != null && !callId.startsWith(GIVEN);
  }

  /** The id of a call of a thread, under the name that its client or a host gave it. */
  public static String unrepliedId(String name) {
    return UNREPLIED + name;
  }

  private static boolean isUnreplied(String callId) {
    return callId.startsWith(UNREPLIED);
  }

  /** Whether a call is among others. */
  public static boolean has(Collection<String> others, @Nullable String callId) {
    return others.stream().anyMatch(other -> same(callId, other));
  }

  /** Whether two ids are of one call, as far as their digests can be compared. */
  public static boolean same(@Nullable String callId, @Nullable String other) {
    return callId != null
        && other != null
        && (callId.equals(other) || (haveOneName(callId, other) && !comparable(callId, other)));
  }

  private static boolean comparable(String callId, String other) {
    return !isNamed(callId) || !isNamed(other) || callId.regionMatches(0, other, 0, MARKS);
  }

  /** Whether two calls have the same name, but not the same request. */
  private static boolean contradict(String callId, String other) {
    return haveOneName(callId, other) && !same(callId, other);
  }

  private static boolean haveOneName(String callId, String other) {
    int length = callId.length();
    return length > DIGEST
        && length == other.length()
        && callId.regionMatches(DIGEST, other, DIGEST, length - DIGEST);
  }
}
