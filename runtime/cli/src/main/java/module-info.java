/** The command line of an application: serves its flows and agents, and looks after their store. */
@SuppressWarnings("requires-automatic")
module io.fermata.cli {
  requires java.net.http;
  requires micrometer.core;
  requires micrometer.registry.prometheus;
  requires org.slf4j;
  requires static ch.qos.logback.classic;
  requires static ch.qos.logback.core;
  requires transitive info.picocli;
  requires transitive io.fermata.mcp;

  exports io.fermata.cli;
  exports io.fermata.cli.telemetry;

  opens io.fermata.cli to
      info.picocli;
}
