package io.fermata.bench;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.http.HttpClient;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Measures 2,000 concurrent calls that sleep for a second each: how long they take, and how many
 * threads the server uses. It is run by name only.
 */
class SleepingCalls {
  private static final int FEW = 200;
  private static final int MANY = 2_000;

  private static final HttpClient HTTP =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  @TempDir Path folder;

  private static String one(ServerJvm server, String tool) throws Exception {
    PlainRequest request = PlainRequest.of(tool, PlainRequest.MODERN);
    return PlainRequest.text(HTTP.send(request.to(server.endpoint()), BodyHandlers.ofString()));
  }

  /** The maximum number of threads while this many calls were in flight. */
  private static int threads(ServerJvm server, String tool, int calls) throws Exception {
    one(server, PlainServer.THREADS);
    PlainRequest request = PlainRequest.of(tool, PlainRequest.MODERN);
    long begun = System.nanoTime();
    List<CompletableFuture<HttpResponse<String>>> answers =
        Stream.generate(
                () -> HTTP.sendAsync(request.to(server.endpoint()), BodyHandlers.ofString()))
            .limit(calls)
            .toList();
    assertThat(answers)
        .allSatisfy(it -> assertThat(PlainRequest.text(it.join())).isEqualTo(PlainServer.DONE));
    double seconds = (System.nanoTime() - begun) / 1e9;
    int threads = Integer.parseInt(one(server, PlainServer.THREADS));
    System.out.printf("%-18s %5d calls %6.2f s %4d threads%n", tool, calls, seconds, threads);
    return threads;
  }

  @ParameterizedTest
  @ValueSource(strings = {PlainServer.SLEEPING_ASYNC, PlainServer.SLEEPING_BLOCKING})
  void allAreAnsweredAndThreadsStayFlat(String tool) throws Exception {
    try (ServerJvm server = ServerJvm.start(PlainServer.class, folder)) {
      int few = threads(server, tool, FEW);

      assertThat(threads(server, tool, MANY)).isLessThan(few + 10);
    }
  }
}
