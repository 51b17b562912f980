package io.fermata.mcp;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.session.ToolProgress;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The progress of one request on its way to the client: numbered, with streamed text joined, and
 * never more than there is room for. A host tells it on any thread; a transport takes from it.
 */
final class Progress {
  /** How long a transport waits between two takes, so that a talkative node floods nobody. */
  static final int PAUSE_MILLIS = 50;

  static final int MAX_MESSAGE = 2_000;

  /** How many characters may wait, counting what is written around each message. */
  static final int ROOM = 32_000;

  private static final int AROUND = 300;

  /** A longer token would make every notification long. */
  private static final int MAX_TOKEN = 200;

  /**
   * A message that waits to be taken.
   *
   * @param node whose streamed text it is, which more may join; null for an event
   */
  private record Waiting(@Nullable String node, StringBuilder message) {
    /** Takes off half a character, whose other half is likely to come with the next piece. */
    String cutHalf() {
      int whole = node == null ? message.length() : whole(message, message.length());
      String half = message.substring(whole);
      message.setLength(whole);
      return half;
    }
  }

  private final Consumer<Progress> wake;
  private final Deque<Waiting> waiting = new ArrayDeque<>(0);
  private JsonNode token = MissingNode.getInstance();
  private int room = ROOM;
  private int leftOut;
  private long sent;
  private boolean asleep = true;
  private boolean ended;

  /**
   * @param wake is called on any thread when there is something to take and the latest take found
   *     nothing; it must not block
   */
  Progress(Consumer<Progress> wake) {
    this.wake = wake;
  }

  /**
   * Whom a host is to tell of a request with this {@code _meta}. A token that is neither a string
   * nor an integer, or too long, is none: no server has to send progress, and a mistake in what is
   * only a courtesy is no reason to refuse the call.
   */
  synchronized Consumer<ToolProgress> listener(ObjectNode meta) {
    JsonNode asked = meta.path("progressToken");
    boolean usable = asked.isTextual() || asked.isIntegralNumber();
    if (!usable || asked.asText().length() > MAX_TOKEN) {
      return unheard -> {};
    }
    token = asked;
    return this::told;
  }

  private void told(ToolProgress progress) {
    String piece = progress.piece();
    boolean rouse =
        piece == null
            ? add(null, shortened(described(progress)))
            : !piece.isEmpty() && add(progress.node(), piece);
    if (rouse) {
      try {
        wake.accept(this);
      } catch (RejectedExecutionException closed) {
        end();
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

  /** The end itself, or one less where it would split a character. */
  private static int whole(CharSequence text, int end) {
    return end > 0 && Character.isHighSurrogate(text.charAt(end - 1)) ? end - 1 : end;
  }

  /** Adds as much as there is room for, and says whether the transport is to be woken. */
  private synchronized boolean add(@Nullable String node, String message) {
    if (ended) {
      return false;
    }
    Waiting last = waiting.peekLast();
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

  private void put(@Nullable String node, String message) {
    waiting.add(new Waiting(node, new StringBuilder(message)));
    room -= message.length() + AROUND;
  }

  /** The notifications that wait, to be sent now and in this order. */
  synchronized List<byte[]> take() {
    Waiting last = waiting.peekLast();
    String half = last == null ? "" : last.cutHalf();
    List<byte[]> taken = takeAll();
    if (last != null && !half.isEmpty()) {
      put(last.node(), half);
    }
    asleep = taken.isEmpty();
    return taken;
  }

  /** What is left to send before the response. What is told from now on goes nowhere. */
  synchronized List<byte[]> end() {
    ended = true;
    return takeAll();
  }

  private List<byte[]> takeAll() {
    List<byte[]> taken = new ArrayList<>();
    waiting.forEach(each -> addNotifications(each.message(), taken));
    waiting.clear();
    room = ROOM;
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
