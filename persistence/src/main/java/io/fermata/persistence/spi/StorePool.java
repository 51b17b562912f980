package io.fermata.persistence.spi;

/** The load of a store's connection pool, for meters. It can be read at any time by any thread. */
public interface StorePool {

  /** What its connections are for: one of a few fixed names, such as {@code write}. */
  String name();

  /** Connections in use. */
  int used();

  /** Open connections that are not in use. */
  int idle();

  /** Requests that wait for a connection. */
  int waiting();
}
