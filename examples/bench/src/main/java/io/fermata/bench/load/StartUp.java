package io.fermata.bench.load;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * Measures how long a server of the examples takes from the start of its process to the reply to
 * its first call, on a SQLite file that does not exist yet. The commands take turns.
 */
@Command(
    name = "startup",
    mixinStandardHelpOptions = true,
    description = "Measures from the start of a server to the reply to its first call.")
public final class StartUp implements Callable<Integer> {
  private static final Pattern ENDPOINT = Pattern.compile("at (http://\\S+/mcp)");

  @Option(
      names = "--server",
      required = true,
      paramLabel = "NAME=COMMAND",
      description = "How a server is started, up to the name of its jar. Repeat it to compare.")
  private Map<String, String> servers = new LinkedHashMap<>();

  @Option(
      names = "--rounds",
      defaultValue = "7",
      description = "Starts of each that count, after one that does not.")
  private int rounds;

  private final PrintStream out = System.out;

  private record Start(double seconds, double cpuSeconds) {}

  @Override
  public Integer call() throws IOException, InterruptedException {
    Map<String, List<Start>> starts = new LinkedHashMap<>();
    for (int round = 0; round <= rounds; round++) {
      for (Map.Entry<String, String> server : servers.entrySet()) {
        Start start = start(server.getValue());
        if (round > 0) {
          starts.computeIfAbsent(server.getKey(), first -> new ArrayList<>()).add(start);
        }
      }
    }
    out.printf("%-24s %12s %12s   medians of %d%n", "server", "seconds", "of CPU", rounds);
    starts.forEach(
        (name, all) ->
            out.printf(
                Locale.ROOT,
                "%-24s %12.2f %12.2f%n",
                name,
                median(all.stream().mapToDouble(Start::seconds).toArray()),
                median(all.stream().mapToDouble(Start::cpuSeconds).toArray())));
    return 0;
  }

  private static double median(double[] values) {
    Arrays.sort(values);
    return (values[(values.length - 1) / 2] + values[values.length / 2]) / 2;
  }

  private static Start start(String command) throws IOException, InterruptedException {
    Path folder = Files.createTempDirectory("startup");
    Path file = folder.resolve("start.db");
    List<String> words = new ArrayList<>(List.of(command.trim().split("\\s+")));
    words.addAll(List.of("serve", "--port", "0", "--store", "sqlite:" + file));
    long began = System.nanoTime();
    Process process =
        new ProcessBuilder(words).redirectError(folder.resolve("stderr").toFile()).start();
    try (HttpTarget client = new HttpTarget(port(process, folder))) {
      ObjectNode start = Json.object().put("action", "start").put("intent", "wants a quote");
      client.call("quote", start, Json.object());
      double seconds = (System.nanoTime() - began) / 1e9;
      Duration cpu =
          process
              .info()
              .totalCpuDuration()
              .orElseThrow(() -> new IOException("This system does not report CPU time"));
      return new Start(seconds, cpu.toMillis() / 1e3);
    } finally {
      process.destroyForcibly().waitFor();
      delete(folder);
    }
  }

  private static int port(Process process, Path folder) throws IOException {
    BufferedReader lines = process.inputReader(StandardCharsets.UTF_8);
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      Matcher endpoint = ENDPOINT.matcher(line);
      if (endpoint.find()) {
        return URI.create(endpoint.group(1)).getPort();
      }
    }
    throw new IOException(
        "The server did not start: " + Files.readString(folder.resolve("stderr")));
  }

  private static void delete(Path folder) throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      for (Path each : files.toList()) {
        Files.delete(each);
      }
    }
    Files.delete(folder);
  }
}
