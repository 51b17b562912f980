package io.fermata.cli;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.message.Message;
import io.fermata.agent.replay.ThreadJournal;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.ForkOrigin;
import io.fermata.flow.event.Place;
import io.fermata.flow.json.Json;
import io.fermata.flow.replay.ForkOptions;
import io.fermata.flow.replay.JournalEntry;
import io.fermata.flow.replay.RunJournal;
import io.fermata.session.ExportedJournal;
import io.fermata.session.Fermata;
import io.fermata.session.admin.Fork;
import io.fermata.session.admin.ThreadJson;
import io.fermata.session.admin.Threads;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Forks a run or a thread of a store or of an export, and prints where it comes to rest. */
@Command(
    name = "fork",
    description = {
      "Starts a new run from an entry of another one and prints its first reply, or a new thread",
      "and prints its view once it rests. Without --at or --before it lists the entries. What is",
      "forked is in the store, or in a file that export wrote for any store. No server may have",
      "the store open."
    },
    mixinStandardHelpOptions = true,
    sortOptions = false)
final class ForkCommand extends ConsoleCommand {
  /** How long a thread may take to rest. */
  private static final Duration REST = Duration.ofMinutes(2);

  @ArgGroup(multiplicity = "1")
  What what = new What();

  /** What is forked. */
  static final class What {
    @Parameters(
        paramLabel = "FLOW/RUN",
        converter = RunName.Converter.class,
        description = "A flow's id, and the runId that every reply carries.")
    @Nullable RunName run;

    @Option(names = "--thread", paramLabel = "ID", description = "The id of a thread.")
    @Nullable String thread;

    @Option(
        names = "--from",
        paramLabel = "FILE",
        description = "A run or a thread that was exported; it need not be in the store.")
    @Nullable Path export;
  }

  @ArgGroup(exclusive = false)
  @Nullable OfRun ofRun;

