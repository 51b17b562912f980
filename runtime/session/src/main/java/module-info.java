/**
 * The host: one persistent actor for each session, its gateway, its directory and its telemetry.
 */
@SuppressWarnings({"module", "requires-automatic", "requires-transitive-automatic"})
module io.fermata.session {
  requires com.cronutils;
  requires com.fasterxml.jackson.dataformat.cbor;
  requires org.slf4j;
  requires pekko.actor;
  requires pekko.actor.typed;
  requires pekko.cluster;
  requires pekko.cluster.sharding;
  requires pekko.cluster.sharding.typed;
  requires pekko.cluster.typed;
  requires pekko.coordination;
  requires pekko.persistence;
  requires pekko.persistence.typed;
  requires pekko.pki;
  requires pekko.remote;
  requires pekko.stream;
  requires scala.library;
  requires typesafe.config;
  requires static micrometer.core;
  requires transitive io.fermata.agent;
  requires transitive io.fermata.flow;
  requires transitive io.fermata.persistence;
  requires transitive io.opentelemetry.api;
  requires transitive io.opentelemetry.context;

  exports io.fermata.session;
  exports io.fermata.session.admin;
  exports io.fermata.session.call;
  exports io.fermata.session.key;
  exports io.fermata.session.observe;
  exports io.fermata.session.telemetry;
  exports io.fermata.session.journal to
      io.fermata.testkit;

  opens io.fermata.session.admin to
      com.fasterxml.jackson.databind;
  opens io.fermata.session.call to
      com.fasterxml.jackson.databind;
  opens io.fermata.session.cluster to
      com.fasterxml.jackson.databind,
      pekko.actor,
      pekko.coordination;
  opens io.fermata.session.host to
      com.fasterxml.jackson.databind,
      pekko.actor;
  opens io.fermata.session.journal to
      com.fasterxml.jackson.databind,
      pekko.actor;
  opens io.fermata.session.key to
      com.fasterxml.jackson.databind;
}
