package io.fermata.cli;

import io.fermata.mcp.McpServerBuilder;
import picocli.CommandLine.Option;

/** Who decides about approvals of agents. */
final class ApprovalOption {
  @Option(
      names = "--models-may-approve",
      description = {
        "Lets models pass on what their users said about approvals of agents. By default only a",
        "form of the client, or an answer over HTTP, decides."
      })
  boolean modelsMayApprove;

  McpServerBuilder apply(McpServerBuilder server) {
    return modelsMayApprove ? server.modelsMayApprove() : server;
  }
}
