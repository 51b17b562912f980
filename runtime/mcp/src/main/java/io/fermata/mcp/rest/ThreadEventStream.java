package io.fermata.mcp.rest;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.message.MessageDelta;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.flow.json.Json;
import io.fermata.flow.logging.LoggedFailure;
import io.fermata.mcp.access.AuthenticatedCaller;
import io.fermata.mcp.access.ToolScopes;
import io.fermata.mcp.catalog.StreamQuota;
import io.fermata.mcp.http.HttpError;
import io.fermata.mcp.http.MediaTypes;
import io.fermata.mcp.http.RequestError;
import io.fermata.mcp.http.SseWriter;
import io.fermata.mcp.rpc.JsonRpcCodec;
import io.fermata.mcp.rpc.Response;
import io.fermata.session.admin.ThreadException;
import io.fermata.session.admin.ThreadJson;
import io.fermata.session.admin.Threads;
import io.fermata.session.key.HostError;
import io.vertx.core.Context;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.http.HttpVersion;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.RejectedExecutionException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A stream of the events of a thread. Journaled events have ids and are fetched as fast as the
 * client reads; pieces of text that is being written have none, and are dropped if the client is
 * too slow.
 */
final class ThreadEventStream implements Threads.Listener, StreamQuota.Open {
  private static final Logger LOG = LoggerFactory.getLogger(ThreadEventStream.class);

  /** How many events may be in flight from the journal to the client. */
  private static final int WINDOW = 16;

  /**
   * How many characters of deltas may be queued, and after how many of events no more are taken.
   */
  private static final int ROOM = 32_000;

  private static final String VOID = "void";
  private static final String NEXT_RETRY = "retry: 1000\n\n";
  private static final Pattern PLACE =
      Pattern.compile("(\\d{1,18})(\\.(\\d{1,9})(\\.(\\d{1,9}))?)?");

  /**
   * The position of a client: the last journal entry, event or part of an event that it received.
   *
   * @param part the last part that it received; -1 if it received the whole event
   */
  private record Place(long offset, int index, int part) {
    static final Place BEGINNING = new Place(0, -1, -1);

    static Place of(String text) {
      Matcher parts = PLACE.matcher(text);
      if (!parts.matches()) {
        throw ApiRequest.wrong(
            "after", "must be now, or the id of an event, as 12.3, or the offset of a thread");
      }
      long offset = Long.parseLong(parts.group(1));
      if (parts.group(3) == null) {
        return after(offset);
      }
      int index = Integer.parseInt(parts.group(3));
      return parts.group(5) == null
          ? new Place(offset, index, -1)
          : new Place(offset, index, Integer.parseInt(parts.group(5)));
    }

    static Place after(long offset) {
      return offset == 0 ? BEGINNING : new Place(offset + 1, -1, -1);
    }

    /** The event after which to begin: one that was sent in part is sent again. */
    int whole() {
      return part < 0 ? index : index - 1;
    }

    int skipped(long ofOffset, int ofIndex) {
      return part >= 0 && ofOffset == offset && ofIndex == index ? part + 1 : 0;
    }
  }

  /** A queued item: a delta that more text may join, or text that is written as it is. */
  private static final class Item {
    final @Nullable String messageId;
    final String kind;
    final StringBuilder text;

    /** How many events of the journal it represents. */
    final int events;

    Item(@Nullable String messageId, String kind, String text, int events) {
      this.messageId = messageId;
      this.kind = kind;
      this.text = new StringBuilder(text);
      this.events = events;
    }
  }

  private final HttpServerResponse response;
  private final SseWriter out;
  private final Context context = Objects.requireNonNull(Vertx.currentContext());
  private final StreamQuota streams;
  private final ToolScopes scopes;
  private final AuthenticatedCaller caller;
  private final Place place;

  /** Up to which entry the caller may read whatever it says: it may use who acts after that one. */
  private final long seen;

  private final CompletableFuture<Void> expiry = new CompletableFuture<>();
  private final Object lock = new Object();

  // Guarded by the lock.
  private final Deque<Item> waiting = new ArrayDeque<>();
  private int room = ROOM;
  private long held;
  private boolean stalled;
  private @Nullable String dropped;
  private boolean woken;
  private boolean ending;

  // Accessed in the context only.
  private Threads.@Nullable Feed feed;
  private boolean finished;
  private int taken;

