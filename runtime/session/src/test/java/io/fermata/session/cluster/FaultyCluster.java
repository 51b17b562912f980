package io.fermata.session.cluster;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.jvm.ClassArchive;
import io.fermata.postgres.Cable;
import io.fermata.postgres.PostgresServer;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.Writer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntPredicate;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;

/**
 * Hosts in processes of their own, and clients that talk to any of them while something happens.
 * Afterwards every session must hold every word once, in order: what was acknowledged is there, and
 * nothing happened twice, however often it was sent.
 *
 * <p>{@code -Dcluster.rounds=N} for more rounds.
 */
abstract class FaultyCluster {
  static final int CLIENTS = 12;
  private static final int WORDS_BETWEEN_FAULTS = 5;

  /** Some calls are under way at every moment. */
  private static final int LONGEST_PAUSE_MILLIS = 150;

  /** Hosts that start are not starved. */
  private static final int LONGEST_CALM_PAUSE_MILLIS = 1_500;

  private static ClassArchive archive;

  @TempDir Path folder;

  final String database = PostgresServer.shared().newDatabase();
  final Cable cable = Cable.to(PostgresServer.shared());
  final List<Member> members = new CopyOnWriteArrayList<>();
  final Random random = new Random(42);
  private final AtomicLong calls = new AtomicLong();

  /** How many words of each session were acknowledged. */
  private final Map<String, Integer> acknowledged = new ConcurrentHashMap<>();

  private final AtomicBoolean over = new AtomicBoolean();
  private volatile int longestPause = LONGEST_PAUSE_MILLIS;

  /** Written by a host that is alone and handles a call. */
  @BeforeAll
  static void writeArchive(@TempDir Path classes) throws Exception {
    archive = ClassArchive.in(classes);
    Process host =
        host(archive.writing(), PostgresServer.shared().newDatabase(), classes)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .start();
    ObjectNode call = Json.object().put("number", 1).put("session", "s").put("callId", "c");
    call.putObject("arguments").put("action", "start").put("intent", "t");
    try (Writer in = host.outputWriter(UTF_8)) {
      in.write(Json.text(call) + "\n");
    }
    assertThat(host.waitFor(120, TimeUnit.SECONDS)).isTrue();
    assertThat(host.exitValue()).isZero();
  }

