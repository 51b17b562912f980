package io.fermata.mcp.rest;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.mcp.catalog.Desk;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A server that shuts down while requests about threads are in flight. */
@Timeout(60)
@Tag("slow")
class DrainedThreadsTest {
  private static final Duration LONG = Duration.ofSeconds(40);

  private Desk desk;
  private String thread;

  @BeforeEach
  void start(@TempDir Path folder) {
    desk = new Desk(folder.resolve("desk.db"));
    thread = desk.alice().thread();
  }

  @AfterEach
  void stop() {
    desk.gate.release(10);
    desk.close();
  }

  private CompletableFuture<Desk.Said> working() throws InterruptedException {
    CompletableFuture<Desk.Said> posted =
        CompletableFuture.supplyAsync(
            () -> desk.alice().post(thread + "/messages?wait=50", "{\"content\":\"work\"}"));
    while (!desk.alice().get(thread).body().path("status").asText().equals("working")) {
      Thread.sleep(20);
    }
    return posted;
  }

  @Test
  void aRequestInFlightIsAnsweredAndNewOnesAreRefusedMeanwhile() throws Exception {
    CompletableFuture<Desk.Said> posted = working();

    CompletableFuture<Void> drained = CompletableFuture.runAsync(() -> desk.server().drain(LONG));
    while (desk.alice().get(thread).status() == 200) {
      Thread.sleep(20);
    }
    // Longer than open connections are given once nothing is in flight.
    Thread.sleep(6_000);
    assertThat(drained).isNotDone();
    desk.gate.release();

    JsonNode outcome = posted.get().is(200).body();
    assertThat(Desk.contents(outcome.path("messages"))).contains("Worked.");
    drained.get();
  }

  @Test
  void aRequestThatWaitsLongerIsHandedBackAndItsMessageIsKept() throws Exception {
    CompletableFuture<Desk.Said> posted = working();

    desk.server().drain(Duration.ofMillis(50));

    assertThat(posted.get().is(202).body().path("messageId").asText()).isNotEmpty();
  }

  @Test
  void aStreamOfEventsEndsAndDelaysNothing() {
    try (Desk.Listening listening = desk.alice().listen(thread + "/events?after=now")) {
      long began = System.nanoTime();

      desk.server().drain(LONG);

      assertThat(listening.upTo("closed")).isEmpty();
      assertThat(Duration.ofNanos(System.nanoTime() - began)).isLessThan(LONG.dividedBy(2));
    }
  }
}
