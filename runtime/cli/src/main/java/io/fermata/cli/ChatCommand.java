package io.fermata.cli;

import io.fermata.agent.Agent;
import io.fermata.agent.Agents;
import io.fermata.persistence.Store;
import io.fermata.session.HostBuilder;
import io.fermata.session.admin.ThreadException;
import io.fermata.session.admin.Threads;
import io.fermata.session.key.HostError;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.Charset;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Talks with an agent in the terminal, through a separate host. */
@Command(
    name = "chat",
    description = {
      "Talks with an agent in the terminal.",
      "It can be killed at any time; --thread continues where it was."
    },
    mixinStandardHelpOptions = true,
    sortOptions = false)
final class ChatCommand extends ConsoleCommand {
  /** The principal of HTTP callers without a key, so that both see the same threads. */
  private static final String PRINCIPAL = "local";

  @Parameters(paramLabel = "AGENT", description = "The agent's name.")
  String agent = "";

  @Option(
      names = "--thread",
      paramLabel = "ID",
      description = "The thread to continue; the chat prints its id.")
  @Nullable String thread;

  @Mixin StoreOption store = new StoreOption();

  @Override
  public Integer call() throws IOException {
    Store chosen = store.store();
    try (Opened opened = started(host -> withAgent(host.store(chosen)))) {
      Threads threads = opened.host().threads();
      String id = opened(threads);
      BufferedReader in =
          new BufferedReader(new InputStreamReader(System.in, Charset.defaultCharset()));
      try (Chat chat = Chat.open(threads, PRINCIPAL, id, in, out())) {
        chat.run();
      }
      println("To continue: chat " + agent + " --thread " + id);
    }
    return 0;
  }

  private HostBuilder withAgent(HostBuilder host) {
    List<String> known = host.agents().stream().map(Agent::name).toList();
    if (!known.contains(agent)) {
      throw wrong(Agents.unknown(agent, known));
    }
    return host;
  }

  private String opened(Threads threads) {
    if (thread == null) {
      return now(threads.create(
              new Threads.NewThread(PRINCIPAL, agent, null, Set.of(), Map.of(), List.of())))
          .threadId();
    }
    try {
      return now(threads.get(PRINCIPAL, thread)).threadId();
    } catch (CompletionException e) {
      if (e.getCause() instanceof ThreadException unknown && unknown.is(HostError.UNKNOWN_THREAD)) {
        throw new UnusableException(
            "There is no thread %s in this store; omit --thread to create one".formatted(thread),
            unknown);
      }
      throw e;
    }
  }
}
