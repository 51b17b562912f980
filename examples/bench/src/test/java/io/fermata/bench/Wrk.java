package io.fermata.bench;

import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.stream.Collectors;

/** One window of load by wrk: one thread, 32 persistent connections. */
record Wrk(long calls, double perSecond, double p50Millis, double p99Millis) {
  private static final String SUMMED_UP =
      """
      done = function(summary, latency, requests)
        local e = summary.errors
        io.write(string.format("%d %d %d %d %d\\n", summary.requests, summary.duration,
          latency:percentile(50), latency:percentile(99),
          e.connect + e.read + e.write + e.status + e.timeout))
      end
      """;

  /** Writes the request as a script for wrk. */
  static void script(Path file, PlainRequest request) throws IOException {
    String each =
        request.headers().entrySet().stream()
            .map(it -> "wrk.headers[ [[%s]] ] = [[%s]]\n".formatted(it.getKey(), it.getValue()))
            .collect(Collectors.joining());
    Files.writeString(
        file,
        "wrk.method = \"POST\"\n%swrk.body = [==[%s]==]\n".formatted(each, request.body())
            + SUMMED_UP);
  }

  static Wrk run(URI endpoint, Path script, Duration length) throws Exception {
    ProcessBuilder command =
        new ProcessBuilder(
            "wrk",
            "-t1",
            "-c32",
            "-d" + length.toSeconds() + "s",
            "-s",
            script.toString(),
            endpoint.toString());
    Process process;
    try {
      process = command.redirectErrorStream(true).start();
    } catch (IOException e) {
      throw new AssertionError("This needs wrk: install it, as with apt-get install wrk", e);
    }
    String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    if (process.waitFor() != 0) {
      throw new AssertionError("wrk failed: " + said);
    }
    String[] sums = said.strip().substring(said.strip().lastIndexOf('\n') + 1).split(" ", -1);
    if (sums.length != 5 || !sums[4].equals("0")) {
      throw new AssertionError("Not every call was answered well: " + said);
    }
    long calls = Long.parseLong(sums[0]);
    return new Wrk(
        calls,
        calls * 1e6 / Long.parseLong(sums[1]),
        Long.parseLong(sums[2]) / 1e3,
        Long.parseLong(sums[3]) / 1e3);
  }
}
