package io.fermata.session.cluster;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.route.Condition.eq;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.typesafe.config.ConfigFactory;
import io.fermata.flow.Flow;
import io.fermata.flow.action.EffectOptions;
import io.fermata.flow.json.Json;
import io.fermata.flow.schema.Computed;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import io.fermata.session.admin.ClusterSettings;
import io.fermata.session.call.ToolCall;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * A host in a process of its own. It reads calls, one a line, and prints the reply to each with its
 * number.
 */
public final class ClusterProcess {
  static final String READY = "ready ";
  static final String MEMBERS = "members";
  static final String SHARDS = "shards";
  static final String LOST = "lost ";
  static final int LOST_CODE = 7;

  /** Properties: how long a hand-over may take, and what a partition must wait for. */
  static final String HAND_OVER = "cluster.handOver";

  static final String STABLE_AFTER = "cluster.stableAfter";

  /** What is said, in order. */
  public record Talk(String word, @Computed List<String> said) {}

  private ClusterProcess() {}

  /** Asks for words until one is bye; each is noted by a step, which also writes it to a file. */
  static Flow<Talk> flow(Path notes) {
    return Flow.of("talk", Talk.class)
        .description("Talks.")
        .ask("hear", q -> q.question("word", "And?"))
        .act(
            "note",
            run -> {
              String word = run.state().word();
              Files.writeString(
                  notes,
                  run.idempotencyKey() + " " + word + "\n",
                  StandardOpenOption.CREATE,
                  StandardOpenOption.APPEND);
              run.append("said", word);
            },
            EffectOptions::idempotent)
        .edge(START, "hear")
        .edge("hear", "note")
        .decide("note", d -> d.when("bye", eq("word", "bye")).to(END).otherwise("hear"))
        .result(Talk::said)
        .compile();
  }

  public static void main(String[] arguments) throws Exception {
    PrintStream out = new PrintStream(System.out, true, UTF_8);
    Fermata host =
        Fermata.host()
            .store(Store.postgres(arguments[0]))
            .cluster(ClusterSettings.LOCAL.handOver(Duration.ofSeconds(Long.getLong(HAND_OVER, 5))))
            .config(
                ConfigFactory.parseMap(
                    Map.of(
                        "pekko.cluster.split-brain-resolver.stable-after",
                        Duration.ofSeconds(Long.getLong(STABLE_AFTER, 2)))))
            .flow(flow(Path.of(arguments[1])))
            .start();
    host.lost()
        .thenAccept(
            reason -> {
              out.println(LOST + reason);
              Runtime.getRuntime().halt(LOST_CODE);
            });
    out.println(READY + host.cluster().orElseThrow().address());
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      if (line.equals(MEMBERS)) {
        out.println(MEMBERS + " " + host.cluster().orElseThrow().members().size());
        continue;
      } else if (line.equals(SHARDS)) {
        out.println(SHARDS + " " + host.cluster().orElseThrow().shards());
        continue;
      }
      JsonNode call = Json.parse(line);
      long number = call.path("number").asLong();
      ObjectNode meta = Json.object().put("sessionId", call.path("session").asText());
      meta.put("fermata/callId", call.path("callId").asText());
      host.call(new ToolCall("talk", "ann", (ObjectNode) call.get("arguments"), meta, null))
          .whenComplete(
              (reply, thrown) -> {
                ObjectNode answer = Json.object().put("number", number);
                answer.set(
                    "reply",
                    thrown == null
                        ? reply.structured()
                        : Json.object().put("code", "thrown").put("error", thrown.toString()));
                synchronized (out) {
                  out.println(Json.text(answer));
                }
              });
    }
    host.close(Duration.ofSeconds(20));
  }
}
