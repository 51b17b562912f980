package io.fermata.mcp;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;

import io.fermata.agent.FlowTool;
import io.fermata.flow.Flow;
import io.fermata.flow.FlowBuilder;
import io.fermata.flow.action.StepException;
import io.fermata.flow.event.Verdict;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import io.fermata.session.admin.Settings;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.UUID;

/**
 * A host whose runs work until a file exists, and then ask; also as a separate process, to be
 * killed.
 */
public final class TaskServer {
  record Order(String dish, String sauce) {}

  /** A value that no form can ask for. */
  record Parcel(List<String> things) {}

  private final Path directory;

  public TaskServer(Path directory) {
    this.directory = directory;
  }

  /**
   * Serves at a port that it prints, or over the standard streams if that is the third argument.
   */
  public static void main(String[] args) throws Exception {
    Fermata host = new TaskServer(Path.of(args[0])).host(Duration.ofSeconds(25));
    if (args.length > 1) {
      McpServer.serving(host).stdio(System.in, System.out).awaitEnd();
      host.close();
    } else {
      System.out.println(McpServer.serving(host).port(0).start().port());
    }
  }

  public Fermata host(Duration deadline) {
    return Fermata.host()
        .store(Store.sqlite(directory.resolve("tasks.db")))
        .flow(cook("cook").longRunning().compile())
        .flow(cook("slow").compile())
        .flow(parcel())
        .job(FlowTool.of("job", "Cooks.", cook("job").longRunning().compile()))
        .job(FlowTool.of("strict", "Cooks as a task alone.", cook("strict").onlyAsTask().compile()))
        .settings(Settings.DEFAULT.callDeadline(deadline))
        .start();
  }

  /** Lets the working runs continue. */
  public void release() throws Exception {
    Files.writeString(directory.resolve("gate"), "open");
  }

  public boolean undone() {
    return Files.exists(directory.resolve("undone"));
  }

  /** How many times something was heated. */
  public int heated() {
    return directory.toFile().list((folder, name) -> name.startsWith("heated-")).length;
  }

  private FlowBuilder<Order> cook(String id) {
    return Flow.of(id, Order.class)
        .description("Cooks.")
        .act(
            "heat",
            run -> {
              Files.writeString(directory.resolve("heated-" + UUID.randomUUID()), "once");
              while (!Files.exists(directory.resolve("gate"))) {
                Thread.sleep(20);
              }
            })
        .compensate("heat", run -> Files.writeString(directory.resolve("undone"), "cold"))
        .ask(
            "ask_dish",
            q ->
                q.question("dish", "Which dish?")
                    .question("sauce", "Which sauce?", o -> o.validate(TaskServer::tasted)))
        .act(
            "serve",
            run -> {
              if (run.state().dish().equals("stone")) {
                throw new StepException("Nobody can cook that.");
              }
            })
        .edge(START, "heat")
        .edge("heat", "ask_dish")
        .edge("ask_dish", "serve")
        .edge("serve", END)
        .result(state -> state.dish() + " with " + state.sauce());
  }

  private static Verdict tasted(String sauce) {
    return sauce.equals("sour") ? Verdict.reject("Too sour.") : Verdict.accept();
  }

  private Flow<Parcel> parcel() {
    return Flow.of("parcel", Parcel.class)
        .description("Packs.")
        .longRunning()
        .act("fold", run -> Thread.sleep(50))
        .ask("ask_things", q -> q.question("things", "What goes in?"))
        .edge(START, "fold")
        .edge("fold", "ask_things")
        .edge("ask_things", END)
        .result(state -> state.things().size())
        .compile();
  }
}
