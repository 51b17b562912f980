package io.fermata.session.archive;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.agent.Agent;
import io.fermata.agent.Offered;
import io.fermata.agent.replay.ThreadJournal;
import io.fermata.agent.replay.ThreadReplay;
import io.fermata.agent.replay.ThreadSecrets;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadFork;
import io.fermata.flow.Flow;
import io.fermata.flow.SecretFields;
import io.fermata.flow.Secrets;
import io.fermata.flow.engine.FlowVersions;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.ForkOrigin;
import io.fermata.flow.json.Limits;
import io.fermata.flow.record.FactValues;
import io.fermata.flow.replay.Divergence;
import io.fermata.flow.replay.Inventions;
import io.fermata.flow.replay.JournalEntry;
import io.fermata.flow.replay.Replay;
import io.fermata.flow.replay.RunJournal;
import io.fermata.session.admin.RecordingException;
import io.fermata.session.admin.Scrubbing;
import io.fermata.session.call.FlowCatalog;
import io.fermata.session.journal.Encryption;
import io.fermata.session.journal.Entry;
import io.fermata.session.key.ThreadKey;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.OutputStream;
import java.io.OutputStreamWriter;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Runs and threads as tests to be kept with the code: exports in clear, with invented values in
 * place of secret ones, and with other ids. Only what is decided again is in them, and entries are
 * numbered from 1.
 */
public final class Recordings {
  /** How often other values are invented, as those before were decided otherwise. */
  private static final int ATTEMPTS = 30;

  private Recordings() {}

  /**
   * Where a journal is decided otherwise, or no longer compared.
   *
   * @param entry up to which entry it is decided as it was
   * @param index up to which event of it
   * @param compared whether it is otherwise there, and not only unknown
   */
  private record Otherwise(
      String text, String textWithSecrets, long entry, int index, boolean compared) {
    static @Nullable Otherwise of(Replay again) {
      Divergence of = again.divergence();
      if (of != null) {
        return new Otherwise(of.text(), of.textWithSecrets(), of.entry().seq(), of.index(), true);
      }
      Replay.Uncompared rest = again.uncompared();
      return rest == null ? null : new Otherwise(rest.text(), rest.text(), rest.entry(), 0, false);
    }

    /** What is asked makes no difference: a recording has what is asked now. */
    static @Nullable Otherwise of(ThreadReplay again) {
      return again.divergences().stream()
          .filter(each -> !each.ofRequest())
          .map(
              each ->
                  new Otherwise(
                      each.text(), each.textWithSecrets(), each.entry().seq(), each.index(), true))
          .findFirst()
          .orElse(null);
    }

    boolean isFurtherThan(Otherwise other) {
      return entry > other.entry || (entry == other.entry && index > other.index);
    }
  }

  /**
   * A recording that was tried.
   *
   * @param otherwise where it is decided otherwise; null if nowhere
   */
  private record Tried(List<String> lines, Inventions inventions, @Nullable Otherwise otherwise) {
    /** This one, or another that is decided as it was up to a later event. */
    Tried further(Tried other) {
      return otherwise != null
              && (other.otherwise == null || other.otherwise.isFurtherThan(otherwise))
          ? other
          : this;
    }
  }

  /** The lines of a run's recording. */
  public static List<String> ofRun(
      FlowCatalog catalog, Limits limits, Scrubbing scrubbing, RunJournal journal) {
    Flow<?> flow =
        FlowVersions.deciding(catalog.flows(), journal.flow(), journal.state()).orElseThrow();
    requireFields(catalog, scrubbing, journal);
    SecretFields marked = catalog.secretFields(journal.flow());
    SecretFields fields =
        scrubbing.fields().isEmpty()
            ? marked
            : marked.and(SecretFields.of(scrubbing.fields().toArray(String[]::new)));
    return chosen(
        inventions -> run(flow, limits, fields, journal, inventions),
        () -> Otherwise.of(Replay.of(flow, limits, journal)),
        scrubbing);
  }

