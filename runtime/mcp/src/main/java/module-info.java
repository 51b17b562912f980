/** MCP over Streamable HTTP and stdio, for every revision in use. */
module io.fermata.mcp {
  requires com.nimbusds.jose.jwt;
  requires io.netty.buffer;
  requires io.netty.codec;
  requires io.netty.codec.http;
  requires io.netty.common;
  requires io.netty.transport;
  requires jakarta.validation;
  requires org.slf4j;
  requires transitive io.fermata.session;
  requires transitive io.vertx.core;

  exports io.fermata.mcp;
  exports io.fermata.mcp.access;
  exports io.fermata.mcp.feature;
  exports io.fermata.mcp.settings;

  opens io.fermata.mcp.rest to
      com.fasterxml.jackson.databind;
}
