package io.fermata.persistence.pekko;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import com.typesafe.config.ConfigParseOptions;

/** Loads the settings of the journal and snapshot plugins. */
public final class StoreConfig {

  private StoreConfig() {}

  /** The settings that all stores share. */
  public static Config load() {
    return parse(StoreConfig.class.getClassLoader(), "fermata-store.conf").resolve();
  }

  /** The settings that all stores share, overridden by those of one store. */
  public static Config load(ClassLoader loader, String resource) {
    return parse(loader, resource)
        .withFallback(parse(StoreConfig.class.getClassLoader(), "fermata-store.conf"))
        .resolve();
  }

  private static Config parse(ClassLoader loader, String resource) {
    return ConfigFactory.parseResources(
        loader, resource, ConfigParseOptions.defaults().setAllowMissing(false));
  }
}
