package io.fermata.cli;

import io.fermata.flow.Flow;
import io.fermata.flow.SecretFields;
import io.fermata.flow.event.Event;
import io.fermata.flow.json.Nearest;
import io.fermata.flow.observe.Observation;
import io.fermata.flow.observe.Occurrence;
import io.fermata.flow.observe.Recorder;
import io.fermata.flow.picture.Picture;
import io.fermata.flow.record.Redaction;
import io.fermata.flow.record.RunPicture;
import io.fermata.session.StoredRun;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.NavigableMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Draws a flow, or a run on it. */
@Command(
    name = "graph",
    description =
        "Prints a picture of a flow, or of a run on it: a Mermaid flowchart, or an SVG image.",
    mixinStandardHelpOptions = true,
    sortOptions = false)
final class GraphCommand extends ConsoleCommand {
  @Parameters(paramLabel = "FLOW", description = "The flow's id.")
  String id = "";

  @Option(names = "--svg", description = "An SVG image instead of a Mermaid flowchart.")
  boolean svg;

  @Option(
      names = "--run",
      paramLabel = "RUN",
      description = {
        "A run of the flow in the store: the runId that every reply carries.",
        "No server may have the store open."
      })
  @Nullable String run;

  @Option(
      names = "--redact",
      paramLabel = "FIELD",
      description = "A field of the run whose values are hidden. May be repeated.")
  List<String> redacted = new ArrayList<>();

  @Mixin StoreOption store = new StoreOption();

  @Override
  public Integer call() {
    try (Looked application = looked()) {
      List<Flow<?>> versions =
          application.host().flows().stream().filter(flow -> flow.id().equals(id)).toList();
      if (versions.isEmpty()) {
        throw wrong(unknown(application.host().flows()));
      }
      Picture picture = run == null ? plain(versions) : drawn(application, versions, run);
      print(svg ? picture.svg() : picture.mermaid());
    }
    return 0;
  }

  private Picture plain(List<Flow<?>> versions) {
    requireFields(versions, List.of());
    return Collections.max(versions, Comparator.comparingInt(Flow::version)).picture();
  }

  /** A mistyped field would show values that should be hidden. */
  private void requireFields(List<Flow<?>> versions, Iterable<Event> journal) {
    for (String path : redacted) {
      String misnamed = SecretFields.misnamed(path, versions, journal);
      if (misnamed != null) {
        throw wrong(misnamed);
      }
    }
  }

  @Override
  @Nullable String whileServed() {
    return store.copied("graph --run");
  }

  /** Draws a run on the version of the flow that it was on last. */
  private Picture drawn(Looked application, List<Flow<?>> versions, String runId) {
    LastVersion last = new LastVersion();
    List<Recorder> recorders = new ArrayList<>(List.of(last));
    NavigableMap<Integer, RunPicture> pictures = new TreeMap<>();
    for (Flow<?> flow : versions) {
      RunPicture picture = new RunPicture(flow);
      pictures.put(flow.version(), picture);
      recorders.add(
          redacted.isEmpty()
              ? picture
              : Redaction.of(redacted.toArray(String[]::new)).over(picture));
    }
    try (Opened opened = application.dormant(store.present())) {
      StoredRun journal = opened.host().journals().run(id, runId);
      requireFields(versions, () -> now(journal.readWithSecrets()).events().iterator());
      now(journal.replay(recorders.toArray(Recorder[]::new)));
    }
    return pictures.getOrDefault(last.version, pictures.lastEntry().getValue()).picture();
  }

  /** The version of a flow that a run was on last. */
  private static final class LastVersion implements Recorder {
    private int version;

    @Override
    public void onRunStart(Occurrence at, Observation.RunStart event) {
      version = event.version();
    }

    @Override
    public void onMigrated(Occurrence at, Event.Migrated event) {
      version = event.to();
    }
  }

  private String unknown(List<Flow<?>> flows) {
    List<String> known = flows.stream().map(Flow::id).distinct().toList();
    return "There is no flow %s; %s".formatted(id, Nearest.next(id, known, "there are "));
  }
}
