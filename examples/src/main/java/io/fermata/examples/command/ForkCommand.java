package io.fermata.examples.command;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.examples.flows.Examples;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.ForkOrigin;
import io.fermata.flow.event.Place;
import io.fermata.flow.json.Json;
import io.fermata.flow.replay.ForkOptions;
import io.fermata.flow.replay.RunJournal;
import io.fermata.session.admin.Fork;
import java.io.PrintWriter;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Forks a run of a store, and prints its first reply. */
@Command(
    name = "fork",
    description = {
      "Starts a new run from an entry of another one and prints its first reply. Without --at it",
      "lists the entries. No server may have the store open."
    },
    mixinStandardHelpOptions = true,
    sortOptions = false)
final class ForkCommand implements Callable<Integer>, WhileServed {
  @Spec @Nullable CommandSpec command;

  @Parameters(
      paramLabel = "FLOW/RUN",
      converter = RunName.Converter.class,
      description = "A flow's id, and the runId that every reply carries.")
  RunName run = new RunName("", "");

  @Option(names = "--at", paramLabel = "N", description = "The entry after which it continues.")
  @Nullable Long at;

  @Option(
      names = "--mode",
      paramLabel = "MODE",
      description = {
        "sandbox (by default) performs no effects, replay_effects takes their results from the run",
        "until one asked for has none there, live performs them."
      })
  ForkOrigin.Mode mode = ForkOrigin.Mode.SANDBOX;

  @Option(
      names = "--answer",
      paramLabel = "FIELD=VALUE",
      description = "An answer that is changed, or given early; JSON or text. May be repeated.")
  Map<String, String> answers = new LinkedHashMap<>();

  @Option(
      names = "--newest-version",
      description = "Carries the fork over to the newest version of its flow.")
  boolean newest;

  @Option(
      names = "--by",
      paramLabel = "NAME",
      description = "Who forks, for the journal of the fork; by default the owner of the run.")
  @Nullable String by;

  @Mixin StoreOption store = new StoreOption();

  @Override
  public Integer call() {
    try (Examples examples = Examples.dormant(store.present())) {
      if (at == null) {
        list(ChatCommand.now(examples.host().journalWithSecrets(run.flow(), run.runId())));
      } else {
        print(ChatCommand.now(examples.host().fork(run.flow(), run.runId(), at, options())));
      }
    } catch (CompletionException e) {
      if (e.getCause() instanceof IllegalArgumentException unknown) {
        throw new UsageException(unknown.getMessage(), unknown);
      }
      throw e;
    }
    return 0;
  }

  private ForkOptions options() {
    ObjectNode values = Json.object();
    answers.forEach((field, value) -> values.set(field, ForkCommand.value(value)));
    ForkOptions options = ForkOptions.of(mode).answers(values);
    options = newest ? options.onNewestVersion() : options;
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

  private void print(Fork fork) {
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
