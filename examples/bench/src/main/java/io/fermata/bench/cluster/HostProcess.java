package io.fermata.bench.cluster;

import io.fermata.bench.load.HttpTarget;
import io.fermata.bench.load.LoadHarness;
import io.fermata.bench.load.Workload;
import io.fermata.mcp.McpServer;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import io.fermata.session.HostBuilder;
import io.fermata.session.admin.ClusterSettings;
import io.fermata.session.admin.Settings;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.lang.management.ManagementFactory;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/**
 * A host of the workloads in a process of its own, which {@link #main} runs there.
 *
 * @param out what it prints
 * @param port where clients call it
 * @param clusterPort where the other hosts of its cluster reach it; 0 if it belongs to none
 */
public record HostProcess(Process process, BufferedReader out, int port, int clusterPort)
    implements AutoCloseable {
  private static final String READY = "ready ";
  private static final String NAPS = "naps";
  private static final String HEAP = "heap";

  /**
   * Serves at any port: {@code <store> [<port among the hosts of the cluster>]}, and replies to
   * each line that it reads.
   */
  public static void main(String[] args) throws IOException {
    HostBuilder builder =
        Fermata.host()
            .store(Store.parse(args[0]))
            .settings(Settings.DEFAULT.unfinishedRuns(Integer.MAX_VALUE))
            .flow(Workload.pure())
            .flow(Workload.journaled())
            .flow(Naps.flow());
    if (args.length > 1) {
      builder.cluster(ClusterSettings.LOCAL.port(Integer.parseInt(args[1])));
    }
    McpServer server =
        McpServer.serving(builder.start()).port(0).perPrincipal(LoadHarness.UNLIMITED).start();
    System.out.println(READY + server.port());
    BufferedReader in =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      System.out.println(line.equals(HEAP) ? heapInUse() : joined(Naps.late()));
    }
    // The harness has ended.
    System.exit(0);
  }

  private static long heapInUse() {
    System.gc();
    return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
  }

  private static String joined(long[] numbers) {
    return Arrays.stream(numbers).mapToObj(Long::toString).collect(Collectors.joining(" "));
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
    BufferedReader out = process.inputReader(StandardCharsets.UTF_8);
    String line = String.valueOf(out.readLine());
    if (!line.startsWith(READY)) {
      process.destroyForcibly();
      throw new IOException("A host did not start");
    }
    int port = Integer.parseInt(line.substring(READY.length()));
    return new HostProcess(process, out, port, clusterPort);
  }

  /** The CPU time that it has used so far. */
  Duration cpu() {
    return process
        .info()
        .totalCpuDuration()
        .orElseThrow(() -> new IllegalStateException("This system does not report CPU time"));
  }

  /** By how many milliseconds the naps were too long that ended since the last call. */
  long[] naps() throws IOException {
    String reply = reply(NAPS);
    return reply.isEmpty()
        ? new long[0]
        : Arrays.stream(reply.split(" ")).mapToLong(Long::parseLong).toArray();
  }

  /** The bytes of its heap that are used after a collection. */
  long heap() throws IOException {
    return Long.parseLong(reply(HEAP));
  }

  private String reply(String line) throws IOException {
    Writer in = process.outputWriter(StandardCharsets.UTF_8);
    in.write(line + "\n");
    in.flush();
    String reply = out.readLine();
    if (reply == null) {
      throw new IOException("The host has ended");
    }
    return reply;
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
