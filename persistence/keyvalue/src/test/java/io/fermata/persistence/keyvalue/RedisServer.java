package io.fermata.persistence.keyvalue;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A real Redis server, which syncs every write to a directory of the test. */
final class RedisServer implements AutoCloseable {

  static final String PASSWORD = "open sesame";

  private final Path directory;
  private final int port;
  private @Nullable Process process;

  RedisServer(Path directory) {
    this.directory = directory;
    this.port = freePort();
    start();
  }

  private static int freePort() {
    try (ServerSocket any = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return any.getLocalPort();
    } catch (IOException none) {
      throw new AssertionError(none);
    }
  }

  void start() {
    List<String> command = new ArrayList<>(List.of("redis-server", "--port", "" + port));
    command.addAll(List.of("--bind", "127.0.0.1", "--dir", directory.toString()));
    command.addAll(List.of("--appendonly", "yes", "--appendfsync", "always", "--save", ""));
    command.addAll(List.of("--requirepass", PASSWORD, "--databases", "1000"));
    try {
      process =
          new ProcessBuilder(command)
              .redirectErrorStream(true)
              .redirectOutput(directory.resolve("redis.log").toFile())
              .start();
    } catch (IOException missing) {
      throw new AssertionError(
          "These tests use a real Redis server; install the package redis-server", missing);
    }
    awaitListening();
  }

  private void awaitListening() {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
    while (System.nanoTime() < deadline) {
      try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
        socket.getOutputStream().write("PING\r\n".getBytes(UTF_8));
        byte[] answer = socket.getInputStream().readNBytes(7);
        if (new String(answer, UTF_8).startsWith("-NOAUTH")) {
          return;
        }
      } catch (IOException notYet) {
        Thread.onSpinWait();
      }
    }
    throw new AssertionError("Redis does not listen at " + port + ", see " + directory);
  }

  String address(int database) {
    return "redis://:open%20sesame@127.0.0.1:" + port + "/" + database;
  }

  int port() {
    return port;
  }

  /** Ends it as a power cut would. */
  void kill() {
    Process running = process;
    if (running == null) {
      return;
    }
    try {
      running.destroyForcibly().waitFor();
    } catch (InterruptedException interrupted) {
      throw new AssertionError(interrupted);
    }
    process = null;
  }

  @Override
  public void close() {
    kill();
  }
}
