package io.fermata.persistence.spi;

import java.util.Map;
import java.util.Optional;

/**
 * Reads addresses of stores that are not part of this module. Providers are found by {@link
 * java.util.ServiceLoader}, so an artifact on the class path is enough.
 */
public interface StoreProvider {

  /**
   * The store that an address names, empty if the address belongs to another provider.
   *
   * @param environment the environment variables, which may hold credentials
   * @throws IllegalArgumentException if the address belongs to this provider and is unusable; the
   *     message shows no password
   */
  Optional<StoreSource> parse(String address, Map<String, String> environment);

  /** The store that the environment names when {@code FERMATA_STORE} is not set. */
  default Optional<StoreSource> fromEnvironment(Map<String, String> environment) {
    return Optional.empty();
  }
}
