package io.fermata.mcp.http;

import io.fermata.mcp.access.ArrivingBody;
import io.netty.util.NetUtil;
import io.vertx.core.http.HttpConnection;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.net.SocketAddress;
import java.util.HexFormat;
import org.jspecify.annotations.Nullable;

/** One connection of a client and its latest request. */
final class OpenConnection {
  /** A request, until its response has ended. */
  static final class Exchange {
    private final HttpServerRequest request;
    private volatile @Nullable String principal;
    private volatile @Nullable ArrivingBody body;
    private volatile boolean arrived;
    private volatile boolean ended;

    private Exchange(HttpServerRequest request) {
      this.request = request;
    }

    /** Its caller; null if it is not authenticated. */
    @Nullable String principal() {
      return principal;
    }

    private void endBody() {
      ArrivingBody arriving = body;
      if (arriving != null) {
        arriving.end();
      }
    }
  }

  private final HttpConnection connection;
  private final Runnable endsSoon;
  private final String address;
  private final String network;
  private volatile long usedAt;
  private volatile boolean reserved;
  private volatile boolean closing;
  private volatile @Nullable Exchange latest;
  private volatile Runnable onGone = () -> {};

  /**
   * @param endsSoon ends the connection once its client has had time to read
   */
  OpenConnection(HttpConnection connection, Runnable endsSoon, long now) {
    this.connection = connection;
    this.endsSoon = endsSoon;
    this.address = address(connection.remoteAddress());
    this.network = network(address);
    this.usedAt = now;
  }

  private static String address(@Nullable SocketAddress remote) {
    String address = remote == null ? null : remote.hostAddress();
    return address == null ? "unknown" : address;
  }

  /** An IPv4 address, or the 64 bits of an IPv6 address that identify a network. */
  static String network(String address) {
    byte[] bytes = NetUtil.createByteArrayFromIpAddressString(address);
    return bytes == null || bytes.length < 16
        ? address
        : HexFormat.of().formatHex(bytes, 0, 8) + "/64";
  }

  HttpConnection connection() {
    return connection;
  }

  String address() {
    return address;
  }

  String network() {
    return network;
  }

  /** When it was opened, or its latest request began or was answered. */
  long usedAt() {
    return usedAt;
  }

  /** Whether it may be used for health and metrics only, until there is room. */
  boolean reserved() {
    return reserved;
  }

  void reserve(boolean now) {
    reserved = now;
  }

  /** Another connection has its place. */
  void replace() {
    closing = true;
  }

  /** Whether further requests are served, and not ignored because it is being closed. */
  boolean servesMore() {
    return !closing;
  }

  /** Closes it once its client has read what it was answered, or had time to. */
  void close() {
    Exchange exchange = latest;
    if (exchange != null) {
      exchange.request.pause();
    }
    connection.close();
    endsSoon.run();
  }

  /** The headers of a request have arrived. */
  Exchange begin(HttpServerRequest begun, long now) {
    Exchange exchange = new Exchange(begun);
    latest = exchange;
    usedAt = now;
    return exchange;
  }

  /** A response has ended; the next request may have begun before. */
  void end(Exchange exchange, long now) {
    exchange.endBody();
    if (exchange.request.response().headers().contains(HttpHeaders.CONNECTION, "close", true)) {
      closing = true;
    }
    exchange.ended = true;
    usedAt = now;
  }

  /** What to do about the latest request when the client has gone. */
  void onGone(Runnable todo) {
    onGone = todo;
  }

  /** The client has gone. */
  void gone() {
    Exchange exchange = latest;
    if (exchange != null) {
      exchange.endBody();
    }
    onGone.run();
  }

  /**
   * The caller of the latest request is authenticated.
   *
   * @param arriving its body, which no longer counts once the response has ended or the client has
   *     gone
   */
  void admit(String caller, ArrivingBody arriving) {
    Exchange exchange = latest;
    if (exchange != null) {
      exchange.body = arriving;
      exchange.principal = caller;
    }
  }

  /** All of the latest request has arrived, with its body. */
  void arrived() {
    Exchange exchange = latest;
    if (exchange != null) {
      exchange.arrived = true;
    }
  }

  /** Whether it has no authenticated request, so that it may be closed for another one. */
  boolean spare() {
    Exchange exchange = latest;
    return exchange == null || exchange.principal == null || exchange.ended;
  }

  /** Whether it works on no request, although one may be arriving. */
  boolean idle() {
    Exchange exchange = latest;
    return exchange == null || !exchange.arrived || spare();
  }

  /** The request whose body is still arriving; null if there is none. */
  @Nullable HttpServerRequest arriving() {
    Exchange exchange = latest;
    return exchange == null || exchange.request.isEnded() ? null : exchange.request;
  }

  /** Whether a request has ever arrived. */
  boolean used() {
    return latest != null;
  }
}
