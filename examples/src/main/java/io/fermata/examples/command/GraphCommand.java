package io.fermata.examples.command;

import io.fermata.examples.flows.Examples;
import io.fermata.examples.flows.Restaurant;
import io.fermata.examples.flows.TravelAgency;
import io.fermata.flow.Flow;
import io.fermata.flow.SecretFields;
import io.fermata.flow.json.Nearest;
import io.fermata.flow.observe.Recorder;
import io.fermata.flow.picture.Picture;
import io.fermata.flow.record.Redaction;
import io.fermata.flow.record.RunPicture;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletionException;
import java.util.stream.Collectors;
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
  @Parameters(paramLabel = "FLOW", description = "The flow's id: quote, table or trip.")
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
    try (Restaurant restaurant = Restaurant.open()) {
      List<Flow<?>> flows = Examples.flows(restaurant, new TravelAgency());
      Flow<?> flow =
          flows.stream()
              .filter(f -> f.id().equals(id))
              .findFirst()
              .orElseThrow(() -> wrong(unknown(flows)));
      requireFields(flow);
      Picture picture = run == null ? flow.picture() : drawn(flow, run);
      print(svg ? picture.svg() : picture.mermaid());
    }
    return 0;
  }

  /** A mistyped field would show values that should be hidden. */
  private void requireFields(Flow<?> flow) {
    Set<String> known = flow.fieldPaths();
    for (String path : redacted) {
      if (!path.contains("**") && known.stream().noneMatch(field -> related(path, field))) {
        String next =
            Nearest.to(path, known)
                .map(near -> "did you mean " + near + "?")
                .orElse("its fields are " + String.join(", ", known));
        throw wrong("The flow %s has no field %s; %s".formatted(flow.id(), path, next));
      }
    }
  }

  /** Whether one of them is or contains the other. */
  private static boolean related(String path, String field) {
    return !path.isBlank()
        && (SecretFields.of(path).names(field) || SecretFields.of(field).names(path));
  }

  @Override
  String whileServed() {
    return copied("graph --run");
  }

  private Picture drawn(Flow<?> flow, String runId) {
    RunPicture drawn = new RunPicture(flow);
    Recorder recorder =
        redacted.isEmpty() ? drawn : Redaction.of(redacted.toArray(String[]::new)).over(drawn);
    try (Examples examples = Examples.dormant(store.present())) {
      examples
          .host()
          .journals()
          .run(flow.id(), runId)
          .replay(recorder)
          .toCompletableFuture()
          .join();
    } catch (CompletionException e) {
      if (e.getCause() instanceof IllegalArgumentException unknown) {
        throw new UsageException(unknown.getMessage(), unknown);
      }
      throw e;
    }
    return drawn.picture();
  }

  private String unknown(List<Flow<?>> flows) {
    String known = flows.stream().map(Flow::id).collect(Collectors.joining(", "));
    return "There is no flow " + id + "; choose one of " + known;
  }
}