  private static void requireFields(FlowCatalog catalog, Scrubbing scrubbing, RunJournal journal) {
    List<Flow<?>> versions =
        catalog.flows().stream().filter(flow -> flow.id().equals(journal.flow())).toList();
    for (String path : scrubbing.fields()) {
      String misnamed = SecretFields.misnamed(path, versions, journal.events());
      if (misnamed != null) {
        throw new IllegalArgumentException(misnamed);
      }
    }
  }

  private static Tried run(
      Flow<?> flow, Limits limits, SecretFields fields, RunJournal journal, Inventions inventions) {
    inventions.choosing(flow);
    journal.events().forEach(event -> Secrets.find(fields, event, inventions::add));
    FactValues.Replacement replacement =
        new FactValues.Replacement() {
          @Override
          public String text(String text) {
            return inventions.text(text);
          }

          @Override
          public JsonNode value(@Nullable String path, JsonNode value) {
            return path == null ? inventions.tree(value) : inventions.tree(fields, path, value);
          }
        };
    Callers callers = new Callers();
    List<Entry<Event>> entries = new ArrayList<>();
    for (JournalEntry<Event> entry : journal.entries()) {
      callers.add(
          entries,
          entry,
          entry.events().stream()
              .map(event -> callers.in(FactValues.replaced(event, replacement)))
              .toList());
    }
    List<String> lines =
        RecordedIds.ofRun(journal.runId())
            .in(Archive.lines(Archive.Header.ofRun(journal.flow(), journal.runId()), entries));
    Replay again = Replay.of(flow, limits, read(lines).run());
    return new Tried(lines, inventions, Otherwise.of(again));
  }

  /** The lines of a thread's recording. */
  public static List<String> ofThread(
      FlowCatalog catalog, Collection<Agent> agents, Scrubbing scrubbing, ThreadJournal journal) {
    List<Flow<?>> flows = catalog.flows();
    requireNames(scrubbing, journal);
    return chosen(
        inventions -> thread(flows, agents, scrubbing, journal, inventions),
        () -> Otherwise.of(ThreadReplay.of(agents, flows, journal)),
        scrubbing);
  }

  private static void requireNames(Scrubbing scrubbing, ThreadJournal journal) {
    for (String name : scrubbing.fields()) {
      ThreadSecrets secrets = ThreadSecrets.of(List.of()).and(List.of(name));
      if (journal.events().stream().noneMatch(secrets::replaces)) {
        throw new IllegalArgumentException(
            "Nothing in the thread has the name %s; check it, or leave it out".formatted(name));
      }
    }
  }

  private static Tried thread(
      List<Flow<?>> flows,
      Collection<Agent> agents,
      Scrubbing scrubbing,
      ThreadJournal journal,
      Inventions inventions) {
    agents.forEach(
        agent ->
            agent
                .offered(Offered.class)
                .forEach(offered -> inventions.choosing(offered.arguments().json())));
    flows.forEach(inventions::choosing);
    ThreadSecrets secrets = ThreadSecrets.of(agents, flows).and(scrubbing.fields());
    journal.events().forEach(event -> secrets.find(event, inventions::add));
    Callers callers = new Callers();
    List<Entry<ThreadEvent>> entries = new ArrayList<>();
    for (JournalEntry<ThreadEvent> entry : journal.entries()) {
      callers.add(
          entries,
          entry,
          entry.events().stream()
              .map(event -> callers.in(secrets.replaced(event, inventions)))
              .toList());
    }
    ThreadKey key = ThreadKey.require(journal.threadId());
    List<String> lines =
        RecordedRequests.in(
            RecordedIds.ofThread(key).in(Archive.lines(Archive.Header.ofThread(key), entries)),
            agents,
            flows);
    ThreadReplay again = ThreadReplay.of(agents, flows, read(lines).thread());
    return new Tried(lines, inventions, Otherwise.of(again));
  }

