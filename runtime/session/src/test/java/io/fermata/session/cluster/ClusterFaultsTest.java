package io.fermata.session.cluster;

import static java.util.Comparator.comparingInt;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.persistence.spi.Shard;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What happens to the hosts of a cluster. */
@Tag("slow")
@Tag("faults")
@Timeout(900)
final class ClusterFaultsTest extends FaultyCluster {

  @Test
  void nothingIsLostWhenHostsAreKilled() throws Exception {
    for (int i = 0; i < 3; i++) {
      start();
    }
    talkDuring(
        () -> {
          for (int i = 0; i < 2 * rounds(); i++) {
            members.get(random.nextInt(members.size())).kill();
            start();
            talkOn();
          }
        });
  }

  @Test
  void theLastHostContinuesWhenTheOneThatHadRemovedAnotherIsKilledRightAfterwards()
      throws Exception {
    for (int i = 0; i < 3; i++) {
      start();
    }
    talkDuring(
        () -> {
          List<Member> byPort = members.stream().sorted(comparingInt(Member::port)).toList();
          Member deciding = byPort.get(0);
          byPort.get(2).kill();
          byPort.get(1).awaitMembers(2);
          deciding.kill();
          assertThat(members).hasSize(1);
        });
    assertThat(members.get(0).lost).isNotDone();
  }

  @Test
  void theSessionsOfAHostThatWasKilledDoNotWaitForWhatAPartitionMust() throws Exception {
    List<String> never = List.of("-D" + ClusterProcess.STABLE_AFTER + "=3600");
    for (int i = 0; i < 3; i++) {
      start(database, never);
    }
    talkDuring(
        () -> {
          // The last one is the oldest then, which places the shards.
          for (Member victim : List.of(members.get(1), members.get(0))) {
            victim.kill();
            talkOn();
          }
        });
  }

  @Test
  void shardsThatMoveFromAHostThatIsKilledDoNotWaitForTheHandOver() throws Exception {
    List<String> longest = List.of("-D" + ClusterProcess.HAND_OVER + "=50");
    Member oldest = start(database, longest);
    Member victim = start(database, longest);
    victim.awaitShards(Shard.COUNT / 2);
    // It takes those of the oldest host first.
    start(database, longest).awaitShards(Shard.COUNT / 6 + 2);
    // Until it is noticed, shards still begin to move from it.
    victim.kill();
    // So many that there is one of each shard.
    List<CompletableFuture<JsonNode>> replies = new ArrayList<>();
    for (int i = 0; i < 10 * Shard.COUNT; i++) {
      replies.add(oldest.call("s" + i, "c" + i, STATUS.deepCopy()));
    }
    for (CompletableFuture<JsonNode> reply : replies) {
      JsonNode now = reply.get(60, TimeUnit.SECONDS);
      assertThat(now.path("code").asText()).as("%s", now).isEqualTo("unknown_run");
    }
  }

  @Test
  void aHostThatWasPausedAcknowledgesNothingThatIsLost() throws Exception {
    for (int i = 0; i < 3; i++) {
      start();
    }
    talkDuring(
        () -> {
          for (int i = 0; i < rounds(); i++) {
            Member victim = members.get(random.nextInt(members.size()));
            victim.signal("STOP");
            // Longer than the others wait before they remove a host that is silent.
            calmly(() -> Thread.sleep(20_000));
            for (Member other : members) {
              if (other != victim) {
                other.awaitMembers(2);
              }
            }
            victim.signal("CONT");
            assertThat(victim.process.waitFor(60, TimeUnit.SECONDS))
                .as("it ends, so that it is restarted")
                .isTrue();
            assertThat(victim.process.exitValue()).isEqualTo(ClusterProcess.LOST_CODE);
            members.remove(victim);
            start();
          }
        });
  }

  @Test
  void aHostThatWasPausedDoesNotReplyWithAStateThatIsOutOfDate() throws Exception {
    Member victim = start();
    Member other = start();
    Random which = new Random(1);
    for (int i = 0; i < CLIENTS; i++) {
      ObjectNode start = Json.object().put("action", "start").put("intent", "t");
      persistently("s" + i, "start", start, which);
      assertThat(status(victim.call("s" + i, "before", STATUS.deepCopy()).get())).isEmpty();
    }
    victim.signal("STOP");
    members.remove(victim);
    ObjectNode word = Json.object().put("action", "continue");
    word.putObject("stateUpdates").put("word", "w");
    for (int i = 0; i < CLIENTS; i++) {
      persistently("s" + i, "word", word, which);
    }
    List<CompletableFuture<JsonNode>> replies = new ArrayList<>();
    for (int i = 0; i < CLIENTS; i++) {
      replies.add(victim.call("s" + i, "after", STATUS.deepCopy()));
    }
    victim.signal("CONT");
    for (CompletableFuture<JsonNode> reply : replies) {
      JsonNode now = reply.get(60, TimeUnit.SECONDS);
      assertThat(now.has("code") || status(now).equals(List.of("w"))).as("%s", now).isTrue();
    }
    victim.kill();
    assertThat(other.lost).isNotDone();
  }

  private static final ObjectNode STATUS = Json.object().put("action", "status");

  private static List<String> status(JsonNode reply) {
    List<String> said = new ArrayList<>();
    reply.at("/run/state/said").forEach(word -> said.add(word.asText()));
    return said;
  }

  @Test
  void nothingIsLostWhenHostsAreRestartedOneAfterTheOther() throws Exception {
    for (int i = 0; i < 2; i++) {
      start();
    }
    talkDuring(
        () -> {
          for (int i = 0; i < 2 * rounds(); i++) {
            Member oldest = members.get(0);
            start();
            members.remove(oldest);
            oldest.in.close();
            assertThat(oldest.process.waitFor(60, TimeUnit.SECONDS)).isTrue();
            assertThat(oldest.process.exitValue()).isZero();
          }
        });
    assertThat(repeated()).as("steps that were attempted again without a reason").isZero();
  }

  /** Attempts of steps that had an attempt before, as their host was lost meanwhile. */
  private long repeated() throws IOException {
    try (Stream<String> notes = Files.lines(folder.resolve("notes"))) {
      Map<String, Integer> times = new HashMap<>();
      notes.forEach(note -> times.merge(note, 1, Integer::sum));
      return times.values().stream().mapToInt(n -> n - 1).sum();
    }
  }
}
