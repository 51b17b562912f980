package io.fermata.mcp.legacy;

import io.fermata.mcp.access.FairShares;
import io.fermata.mcp.rpc.RpcException;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Base64;
import org.jspecify.annotations.Nullable;

/** The event logs of the streams that may be resumed, a bounded number. */
final class EventLogs {
  /** How long a client has to resume. */
  static final Duration GRACE = Duration.ofMinutes(1);

  private static final int MAX = 256;
  static final int MAX_PER_PRINCIPAL = 64;

  private record Key(String session, String principal, String id) {}

  private final SecureRandom random = new SecureRandom();
  private final FairShares<Key, EventLog> kept =
      new FairShares<>(MAX_PER_PRINCIPAL, MAX, (principal, dropped) -> {});

  /**
   * Begins to keep the events of a stream. If there are too many logs, a fully received one is
   * dropped; the others were promised to their clients.
   *
   * @param lost what to do if the client does not resume
   * @return null if there is no room
   */
  @Nullable EventLog open(String session, String principal, Runnable lost) {
    byte[] bytes = new byte[16];
    random.nextBytes(bytes);
    Key key =
        new Key(session, principal, Base64.getUrlEncoder().withoutPadding().encodeToString(bytes));
    EventLog log = new EventLog(key.id(), () -> drop(key), lost);
    synchronized (kept) {
      if (!kept.makeRoom(principal, EventLog::fullyReceived)) {
        return null;
      }
      kept.put(principal, key, log);
    }
    return log;
  }

  private void drop(Key key) {
    synchronized (kept) {
      kept.remove(key);
    }
  }

  /**
   * Where a client resumes.
   *
   * @param event the id of the last event that it received
   * @throws RpcException if the event is unknown, or no longer kept
   */
  ResumedResponse.Point find(String session, String principal, String event) {
    int dot = event.lastIndexOf('.');
    EventLog log;
    synchronized (kept) {
      log = kept.get(new Key(session, principal, event.substring(0, Math.max(dot, 0))));
    }
    String number = event.substring(dot + 1);
    if (log == null || !number.matches("\\d{1,18}")) {
      throw gone();
    }
    long after = Long.parseLong(number);
    if (log.after(after) == null) {
      throw gone();
    }
    return new ResumedResponse.Point(log, after);
  }

  static RpcException gone() {
    return RpcException.http(
        410, "The events after this Last-Event-ID are no longer kept: make a new call.");
  }
}
