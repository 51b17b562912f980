package io.fermata.bench.load;

import io.fermata.mcp.McpServer;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import io.fermata.session.HostBuilder;
import io.fermata.session.admin.ClusterSettings;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * A host of the workload in a process of its own, which {@link #main} runs there.
 *
 * @param port where clients call it
 * @param clusterPort where the other hosts of its cluster reach it; 0 if it belongs to none
 */
public record HostProcess(Process process, int port, int clusterPort) implements AutoCloseable {
  private static final String READY = "ready ";

  /** Serves at any port: {@code <store> [<port among the hosts of the cluster>]}. */
  public static void main(String[] args) throws InterruptedException {
    HostBuilder builder =
        Fermata.host().store(Store.parse(args[0])).flow(Workload.pure()).flow(Workload.journaled());
    if (args.length > 1) {
      builder.cluster(ClusterSettings.LOCAL.port(Integer.parseInt(args[1])));
    }
    McpServer server =
        McpServer.serving(builder.start()).port(0).perPrincipal(LoadHarness.UNLIMITED).start();
    System.out.println(READY + server.port());
    Thread.currentThread().join();
  }

  static HostProcess alone(String store, List<String> options) throws IOException {
    return start(options, 0, store);
  }

  static HostProcess ofCluster(String store, List<String> options) throws IOException {
    int port = freePort();
    return start(options, port, store, Integer.toString(port));
  }

  private static int freePort() throws IOException {
    try (ServerSocket free = new ServerSocket(0)) {
      return free.getLocalPort();
    }
  }

  private static HostProcess start(List<String> options, int clusterPort, String... arguments)
      throws IOException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("-Xmx512m");
    command.addAll(options);
    command.addAll(List.of("-cp", System.getProperty("java.class.path")));
    command.add(HostProcess.class.getName());
    command.addAll(List.of(arguments));
    Process process =
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    // It prints one line only, so nobody needs to read on.
    BufferedReader out = process.inputReader(StandardCharsets.UTF_8);
    String line = String.valueOf(out.readLine());
    if (!line.startsWith(READY)) {
      process.destroyForcibly();
      throw new IOException("A host did not start");
    }
    int port = Integer.parseInt(line.substring(READY.length()));
    return new HostProcess(process, port, clusterPort);
  }

  /** The CPU time that it has used so far. */
  Duration cpu() {
    return process
        .info()
        .totalCpuDuration()
        .orElseThrow(() -> new IllegalStateException("This system does not report CPU time"));
  }

  /** A connection of a client. */
  HttpTarget connect() {
    try {
      return new HttpTarget(port);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }
}
