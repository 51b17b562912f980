package io.fermata.bench;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.http.HttpClient;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToDoubleFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Compares the cost of a call of a no-op tool with the server of the MCP SDK for Java. It takes
 * minutes and an idle machine, so it is run by name only.
 */
class SdkComparison {
  private static final HttpClient HTTP = HttpClient.newHttpClient();
  private static final Duration WARM_UP = Duration.ofSeconds(Integer.getInteger("warmup", 20));
  private static final Duration WINDOW = Duration.ofSeconds(Integer.getInteger("seconds", 6));
  private static final int ROUNDS = Integer.getInteger("rounds", 5);

  /** The allowed fraction of what the SDK's server needs. */
  private static final double AT_MOST = 0.8;

  /** A window of load, and its cost for the server. */
  private record Window(Wrk load, double cpuMicros) {}

  /** A call that is repeated on one server, and its measurements. */
  private record Contender(
      String name, ServerJvm server, Path script, PlainRequest request, List<Window> windows) {
    Window run(Duration length) throws Exception {
      requireRight();
      Duration before = server.cpu();
      Wrk load = Wrk.run(server.endpoint(), script, length);
      Duration took = server.cpu().minus(before);
      requireRight();
      return new Window(load, took.toNanos() / 1e3 / load.calls());
    }

    /** wrk checks the status only. */
    private void requireRight() throws Exception {
      HttpResponse<String> answer =
          HTTP.send(request.to(server.endpoint()), BodyHandlers.ofString());
      assertThat(PlainRequest.text(answer)).as(answer.body()).isEqualTo(PlainServer.DONE);
      assertThat(answer.body().contains("resultType")).isEqualTo(request.modern());
    }

    double median(ToDoubleFunction<Window> what) {
      double[] sorted = windows.stream().mapToDouble(what).sorted().toArray();
      return (sorted[(sorted.length - 1) / 2] + sorted[sorted.length / 2]) / 2;
    }

    void print() {
      System.out.printf(
          "%-10s %9.0f %8.1f %8.2f %8.2f   %s%n",
          name,
          median(it -> it.load().perSecond()),
          median(Window::cpuMicros),
          median(it -> it.load().p50Millis()),
          median(it -> it.load().p99Millis()),
          String.join(" ", windows.stream().map(it -> "%.1f".formatted(it.cpuMicros())).toList()));
    }
  }

  @TempDir Path folder;

  private Contender contender(ServerJvm server, String tool, String revision) throws Exception {
    PlainRequest request = PlainRequest.of(tool, revision);
    Path script = folder.resolve(tool + ".lua");
    Wrk.script(script, request);
    return new Contender(tool, server, script, request, new ArrayList<>());
  }

  @Test
  void aCallCostsAtMostFourFifthsOfWhatItCostsTheSdk() throws Exception {
    try (ServerJvm plain = started(PlainServer.class);
        ServerJvm sdk = started(SdkServer.class)) {
      Contender yardstick = contender(sdk, SdkServer.TOOL, PlainRequest.LEGACY);
      List<Contender> all =
          List.of(
              yardstick,
              contender(plain, PlainServer.AT_ONCE, PlainRequest.MODERN),
              contender(plain, PlainServer.ASYNC, PlainRequest.MODERN),
              contender(plain, PlainServer.BLOCKING, PlainRequest.MODERN));
      for (Contender each : all) {
        each.run(WARM_UP);
      }
      for (int round = 0; round < ROUNDS; round++) {
        for (Contender each : all) {
          each.windows().add(each.run(WINDOW));
        }
      }
      System.out.printf("%-10s %9s %8s %8s %8s%n", "", "calls/s", "CPU µs", "p50 ms", "p99 ms");
      all.forEach(Contender::print);
      double most = AT_MOST * yardstick.median(Window::cpuMicros);
      assertThat(all.subList(1, all.size()))
          .allSatisfy(
              it -> assertThat(it.median(Window::cpuMicros)).as(it.name()).isLessThan(most));
    }
  }

  private ServerJvm started(Class<?> main) throws Exception {
    return ServerJvm.start(main, Files.createDirectory(folder.resolve(main.getSimpleName())));
  }
}
