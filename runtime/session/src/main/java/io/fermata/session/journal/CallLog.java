package io.fermata.session.journal;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The calls that a session remembers, so that a repeated one gets the recorded reply and has no
 * effect.
 *
 * @param replies the replies to the latest calls with a call id
 * @param past the ids of earlier calls, whose replies are deleted, and of calls of a thread, whose
 *     replies are not kept; a host that is cut off may send a call again long after others have
 *     followed it
 * @param open the id of the call that is still being driven
 */
public record CallLog(Map<String, RunReply> replies, List<String> past, @Nullable String open) {
  static final CallLog EMPTY = new CallLog(Map.of(), List.of(), null);

  private static final int REPLIES = 16;
  private static final int PAST = 256;

  /** After an entry. */
  CallLog after(Entry<?> entry) {
    String callId = entry.callId();
    RunReply reply = entry.reply();
    if (callId != null && CallIds.isUnreplied(callId)) {
      return new CallLog(replies, latest(with(callId), PAST), null);
    } else if (callId == null || reply == null) {
      return new CallLog(replies, past, entry.working() ? callId : null);
    }
    Map<String, RunReply> more = new LinkedHashMap<>(replies);
    more.put(callId, reply);
    if (more.size() <= REPLIES) {
      return new CallLog(more, past, null);
    }
    String oldest = more.keySet().iterator().next();
    more.remove(oldest);
    return new CallLog(more, latest(with(oldest), PAST), null);
  }

  private List<String> with(String callId) {
    List<String> ids = new ArrayList<>(past);
    ids.add(callId);
    return ids;
  }

  private static List<String> latest(List<String> ids, int most) {
    return List.copyOf(ids.subList(Math.max(0, ids.size() - most), ids.size()));
  }

  /** After the end of a run, only its last call keeps its reply. */
  static CallLog afterEnd(Entry<?> entry, RunEnd end) {
    String callId = entry.callId();
    RunReply reply = entry.reply();
    return new CallLog(
        callId == null || reply == null ? Map.of() : Map.of(callId, reply), end.calls(), null);
  }

  /** The reply to a call, if it is remembered. */
  public @Nullable RunReply recorded(@Nullable String callId) {
    return callId == null ? null : replies.get(callId);
  }

  /** Whether the name of a call was used for another request. */
  public boolean contradicts(@Nullable String callId) {
    return callId != null
        && ((open != null && CallIds.contradict(callId, open))
            || replies.keySet().stream().anyMatch(other -> CallIds.contradict(callId, other))
            || past.stream().anyMatch(other -> CallIds.contradict(callId, other)));
  }

  /** Whether it is a call whose reply is deleted, or was not kept. */
  public boolean isPast(@Nullable String callId) {
    return callId != null && past.contains(callId);
  }

  /** The ids of the latest calls, without one. */
  public List<String> namesExcept(@Nullable String callId) {
    List<String> names = new ArrayList<>(past);
    names.addAll(replies.keySet());
    names.remove(callId);
    return latest(names, REPLIES);
  }
}
