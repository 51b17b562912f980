package io.fermata.mcp;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.session.ToolProgress;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The queue of messages to a client for one request, before its result: progress, numbered and with
 * streamed text joined, log messages, and requests of the server. It is bounded. Any thread adds to
 * it; a transport takes from it.
 */
final class Progress {
  /**
   * How long a transport waits between two batches, so that a talkative node does not flood the
   * client.
   */
  static final int PAUSE_MILLIS = 50;

  static final int MAX_MESSAGE = 2_000;

  /** How many characters may be queued, counting the envelope of each message. */
  static final int ROOM = 32_000;

  /**
   * How many bytes of messages that must not be lost may be queued; a single longer one is
   * accepted.
   */
  static final int INSISTED = 4 * Wire.MAX_BYTES;

  /** The number of queued bytes of states from which on further states wait. */
  static final int ENOUGH = Wire.MAX_BYTES;

  private static final int AROUND = 300;

  /** Longer tokens are ignored, as every notification repeats them. */
  private static final int MAX_TOKEN = 200;

  /** A queued message. */
  private sealed interface Waiting {}

  /**
   * A progress message as text.
   *
   * @param node the node whose streamed text it is, which more text may join; null for an event
   */
  private record Words(@Nullable String node, StringBuilder message) implements Waiting {
    /** Takes off half a character, whose other half is likely to come with the next piece. */
    String cutHalf() {
      int whole = node == null ? message.length() : whole(message, message.length());
      String half = message.substring(whole);
      message.setLength(whole);
      return half;
    }
  }

  /** A serialized message. */
  private static final class Ready implements Waiting {
    private final byte[] bytes;
    private final @Nullable String subject;

    /**
     * @param subject what the message is about, if only the latest of that counts
     */
    Ready(byte[] bytes, @Nullable String subject) {
      this.bytes = bytes;
      this.subject = subject;
    }

    byte[] bytes() {
      return bytes;
    }
  }

  private final Consumer<Progress> wake;
  private final Deque<Waiting> waiting = new ArrayDeque<>(0);
  private JsonNode token = MissingNode.getInstance();

  /** The latest progress of a handler, once there was no room for one. */
  private byte @Nullable [] latest;

  private int room = ROOM;
  private int insisted;
  private int standing;
  private int leftOut;
  private long sent;
  private boolean asleep = true;
  private boolean ended;
  private boolean held;
  private boolean lettingGo;
  private @Nullable Runnable whenGone;
  private @Nullable Runnable whenRoom;

  /**
   * @param wake is called on any thread when there is a message and the latest {@link #take} found
   *     none; it must not block
   */
  Progress(Consumer<Progress> wake) {
    this.wake = wake;
  }

  /**
   * The progress listener for a request with this {@code _meta}. A token that is neither a string
   * nor an integer, or too long, is ignored: progress is optional, and no reason to reject a call.
   */
  synchronized Consumer<ToolProgress> listener(ObjectNode meta) {
    JsonNode asked = token(meta);
    if (asked.isMissingNode()) {
      return unheard -> {};
    }
    token = asked;
    return this::told;
  }

  /** The progress token of a request; missing if it wants no progress. */
  static JsonNode token(ObjectNode meta) {
    JsonNode asked = meta.path("progressToken");
    boolean usable = asked.isTextual() || asked.isIntegralNumber();
    return usable && asked.asText().length() <= MAX_TOKEN ? asked : MissingNode.getInstance();
  }

  private void told(ToolProgress progress) {
    String piece = progress.piece();
    rouse(
        piece == null
            ? addWords(null, shortened(described(progress)))
            : !piece.isEmpty() && addWords(progress.node(), piece));
  }

  /** Queues a notification, or drops it if there is no room. */
  void tell(byte[] notification) {
    rouse(addIfRoom(notification));
  }

  /** Queues the progress of a handler. If there is no room for all, the latest is sent. */
  void tellLatest(byte[] notification) {
    rouse(addLatest(notification));
  }

  /**
   * Queues a message that must not be lost. A client that leaves too many of them unread is treated
   * as disconnected.
   */
  void insist(byte[] message) {
    boolean full;
    boolean wanted;
    synchronized (this) {
      insisted += message.length;
      full = !ended && insisted > INSISTED && insisted > message.length;
      wanted = !full && add(message, null);
    }
    if (full) {
      gone();
    }
    rouse(wanted);
  }

  /**
   * Queues a state that must not be lost, unless a later state of the same subject replaces it. Ask
   * {@linkplain #whenRoom for room} before sending many.
   */
  void insist(String subject, byte[] message) {
    boolean wanted;
    synchronized (this) {
      withdraw(subject);
      wanted = add(message, subject);
      standing += message.length;
    }
    rouse(wanted);
  }

  private void withdraw(String subject) {
    for (Iterator<Waiting> each = waiting.iterator(); each.hasNext(); ) {
      if (each.next() instanceof Ready ready && subject.equals(ready.subject)) {
        each.remove();
        room += ready.bytes.length;
        standing -= ready.bytes.length;
      }
    }
  }

  /**
   * Runs something when there is room for a state: now, or as soon as the queue was taken. One at a
   * time may wait for that.
   */
  void whenRoom(Runnable todo) {
    synchronized (this) {
      if (standing >= ENOUGH) {
        whenRoom = todo;
        return;
      }
    }
    todo.run();
  }

  /** Keeps the connection alive: the next message may take longer than a connection may be idle. */
  void hold() {
    synchronized (this) {
      held = true;
    }
    rouse(true);
  }

