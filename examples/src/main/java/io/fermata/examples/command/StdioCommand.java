package io.fermata.examples.command;

import io.fermata.examples.flows.DeskOptions;
import io.fermata.examples.flows.Examples;
import io.fermata.mcp.McpServer;
import io.fermata.mcp.McpStdio;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Mixin;

/** Serves the examples to the client that started this process. */
@Command(
    name = StdioCommand.NAME,
    description =
        "Serves the examples over standard input and output, for a client that starts it.",
    mixinStandardHelpOptions = true)
final class StdioCommand extends ConsoleCommand {
  static final String NAME = "stdio";

  /** Clients that start a process do not wait long for its end. */
  private static final Duration GRACE = Duration.ofSeconds(3);

  @Mixin StoreOption store = new StoreOption();

  @Mixin ApprovalOption approvals = new ApprovalOption();

  @Mixin DeskOptions desk = new DeskOptions();

  @Override
  public Integer call() throws InterruptedException {
    Examples examples = Examples.start(store.store(), desk.desk());
    McpStdio stdio =
        approvals
            .apply(McpServer.serving(examples.host()))
            .name("fermata-examples")
            .version(Commands.version())
            .stdio(System.in, System.out);
    Runtime.getRuntime()
        .addShutdownHook(
            new Thread(
                () -> {
                  stdio.drain(GRACE);
                  examples.close(GRACE);
                },
                "fermata-close"));
    AtomicInteger code = new AtomicInteger(ExitCode.OK);
    examples
        .host()
        .lost()
        .thenAccept(
            reason -> {
              code.set(Commands.explainLoss(reason, commandLine().getErr()));
              stdio.close();
            });
    stdio.awaitEnd();
    return code.get();
  }
}
