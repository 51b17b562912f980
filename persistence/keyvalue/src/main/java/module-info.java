/** The store over a key-value service; a separate artifact. */
@SuppressWarnings({"requires-automatic"})
module io.fermata.persistence.keyvalue {
  requires com.fasterxml.jackson.databind;
  requires com.fasterxml.jackson.dataformat.cbor;
  requires io.netty.common;
  requires java.net.http;
  requires lettuce.core;
  requires org.slf4j;
  requires pekko.persistence;
  requires scala.library;
  requires transitive io.fermata.persistence;

  exports io.fermata.persistence.keyvalue;

  opens io.fermata.persistence.keyvalue to
      com.fasterxml.jackson.databind;

  provides io.fermata.persistence.spi.StoreProvider with
      io.fermata.persistence.keyvalue.KeyValueProvider;
}
