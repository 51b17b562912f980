package io.fermata.mcp.protocol;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Texts;
import io.fermata.mcp.rpc.JsonRpcCodec;
import io.fermata.session.call.ToolProgress;
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
public final class OutboundQueue {
  /**
   * How long a transport waits between two batches, so that a talkative node does not flood the
   * client.
   */
  public static final int PAUSE_MILLIS = 50;

  static final int MAX_MESSAGE = 2_000;

  /** How many characters may be queued, counting the envelope of each message. */
  public static final int ROOM = 32_000;

  /**
   * How many bytes of messages that must not be lost may be queued; a single longer one is
   * accepted.
   */
  public static final int MAX_SENT_BYTES = 4 * JsonRpcCodec.MAX_BYTES;

  /** The number of queued bytes of states from which on further states wait. */
  static final int MAX_STATE_BYTES = JsonRpcCodec.MAX_BYTES;

  private static final int ENVELOPE = 300;

  /** Longer tokens are ignored, as every notification repeats them. */
  private static final int MAX_TOKEN = 200;

  /** A queued message. */
  private sealed interface Waiting {}

  /**
   * A progress message.
   *
   * @param node the node whose streamed text it is, which more text may join; null for an event
   */
  private record Text(@Nullable String node, StringBuilder message) implements Waiting {
    /**
     * Cuts off a trailing high surrogate, whose other half is likely to come with the next piece.
     */
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

  private final Consumer<OutboundQueue> wake;
  private final Cancellation cancellation = new Cancellation();
  private final Deque<Waiting> waiting = new ArrayDeque<>(0);
  private JsonNode token = MissingNode.getInstance();

  /** The latest progress of a handler that found no room. */
  private byte @Nullable [] latest;

  private int room = ROOM;
  private int sentBytes;
  private int stateBytes;
  private int leftOut;
  private long sent;
  private boolean asleep = true;
  private boolean ended;
  private boolean needsKeepAlive;
  private boolean releaseRequested;
  private @Nullable Runnable onRoom;

  /**
   * @param wake is called on any thread when there is a message and the latest {@link #take} found
   *     none; it must not block
   */
  public OutboundQueue(Consumer<OutboundQueue> wake) {
    this.wake = wake;
  }

  /**
   * The progress listener for a request with this {@code _meta}. A token that is neither a string
   * nor an integer, or too long, is ignored: progress is optional, and no reason to reject a call.
   */
  synchronized Consumer<ToolProgress> listener(ObjectNode meta) {
    JsonNode asked = token(meta);
    if (asked.isMissingNode()) {
      return ignored -> {};
    }
    token = asked;
    return this::onProgress;
  }

  /** The progress token of a request; missing if it wants no progress. */
  public static JsonNode token(ObjectNode meta) {
    JsonNode asked = meta.path("progressToken");
    boolean usable = asked.isTextual() || asked.isIntegralNumber();
    return usable && asked.asText().length() <= MAX_TOKEN ? asked : MissingNode.getInstance();
  }

  private void onProgress(ToolProgress progress) {
    String piece = progress.piece();
    wakeTransport(
        piece == null
            ? addText(null, Texts.fitted(describe(progress), MAX_MESSAGE))
            : !piece.isEmpty() && addText(progress.node(), piece));
  }

  /** Queues a notification, or drops it if there is no room. */
  public void offer(byte[] notification) {
    wakeTransport(addIfRoom(notification));
  }

  /** Queues the progress of a handler. If there is no room for all, the latest is sent. */
  public void offerLatest(byte[] notification) {
    wakeTransport(addLatest(notification));
  }

  /**
   * Queues a message that must not be lost. A client that leaves too many of them unread is treated
   * as disconnected.
   */
  public void send(byte[] message) {
    boolean full;
    boolean wanted;
    synchronized (this) {
      sentBytes += message.length;
      full = !ended && sentBytes > MAX_SENT_BYTES && sentBytes > message.length;
      wanted = !full && add(message, null);
    }
    if (full) {
      disconnect();
    }
    wakeTransport(wanted);
  }

  /**
   * Queues a state that must not be lost, unless a later state of the same subject replaces it. Ask
   * {@linkplain #onRoom for room} before sending many.
   */
  public void send(String subject, byte[] message) {
    boolean wanted;
    synchronized (this) {
      withdraw(subject);
      wanted = add(message, subject);
      stateBytes += message.length;
    }
    wakeTransport(wanted);
  }

  private void withdraw(String subject) {
    for (Iterator<Waiting> each = waiting.iterator(); each.hasNext(); ) {
      if (each.next() instanceof Ready ready && subject.equals(ready.subject)) {
        each.remove();
        room += ready.bytes.length;
        stateBytes -= ready.bytes.length;
      }
    }
  }

