package io.fermata.mcp;

import java.security.SecureRandom;
import java.time.Duration;
import java.util.Base64;
import org.jspecify.annotations.Nullable;

/** The streams whose clients may come back for the rest, a bounded number. */
final class Replays {
  /** How long a client has to come back. */
  static final Duration GRACE = Duration.ofMinutes(1);

  private static final int MOST = 256;
  static final int MOST_OF_ONE = 64;

  private record Key(String session, String principal, String id) {}

  private final SecureRandom random = new SecureRandom();
  private final Shares<Key, Replay> kept =
      new Shares<>(MOST_OF_ONE, MOST, (principal, dropped) -> {});

  /**
   * Begins to keep what is told in a stream. Where there are too many, those give way that were
   * heard to their end: whoever was promised the rest of another gets it.
   *
   * @param lost what to do when its client does not come back
   * @return null if none gives way
   */
  @Nullable Replay open(String session, String principal, Runnable lost) {
    byte[] bytes = new byte[16];
    random.nextBytes(bytes);
    Key key =
        new Key(session, principal, Base64.getUrlEncoder().withoutPadding().encodeToString(bytes));
    Replay replay = new Replay(key.id(), () -> drop(key), lost);
    synchronized (kept) {
      if (!kept.makeRoom(principal, Replay::heardOut)) {
        return null;
      }
      kept.put(principal, key, replay);
    }
    return replay;
  }

  private void drop(Key key) {
    synchronized (kept) {
      kept.remove(key);
    }
  }

  /**
   * Where a client goes on.
   *
   * @param event the id of the last event that it has
   * @throws Refusal if that is not known, or not any more
   */
  Resumption.Point find(String session, String principal, String event) {
    int dot = event.lastIndexOf('.');
    Replay replay;
    synchronized (kept) {
      replay = kept.get(new Key(session, principal, event.substring(0, Math.max(dot, 0))));
    }
    String number = event.substring(dot + 1);
    if (replay == null || !number.matches("\\d{1,18}")) {
      throw gone();
    }
    long after = Long.parseLong(number);
    if (replay.after(after) == null) {
      throw gone();
    }
    return new Resumption.Point(replay, after);
  }

  static Refusal gone() {
    return Refusal.transport(
        410, "What came after this Last-Event-ID is not kept any more: make the call anew.");
  }
}