  private ThreadEventStream(
      ApiRequest request,
      StreamQuota streams,
      ToolScopes scopes,
      Duration heartbeat,
      Place place,
      long seen) {
    this.response = request.http().response();
    this.out = new SseWriter(response, heartbeat);
    this.streams = streams;
    this.scopes = scopes;
    this.caller = request.caller();
    this.place = place;
    this.seen = seen;
  }

  static CompletionStage<Response> open(
      Threads threads,
      StreamQuota streams,
      ToolScopes scopes,
      Duration heartbeat,
      ApiRequest request,
      String id) {
    String accept = MediaTypes.accept(request.http());
    if (!accept.isEmpty() && !accept.contains("*/*") && !MediaTypes.listsStreams(accept)) {
      throw HttpError.of(RequestError.NOT_ACCEPTABLE, "Accept must list text/event-stream");
    } else if (request.http().version() == HttpVersion.HTTP_1_0) {
      throw HttpError.of(RequestError.BAD_REQUEST, "A stream of events needs HTTP/1.1");
    }
    String last = request.http().getHeader("last-event-id");
    String after = last == null || last.isBlank() ? request.query("after") : last.strip();
    boolean fromNow = "now".equals(after);
    Place place = fromNow || after == null || after.isEmpty() ? Place.BEGINNING : Place.of(after);
    if (!fromNow && !scopes.restrict(request.caller())) {
      // The view would wake a thread that nobody works on.
      return new ThreadEventStream(request, streams, scopes, heartbeat, place, 0)
          .follow(threads, id);
    }
    Context home = Objects.requireNonNull(Vertx.currentContext());
    return threads
        .get(request.principal(), id)
        .thenComposeAsync(
            view -> {
              scopes.require(view.agent(), request.caller());
              Place from = fromNow ? Place.after(view.offset()) : place;
              ThreadEventStream stream =
                  new ThreadEventStream(request, streams, scopes, heartbeat, from, view.offset());
              return stream.follow(threads, view.threadId());
            },
            task -> home.runOnContext(v -> task.run()));
  }

  private CompletionStage<Response> follow(Threads threads, String id) {
    String principal = caller.principal();
    enter(streams, principal);
    CompletionStage<Threads.Feed> following;
    try {
      following = threads.follow(principal, id, place.offset(), place.whole(), this);
    } catch (RuntimeException e) {
      following = CompletableFuture.failedFuture(e);
    }
    return following.handleAsync(
        (opened, thrown) -> {
          if (opened == null) {
            streams.leave(principal);
            return HttpError.answer(Objects.requireNonNull(thrown));
          }
          begin(opened);
          return Response.TAKEN_OVER;
        },
        task -> context.runOnContext(home -> task.run()));
  }

  private static void enter(StreamQuota streams, String principal) {
    if (streams.closed()) {
      throw HttpError.shuttingDown();
    }
    if (!streams.tryEnter(principal)) {
      throw HttpError.tooManyStreams(streams.max());
    }
  }

  // --- in the context --------------------------------------------------------------------------

  private void begin(Threads.Feed opened) {
    feed = opened;
    if (out.finished()) {
      end();
      return;
    }
    response.exceptionHandler(broken -> end()).closeHandler(gone -> end());
    out.open();
    out.write(NEXT_RETRY);
    out.keepAlive();
    opened.request(WINDOW);
    streams.add(this);
    CompletionStage<Void> expired = expiry;
    expired.thenRun(() -> close("token_expired"));
    caller.completeAtExpiry(expiry);
    drain();
  }

  /** Writes queued items while the client accepts them. */
  private void drain() {
    synchronized (lock) {
      woken = false;
    }
    while (!finished && feed != null) {
      if (!out.takesMore(this::drain)) {
        return;
      }
      Item item = next();
      if (item == null) {
        break;
      }
      write(item);
    }
    if (!finished && feed != null && ended()) {
      end();
    }
  }

  private boolean ended() {
    synchronized (lock) {
      return ending && waiting.isEmpty();
    }
  }

  private @Nullable Item next() {
    synchronized (lock) {
      Item item = waiting.poll();
      if (item == null) {
        return null;
      } else if (item.messageId == null) {
        held -= item.text.length();
        return item;
      }
      int last = item.text.length() - 1;
      if (waiting.isEmpty()
          && !ending
          && last >= 0
          && Character.isHighSurrogate(item.text.charAt(last))) {
        // A high surrogate, whose other half is likely to come with the next delta.
        Item half = new Item(item.messageId, item.kind, item.text.substring(last), 0);
        waiting.add(half);
        item.text.setLength(last);
        room += last;
        return last == 0 ? null : item;
      }
      room += item.text.length();
      return item;
    }
  }

