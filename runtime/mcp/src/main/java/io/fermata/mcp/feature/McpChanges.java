package io.fermata.mcp.feature;

/**
 * Changes what a running server offers, and notifies subscribed clients. An entry replaces the one
 * of the same name. Each server of a host or a cluster offers its own.
 */
public interface McpChanges {
  void tool(McpTool tool);

  void withoutTool(String name);

  void prompt(McpPrompt prompt);

  void withoutPrompt(String name);

  void resource(McpResource resource);

  void withoutResource(String uri);

  void template(McpTemplate template);

  /**
   * Notifies the clients of all servers of this host, and of the other hosts of a cluster, that
   * subscribed to a resource that its content has changed.
   */
  void updated(String uri);
}