  /**
   * Runs something when there is room for a state: now, or as soon as the queue was taken. One at a
   * time may wait for that.
   */
  public void onRoom(Runnable todo) {
    synchronized (this) {
      if (stateBytes >= MAX_STATE_BYTES) {
        onRoom = todo;
        return;
      }
    }
    todo.run();
  }

  /** Keeps the connection alive: the next message may take longer than a connection may be idle. */
  public void keepAlive() {
    synchronized (this) {
      needsKeepAlive = true;
    }
    wakeTransport(true);
  }

  /** Asks the transport to end the response; the client resumes for the rest if it can. */
  public void requestRelease() {
    synchronized (this) {
      releaseRequested = !ended;
    }
    wakeTransport(true);
  }

  /** Whether the transport is to end the response now; true once per request. */
  public synchronized boolean takeRelease() {
    boolean now = releaseRequested;
    releaseRequested = false;
    return now;
  }

  public synchronized boolean needsKeepAlive() {
    return needsKeepAlive;
  }

  /** What to do when the client disconnects or cancels. */
  public void onDisconnect(Runnable todo) {
    cancellation.onCancel(todo);
  }

  /** The client has disconnected. */
  public void disconnect() {
    takeLast();
    cancellation.disconnect();
  }

  /** The client has cancelled. */
  public void cancel() {
    takeLast();
    cancellation.cancel();
  }

  Cancellation cancellation() {
    return cancellation;
  }

  private void wakeTransport(boolean wanted) {
    if (wanted) {
      try {
        wake.accept(this);
      } catch (RejectedExecutionException closed) {
        disconnect();
      }
    }
  }

  private static String describe(ToolProgress progress) {
    JsonNode payload = progress.payload();
    if (payload.isNull() || payload.isMissingNode()) {
      return progress.name();
    }
    String shown = payload.isTextual() ? payload.textValue() : JsonRpcCodec.json(payload);
    return progress.name() + ": " + shown;
  }

  /** The end itself, or one less if it would split a surrogate pair. */
  private static int whole(CharSequence text, int end) {
    return end > 0 && Character.isHighSurrogate(text.charAt(end - 1)) ? end - 1 : end;
  }

  /** Adds as much text as there is room for, and returns whether to wake the transport. */
  private synchronized boolean addText(@Nullable String node, String message) {
    if (ended) {
      return false;
    }
    Text last = lastText();
    boolean joins = last != null && node != null && node.equals(last.node());
    int fitting = Math.min(message.length(), joins ? room : room - ENVELOPE);
    // After the first piece that does not fit, all are left out: there is one gap, and it is
    // marked.
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
    boolean wakes = asleep;
    asleep = false;
    return wakes;
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
    boolean wakes = asleep;
    asleep = false;
    return wakes;
  }

  private synchronized boolean addLatest(byte[] message) {
    if (latest == null && room >= message.length) {
      return add(message, null);
    }
    if (ended) {
      return false;
    }
    latest = message;
    boolean wakes = asleep;
    asleep = false;
    return wakes;
  }

  private @Nullable Text lastText() {
    return waiting.peekLast() instanceof Text text ? text : null;
  }

  private void put(@Nullable String node, String message) {
    waiting.add(new Text(node, new StringBuilder(message)));
    room -= message.length() + ENVELOPE;
  }

  /** Takes the queued messages, to be sent now and in this order. */
  public List<byte[]> take() {
    List<byte[]> taken;
    Runnable next;
    synchronized (this) {
      taken = takeWhole();
      next = onRoom;
      onRoom = null;
    }
    if (next != null) {
      next.run();
    }
    return taken;
  }

  /** An unpaired surrogate stays in the queue and waits for its other half. */
  private List<byte[]> takeWhole() {
    Text last = lastText();
    String half = last == null ? "" : last.cutHalf();
    List<byte[]> taken = takeAll();
    if (last != null && !half.isEmpty()) {
      put(last.node(), half);
    }
    asleep = taken.isEmpty();
    return taken;
  }

  /** Takes what is left to send before the result. Later messages are dropped. */
  public List<byte[]> end() {
    cancellation.end();
    return takeLast();
  }

  private synchronized List<byte[]> takeLast() {
    ended = true;
    onRoom = null;
    return takeAll();
  }

  private List<byte[]> takeAll() {
    List<byte[]> taken = new ArrayList<>();
    for (Waiting each : waiting) {
      if (each instanceof Text text) {
        addNotifications(text.message(), taken);
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
    sentBytes = 0;
    stateBytes = 0;
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
    params.put("progress", ++sent).put("message", Texts.sound(message));
    return JsonRpcCodec.notification("notifications/progress", params);
  }
}