  /** What is otherwise in the fork of a run. */
  static final class OfRun {
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
        names = "--flow-version",
        paramLabel = "N",
        description = "Carries the fork over to this version of its flow.")
    @Nullable Integer version;
  }

  @ArgGroup(exclusive = false)
  @Nullable OfThread ofThread;

  /** What is otherwise in the fork of a thread. */
  static final class OfThread {
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
        "models; with replay_effects it has their replies until one is asked something else."
      })
  ForkOrigin.Mode mode = ForkOrigin.Mode.SANDBOX;

  @Option(
      names = "--owner",
      paramLabel = "NAME",
      description = {
        "With --from: the principal that the fork belongs to; by default local, who calls a server",
        "without keys. Without --from that is the owner of its source."
      })
  @Nullable String owner;

  @Option(
      names = "--by",
      paramLabel = "NAME",
      description = "Who forks, for the journal of the fork; by default the owner of the fork.")
  @Nullable String by;

  @Mixin StoreOption store = new StoreOption();

  @Override
  public Integer call() throws IOException {
    ExportedJournal export = null;
    if (what.export != null) {
      requireExport(what.export);
      export = ExportedJournal.read(what.export);
    }
    require(what.thread != null || export instanceof ExportedJournal.OfThread);
    if (export != null && lists()) {
      list(export);
      return 0;
    }
    try (Opened opened = dormant(export == null ? store.present() : store.store())) {
      Fermata host = opened.host();
      if (export != null) {
        fork(host, export, owner == null ? "local" : owner);
      } else if (what.thread != null) {
        fork(host, what.thread);
      } else if (what.run != null) {
        fork(host, what.run);
      }
    }
    return 0;
  }

  /** Requires options that go together. */
  private void require(boolean thread) {
    if (thread && ofRun != null) {
      throw wrong(
          "--answer, --newest-version and --flow-version are for runs, and this is a thread");
    } else if (!thread && ofThread != null) {
      throw wrong("--before, --message, --env and --agent are for threads, and this is a run");
    } else if (ofRun != null && ofRun.newest && ofRun.version != null) {
      throw wrong("--flow-version names the version; leave out --newest-version");
    } else if (at != null && ofThread != null && ofThread.before != null) {
      throw wrong("Use either --at or --before");
    } else if (owner != null && what.export == null) {
      throw wrong("--owner goes with --from; what is in the store keeps its owner");
    } else if (owner != null && owner.isBlank()) {
      throw wrong("--owner is blank; name the principal that the fork belongs to");
    }
  }

  private boolean lists() {
    return at == null && (ofThread == null || ofThread.before == null);
  }

  private void list(ExportedJournal export) {
    out().printf("%s: %s%n", what.export, export.signature().text());
    if (export instanceof ExportedJournal.OfThread thread) {
      list(thread.journal());
    } else if (export instanceof ExportedJournal.OfRun run) {
      list(run.journal());
    }
  }

  private void list(ThreadJournal journal) {
    try (Looked application = looked()) {
      println(journal.narrative(application.host().agents()));
    }
  }

  private void fork(Fermata host, ExportedJournal export, String principal) {
    out().printf("%s: %s%n", what.export, export.signature().text());
    if (export instanceof ExportedJournal.OfThread thread) {
      ThreadJournal journal = thread.journal();
      print(
          host, principal, journal.threadId(), now(host.threads().fork(principal, journal, how())));
    } else if (export instanceof ExportedJournal.OfRun run) {
      RunJournal journal = run.journal();
      print(
          new RunName(journal.flow(), journal.runId()),
          now(host.fork(journal, at == null ? 0 : at, principal, options())));
    }
  }

  private void fork(Fermata host, RunName run) {
    if (at == null) {
      list(now(host.journals().run(run.flow(), run.runId()).readWithSecrets()));
    } else {
      print(run, now(host.fork(run.flow(), run.runId(), at, options())));
    }
  }

  private ForkOptions options() {
    ForkOptions options = ForkOptions.of(mode);
    options = by == null ? options : options.by(by);
    if (ofRun == null) {
      return options;
    }
    ObjectNode values = Json.object();
    ofRun.answers.forEach((field, value) -> values.set(field, Chat.TypedAnswer.of(value)));
    options = options.answers(values);
    options = ofRun.newest ? options.onNewestVersion() : options;
    return ofRun.version == null ? options : options.onVersion(ofRun.version);
  }

  private void list(RunJournal journal) {
    for (JournalEntry<Event> entry : journal.entries()) {
      out()
          .printf(
              "%4s  %s  %s: %s%n",
              entry.seq(), Instant.ofEpochMilli(entry.at()), entry.cause(), last(entry.events()));
    }
    out().flush();
  }

  private static String last(List<Event> events) {
    if (events.isEmpty()) {
      return "encrypted with a key that is not there";
    }
    Event last = events.get(events.size() - 1);
    Place place = last.place();
    String what = last.getClass().getSimpleName().toLowerCase(Locale.ROOT);
    return place == null ? what : what + " " + place.node();
  }

  private void fork(Fermata host, String thread) {
    ThreadJournal journal = now(host.journals().thread(thread).readWithSecrets());
    if (lists()) {
      println(journal.narrative(host.agents().all()));
      return;
    }
    String principal = journal.upTo(1).state().begun().principal();
    print(host, principal, thread, now(host.threads().fork(principal, thread, how())));
  }

  private Threads.NewFork how() {
    OfThread otherwise = ofThread == null ? new OfThread() : ofThread;
    return new Threads.NewFork(
        mode,
        at,
        otherwise.before,
        otherwise.agent,
        otherwise.env,
        otherwise.message == null ? null : Message.user(otherwise.message),
        by);
  }

  private void print(Fermata host, String principal, String source, Threads.View fork) {
    Threads.View view = now(host.threads().settled(principal, fork.threadId(), REST));
    out().printf("%s is a fork of %s%n", view.threadId(), source);
    println(ThreadJson.view(view).toPrettyString());
  }

  private void print(RunName run, Fork fork) {
    String name = new RunName(fork.flow(), fork.runId()).toString();
    out().printf("%s is a fork of %s at entry %s%n", name, run, at);
    out().println(fork.reply().structured().toPrettyString());
    out().printf("It belongs to %s; its sessionId is %s%n", fork.principal(), fork.sessionId());
    out().flush();
  }

  @Override
  @Nullable String whileServed() {
    return store.copied("fork");
  }
}