  private interface Original {
    @Nullable Otherwise otherwise();
  }

  /** The first recording that is decided as it was. */
  private static List<String> chosen(
      Function<Inventions, Tried> recording, Original original, Scrubbing scrubbing) {
    Tried best = recording.apply(new Inventions(0, true));
    Otherwise before = best.otherwise() == null ? null : original.otherwise();
    for (int seed = 0; seed < ATTEMPTS && best.otherwise() != null && before == null; seed++) {
      for (boolean words : List.of(true, false)) {
        best = best.further(recording.apply(new Inventions(seed, words)));
      }
    }
    Otherwise otherwise = best.otherwise();
    if (otherwise == null || scrubbing.anyway()) {
      return best.lines();
    }
    throw new RecordingException(
        before == null
            ? "Nothing was recorded, as its test would fail: with invented values it is decided"
                + " otherwise. "
                + best.inventions().masked(otherwise.textWithSecrets())
                + "\nMark what is derived from a secret value as secret, too, or write the"
                + " recording anyway and put in values by hand that do as well."
            : "Nothing was recorded, as its test would fail: this release %s. %s"
                .formatted(
                    before.compared() ? "decides it otherwise already" : "cannot continue it",
                    before.text()));
  }

  /** As the test will read it. */
  static Exported read(List<String> lines) {
    return Exported.read(
        String.join("\n", lines).getBytes(StandardCharsets.UTF_8), Encryption.NONE);
  }

  /** Writes a recording. Returns the number of its entries. */
  public static long write(List<String> lines, OutputStream to) {
    try {
      Writer writer = new BufferedWriter(new OutputStreamWriter(to, StandardCharsets.UTF_8));
      for (String line : lines) {
        writer.write(line);
        writer.write('\n');
      }
      writer.flush();
      return lines.size() - 2L;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Names for those who called, which say nothing about them. */
  private static final class Callers {
    private final Map<String, String> names = new HashMap<>();

    private String name(String principal) {
      return names.computeIfAbsent(
          principal, p -> names.isEmpty() ? "user" : "user-" + (names.size() + 1));
    }

    /** Adds an entry with the next number. */
    <E> void add(List<Entry<E>> entries, JournalEntry<E> read, List<E> events) {
      String principal = read.principal() == null ? null : name(read.principal());
      long seq = entries.size() + 1L;
      entries.add(Entry.of(new JournalEntry<>(seq, read.at(), read.by(), principal, events)));
    }

    ThreadEvent in(ThreadEvent event) {
      if (event instanceof ThreadEvent.Created e) {
        return new ThreadEvent.Created(
            e.threadId(),
            e.agent(),
            name(e.principal()),
            e.tags(),
            e.env(),
            e.parent(),
            e.window(),
            e.at());
      } else if (event instanceof ThreadEvent.CallAnswered e && e.by() != null) {
        return new ThreadEvent.CallAnswered(
            e.call(), e.answerId(), e.approved(), e.answers(), e.reason(), name(e.by()), e.at());
      } else if (event instanceof ThreadEvent.ForkedFrom e) {
        ThreadFork fork = e.fork();
        return new ThreadEvent.ForkedFrom(
            new ThreadFork(
                fork.threadId(), fork.entry(), fork.entryAt(), fork.mode(), named(fork.by())),
            e.agent(),
            e.window(),
            null, // no replay performs anything, and they have what the source's entries have
            e.at());
      }
      return event;
    }

    Event in(Event event) {
      if (event instanceof Event.ForkedFrom e) {
        ForkOrigin origin = e.origin();
        return new Event.ForkedFrom(
            new ForkOrigin(
                origin.flow(),
                origin.runId(),
                origin.entry(),
                origin.entryAt(),
                origin.mode(),
                named(origin.by())),
            e.recorded(),
            e.at());
      }
      return event;
    }

    private String named(String by) {
      return by.isEmpty() ? by : name(by);
    }
  }
}
