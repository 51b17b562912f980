package io.fermata.mcp.legacy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.mcp.access.FairShares;
import io.fermata.mcp.rpc.JsonRpcCodec;
import io.fermata.mcp.rpc.RpcException;
import io.fermata.session.ToolHost;
import java.time.Duration;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Transport sessions of the revisions before 2026-07-28. The id of a session is a handle, and what
 * its client declared: any host recognises it, also after a restart. What the client chose since is
 * kept for a bounded number of sessions and a bounded time; a session that loses it is gone, so
 * that its client begins another and chooses again.
 */
public final class McpSessions {
  static final Duration IDLE = Duration.ofHours(1);

  private static final int REMEMBERED = 10_000;

  /** Clients send the id in a header. */
  private static final int MAX_CAPABILITIES = 512;

  /** What decides whether a client can be asked. */
  private static final Map<String, List<String>> ASKING =
      Map.of(
          "elicitation", List.of("form", "url"), "sampling", List.of("tools"), "roots", List.of());

  private final ToolHost host;
  private final LongSupplier nanos;

  /** The principal is part of it: a handle of another principal finds nothing. */
  private record Key(String handle, String principal) {}

  /**
   * The state of a client.
   *
   * @param session the id of its session that was checked
   */
  private record Entry(Key key, String session, ClientState peer, long seen) {}

  /** A session with requests in flight or streams: nothing that its client chose is forgotten. */
  private static final class InUse {
    private final Entry entry;
    private int uses;

    /** The latest one that its client opened. */
    private @Nullable CompletableFuture<Void> stream;

    InUse(Entry entry) {
      this.entry = entry;
    }
  }

  /** The sessions with nothing open, least recently used first. */
  private final FairShares<Key, Entry> idle;

  /** The others; what limits requests and streams limits them. */
  private final Map<Key, InUse> inUse = new HashMap<>();

  private enum End {
    /** By the client. */
    DELETED,
    /** What its client chose is no longer known. */
    FORGOTTEN
  }

  /** The sessions that have ended, the latest of them. */
  private final FairShares<Key, End> ended;

  /**
   * @param each how many sessions of one principal are remembered
   */
  public McpSessions(ToolHost host, LongSupplier nanos, int each) {
    this.host = host;
    this.nanos = nanos;
    this.idle = new FairShares<>(each, REMEMBERED, (principal, entry) -> forgotten(entry));
    this.ended = new FairShares<>(each, REMEMBERED, (principal, forgotten) -> {});
  }

  public String open(String principal, JsonNode capabilities) {
    Id id = Id.of(host.handles().mint(), capabilities);
    // Not all that was declared: it may be large, and other hosts know only what is in the id.
    keep(id.key(principal), id.text(), ClientState.declaring(id.capabilities()));
    return id.text();
  }

  /**
   * The state of a session's client.
   *
   * @throws RpcException if the session is unknown to this server or has ended
   */
  public ClientState require(String session, String principal) {
    ClientState used = used(session, principal);
    return used == null ? known(principal, issued(session)).peer() : used;
  }

  /**
   * Checks the session of a message about a request that is open, maybe on another server. This
   * needs nothing that the client chose.
   *
   * @throws RpcException if the session is unknown to this server or its client has ended it
   */
  void requireNotDeleted(String session, String principal) {
    if (used(session, principal) == null && isDeleted(issued(session).key(principal))) {
      throw RpcException.sessionGone();
    }
  }

  private synchronized boolean isDeleted(Key key) {
    return ended.get(key) == End.DELETED;
  }

  /** The state under an id that was checked before; null if it must be checked. */
  private synchronized @Nullable ClientState used(String session, String principal) {
    Key key = new Key(Id.handle(session), principal);
    Entry entry = entry(key);
    if (entry == null || !entry.session().equals(session)) {
      return null;
    }
    keep(key, session, entry.peer());
    return entry.peer();
  }

  private @Nullable Entry entry(Key key) {
    InUse open = inUse.get(key);
    return open == null ? idle.get(key) : open.entry;
  }

  /**
   * The state of a client that opens a stream, which is kept while the stream is open. It ends the
   * stream before it, so that no client gets a message twice; it ends with the session.
   *
   * @throws RpcException if the session is unknown to this server or has ended
   */
  ClientState listening(String session, String principal, CompletableFuture<Void> ended) {
    Id id = issued(session);
    InUse use;
    CompletableFuture<Void> before;
    synchronized (this) {
      use = begun(known(principal, id));
      before = use.stream;
      use.stream = ended;
    }
    complete(before);
    CompletionStage<Void> end = ended;
    end.whenComplete((done, failure) -> leave(use));
    return use.entry.peer();
  }

  /** Outside the lock, as others act on it. */
  private static void complete(@Nullable CompletableFuture<Void> stream) {
    if (stream != null) {
      stream.complete(null);
    }
  }

