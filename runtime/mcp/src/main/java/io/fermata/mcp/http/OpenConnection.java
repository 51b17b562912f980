package io.fermata.mcp.http;

import io.netty.util.NetUtil;
import io.vertx.core.http.HttpConnection;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.net.SocketAddress;
import java.util.HexFormat;
import org.jspecify.annotations.Nullable;

/** One connection of a client and its latest request. */
final class OpenConnection {
  private final HttpConnection connection;
  private final String address;
  private final String network;
  private volatile long usedAt;
  private volatile @Nullable HttpServerRequest request;
  private volatile @Nullable String principal;
  private volatile Runnable onGone = () -> {};

  OpenConnection(HttpConnection connection, long now) {
    this.connection = connection;
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

  /** When it was opened, or its latest request began. */
  long usedAt() {
    return usedAt;
  }

  /** The headers of a request have arrived. */
  void begin(HttpServerRequest begun, long now) {
    principal = null;
    request = begun;
    usedAt = now;
  }

  /** What to do about the latest request when the client has gone. */
  void onGone(Runnable todo) {
    onGone = todo;
  }

  /** The client has gone. */
  void gone() {
    onGone.run();
  }

  /** The caller of the latest request is authenticated. */
  void admit(String caller) {
    principal = caller;
  }

  /** The caller of the latest request; null if it is not authenticated. */
  @Nullable String principal() {
    return principal;
  }

  /** Whether it serves no authenticated request, so that it may be closed for another one. */
  boolean spare() {
    HttpServerRequest latest = request;
    return latest == null || principal == null || latest.response().ended();
  }

  /** The request whose body is still arriving; null if there is none. */
  @Nullable HttpServerRequest arriving() {
    HttpServerRequest latest = request;
    return latest == null || latest.isEnded() ? null : latest;
  }

  /** Whether a request has ever arrived. */
  boolean used() {
    return request != null;
  }
}
