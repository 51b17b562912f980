package io.fermata.examples;

import io.fermata.mcp.McpServer;
import io.fermata.mcp.McpStdio;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** Serves the examples to the client that started this process. */
@Command(
    name = "stdio",
    description =
        "Serves the examples over standard input and output, for a client that starts it.",
    mixinStandardHelpOptions = true)
final class StdioCommand implements Callable<Integer> {
  @Mixin StoreOption store = new StoreOption();

  @Mixin DeskOptions desk = new DeskOptions();

  @Override
  public Integer call() throws InterruptedException {
    Examples examples = Examples.start(store.store(), desk.desk());
    Thread close = new Thread(examples::close, "fermata-close");
    Runtime.getRuntime().addShutdownHook(close);
    McpStdio stdio =
        McpServer.serving(examples.host())
            .name("fermata-examples")
            .version(Main.version())
            .stdio(System.in, System.out);
    stdio.awaitEnd();
    return 0;
  }
}
