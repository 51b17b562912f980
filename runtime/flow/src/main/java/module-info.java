/**
 * Flows: graphs of steps that ask, show, decide and act, and the engine that folds and advances
 * their runs.
 */
@SuppressWarnings({"module"})
module io.fermata.flow {
  requires com.fasterxml.classmate;
  requires com.fasterxml.jackson.datatype.jdk8;
  requires com.fasterxml.jackson.datatype.jsr310;
  requires com.github.victools.jsonschema.generator;
  requires com.github.victools.jsonschema.module.jackson;
  requires com.github.victools.jsonschema.module.jakarta.validation;
  requires com.networknt.schema;
  requires jakarta.validation;
  requires org.slf4j;
  requires transitive com.fasterxml.jackson.databind;
  requires transitive org.jspecify;

  exports io.fermata.flow;
  exports io.fermata.flow.action;
  exports io.fermata.flow.event;
  exports io.fermata.flow.json;
  exports io.fermata.flow.logging;
  exports io.fermata.flow.observe;
  exports io.fermata.flow.picture;
  exports io.fermata.flow.record;
  exports io.fermata.flow.replay;
  exports io.fermata.flow.route;
  exports io.fermata.flow.schema;
  exports io.fermata.flow.cases to
      io.fermata.agent;
  exports io.fermata.flow.engine to
      io.fermata.session,
      io.fermata.testkit;

  opens io.fermata.flow.engine to
      com.fasterxml.jackson.databind;
  opens io.fermata.flow.event to
      com.fasterxml.jackson.databind;
  opens io.fermata.flow.json to
      com.fasterxml.jackson.databind;
  opens io.fermata.flow.observe to
      com.fasterxml.jackson.databind;

  uses org.slf4j.spi.SLF4JServiceProvider;
}
