package io.fermata.examples.flows;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;

import io.fermata.flow.Flow;
import io.fermata.flow.schema.Computed;
import io.fermata.flow.schema.Describe;
import io.fermata.mcp.McpServer;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import java.nio.file.Path;
import java.time.Duration;

/**
 * A whole application in one class: a flow with a slow step, a host, a server, and a graceful
 * shutdown when the process is terminated.
 */
public final class Kitchen {
  record Soup(
      @Describe("For how many seconds it cooks") @Min(0) @Max(60) Integer seconds,
      @Computed String served) {}

  private Kitchen() {}

  /** Cooks for the given number of seconds. */
  public static Flow<?> soup() {
    return Flow.of("soup", Soup.class)
        .title("Soup")
        .description("Cooks a soup.")
        .ask("ask_seconds", q -> q.question("seconds", "For how many seconds?"))
        .act(
            "cook",
            run -> {
              System.err.println("cooking");
              Thread.sleep(Duration.ofSeconds(run.state().seconds()).toMillis());
              run.set("served", "at attempt " + run.attempt());
            })
        .edge(START, "ask_seconds")
        .edge("ask_seconds", "cook")
        .edge("cook", END)
        .result(Soup::served)
        .compile();
  }

  /**
   * Serves it.
   *
   * @param args the file of the store, the port, and how many seconds calls in flight may take at
   *     shutdown
   */
  public static void main(String[] args) throws InterruptedException {
    Duration timeout = Duration.ofSeconds(Integer.parseInt(args[2]));
    // If the port is taken, the host is closed, and the process ends.
    try (Fermata host = Fermata.host().store(Store.sqlite(Path.of(args[0]))).flow(soup()).start();
        McpServer server = McpServer.serving(host).port(Integer.parseInt(args[1])).start()) {
      Runtime.getRuntime()
          .addShutdownHook(
              new Thread(
                  () -> {
                    server.drain(timeout);
                    host.close(timeout);
                  }));
      System.out.println("Soup is served at " + server.endpoint());
      Thread.currentThread().join();
    }
  }
}
