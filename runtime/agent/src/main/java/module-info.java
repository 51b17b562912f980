/** Agents: sides that take turns with tools, and the turn loop that runs their threads. */
@SuppressWarnings({"module", "requires-automatic", "requires-transitive-automatic"})
module io.fermata.agent {
  requires io.modelcontextprotocol.sdk.mcp.core;
  requires io.modelcontextprotocol.sdk.mcp.json.jackson2;
  requires java.net.http;
  requires org.reactivestreams;
  requires org.slf4j;
  requires reactor.core;
  requires transitive io.fermata.flow;
  requires transitive langchain4j.core;
  requires transitive langchain4j.http.client;

  exports io.fermata.agent;
  exports io.fermata.agent.mcp;
  exports io.fermata.agent.message;
  exports io.fermata.agent.model;
  exports io.fermata.agent.replay;
  exports io.fermata.agent.state;
  exports io.fermata.agent.tool;
  exports io.fermata.agent.engine to
      io.fermata.mcp,
      io.fermata.session,
      io.fermata.testkit;
  exports io.fermata.agent.history to
      io.fermata.session;

  opens io.fermata.agent to
      io.fermata.flow;
  opens io.fermata.agent.mcp to
      io.fermata.flow;
  opens io.fermata.agent.message to
      com.fasterxml.jackson.databind;
  opens io.fermata.agent.state to
      com.fasterxml.jackson.databind;
}
