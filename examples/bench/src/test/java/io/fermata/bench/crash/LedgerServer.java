package io.fermata.bench.crash;

import io.fermata.flow.json.Limits;
import io.fermata.mcp.McpServer;
import io.fermata.mcp.settings.PrincipalLimits;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import io.fermata.session.HostBuilder;
import io.fermata.session.admin.ClusterSettings;
import io.fermata.session.admin.Settings;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * The server that the harnesses kill: {@code FERMATA_STORE=<store> LedgerServer <effects file>
 * <port> [<port among the hosts of the cluster>]}. It ends as {@code serve} does.
 */
public final class LedgerServer {
  /** It ended because it was no host of its cluster or its store any more. */
  static final int LOST = 7;

  /** A run of the harness has many more answers than one of a person. */
  private static final Limits LONG_RUNS = new Limits(4 * 1024 * 1024, 10_000_000, 200, 32);

  private static final long DRAIN_NANOS = TimeUnit.SECONDS.toNanos(20);
  private static final long CLOSE_NANOS = TimeUnit.SECONDS.toNanos(1);

  private LedgerServer() {}

  public static void main(String[] args) {
    HostBuilder builder =
        Fermata.host()
            .store(Store.fromEnvironment().orElseThrow())
            .settings(Settings.DEFAULT.limits(LONG_RUNS).unfinishedRuns(1_000_000))
            .flow(LedgerFlow.writingTo(Path.of(args[0])));
    if (args.length > 2) {
      builder.cluster(ClusterSettings.LOCAL.port(Integer.parseInt(args[2])));
    }
    // A host that nobody can call would keep the process alive.
    try (Fermata host = builder.start()) {
      serve(host, Integer.parseInt(args[1]));
    }
  }

  private static void serve(Fermata host, int port) {
    McpServer server =
        McpServer.serving(host)
            .port(port)
            .perPrincipal(PrincipalLimits.DEFAULT.callsPerSecond(Double.POSITIVE_INFINITY, 1))
            .start();
    CompletableFuture<String> lost = host.lost().toCompletableFuture();
    Runtime.getRuntime()
        .addShutdownHook(
            new Thread(
                () -> {
                  long end = System.nanoTime() + (lost.isDone() ? 0 : DRAIN_NANOS);
                  server.drain(left(end));
                  host.close(left(end + CLOSE_NANOS));
                }));
    System.out.println("ready " + server.port());
    System.err.println("This server ends: " + lost.join());
    System.exit(LOST);
  }

  private static Duration left(long end) {
    return Duration.ofNanos(Math.max(0, end - System.nanoTime()));
  }
}
