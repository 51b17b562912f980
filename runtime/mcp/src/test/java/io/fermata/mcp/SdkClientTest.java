package io.fermata.mcp;

import static org.assertj.core.api.Assertions.assertThat;

import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.client.McpSyncClient;
import io.modelcontextprotocol.client.transport.HttpClientStreamableHttpTransport;
import io.modelcontextprotocol.spec.McpSchema;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** A client of another vendor finds its way. */
class SdkClientTest {
  @Test
  void theJavaSdkListsAndCallsTools() {
    try (McpServer server = McpServer.serving(new FakeHost()).name("fake").port(0).start();
        McpSyncClient client =
            McpClient.sync(
                    HttpClientStreamableHttpTransport.builder("http://localhost:" + server.port())
                        .build())
                .build()) {
      McpSchema.InitializeResult welcome = client.initialize();
      assertThat(welcome.serverInfo().name()).isEqualTo("fake");
      assertThat(client.listTools().tools()).extracting(McpSchema.Tool::name).contains("echo");

      McpSchema.CallToolResult result =
          client.callTool(
              McpSchema.CallToolRequest.builder("echo").arguments(Map.of("city", "Köln")).build());

      assertThat(result.isError()).isFalse();
      assertThat(String.valueOf(result.structuredContent())).contains("Köln", "transportSession");
      assertThat(client.listResources().resources()).hasSize(1);
    }
  }
}
