package io.fermata.agent.mcp;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/** The shop over standard input and output, as a program. */
final class ShopProcess {
  private ShopProcess() {}

  @SuppressWarnings("SystemOut") // this is where a client listens
  public static void main(String[] unused) throws IOException {
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    BufferedReader in =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      JsonNode message = Json.parse(line);
      String how = message.path("params").path("arguments").path("how").asText();
      if (how.equals("die")) {
        Runtime.getRuntime().halt(3);
      }
      ObjectNode answer = Shop.answer(message);
      if (answer != null) {
        out.println(Json.text(answer));
      }
    }
  }
}