  /** Asks the transport to end the response; the client resumes for the rest if it can. */
  void letGo() {
    synchronized (this) {
      lettingGo = !ended;
    }
    rouse(true);
  }

  /** Whether the transport is to end the response now; true once per request. */
  synchronized boolean letsGo() {
    boolean now = lettingGo;
    lettingGo = false;
    return now;
  }

  synchronized boolean held() {
    return held;
  }

  /** What to do when the client disconnects or cancels. */
  void whenGone(Runnable todo) {
    synchronized (this) {
      if (!ended) {
        whenGone = todo;
        return;
      }
    }
    todo.run();
  }

  /** The client has disconnected or cancelled. */
  void gone() {
    Runnable todo;
    synchronized (this) {
      todo = ended ? null : whenGone;
      end();
    }
    if (todo != null) {
      todo.run();
    }
  }

  private void rouse(boolean wanted) {
    if (wanted) {
      try {
        wake.accept(this);
      } catch (RejectedExecutionException closed) {
        gone();
      }
    }
  }

  private static String described(ToolProgress progress) {
    JsonNode payload = progress.payload();
    if (payload.isNull() || payload.isMissingNode()) {
      return progress.name();
    }
    String shown = payload.isTextual() ? payload.textValue() : Wire.json(payload);
    return progress.name() + ": " + shown;
  }

  private static String shortened(String text) {
    return text.length() <= MAX_MESSAGE
        ? text
        : text.substring(0, whole(text, MAX_MESSAGE - 1)) + "…";
  }

  /** The end itself, or one less if it would split a surrogate pair. */
  private static int whole(CharSequence text, int end) {
    return end > 0 && Character.isHighSurrogate(text.charAt(end - 1)) ? end - 1 : end;
  }

  /** Adds as much text as there is room for, and returns whether to wake the transport. */
  private synchronized boolean addWords(@Nullable String node, String message) {
    if (ended) {
      return false;
    }
    Words last = lastWords();
    boolean joins = last != null && node != null && node.equals(last.node());
    int fitting = Math.min(message.length(), joins ? room : room - AROUND);
    // After the first that does not fit all are left out: the gap is in one place, and named there.
    if (leftOut > 0 || fitting <= 0) {
      leftOut++;
      return false;
    }
    if (fitting < message.length()) {
      leftOut++;
    }
    if (last != null && joins) {
      last.message().append(message, 0, fitting);
      room -= fitting;
    } else {
      put(node, message.substring(0, fitting));
    }
    boolean rouse = asleep;
    asleep = false;
    return rouse;
  }

  private synchronized boolean addIfRoom(byte[] message) {
    return room >= message.length && add(message, null);
  }

  private synchronized boolean add(byte[] message, @Nullable String subject) {
    if (ended) {
      return false;
    }
    waiting.add(new Ready(message, subject));
    room -= message.length;
    boolean rouse = asleep;
    asleep = false;
    return rouse;
  }

  private synchronized boolean addLatest(byte[] message) {
    if (latest == null && room >= message.length) {
      return add(message, null);
    }
    if (ended) {
      return false;
    }
    latest = message;
    boolean rouse = asleep;
    asleep = false;
    return rouse;
  }

  private @Nullable Words lastWords() {
    return waiting.peekLast() instanceof Words words ? words : null;
  }

  private void put(@Nullable String node, String message) {
    waiting.add(new Words(node, new StringBuilder(message)));
    room -= message.length() + AROUND;
  }

  /** Takes the queued messages, to be sent now and in this order. */
  List<byte[]> take() {
    List<byte[]> taken;
    Runnable next;
    synchronized (this) {
      taken = takeWhole();
      next = whenRoom;
      whenRoom = null;
    }
    if (next != null) {
      next.run();
    }
    return taken;
  }

  /** Half a character waits for its other half. */
  private List<byte[]> takeWhole() {
    Words last = lastWords();
    String half = last == null ? "" : last.cutHalf();
    List<byte[]> taken = takeAll();
    if (last != null && !half.isEmpty()) {
      put(last.node(), half);
    }
    asleep = taken.isEmpty();
    return taken;
  }

  /** Takes what is left to send before the result. Later messages are dropped. */
  synchronized List<byte[]> end() {
    ended = true;
    whenGone = null;
    whenRoom = null;
    return takeAll();
  }

  private List<byte[]> takeAll() {
    List<byte[]> taken = new ArrayList<>();
    for (Waiting each : waiting) {
      if (each instanceof Words words) {
        addNotifications(words.message(), taken);
      } else if (each instanceof Ready ready) {
        taken.add(ready.bytes());
      }
    }
    if (latest != null) {
      taken.add(latest);
      latest = null;
    }
    waiting.clear();
    room = ROOM;
    insisted = 0;
    standing = 0;
    if (leftOut > 0) {
      taken.add(notification("… (" + leftOut + " left out)"));
      leftOut = 0;
    }
    return taken;
  }

  private void addNotifications(StringBuilder message, List<byte[]> taken) {
    int from = 0;
    while (from < message.length()) {
      int full = from + MAX_MESSAGE;
      int to = full < message.length() ? whole(message, full) : message.length();
      taken.add(notification(message.substring(from, to)));
      from = to;
    }
  }

  private byte[] notification(String message) {
    ObjectNode params = JsonNodeFactory.instance.objectNode();
    params.set("progressToken", token);
    params.put("progress", ++sent).put("message", Text.repaired(message));
    return Wire.notification("notifications/progress", params);
  }
}
