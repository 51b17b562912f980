package io.fermata.examples.command;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.message.Message;
import io.fermata.agent.replay.ThreadJournal;
import io.fermata.examples.flows.Examples;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.ForkOrigin;
import io.fermata.flow.event.Place;
import io.fermata.flow.json.Json;
import io.fermata.flow.replay.ForkOptions;
import io.fermata.flow.replay.RunJournal;
import io.fermata.session.Fermata;
import io.fermata.session.admin.Fork;
import io.fermata.session.admin.ThreadJson;
import io.fermata.session.admin.Threads;
import java.io.PrintWriter;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Forks a run or a thread of a store, and prints where it comes to rest. */
@Command(
    name = "fork",
    description = {
      "Starts a new run from an entry of another one and prints its first reply, or a new thread",
      "and prints its view once it rests. Without --at or --before it lists the entries. No server",
      "may have the store open."
    },
    mixinStandardHelpOptions = true,
    sortOptions = false)
final class ForkCommand implements Callable<Integer>, WhileServed {
  @Spec @Nullable CommandSpec command;

  /** How long a thread may take to rest. */
  private static final Duration REST = Duration.ofMinutes(2);

  @ArgGroup(multiplicity = "1")
  What what = new What();

  /** What is forked. */
  static final class What {
    @ArgGroup(exclusive = false)
    @Nullable OfRun run;

    @ArgGroup(exclusive = false)
    @Nullable OfThread thread;
  }

  /** A run, and what is otherwise in its fork. */
  static final class OfRun {
    @Parameters(
        paramLabel = "FLOW/RUN",
        converter = RunName.Converter.class,
        description = "A flow's id, and the runId that every reply carries.")
    RunName name = new RunName("", "");

    @Option(
        names = "--answer",
        paramLabel = "FIELD=VALUE",
        description = "An answer that is changed, or given early; JSON or text. May be repeated.")
    Map<String, String> answers = new LinkedHashMap<>();

    @Option(
        names = "--newest-version",
        description = "Carries the fork over to the newest version of its flow.")
    boolean newest;
  }

  /** A thread, and what is otherwise in its fork. */
  static final class OfThread {
    @Option(
        names = "--thread",
        paramLabel = "ID",
        required = true,
        description = "The id of a thread.")
    String id = "";

    @Option(
        names = "--before",
        paramLabel = "MESSAGE",
        description = "The id of the message before which it continues, instead of --at.")
    @Nullable String before;

    @Option(
        names = "--message",
        paramLabel = "TEXT",
        description = "A message of the user that is posted to the fork.")
    @Nullable String message;

    @Option(
        names = "--env",
        paramLabel = "NAME=VALUE",
        description = "A variable of its environment that is changed. May be repeated.")
    Map<String, String> env = new LinkedHashMap<>();

    @Option(
        names = "--agent",
        paramLabel = "NAME",
        description = "The agent that acts from there on, instead of the one that acted.")
    @Nullable String agent;
  }

  @Option(names = "--at", paramLabel = "N", description = "The entry after which it continues.")
  @Nullable Long at;

  @Option(
      names = "--mode",
      paramLabel = "MODE",
      description = {
        "sandbox (by default) performs no effects, replay_effects takes their results from the run",
        "until one asked for has none there, live performs them. A thread in a sandbox asks its",
        "models; replay_effects is for runs only."
      })
  ForkOrigin.Mode mode = ForkOrigin.Mode.SANDBOX;

  @Option(
      names = "--by",
      paramLabel = "NAME",
      description = "Who forks, for the journal of the fork; by default the owner of its source.")
  @Nullable String by;

  @Mixin StoreOption store = new StoreOption();

  @Override
  public Integer call() {
    OfRun run = what.run;
    OfThread thread = what.thread;
    try (Examples examples = Examples.dormant(store.present())) {
      if (thread != null) {
        fork(examples.host(), thread);
      } else if (run != null) {
        fork(examples.host(), run);
      }
    } catch (CompletionException e) {
      if (e.getCause() instanceof IllegalArgumentException unknown) {
        throw new UsageException(unknown.getMessage(), unknown);
      }
      throw e;
    }
    return 0;
  }

  private void fork(Fermata host, OfRun run) {
    RunName name = run.name;
    if (at == null) {
      list(ChatCommand.now(host.journalWithSecrets(name.flow(), name.runId())));
    } else {
      print(name, ChatCommand.now(host.fork(name.flow(), name.runId(), at, options(run))));
    }
  }

  private ForkOptions options(OfRun run) {
    ObjectNode values = Json.object();
    run.answers.forEach((field, value) -> values.set(field, ForkCommand.value(value)));
    ForkOptions options = ForkOptions.of(mode).answers(values);
    options = run.newest ? options.onNewestVersion() : options;
    return by == null ? options : options.by(by);
  }

  private static JsonNode value(String text) {
    try {
      return Json.MAPPER.readTree(text);
    } catch (JsonProcessingException e) {
      return Json.tree(text);
    }
  }

  private void list(RunJournal journal) {
    for (RunJournal.Entry entry : journal.entries()) {
      String by = entry.principal() == null ? entry.by() : entry.by() + " " + entry.principal();
      out()
          .printf(
              "%4d  %s  %s: %s%n",
              entry.seq(), Instant.ofEpochMilli(entry.at()), by, last(entry.events()));
    }
    out().flush();
  }

  private static String last(List<Event> events) {
    Event last = events.get(events.size() - 1);
    Place place = last.place();
    String what = last.getClass().getSimpleName().toLowerCase(Locale.ROOT);
    return place == null ? what : what + " " + place.node();
  }

  private void fork(Fermata host, OfThread thread) {
    if (mode == ForkOrigin.Mode.REPLAY_EFFECTS) {
      throw new UsageException("A thread is forked with --mode sandbox or live");
    } else if (at != null && thread.before != null) {
      throw new UsageException("Use either --at or --before");
    }
    ThreadJournal journal = ChatCommand.now(host.threadJournalWithSecrets(thread.id));
    if (at == null && thread.before == null) {
      out().println(journal.narrative(host.agents().all()));
      out().flush();
      return;
    }
    String owner = journal.upTo(1).state().begun().principal();
    Threads.NewFork how =
        new Threads.NewFork(
            mode,
            at,
            thread.before,
            thread.agent,
            thread.env,
            thread.message == null ? null : Message.user(thread.message),
            by);
    Threads.View fork = ChatCommand.now(host.threads().fork(owner, thread.id, how));
    Threads.View view = ChatCommand.now(host.threads().settled(owner, fork.threadId(), REST));
    out().printf("%s is a fork of %s%n", view.threadId(), thread.id);
    out().println(ThreadJson.view(view).toPrettyString());
    out().flush();
  }

  private void print(RunName run, Fork fork) {
    String name = new RunName(fork.flow(), fork.runId()).toString();
    out().printf("%s is a fork of %s at entry %d%n", name, run, at);
    out().println(fork.reply().structured().toPrettyString());
    out().printf("It belongs to %s; its sessionId is %s%n", fork.principal(), fork.sessionId());
    out().flush();
  }

  private PrintWriter out() {
    if (command == null) {
      throw new IllegalStateException("The command is run by picocli only");
    }
    return command.commandLine().getOut();
  }

  @Override
  public String whileServed() {
    return WhileServed.copied("fork");
  }
}
