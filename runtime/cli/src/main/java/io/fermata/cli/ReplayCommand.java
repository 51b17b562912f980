package io.fermata.cli;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.Agent;
import io.fermata.flow.Flow;
import io.fermata.flow.picture.Picture;
import io.fermata.session.ExportedJournal;
import io.fermata.session.HostBuilder;
import io.fermata.session.WhatIf;
import io.fermata.session.WhatIfResult;
import io.fermata.session.admin.ArchiveException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.Period;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Decides recorded runs again. */
@Command(
    name = "replay",
    description = {
      "Decides runs and threads again with the flows and agents of this release, without their",
      "effects, and shows where it would decide otherwise. Without a FILE it looks at all runs and",
      "threads of the store, finished ones included as long as they are kept, and no server may",
      "have the store open."
    },
    mixinStandardHelpOptions = true,
    sortOptions = false,
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {
      "0:every run is decided as it was",
      "8:some run is decided otherwise",
      "9:none is, but some could not be read or not be compared to their end"
    })
final class ReplayCommand extends ConsoleCommand {
  @Parameters(
      paramLabel = "FILE",
      arity = "0..*",
      description = "Exported runs and threads; several may be given.")
  List<Path> files = new ArrayList<>();

  @Option(
      names = "--since",
      paramLabel = "SINCE",
      description = {
        "Only runs that have changed since then: how long ago, such as P30D or PT12H, a date such",
        "as 2026-11-01 (in UTC), or a moment such as 2026-11-01T08:00:00Z."
      })
  @Nullable String since;

  @Option(
      names = "--json",
      description = "Prints one JSON object: counts, changes, and an example of each kind.")
  boolean json;

  @Option(
      names = "--pictures",
      paramLabel = "DIR",
      description = {
        "Writes two pictures of each example into this directory: the way that was recorded, up to",
        "where the run parts from it, and the way that it would take."
      })
  @Nullable Path pictures;

  @Mixin StoreOption store = new StoreOption();

  @Override
  public Integer call() {
    Instant from = since == null ? null : moment(since);
    if (pictures != null) {
      createDirectory(pictures);
    }
    try (Looked release = looked()) {
      WhatIf whatIf = explained(() -> WhatIf.of(release.host())).since(from);
      WhatIfResult result =
          files.isEmpty()
              ? whatIf.over(store.present())
              : whatIf.over(exports(release.host()).iterator());
      report(result);
      if (result.otherwise() > 0) {
        return Cli.DECIDED_OTHERWISE;
      }
      return result.complete() ? 0 : Cli.NOT_ALL_DECIDED;
    }
  }

  private Instant moment(String text) {
    try {
      // What milliseconds cannot count is no time either.
      return Instant.ofEpochMilli(parsed(text).toEpochMilli());
    } catch (DateTimeException | ArithmeticException e) {
      throw wrong(
          "%s is no time; use how long ago, such as P30D or PT12H, a date such as 2026-11-01, or a moment such as 2026-11-01T08:00:00Z"
              .formatted(text));
    }
  }

  private static Instant parsed(String text) {
    if (text.startsWith("P")) {
      int time = text.indexOf('T');
      Period days =
          time == 1 ? Period.ZERO : Period.parse(time < 0 ? text : text.substring(0, time));
      Duration rest = time < 0 ? Duration.ZERO : Duration.parse("P" + text.substring(time));
      return ZonedDateTime.now(ZoneOffset.UTC).minus(days).minus(rest).toInstant();
    }
    return text.contains("T")
        ? Instant.parse(text)
        : LocalDate.parse(text).atStartOfDay(ZoneOffset.UTC).toInstant();
  }

  /** The exports, each read when it is its turn. */
  private Stream<ExportedJournal> exports(HostBuilder host) {
    Set<String> known = host.flows().stream().map(Flow::id).collect(Collectors.toSet());
    List<Agent> agents = host.agents();
    files.forEach(ConsoleCommand::requireExport);
    return files.stream()
        .map(
            file -> {
              ExportedJournal exported = read(file);
              if (exported instanceof ExportedJournal.OfRun run
                  && !known.contains(run.journal().flow())) {
                throw unknown(file, "flow", run.journal().flow());
              } else if (exported instanceof ExportedJournal.OfThread thread
                  && agents.stream().noneMatch(a -> a.name().equals(thread.journal().agent()))) {
                throw unknown(file, "agent", thread.journal().agent());
              }
              return exported;
            });
  }

  private static UnusableException unknown(Path file, String kind, String name) {
    return new UnusableException(
        "%s: this release has no %s %s; leave the file out, or add the %s"
            .formatted(file, kind, name, kind));
  }

  private static ExportedJournal read(Path file) {
    try {
      ExportedJournal exported = ExportedJournal.read(file);
      exported.requireWhole();
      return exported;
    } catch (IllegalStateException | ArchiveException e) {
      throw new UnusableException(file + ": " + e.getMessage(), e);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Prints the report, even if its pictures cannot be written. */
  private void report(WhatIfResult result) {
    ObjectNode all = result.json();
    StringBuilder drawn = new StringBuilder();
    try {
      if (pictures != null) {
        draw(result.examples(), pictures, all, drawn);
      }
    } finally {
      String paths = drawn.isEmpty() ? "" : "%nPictures, recorded and now:%n%s".formatted(drawn);
      print(json ? all.toPrettyString() + System.lineSeparator() : result.text() + paths);
    }
  }

  /** Adds the paths of what it draws to the report. */
  private static void draw(
      List<WhatIfResult.Example> examples, Path directory, ObjectNode all, StringBuilder drawn) {
    for (int i = 0; i < examples.size(); i++) {
      WhatIfResult.Example example = examples.get(i);
      Picture was = example.recorded();
      Picture is = example.now();
      if (was == null || is == null) {
        continue;
      }
      String name = (example.flow() + "-" + example.node()).replaceAll("[^A-Za-z0-9_-]", "-");
      Path recorded = directory.resolve(i + 1 + "-" + name + "-recorded.svg");
      Path now = directory.resolve(i + 1 + "-" + name + "-now.svg");
      try {
        Files.writeString(recorded, was.svg());
        Files.writeString(now, is.svg());
      } catch (IOException e) {
        throw unusable(directory, e);
      }
      ObjectNode shown = (ObjectNode) all.path("examples").get(i);
      shown.putObject("pictures").put("recorded", recorded.toString()).put("now", now.toString());
      drawn.append("%s, %s%n".formatted(recorded, now));
    }
  }

  /** Before the runs are decided again, which takes its time. */
  private static void createDirectory(Path directory) {
    try {
      Files.createDirectories(directory);
      if (!Files.isWritable(directory)) {
        throw new AccessDeniedException(directory.toString());
      }
    } catch (IOException e) {
      throw unusable(directory, e);
    }
  }

  private static UnusableException unusable(Path directory, IOException e) {
    String why = e instanceof FileSystemException known ? known.getReason() : e.getMessage();
    return new UnusableException(
        "%s cannot take the pictures: %s; name another directory with --pictures"
            .formatted(directory, why == null ? "it is no directory that can be written" : why),
        e);
  }

  @Override
  @Nullable String whileServed() {
    return store.copied("replay");
  }
}
