package io.fermata.cli;

import io.fermata.mcp.McpServer;
import io.fermata.mcp.McpServerBuilder;
import io.fermata.mcp.McpStdio;
import io.fermata.persistence.Store;
import io.fermata.session.HostBuilder;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Mixin;

/** Serves the application to the client that started this process. */
@Command(
    name = StdioCommand.NAME,
    description =
        "Serves the flows and agents over standard input and output, for a client that starts it.",
    mixinStandardHelpOptions = true)
final class StdioCommand extends ConsoleCommand {
  static final String NAME = "stdio";

  @Mixin StoreOption store = new StoreOption();

  @Mixin ApprovalOption approvals = new ApprovalOption();

  @Override
  public Integer call() throws InterruptedException {
    Store chosen = store.store();
    McpServerBuilder server = McpServer.plain();
    Opened opened =
        started(
            host -> {
              check(approvals.apply(introduced(server)), host);
              return host.store(chosen);
            });
    McpStdio stdio =
        orClose(
            opened,
            () ->
                server.host(opened.host()).runs(opened.host().runs()).stdio(System.in, System.out));
    opened
        .ending()
        .server(
            () -> {
              stdio.drain(Ending.GRACE);
              return Ending.GRACE;
            });
    AtomicInteger code = new AtomicInteger(ExitCode.OK);
    opened
        .host()
        .lost()
        .thenAccept(
            reason -> {
              code.set(Cli.explainLoss(reason, commandLine().getErr()));
              stdio.close();
            });
    stdio.awaitEnd();
    return code.get();
  }

  private void check(McpServerBuilder server, HostBuilder host) {
    Set<String> tools = explained(host::toolNames);
    try {
      explained(() -> server.checkStdio(tools));
    } catch (IllegalArgumentException e) {
      throw wrong(e);
    }
  }
}