  private void write(Item item) {
    if (item.messageId != null) {
      ObjectNode data = Json.object().put("messageId", item.messageId).put("kind", item.kind);
      data.put("text", item.text.toString());
      out.write(text(null, "delta", data));
    } else if (item.text.length() > 0) {
      out.write(item.text.toString());
    }
    taken += item.events;
    int wanted = hasCaughtUp() ? WINDOW : taken >= WINDOW / 2 ? taken : 0;
    if (wanted > 0 && feed != null) {
      feed.request(wanted);
      taken = 0;
    }
  }

  private void end() {
    if (finished) {
      return;
    }
    finished = true;
    expiry.cancel(false);
    streams.leave(caller.principal());
    streams.remove(this);
    if (feed != null) {
      feed.close();
    }
    synchronized (lock) {
      waiting.clear();
      ending = true;
    }
    out.end();
  }

  // --- on any thread ---------------------------------------------------------------------------

  @Override
  public void happened(long offset, int index, long at, ThreadEvent event) {
    List<ThreadJson.Notification> parts = ThreadJson.notifications(event);
    StringBuilder text = new StringBuilder();
    for (int part = place.skipped(offset, index); part < parts.size(); part++) {
      String id = offset + "." + index + (part == parts.size() - 1 ? "" : "." + part);
      text.append(text(id, parts.get(part).type(), parts.get(part).data()));
    }
    add(new Item(null, "", text.toString(), 1));
    if (event instanceof ThreadEvent.Deleted) {
      finish();
    } else if (offset > seen
        && event instanceof ThreadEvent.HandedOver to
        && !scopes.allow(to.agent(), caller)) {
      close("forbidden");
    }
  }

  @Override
  public boolean takesMore() {
    synchronized (lock) {
      stalled = held > ROOM;
      return !stalled;
    }
  }

  /** Whether it had stalled, and everything has been written since. */
  private boolean hasCaughtUp() {
    synchronized (lock) {
      boolean caughtUp = stalled && waiting.isEmpty();
      stalled &= !caughtUp;
      return caughtUp;
    }
  }

  @Override
  public void streamed(MessageDelta delta) {
    synchronized (lock) {
      if (ending || delta.messageId().equals(dropped)) {
        return;
      }
      if (delta.text().length() > room) {
        dropped = delta.messageId();
        waiting.removeIf(
            item -> {
              boolean same = delta.messageId().equals(item.messageId);
              room += same ? item.text.length() : 0;
              return same;
            });
        waiting.add(new Item(delta.messageId(), VOID, "", 0));
      } else {
        room -= delta.text().length();
        Item last = waiting.peekLast();
        if (last != null
            && delta.messageId().equals(last.messageId)
            && delta.kind().equals(last.kind)) {
          last.text.append(delta.text());
        } else {
          waiting.add(new Item(delta.messageId(), delta.kind(), delta.text(), 0));
        }
      }
    }
    wake();
  }

  @Override
  public void ended(@Nullable Throwable why) {
    if (why == null) {
      close("ended");
    } else if (why instanceof ThreadException known) {
      close(known.code());
    } else {
      LOG.warn("The event stream of a thread ends because its feed failed", LoggedFailure.of(why));
      close(HostError.STORE_UNAVAILABLE.wireName());
    }
  }

  @Override
  public void shutDown() {
    close(HostError.SHUTTING_DOWN.wireName());
  }

  private void close(String code) {
    add(new Item(null, "", text(null, "closed", Json.object().put("code", code)), 0));
    finish();
  }

  private void finish() {
    synchronized (lock) {
      ending = true;
    }
    wake();
  }

  private void add(Item item) {
    synchronized (lock) {
      if (ending) {
        return;
      }
      waiting.add(item);
      held += item.text.length();
    }
    wake();
  }

  private void wake() {
    synchronized (lock) {
      if (woken) {
        return;
      }
      woken = true;
    }
    try {
      context.runOnContext(home -> drain());
    } catch (RejectedExecutionException closed) {
      LOG.debug("The server has closed, and its streams with it");
    }
  }

  /** One event. The JSON has no line breaks. */
  private static String text(@Nullable String id, String type, ObjectNode data) {
    String named = id == null ? "" : "id: " + id + "\n";
    return named + "event: " + type + "\ndata: " + JsonRpcCodec.json(data) + "\n\n";
  }
}
