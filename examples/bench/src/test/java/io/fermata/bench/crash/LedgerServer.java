package io.fermata.bench.crash;

import io.fermata.flow.json.Limits;
import io.fermata.mcp.McpServer;
import io.fermata.mcp.settings.PrincipalLimits;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import io.fermata.session.admin.Settings;
import java.nio.file.Path;

/** The server that the harness kills: {@code FERMATA_STORE=<store> LedgerServer <effects file>}. */
public final class LedgerServer {
  /** A run of the harness has many more answers than one of a person. */
  private static final Limits LONG_RUNS = new Limits(4 * 1024 * 1024, 10_000_000, 200, 32);

  private LedgerServer() {}

  public static void main(String[] args) throws InterruptedException {
    Fermata host =
        Fermata.host()
            .store(Store.fromEnvironment().orElseThrow())
            .settings(Settings.DEFAULT.limits(LONG_RUNS))
            .flow(LedgerFlow.writingTo(Path.of(args[0])))
            .start();
    McpServer server =
        McpServer.serving(host)
            .port(0)
            .perPrincipal(PrincipalLimits.DEFAULT.callsPerSecond(Double.POSITIVE_INFINITY, 1))
            .start();
    System.out.println("ready " + server.port());
    Thread.currentThread().join();
  }
}