  /** The same answer; until then, what the client of the session chose, if anything, is kept. */
  <T> CompletionStage<T> inFlight(CompletionStage<T> answer, String session, String principal) {
    InUse use;
    synchronized (this) {
      Entry entry = entry(new Key(Id.handle(session), principal));
      use = entry == null ? null : begun(entry);
    }
    return use == null ? answer : answer.whenComplete((done, failure) -> leave(use));
  }

  private InUse begun(Entry entry) {
    idle.remove(entry.key());
    InUse use = inUse.computeIfAbsent(entry.key(), key -> new InUse(entry));
    use.uses++;
    return use;
  }

  /** The session is idle from now on if this was all that was open, and if it has not ended. */
  private synchronized void leave(InUse use) {
    Entry entry = use.entry;
    use.uses--;
    if (use.uses == 0 && inUse.remove(entry.key(), use)) {
      keep(entry.key(), entry.session(), entry.peer());
    }
  }

  private void forgotten(Entry entry) {
    if (entry.peer().hasChosen()) {
      ended.put(entry.key().principal(), entry.key(), End.FORGOTTEN);
    }
  }

  private synchronized Entry known(String principal, Id id) {
    Key key = id.key(principal);
    requireNotEnded(key);
    Entry known = entry(key);
    return keep(
        key, id.text(), known == null ? ClientState.declaring(id.capabilities()) : known.peer());
  }

  /** A session that this server opened. The check is slow, so it runs outside the lock. */
  private Id issued(String session) {
    Id id = Id.read(session);
    if (id == null || !host.handles().minted(id.handle())) {
      throw RpcException.sessionGone();
    }
    return id;
  }

  private void requireNotEnded(Key key) {
    if (ended.has(key)) {
      throw RpcException.sessionGone();
    }
  }

  private synchronized Entry keep(Key key, String session, ClientState peer) {
    long now = nanos.getAsLong();
    Entry entry = new Entry(key, session, peer, now);
    if (!inUse.containsKey(key)) {
      idle.put(key.principal(), key, entry);
    }
    idle.removeEldestWhile(eldest -> now - eldest.seen() > IDLE.toNanos()).forEach(this::forgotten);
    return entry;
  }

  /**
   * Ends a session, and its stream. One that is forgotten here may be open on another server.
   *
   * @throws RpcException if the session is unknown to this server or its client has ended it
   */
  void end(String session, String principal) {
    complete(ended(issued(session).key(principal)));
  }

  private synchronized @Nullable CompletableFuture<Void> ended(Key key) {
    if (isDeleted(key)) {
      throw RpcException.sessionGone();
    }
    ended.put(key.principal(), key, End.DELETED);
    idle.remove(key);
    InUse open = inUse.remove(key);
    return open == null ? null : open.stream;
  }

  /**
   * The id of a session. The declaration is not signed: a client that alters it declares something
   * else, as any client may.
   *
   * @param capabilities what it declared; missing if nobody put it into the id
   */
  private record Id(String handle, JsonNode capabilities, String text) {
    private static final Base64.Encoder ENCODER = Base64.getUrlEncoder().withoutPadding();

    /** With what the client declared, or, if that is large, with what decides what it is asked. */
    static Id of(String handle, JsonNode capabilities) {
      byte[] all = JsonRpcCodec.bytes(capabilities);
      Id id = all.length <= MAX_CAPABILITIES ? read(text(handle, all)) : null;
      return id == null
          ? Objects.requireNonNull(read(text(handle, JsonRpcCodec.bytes(asking(capabilities)))))
          : id;
    }

    private static String text(String handle, byte[] declared) {
      return handle + "." + ENCODER.encodeToString(declared);
    }

    private static ObjectNode asking(JsonNode capabilities) {
      ObjectNode asking = Json.object();
      ASKING.forEach(
          (name, modes) -> {
            if (capabilities.path(name).isObject()) {
              ObjectNode declared = asking.putObject(name);
              modes.stream().filter(capabilities.path(name)::has).forEach(declared::putObject);
            }
          });
      return asking;
    }

    /** Null if it is no id. */
    static @Nullable Id read(String text) {
      int dot = text.indexOf('.');
      if (dot < 0) {
        return new Id(text, MissingNode.getInstance(), text);
      } else if (text.length() - dot > 2 * MAX_CAPABILITIES) {
        return null;
      }
      try {
        JsonNode declared =
            JsonRpcCodec.read(Base64.getUrlDecoder().decode(text.substring(dot + 1)));
        return declared.isObject() ? new Id(handle(text), declared, text) : null;
      } catch (IllegalArgumentException | RpcException e) {
        return null;
      }
    }

    static String handle(String text) {
      int dot = text.indexOf('.');
      return dot < 0 ? text : text.substring(0, dot);
    }

    Key key(String principal) {
      return new Key(handle, principal);
    }
  }
}
