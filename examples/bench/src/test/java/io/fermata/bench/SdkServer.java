package io.fermata.bench;

import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.server.McpServer;
import io.modelcontextprotocol.server.transport.HttpServletStatelessServerTransport;
import io.modelcontextprotocol.spec.McpSchema;
import java.util.Map;
import org.eclipse.jetty.ee11.servlet.ServletContextHandler;
import org.eclipse.jetty.ee11.servlet.ServletHolder;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import reactor.core.publisher.Mono;

/** The yardstick: a no-op tool in the fastest setup of the SDK, on Jetty. */
final class SdkServer {
  static final String TOOL = "noop";

  private SdkServer() {}

  public static void main(String[] args) throws Exception {
    HttpServletStatelessServerTransport transport =
        HttpServletStatelessServerTransport.builder()
            .jsonMapper(McpJsonDefaults.getMapper())
            .messageEndpoint("/mcp")
            .build();
    McpSchema.CallToolResult done =
        McpSchema.CallToolResult.builder().addTextContent(PlainServer.DONE).isError(false).build();
    McpServer.async(transport)
        .serverInfo("yardstick", "1")
        .capabilities(McpSchema.ServerCapabilities.builder().tools(false).build())
        .toolCall(tool(), (context, request) -> Mono.just(done))
        .build();
    Server server = new Server();
    ServerConnector connector = new ServerConnector(server);
    connector.setHost("127.0.0.1");
    server.addConnector(connector);
    ServletContextHandler servlets = new ServletContextHandler();
    servlets.addServlet(new ServletHolder(transport), "/*");
    server.setHandler(servlets);
    server.start();
    System.out.println("http://localhost:" + connector.getLocalPort() + "/mcp");
    server.join();
  }

  private static McpSchema.Tool tool() {
    Map<String, Object> nothing =
        Map.of("type", "object", "properties", Map.of(), "additionalProperties", false);
    return McpSchema.Tool.builder(TOOL, nothing).description("Does nothing").build();
  }
}
