package io.fermata.mcp.http;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFactory;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.ServerChannel;
import io.netty.channel.socket.DatagramChannel;
import io.netty.channel.socket.InternetProtocolFamily;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.http.HttpConnection;
import io.vertx.core.net.SocketAddress;
import io.vertx.core.net.TcpConfig;
import io.vertx.core.spi.transport.Transport;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The Netty channels of a server's connections. Vert.x closes a connection once all that was
 * written to it has been sent, which a client that does not read delays; its channel closes at
 * once.
 */
public final class Channels {
  private static final Transport TCP = io.vertx.core.transport.Transport.NIO.implementation();

  private record Ends(SocketAddress local, SocketAddress remote) {}

  private final Map<Ends, ChannelHandlerContext> open = new ConcurrentHashMap<>();

  /** A Vert.x all of whose servers have their channels here. */
  public Vertx vertx(VertxOptions options) {
    return Vertx.builder()
        .with(options)
        .withTransport(new TrackingTransport(new FirstHandler()))
        .build();
  }

  /** What closes a connection at once, and discards what its client has not read. */
  Runnable closing(HttpConnection connection) {
    Ends ends = ends(connection.localAddress(), connection.remoteAddress());
    ChannelHandlerContext channel = ends == null ? null : open.get(ends);
    return channel == null
        ? () -> {}
        // Past the handlers of Vert.x, which would wait.
        : () -> channel.close().addListener(ChannelFutureListener.FIRE_EXCEPTION_ON_FAILURE);
  }

  private static @Nullable Ends ends(
      @Nullable SocketAddress local, @Nullable SocketAddress remote) {
    return local == null || remote == null ? null : new Ends(local, remote);
  }

  /** The first handler of each channel. */
  @Sharable
  private final class FirstHandler extends ChannelInboundHandlerAdapter {
    @Override
    public void handlerAdded(ChannelHandlerContext context) {
      Ends ends = ends(context.channel());
      if (ends != null) {
        open.put(ends, context);
      }
    }

    @Override
    public void handlerRemoved(ChannelHandlerContext context) {
      Ends ends = ends(context.channel());
      if (ends != null) {
        open.remove(ends, context);
      }
    }

    private static @Nullable Ends ends(Channel channel) {
      return Channels.ends(address(channel.localAddress()), address(channel.remoteAddress()));
    }

    private static @Nullable SocketAddress address(java.net.@Nullable SocketAddress of) {
      return of == null ? null : TCP.convert(of);
    }
  }

  /** The transport of Vert.x, with one more handler for each channel that a server accepts. */
  private record TrackingTransport(FirstHandler first)
      implements Transport, io.vertx.core.transport.Transport {
    @Override
    public void configure(TcpConfig options, boolean domainSocket, ServerBootstrap server) {
      TCP.configure(options, domainSocket, server);
      server.handler(
          new ChannelInboundHandlerAdapter() {
            @Override
            public void channelRead(ChannelHandlerContext acceptor, Object accepted) {
              if (accepted instanceof Channel channel) {
                channel.pipeline().addFirst(first);
              }
              acceptor.fireChannelRead(accepted);
            }
          });
    }

    @Override
    public String name() {
      return "nio";
    }

    @Override
    public boolean available() {
      return TCP.isAvailable();
    }

    @Override
    public @Nullable Throwable unavailabilityCause() {
      return TCP.unavailabilityCause();
    }

    @Override
    public Transport implementation() {
      return this;
    }

    @Override
    public IoHandlerFactory ioHandlerFactory() {
      return TCP.ioHandlerFactory();
    }

    @Override
    @SuppressWarnings("deprecation") // the signature of Vert.x
    public DatagramChannel datagramChannel(InternetProtocolFamily family) {
      return TCP.datagramChannel(family);
    }

    @Override
    public ChannelFactory<? extends DatagramChannel> datagramChannelFactory() {
      return TCP.datagramChannelFactory();
    }

    @Override
    public ChannelFactory<? extends Channel> channelFactory(boolean domainSocket) {
      return TCP.channelFactory(domainSocket);
    }

    @Override
    public ChannelFactory<? extends ServerChannel> serverChannelFactory(boolean domainSocket) {
      return TCP.serverChannelFactory(domainSocket);
    }
  }
}
