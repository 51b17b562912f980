/** What authors test their flows and agents with. */
@SuppressWarnings({"requires-automatic", "requires-transitive-automatic"})
module io.fermata.testkit {
  requires static transitive org.junit.jupiter.api;
  requires pekko.actor.testkit;
  requires pekko.actor.testkit.typed;
  requires pekko.persistence;
  requires scala.library;
  requires transitive io.fermata.session;
  requires transitive langchain4j.core;

  exports io.fermata.testkit;
  exports io.fermata.testkit.eval;

  opens io.fermata.testkit to
      pekko.actor;
}
