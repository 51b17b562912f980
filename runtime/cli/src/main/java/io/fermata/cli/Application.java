package io.fermata.cli;

import io.fermata.mcp.McpServerBuilder;
import io.fermata.session.Fermata;
import io.fermata.session.HostBuilder;

/**
 * What a command line works on: flows, agents and what they need.
 *
 * <p>Its fields may have the annotations of picocli: they are options of all commands that need the
 * application, beside those that the commands have.
 *
 * <pre>{@code
 * Cli.of("orders", host -> host.flow(Order.FLOW).agent(Desk.AGENT)).run(arguments)
 * }</pre>
 */
@FunctionalInterface
public interface Application extends AutoCloseable {
  /**
   * Adds flows and agents to a host that is about to start, or only to be looked at, and opens what
   * they need. Commands name the store, and whether it is one of a cluster.
   *
   * @throws IllegalArgumentException if an option or the environment is wrong; the message says
   *     what to change
   */
  void addTo(HostBuilder host);

  /**
   * Adds plain tools, resources, prompts and instructions to the server of that host, which has not
   * started by then.
   */
  default void addTo(McpServerBuilder server) {}

  /**
   * The host has started, to do the work of its store: {@code serve}, {@code stdio}, {@code chat}.
   */
  default void started(Fermata host) {}

  /**
   * Closes what {@link #addTo(HostBuilder)} has opened, after the host has closed, and also if
   * anything of this application has failed. A process that a signal ends while its host starts
   * waits three seconds for the start; if that takes longer, the process ends without this call.
   */
  @Override
  default void close() {}
}
