package io.fermata.session.runs;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.ForkOrigin;
import io.fermata.flow.event.Phase;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.PlaceState;
import io.fermata.flow.event.RunState;
import io.fermata.flow.json.Json;
import io.fermata.persistence.directory.DirectoryEntry;
import io.fermata.persistence.directory.DirectoryQuery;
import io.fermata.session.admin.RunInfo;
import io.fermata.session.admin.RunJson;
import io.fermata.session.admin.RunQuery;
import io.fermata.session.call.OutcomeJson;
import io.fermata.session.journal.Entry;
import io.fermata.session.key.SessionKey;
import java.time.Instant;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The directory entry of a run: its state at an entry of its session's journal. Pure.
 *
 * @param origin the owner of the session; null if unknown
 * @param seq the sequence number of the entry
 */
public record RunRow(String flow, RunState run, Entry.@Nullable Owner origin, long seq) {
  public static final String KIND = "run";

  /** A fork in a sandbox: it is in no list of runs unless that is asked for. */
  static final String SANDBOX = "sandbox";

  static final List<String> KINDS = List.of(KIND, SANDBOX);

  private static final String VERSION = "version";
  private static final String WAITS = "waits";
  private static final String SESSION = "session";
  private static final String PRINCIPAL = "principal";
  private static final String FORK = "fork";

  /** The limit of the directory for an attribute. */
  private static final int LONGEST_ATTRIBUTE = 1_024;

  /** Replaces the character with the code 0, which the directory refuses. */
  private static final char REPLACEMENT = '\uFFFD';

  /** The statuses of runs that have not ended. */
  static final Set<RunInfo.Status> LIVE =
      EnumSet.of(RunInfo.Status.WORKING, RunInfo.Status.WAITING, RunInfo.Status.STOPPED);

  /** The name of a run in the directory, as a part of its session's journal. */
  public static String id(String flow, String runId) {
    return flow + "|" + runId;
  }

  String id() {
    return id(flow, run.runId());
  }

  /** The session of a run, from the run's name in the directory. */
  static String session(String id) {
    int bar = id.indexOf('|');
    return SessionKey.entityOf(id.substring(0, bar), id.substring(bar + 1));
  }

  // --- into the directory ----------------------------------------------------------------------

  DirectoryEntry entry() {
    String principal = origin == null ? "" : origin.principal();
    String session = origin == null ? "" : SessionKey.named(origin.session());
    Map<String, String> attributes = new TreeMap<>();
    attributes.put(VERSION, Integer.toString(run.version()));
    List<RunInfo.Wait> waits = waits(run);
    if (!waits.isEmpty()) {
      attributes.put(WAITS, written(waits));
    }
    RunState.Fork fork = run.fork();
    if (fork != null) {
      attributes.put(FORK, Json.text(RunJson.fork(fork.origin())));
    }
    keepName(attributes, SESSION, session);
    keepName(attributes, PRINCIPAL, principal);
    return new DirectoryEntry(
            id(),
            run.sandboxed() ? SANDBOX : KIND,
            SessionKey.lookup(principal),
            flow,
            seq,
            run.startedAt(),
            run.changedAt(),
            Set.copyOf(run.tags()),
            attributes)
        .in(SessionKey.lookup(session), RunJson.name(status(run)), run.since());
  }

  /** A name that the directory does not take, of which it gets a digest to look it up by. */
  private static void keepName(Map<String, String> attributes, String attribute, String name) {
    if (!SessionKey.lookup(name).equals(name)) {
      String shown = name.substring(0, Math.min(name.length(), LONGEST_ATTRIBUTE));
      attributes.put(attribute, shown.replace('\0', REPLACEMENT));
    }
  }

  private static RunInfo.Status status(RunState run) {
    return switch (run.status()) {
      case NONE, RUNNING -> liveStatus(run);
      case COMPLETED -> RunInfo.Status.COMPLETED;
      case FAILED -> RunInfo.Status.FAILED;
      case CANCELLED -> RunInfo.Status.CANCELLED;
      case ABANDONED -> RunInfo.Status.ABANDONED;
      case EXPIRED -> RunInfo.Status.EXPIRED;
    };
  }

  private static RunInfo.Status liveStatus(RunState run) {
    if (run.works()) {
      return RunInfo.Status.WORKING;
    }
    boolean stopped =
        run.places().values().stream().anyMatch(at -> at.phase() instanceof Phase.Halted);
    return stopped ? RunInfo.Status.STOPPED : RunInfo.Status.WAITING;
  }