  private static ProcessBuilder host(List<String> options, String database, Path folder) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    Collections.addAll(command, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC");
    command.addAll(options);
    Collections.addAll(
        command, ClusterProcess.class.getName(), database, folder.resolve("notes").toString());
    return new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT);
  }

  /** A host in a process of its own. */
  final class Member {
    final Process process;
    final PrintWriter in;
    private final Map<Long, CompletableFuture<JsonNode>> waiting = new ConcurrentHashMap<>();

    /** Its port among the hosts, as soon as it has joined them. */
    private final CompletableFuture<Integer> ready = new CompletableFuture<>();

    private final BlockingQueue<Integer> seen = new LinkedBlockingQueue<>();
    final CompletableFuture<String> lost = new CompletableFuture<>();

    Member(String database, List<String> properties) throws IOException {
      List<String> options = new ArrayList<>(archive.using());
      options.addAll(properties);
      process = host(options, database, folder).start();
      in = new PrintWriter(process.outputWriter(UTF_8), true);
      Thread reader = new Thread(this::read, "member-" + process.pid());
      reader.setDaemon(true);
      reader.start();
    }

    private void read() {
      try (BufferedReader out = process.inputReader(UTF_8)) {
        for (String line = out.readLine(); line != null; line = out.readLine()) {
          if (line.startsWith(ClusterProcess.READY)) {
            ready.complete(Integer.parseInt(line.substring(line.lastIndexOf(':') + 1)));
          } else if (line.startsWith(ClusterProcess.MEMBERS)
              || line.startsWith(ClusterProcess.SHARDS)) {
            seen.add(Integer.parseInt(line.substring(line.lastIndexOf(' ') + 1)));
          } else if (line.startsWith(ClusterProcess.LOST)) {
            System.err.println(process.pid() + " " + line);
            lost.complete(line);
          } else if (line.startsWith("{")) {
            JsonNode reply = Json.parse(line);
            CompletableFuture<JsonNode> call = waiting.remove(reply.path("number").asLong());
            if (call != null) {
              call.complete(reply.path("reply"));
            }
          }
        }
      } catch (IOException e) {
        ready.completeExceptionally(e);
      }
      ready.completeExceptionally(new IOException("It ended before it was ready"));
      waiting.values().forEach(call -> call.complete(Json.object().put("code", "gone")));
    }

    void awaitReady() throws Exception {
      ready.get(120, TimeUnit.SECONDS);
    }

    JsonNode call(String session, String callId, ObjectNode arguments, long millis)
        throws Exception {
      CompletableFuture<JsonNode> reply = call(session, callId, arguments);
      if (!process.isAlive()) {
        return Json.object().put("code", "gone");
      }
      try {
        return reply.get(millis, TimeUnit.MILLISECONDS);
      } catch (TimeoutException e) {
        return Json.object().put("code", "silent");
      }
    }

    CompletableFuture<JsonNode> call(String session, String callId, ObjectNode arguments) {
      long number = calls.incrementAndGet();
      CompletableFuture<JsonNode> reply = new CompletableFuture<>();
      waiting.put(number, reply);
      ObjectNode line = Json.object().put("number", number).put("session", session);
      line.put("callId", callId).set("arguments", arguments);
      in.println(Json.text(line));
      return reply;
    }

    int port() {
      return ready.join();
    }

    /** Waits until it sees as many hosts, whatever their state. */
    void awaitMembers(int expected) throws InterruptedException {
      await(ClusterProcess.MEMBERS, members -> members == expected);
    }

    void awaitShards(int atLeast) throws InterruptedException {
      await(ClusterProcess.SHARDS, shards -> shards >= atLeast);
    }

    private void await(String what, IntPredicate enough) throws InterruptedException {
      Integer now = null;
      while (now == null || !enough.test(now)) {
        assertThat(process.isAlive()).isTrue();
        in.println(what);
        now = seen.poll(1, TimeUnit.SECONDS);
      }
    }

    void kill() throws InterruptedException {
      members.remove(this);
      process.destroyForcibly().waitFor();
    }

    void signal(String name) throws Exception {
      new ProcessBuilder("kill", "-" + name, Long.toString(process.pid())).start().waitFor();
    }
  }

  Member start() throws Exception {
    return start(database);
  }

  Member start(String address) throws Exception {
    return start(address, List.of());
  }

  Member start(String address, List<String> properties) throws Exception {
    Member member = new Member(address, properties);
    calmly(member::awaitReady);
    members.add(member);
    return member;
  }

  /** Lets clients talk less while something is awaited that is no fault itself. */
  void calmly(Faults wait) throws Exception {
    longestPause = LONGEST_CALM_PAUSE_MILLIS;
    try {
      wait.happen();
    } finally {
      longestPause = LONGEST_PAUSE_MILLIS;
    }
  }

  @AfterEach
  void end() {
    over.set(true);
    members.forEach(member -> member.process.destroyForcibly());
    cable.close();
  }

  /** Says words in one session, each until it is acknowledged, to any member. */
  private List<String> talk(String session, int seed) throws Exception {
    Random which = new Random(seed);
    List<String> said = new ArrayList<>();
    persistently(session, "start", Json.object().put("action", "start").put("intent", "t"), which);
    while (!over.get()) {
      String word = "w" + said.size();
      ObjectNode arguments = Json.object().put("action", "continue");
      arguments.putObject("stateUpdates").put("word", word);
      persistently(session, word, arguments, which);
      said.add(word);
      acknowledged.merge(session, 1, Integer::sum);
      Thread.sleep(which.nextInt(longestPause));
    }
    return said;
  }

  /** Waits until every session has got its word acknowledged a few times more. */
  void talkOn() throws InterruptedException {
    Map<String, Integer> before = new HashMap<>(acknowledged);
    for (int i = 0; i < CLIENTS; i++) {
      String session = "s" + i;
      int enough = before.getOrDefault(session, 0) + WORDS_BETWEEN_FAULTS;
      while (!over.get() && acknowledged.getOrDefault(session, 0) < enough) {
        Thread.sleep(20);
      }
    }
  }

  JsonNode persistently(String session, String callId, ObjectNode arguments, Random which)
      throws Exception {
    for (int attempt = 0; attempt < 400; attempt++) {
      Member any = members.get(which.nextInt(members.size()));
      JsonNode reply = any.call(session, session + callId, arguments.deepCopy(), 15_000);
      if (reply.path("status").asText().equals("interrupt")) {
        return reply;
      }
      Thread.sleep(longestPause);
    }
    throw new AssertionError("No host acknowledged " + callId + " of " + session);
  }

  interface Faults {
    void happen() throws Exception;
  }

  void talkDuring(Faults faults) throws Exception {
    ExecutorService clients = Executors.newFixedThreadPool(CLIENTS);
    try {
      Map<String, Future<List<String>>> talks = new HashMap<>();
      for (int i = 0; i < CLIENTS; i++) {
        String session = "s" + i;
        int seed = i;
        talks.put(
            session,
            clients.submit(
                () -> {
                  try {
                    return talk(session, seed);
                  } finally {
                    over.set(true);
                  }
                }));
      }
      talkOn();
      faults.happen();
      talkOn();
      over.set(true);
      int words = 0;
      for (Map.Entry<String, Future<List<String>>> talk : talks.entrySet()) {
        List<String> said = talk.getValue().get(120, TimeUnit.SECONDS);
        JsonNode status =
            members
                .get(0)
                .call(talk.getKey(), "status", Json.object().put("action", "status"), 60_000);
        List<String> recorded = new ArrayList<>();
        status.at("/run/state/said").forEach(word -> recorded.add(word.asText()));
        assertThat(recorded).as(talk.getKey()).isEqualTo(said);
        words += said.size();
      }
      assertThat(words).isGreaterThan(CLIENTS);
      System.out.println(words + " words were acknowledged, none is lost or taken twice");
    } finally {
      clients.shutdownNow();
    }
  }

  static int rounds() {
    return Integer.getInteger("cluster.rounds", 1);
  }
}
