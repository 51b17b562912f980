package io.fermata.persistence.spi;

import java.nio.file.Path;
import java.util.function.Consumer;

/**
 * One kind of store with its address, which {@link io.fermata.persistence.Store#of} turns into a
 * {@link io.fermata.persistence.Store}. {@link Object#toString} returns the address in the form
 * that {@link io.fermata.persistence.Store#parse} reads, without passwords.
 */
public interface StoreSource {

  /**
   * Opens the store for one host, creating what is missing.
   *
   * @throws StoreException if it is in use by another process or host, or cannot be used
   */
  OpenStore open();

  /**
   * Opens the store for one of several hosts, see {@link OpenStore#shared}.
   *
   * @throws StoreException if the store cannot be shared, is in use by a host that does not share
   *     it, or cannot be used
   */
  default OpenStore openShared() {
    throw new StoreException(
        this
            + " cannot be shared by the hosts of a cluster, which need a PostgreSQL store; name"
            + " one, such as postgres://user@host/database, or start one host without a cluster");
  }

  /**
   * Opens the store to read its journals, while hosts that share it may have it open.
   *
   * @throws StoreException if there is no such store, or it cannot be used
   */
  default OpenStore openToRead() {
    requirePresent();
    return open();
  }

  /**
   * Whether the store was created, see {@link io.fermata.persistence.Store#exists}.
   *
   * @throws StoreException if it cannot be reached
   */
  default boolean exists() {
    return true;
  }

  /**
   * Requires that the store was created.
   *
   * @throws StoreException if there is no such store, or it cannot be reached
   */
  default void requirePresent() {
    if (!exists()) {
      throw new StoreException(
          "There is no store %s; name another, or start a host, which creates it".formatted(this));
    }
  }

  /**
   * Copies an embedded store into a new file, see {@link io.fermata.persistence.Store#backup}.
   *
   * @throws StoreException if the store is not kept in a file, or cannot be copied
   */
  void backup(Path file);

  /** Verifies the whole store, see {@link io.fermata.persistence.Store#verify}. */
  Verified verify(Consumer<String> damage);
}
