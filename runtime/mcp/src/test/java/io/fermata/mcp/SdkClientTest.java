package io.fermata.mcp;

import static org.assertj.core.api.Assertions.assertThat;

import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.client.McpSyncClient;
import io.modelcontextprotocol.client.transport.HttpClientStreamableHttpTransport;
import io.modelcontextprotocol.spec.McpSchema;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** The official MCP client for Java. */
class SdkClientTest {
  @Test
  void theJavaSdkListsAndCallsToolsAndReceivesProgress() throws InterruptedException {
    FakeHost host = new FakeHost();
    BlockingQueue<String> progress = new LinkedBlockingQueue<>();
    try (McpServer server = McpServer.serving(host).name("fake").port(0).start();
        McpSyncClient client =
            McpClient.sync(
                    HttpClientStreamableHttpTransport.builder("http://localhost:" + server.port())
                        .build())
                .progressConsumer(update -> progress.add(update.message()))
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

      CompletableFuture<Void> work =
          CompletableFuture.runAsync(
              () -> {
                FakeHost.Work working = host.work();
                working.streams("Good day");
                working.ends();
              });
      client.callTool(McpSchema.CallToolRequest.builder("working").progressToken("t").build());
      work.join();
      assertThat(progress.poll(60, TimeUnit.SECONDS)).isEqualTo("Good day");
    }
  }
}
