package io.fermata.examples;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A widget without a field, before an action that cannot be taken back, as a client sees it. */
@Timeout(600)
@Tag("slow")
class ConfirmTest {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final List<String> STRAY =
      List.of(
          "{'action':'reset','stateUpdates':{'city':'Paris'}}",
          "{'action':'continue','stateUpdates':{'city':'Rome'}}",
          "{'action':'reset','stateUpdates':{'item':'bike'}}",
          "{'action':'status'}");

  @TempDir Path directory;

  private ServerProcess server() throws Exception {
    return ServerProcess.start(OrderServer.class, directory, "sqlite:test.db");
  }

  private List<String> charges() throws IOException {
    Path file = directory.resolve(OrderServer.CHARGES);
    return Files.exists(file) ? Files.readAllLines(file) : List.of();
  }

  private static JsonNode call(ServerProcess server, String arguments) throws Exception {
    ObjectNode params = Json.object().put("name", "order");
    params.set("arguments", MAPPER.readTree(arguments.replace('\'', '"')));
    params.putObject("_meta").put("fermata/sessionId", "order 1");
    return server.result("tools/call", params).path("structuredContent");
  }

  private void sendStrayCalls(ServerProcess server) throws Exception {
    for (String stray : STRAY) {
      JsonNode reply = call(server, stray);
      assertThat(reply.path("status").asText()).as(stray).isEqualTo("widget");
      assertThat(charges()).as(stray).isEmpty();
    }
  }

  @Test
  void onlyAContinueWithoutValuesConfirmsAlsoWhenTheServerWasKilledMeanwhile() throws Exception {
    try (ServerProcess server = server()) {
      JsonNode shown =
          call(server, "{'action':'start','intent':'x','stateUpdates':{'item':'car'}}");
      assertThat(shown.path("status").asText()).isEqualTo("widget");
      sendStrayCalls(server);
      server.kill();
    }
    try (ServerProcess server = server()) {
      sendStrayCalls(server);
      server.kill();
    }
    try (ServerProcess server = server()) {
      JsonNode end = call(server, "{'action':'continue'}");
      assertThat(end.path("status").asText()).as(end.toString()).isEqualTo("complete");
      assertThat(charges()).containsExactly("bike");
      server.kill();
    }
    try (ServerProcess server = server()) {
      JsonNode again = call(server, "{'action':'continue'}");
      assertThat(again.path("code").asText()).isEqualTo("run_completed");
      assertThat(charges()).containsExactly("bike");
    }
  }
}