  private static List<RunInfo.Wait> waits(RunState run) {
    List<RunInfo.Wait> waits = new ArrayList<>();
    run.places().forEach((place, at) -> waits(waits, place, at));
    return waits;
  }

  private static void waits(List<RunInfo.Wait> waits, Place place, PlaceState at) {
    String step = place.node();
    if (at.phase() instanceof Phase.Asking) {
      at.open().stream()
          .map(Event.Question::field)
          .forEach(field -> waits.add(new RunInfo.Wait(step, RunInfo.Wait.Kind.ANSWER, field)));
    } else if (at.phase() instanceof Phase.Showing showing) {
      String tool = showing.widget().tool();
      waits.add(new RunInfo.Wait(step, RunInfo.Wait.Kind.WIDGET, tool));
    } else if (at.phase() instanceof Phase.Awaiting awaiting) {
      waits.add(new RunInfo.Wait(step, RunInfo.Wait.Kind.SIGNAL, awaiting.signal()));
    } else if (at.phase() instanceof Phase.Sleeping sleeping) {
      String until = OutcomeJson.time(sleeping.until());
      waits.add(new RunInfo.Wait(step, RunInfo.Wait.Kind.TIME, until));
    } else if (at.phase() instanceof Phase.Halted halted) {
      String code = halted.code().wireName();
      waits.add(new RunInfo.Wait(step, RunInfo.Wait.Kind.REPAIR, code));
    }
  }

  /** As many as fit. */
  private static String written(List<RunInfo.Wait> waits) {
    ArrayNode list = JsonNodeFactory.instance.arrayNode();
    for (RunInfo.Wait wait : waits) {
      list.addArray().add(wait.step()).add(RunJson.name(wait.kind())).add(wait.what());
      if (Json.text(list).length() > LONGEST_ATTRIBUTE) {
        list.remove(list.size() - 1);
        break;
      }
    }
    return Json.text(list);
  }

  // --- out of it -------------------------------------------------------------------------------

  static RunInfo info(DirectoryEntry entry) {
    Map<String, String> attributes = entry.attributes();
    String id = entry.persistenceId();
    return new RunInfo(
        id.substring(id.indexOf('|') + 1),
        entry.name(),
        Integer.parseInt(attributes.getOrDefault(VERSION, "0")),
        Objects.requireNonNullElse(attributes.get(PRINCIPAL), entry.principal()),
        Objects.requireNonNullElse(attributes.get(SESSION), entry.session()),
        RunInfo.Status.valueOf(entry.statusName().toUpperCase(Locale.ROOT)),
        new RunInfo.Times(entry.createdAt(), entry.activeAt(), entry.since()),
        read(attributes.get(WAITS)),
        entry.tags().stream().sorted().toList(),
        fork(entry.name(), attributes.get(FORK)));
  }

  private static @Nullable ForkOrigin fork(String flow, @Nullable String written) {
    if (written == null) {
      return null;
    }
    JsonNode origin = Json.parse(written);
    return new ForkOrigin(
        flow,
        origin.path("runId").asText(),
        origin.path("entry").asLong(),
        Instant.parse(origin.path("entryAt").asText()).toEpochMilli(),
        ForkOrigin.Mode.valueOf(origin.path("mode").asText().toUpperCase(Locale.ROOT)),
        origin.path("by").asText());
  }

  private static List<RunInfo.Wait> read(@Nullable String written) {
    List<RunInfo.Wait> waits = new ArrayList<>();
    if (written != null) {
      for (JsonNode wait : Json.parse(written)) {
        RunInfo.Wait.Kind kind =
            RunInfo.Wait.Kind.valueOf(wait.path(1).asText().toUpperCase(Locale.ROOT));
        waits.add(new RunInfo.Wait(wait.path(0).asText(), kind, wait.path(2).asText()));
      }
    }
    return waits;
  }

  static DirectoryQuery query(RunQuery wanted) {
    boolean longest = wanted.order() == RunQuery.Order.LONGEST;
    Set<RunInfo.Status> statuses =
        longest && wanted.statuses().isEmpty() ? LIVE : wanted.statuses();
    DirectoryQuery query =
        DirectoryQuery.of(wanted.sandboxed() ? SANDBOX : KIND)
            .statuses(statuses.stream().map(RunJson::name).collect(Collectors.toSet()))
            .tagged(wanted.tags().toArray(String[]::new))
            .orderedBy(longest ? DirectoryQuery.Order.STATUS : DirectoryQuery.Order.CREATION);
    Integer version = wanted.version();
    return wanted
        .others()
        .apply(version == null ? query : query.having(VERSION, version.toString()));
  }
}
